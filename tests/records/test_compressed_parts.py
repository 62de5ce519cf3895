"""Compressed sections in several parts are read as Kafka reads them; other bytes after them are an error."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from random import Random

import pytest

from kafka_records.record_batch.v2 import RecordBatch as BatchLayout
from kipwire import DecodeError
from kipwire.columns import RecordColumns
from kipwire.records import read_batches, read_segment
from kipwire.records.compression import COMPRESSIONS, CompressedDataError, Compression, compress, decompress
from kipwire.tables.sources.formats import log_plan
from tests.support.compressed_parts import (
    ANSWERS,
    CODECS,
    answer_line,
    answers_of_kafka,
    batch_in_parts,
    forms,
    section_in_parts,
)
from tests.support.places import DATA

FORMS = list(forms())
MOST = 1 << 20
IGNORED_BY_JAVA = {
    "gzip": {"other bytes", "three other bytes", "zeros between parts", "six bytes of a second part"},
    "snappy": {"three other bytes", "a zero"},
    "zstd": {
        "a second part without its end",
        "a second part without its last bytes",
        "six bytes of a second part",
        "a skipped frame without its end",
    },
    "lz4": {form.name for form in FORMS if form.codec == "lz4"} - {"one part", "one that is empty"},
}
"""Forms whose surplus bytes Java's streams leave out without a word: here they are an error."""
LINKED = "blocks that depend on others"
"""The form that Java refuses, and other readers of lz4 read."""


def answer(codec: Compression, data: bytes) -> bytes | str:
    try:
        return decompress(codec, data, MOST)
    except CompressedDataError as error:
        return str(error)


def test_each_form_is_read_as_kafka_reads_it() -> None:
    recorded = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
    for form, kafka in zip(FORMS, recorded, strict=True):
        found = answer(form.codec, form.data)
        line = answer_line(form, found)
        assert (line["codec"], line["form"]) == (kafka["codec"], kafka["form"])
        if form.name == LINKED:
            assert "error" in kafka and isinstance(found, bytes)
        elif "error" in kafka or form.name in IGNORED_BY_JAVA[form.codec]:
            assert isinstance(found, str), form
            assert "whole buffer" not in found and ("data" in found or "snappy block" in found)
        else:
            assert line == kafka


@pytest.mark.maven
def test_recorded_answers_are_kafkas_and_random_parts_are_read_alike(tmp_path: Path) -> None:
    recorded = [json.loads(line) for line in ANSWERS.read_text().splitlines()]
    drawn = [drawn_section(Random(seed), CODECS[seed % 3]) for seed in range(600)]
    given: list[tuple[Compression, bytes]] = [(form.codec, form.data) for form in FORMS]
    given.extend((codec, data) for codec, data, _ in drawn)
    answers = answers_of_kafka(given, tmp_path)
    assert [answer_line(*pair) for pair in zip(FORMS, answers, strict=False)] == recorded
    for (codec, _, plain), found in zip(drawn, answers[len(FORMS) :], strict=True):
        assert found == plain, codec


def drawn_section(chance: Random, codec: Compression) -> tuple[Compression, bytes, bytes]:
    """Return a codec, a section in parts, and what it decompresses to."""
    size = chance.choice((1, 10, 300, 9_000, 70_000))
    plain = chance.randbytes(size) if chance.random() < 0.5 else b"abcd %d " % size * (size // 8)
    return codec, section_in_parts(chance, codec, plain), plain


@pytest.mark.parametrize("codec", CODECS)
def test_random_parts_are_read_within_a_limit_for_all_of_them(codec: Compression) -> None:
    for seed in range(40):
        _, data, plain = drawn_section(Random(f"{codec} {seed}"), codec)
        assert decompress(codec, data, len(plain)) == plain
        if plain:
            with pytest.raises(CompressedDataError, match=f"more than {len(plain) - 1:,} bytes"):
                decompress(codec, data, len(plain) - 1)


def test_many_small_members_take_steps_in_proportion() -> None:
    member = gzip.compress(b"", mtime=0)
    assert decompress("gzip", member * 20_000, 0) == b""  # with a copy of the rest for each: 4 GB


@pytest.mark.parametrize("codec", CODECS)
def test_batches_in_parts_are_read_on_every_way(codec: Compression, tmp_path: Path) -> None:
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    for seed in range(5):
        data, records = batch_in_parts(codec, Random(seed))
        path.write_bytes(data)
        (batch,) = read_batches(data)
        assert batch.records == records
        columns = RecordColumns()
        columns.add(batch)
        assert columns.take().column("value").to_pylist() == [record.value for record in records]
        (batch,) = read_segment(path)
        assert batch.records == records
        plan = log_plan({"path": str(tmp_path)})
        (rows,) = (found for work in plan.work() for found in plan.read(work))
        assert rows.column("value").to_pylist() == [record.value for record in records]


def test_a_batch_of_two_frames_of_zstd_is_read() -> None:
    (path,) = (DATA / "cases" / "several-frames" / "zstd-two-frames-0").iterdir()
    (batch,) = read_segment(path)
    assert [record.value for record in batch.records] == [letter * 100 for letter in (b"A", b"B", b"C", b"D", b"E")]


@pytest.mark.parametrize("codec", ["gzip", "zstd", "lz4"])
def test_other_bytes_are_counted_with_their_batch(codec: Compression) -> None:
    data = BatchLayout(compression_type=COMPRESSIONS.index(codec), records=compress(codec, b"") + b"\7" * 9).encode()
    with pytest.raises(DecodeError, match=rf"batches\[0\].records at byte 61: 9 trailing bytes after the {codec} data"):
        next(read_batches(data)).records  # noqa: B018
