"""Compressed sections in several parts, which some clients write: forms by name, and random ones.

Kafka's classes decompress parts one after the other. `tests/data/cases/compressed-parts/kafka-4.4.0.jsonl` has what
they make of the forms; `python -m tests.support.compressed_parts` writes it again, which needs mvn.
"""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

import cramjam

from kafka_records.record_batch.v2 import RecordBatch
from kipwire.records import Record
from kipwire.records.compression import COMPRESSIONS, Compression, compress
from kipwire.records.sections import write_section
from tests.support.kafka_jars import fetch_class_path
from tests.support.places import DATA, SUPPORT

ANSWERS = DATA / "cases" / "compressed-parts" / "kafka-4.4.0.jsonl"
"""Kafka's answer to each form: the size and hash of the decompressed bytes, or the class of the exception."""
CODECS: tuple[Compression, ...] = ("gzip", "snappy", "zstd")
"""The codecs with several parts."""
A, B = b"hello world " * 40, b"another part " * 30
_SKIPPED, _EMPTY_SKIPPED = struct.pack("<II", 0x184D2A53, 5) + b"abcde", struct.pack("<II", 0x184D2A50, 0)


class Form(NamedTuple):
    """A section, with a name for it."""

    codec: Compression
    name: str
    data: bytes


def _gzip(plain: bytes) -> bytes:
    return gzip.compress(plain, mtime=0)


def _snappy_header(*versions: int) -> bytes:
    return compress("snappy", b"")[:8] + struct.pack(">II", *versions)


def forms() -> Iterator[Form]:
    """Yield sections of one part and of several, with and without other bytes after them."""
    for codec in ("gzip", "snappy", "zstd", "lz4"):
        one, two, none = compress(codec, A), compress(codec, B), compress(codec, b"")
        yield Form(codec, "one part", one)
        yield Form(codec, "one that is empty", none)
        yield Form(codec, "two parts", one + two)
        yield Form(codec, "three parts, one empty", one + none + two)
        yield Form(codec, "an empty part first", none + two)
        yield Form(codec, "an empty part last", one + none)
        yield Form(codec, "many parts", one + two * 20)
        yield Form(codec, "other bytes", one + b"xyzxyz" * 6)
        yield Form(codec, "three other bytes", one + b"xyz")
        yield Form(codec, "zeros", one + bytes(30))
        yield Form(codec, "a zero", one + b"\0")
        yield Form(codec, "zeros between parts", one + bytes(40) + two)
        yield Form(codec, "a second part without its end", one + two[:-9])
        yield Form(codec, "a second part without its last bytes", one + two[:-3])
        yield Form(codec, "six bytes of a second part", one + two[:6])
        yield Form(
            codec, "a second part that is broken", one + two[: len(two) // 2] + b"\xff" * 6 + two[len(two) // 2 + 6 :]
        )
    yield Form("gzip", "two parts and zeros", _gzip(A) + _gzip(B) + bytes(9))
    yield Form("gzip", "a second part with another checksum", _gzip(A) + _gzip(B)[:-8] + bytes(8))
    yield Form("zstd", "a skipped frame first", _SKIPPED + compress("zstd", A))
    yield Form("zstd", "a skipped frame last", compress("zstd", A) + _SKIPPED)
    yield Form("zstd", "skipped frames between", compress("zstd", A) + _SKIPPED + _EMPTY_SKIPPED + compress("zstd", B))
    yield Form("zstd", "a skipped frame alone", _SKIPPED)
    yield Form("zstd", "a skipped frame without its end", compress("zstd", A) + _SKIPPED[:-2])
    raw = bytes(cramjam.snappy.compress_raw(A))
    yield Form("snappy", "one block without a header", raw)
    yield Form("snappy", "blocks after one without a header", raw + compress("snappy", B))
    yield Form("snappy", "a block without a header after others", compress("snappy", A) + raw)
    for versions in ((9, 9), (0, 0)):
        later = compress("snappy", A) + _snappy_header(*versions) + compress("snappy", B)[16:]
        yield Form("snappy", f"a second header of versions {versions}", later)
    empty = struct.pack(">I", 1) + b"\0"
    yield Form("snappy", "an empty block", compress("snappy", A) + empty + compress("snappy", B)[16:])
    linked = cramjam.lz4.Compressor(block_linked=True, content_checksum=True)
    linked.compress(A * 500)
    yield Form("lz4", "blocks that depend on others", bytes(linked.finish()))


def section_in_parts(chance: Random, codec: Compression, plain: bytes) -> bytes:
    """Compress bytes as several parts, cut at random places, with what readers pass over between them."""
    data = b""
    cuts = sorted(chance.randrange(len(plain) + 1) for _ in range(chance.choice((1, 1, 2, 5, 30))))
    for start, end in zip([0, *cuts], [*cuts, len(plain)], strict=True):
        data += compress(codec, plain[start:end])
        if codec == "zstd" and chance.random() < 0.3:
            data += chance.choice((_SKIPPED, _EMPTY_SKIPPED))
    return data + bytes(chance.choice((0, 0, 1, 20)) if codec == "gzip" else 0)


def batch_in_parts(codec: Compression, chance: Random, surplus: bytes = b"") -> tuple[bytes, list[Record]]:
    """Return a batch of magic 2 whose section has several parts, and its records."""
    records = [Record(offset=at, timestamp=1_700_000_000_000 + at, value=b"v%d" % at * 20) for at in range(9)]
    return write_in_parts(records, codec, chance, surplus), records


def write_in_parts(records: list[Record], codec: Compression, chance: Random, surplus: bytes = b"") -> bytes:
    """Write records, whose offsets follow each other, as a batch of magic 2 whose section has several parts."""
    first = records[0].offset
    layout = RecordBatch(
        base_offset=first,
        last_offset_delta=len(records) - 1,
        base_timestamp=records[0].timestamp,
        max_timestamp=records[-1].timestamp,
        records_count=len(records),
        compression_type=COMPRESSIONS.index(codec),
        records=section_in_parts(chance, codec, write_section(records, first, records[0].timestamp)) + surplus,
    )
    return layout.encode()


def answers_of_kafka(sections: Iterable[tuple[Compression, bytes]], folder: Path) -> list[bytes | str]:
    """Decompress sections with Kafka's classes, whose jars go to a folder: bytes, or the class of an exception."""
    jars = fetch_class_path(folder, "4.4.0", ["kafka-clients"])
    java = str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
    command = [java, "-cp", ":".join(map(str, jars)), str(SUPPORT / "java" / "CompressedSections.java")]
    given = "".join(f"{codec} {data.hex()}\n" for codec, data in sections)
    done = subprocess.run(command, input=given, check=True, capture_output=True, text=True, timeout=300)
    found = [line.partition(" ") for line in done.stdout.splitlines()]
    return [bytes.fromhex(rest) if kind == "plain" else rest.partition(":")[0] for kind, _, rest in found]


def answer_line(form: Form, answer: bytes | str) -> dict[str, str | int]:
    """Return the line of a form in the file of answers."""
    line: dict[str, str | int] = {"codec": form.codec, "form": form.name}
    if isinstance(answer, str):
        return {**line, "error": answer}
    return {**line, "size": len(answer), "sha256": sha256(answer).hexdigest()}


def _write() -> None:
    given = list(forms())
    with TemporaryDirectory() as folder:
        answers = answers_of_kafka([(form.codec, form.data) for form in given], Path(folder))
    lines = [json.dumps(answer_line(form, answer)) for form, answer in zip(given, answers, strict=True)]
    ANSWERS.parent.mkdir(parents=True, exist_ok=True)
    ANSWERS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    _write()
