"""Vectors from Kafka's own Java classes: messages, frames and record batches; and the numbers of KIP-625.

Java's classes are the measure for Kafka's messages, but not in everything: some damage they accept and would write
otherwise, which a strict reader may refuse, and some they refuse though a reader that goes on loses nothing. These have
a kind or a level of their own, by the words of Java's error. The bytes are shipped as they were recorded and never made
again here; the README of tests/golden has the way.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from kipwire.codec.wire import write_varint
from kipwire.conformance.vectors import SPEC, Kind, Level, Vector
from kipwire.conformance.writing import scalar
from kipwire.model.types import ENCODINGS

_PACKAGE = Path(__file__).resolve().parent
MESSAGES = (
    "clients",
    "group-coordinator",
    "metadata",
    "raft",
    "removed",
    "share-coordinator",
    "storage",
    "streams",
    "transaction-coordinator",
)
"""The files of messages in `golden_folder`."""
_RELEASE, _STREAMS_RELEASE = "4.4.0", "4.3.1"
_HIGHEST_TAG = "tags: tag number 2^31-1"
_SPELT_OUT = frozenset(
    (
        "tags: known, null or zero byte",
        "tagged nullable struct: marker 1, empty body",
        "default array written explicitly as tag (non-canonical)",
    )
)
_HARMLESS = ("number of tagged fields", "was serialized as null", "had invalid length", "is not valid for version")
"""Refusals of Java alone, some of them from Kafka 4.4 on: readers that go on lose nothing."""
_LENIENT = "Java reads it, and would write other bytes; a strict reader refuses it"


def golden_folder() -> Path:
    """Find the folder of bytes that Java made: beside the code in an installed wheel, at its place in a checkout."""
    installed = _PACKAGE / "golden"
    return installed if installed.exists() else _PACKAGE.parent.parent.parent / "tests" / "golden"


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


@cache
def _by_message() -> dict[str, list[Vector]]:
    found: dict[str, list[Vector]] = {}
    for source in MESSAGES:
        for number, line in enumerate(_lines(golden_folder() / f"{source}.jsonl.gz")):
            found.setdefault(line["message"], []).append(_of_message(source, number, line))
    for number, line in enumerate(_lines(golden_folder() / "negative.jsonl.gz")):
        found.setdefault(line["message"], []).append(_of_damage(number, line))
    return found


def golden(message: str) -> list[Vector]:
    """List the vectors that Java made of one of Kafka's messages, in all its versions; none for other messages."""
    return _by_message().get(message, [])


def _of_message(source: str, number: int, line: dict[str, Any]) -> Vector:
    release = line.get("release") or (_STREAMS_RELEASE if source == "streams" else _RELEASE)
    jar = "clients" if source == "removed" else source
    unknown = tuple(line.get("unknown", ()))
    return Vector(
        id=f"{line['message']}:{line['version']}:java:{number}",
        message=line["message"],
        version=line["version"],
        form="message",
        kind="unknown_tags" if unknown else "valid",
        level="required",
        origin=f"kafka-{jar} {release}",
        field="",
        case=f"Java, {line['profile'].lower()}" if line.get("profile") else "Java",
        data=bytes.fromhex(line["hex"]),
        json=line["json"],
        unknown=unknown,
    )


def _of_damage(number: int, line: dict[str, Any]) -> Vector:
    data = bytes.fromhex(line["hex"])
    kind: Kind = "refuse"
    level: Level = "required"
    encodes, why, value = None, "", None
    if line["java"] != "ok":
        why = f"Java refuses it: {line['java']}"
        if any(words in line["java"] for words in _HARMLESS):
            level = "recommended"
    else:
        is_same = line["rewrite"] == "same" or (
            line["mutation"] == _HIGHEST_TAG and "2147483647" in str(line["rewrite"])
        )
        value = line["json"]
        if line["remaining"] or not (is_same or line["mutation"] in _SPELT_OUT):
            kind, level, why = "may_refuse", "recommended", _LENIENT
            if "�" in json.dumps(value, ensure_ascii=False):
                value = None  # other readers replace what is not UTF-8 otherwise
        else:
            kind = "unknown_tags" if line.get("unknown") else "valid"
            encodes = None if is_same else bytes.fromhex(line["rewrite"])
    return Vector(
        id=f"{line['message']}:{line['version']}:java-damage:{number}",
        message=line["message"],
        version=line["version"],
        form="message",
        kind=kind,
        level=level,
        origin=f"kafka-{line['origin']} {_RELEASE}",
        field="",
        case=f"Java, {line['mutation']}",
        data=data,
        json=value,
        unknown=tuple(line.get("unknown", ())) if kind == "unknown_tags" else (),
        encodes=encodes,
        why=why,
    )


def frames() -> Iterator[Vector]:
    """Frames with their sizes: of every request and response, header and body together."""
    for source in ("frames", "removed-frames"):
        for number, line in enumerate(_lines(golden_folder() / f"{source}.jsonl.gz")):
            yield Vector(
                id=f"{source}:{line['message']}:{line['version']}:{number}",
                message=line["message"],
                version=line["version"],
                form="frame",
                kind="valid",
                level="required",
                origin=f"kafka-clients {line.get('release', _RELEASE)}",
                field="",
                case="a frame with its size",
                data=bytes.fromhex(line["hex"]),
                json={"header": line["header"], "body": line["json"]},
            )


def batches() -> Iterator[Vector]:
    """Record batches and message sets, of every format and codec; `version` is the magic."""
    for number, line in enumerate(_lines(_PACKAGE / "record-batches.jsonl.gz")):
        entries = line.get("entries") or [one["fields"] for one in line.get("batches", [line])]
        yield Vector(
            id=f"records:{line['magic']}:{number}",
            message="records",
            version=line["magic"],
            form="records",
            kind="valid",
            level="required",
            origin=f"kafka-clients {_RELEASE}",
            field="",
            case=line["label"],
            data=bytes.fromhex(line["hex"] if "hex" in line else "".join(one["hex"] for one in line["batches"])),
            json={"records": [_record(one) for entry in entries for one in entry["records"]]},
            is_canonical=False,
        )


def _record(line: dict[str, Any]) -> dict[str, Any]:
    """Convert a record to the form in which a client gives it to its user."""
    return {
        "offset": line["offset"],
        "timestamp": line["timestamp"],
        "key": _base64(line["key"]),
        "value": _base64(line["value"]),
        "headers": [{"key": one["key"], "value": _base64(one["value"])} for one in line["headers"]],
    }


def _base64(text: str | None) -> str | None:
    return None if text is None else b64encode(bytes.fromhex(text)).decode()


# KIP-625.


def encodings() -> Iterator[Vector]:
    """Numbers in the nine encodings of KIP-625, at every length; `message` is the encoding, `json` the number."""
    for name, one in ENCODINGS.items():
        lowest, highest = one.range
        kind = name.replace("fixed", "int")
        edges = {edge for bit in range(one.bits) for edge in (1 << bit, (1 << bit) - 1, -(1 << bit), -(1 << bit) - 1)}
        for number in sorted({edge for edge in edges if lowest <= edge <= highest}):
            yield _of_encoding(name, str(number), "valid", scalar(kind, number), number)
        zero = scalar(kind, 0)
        yield _of_encoding(name, "nothing", "refuse", b"", why="there is no byte")
        if one.scheme == "fixed":
            yield _of_encoding(name, "cut", "refuse", zero[:-1], why="a byte is missing")
            continue
        yield _of_encoding(name, "cut", "refuse", b"\x80", why="the varint goes on after the last byte")
        yield _of_encoding(name, "too long", "refuse", b"\x80" * 10 + b"\1", why="the varint has more than ten bytes")
        wide = write_varint(1 << one.bits)
        why = f"the varint has more than {one.bits} bits"
        yield _of_encoding(name, "too wide", "refuse", wide, why=why, level="recommended")
        why = "the varint has a redundant last byte; a strict reader refuses it"
        yield _of_encoding(name, "overlong", "may_refuse", b"\x80\0", 0, why=why, level="recommended")


def _of_encoding(
    name: str, case: str, kind: Kind, data: bytes, json: Any = None, *, why: str = "", level: Level = "required"
) -> Vector:
    return Vector(
        id=f"{name}:{case.replace(' ', '-')}",
        message=name,
        version=0,
        form="encoding",
        kind=kind,
        level=level,
        origin=SPEC,
        field="",
        case=case,
        data=data,
        json=json,
        why=why,
    )
