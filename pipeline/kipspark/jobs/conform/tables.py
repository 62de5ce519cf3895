"""Checks that all ways of reading and writing messages agree, over any number of messages, on all executors.

Rows of cases in; rows of differences out, none when all is well. Spark's tasks make random messages, the same for the
same seed on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any, TypeVar
from uuid import UUID

import pyarrow as pa
from pyspark.sql import DataFrame

from kipspark.arrow import struct_type
from kipwire import Field, KipwireError, Message, Struct, columns
from kipwire.description.values import field_range
from kipwire.message.registry import registry_of
from kipwire.model.types import KINDS

S = TypeVar("S", bound=Struct)

CASES_SCHEMA = pa.schema(
    [
        ("package", pa.string()),
        ("message", pa.string()),
        ("version", pa.int16()),
        ("seed", pa.int64()),
        ("count", pa.int32()),
    ]
)
"""A number of random messages of one class, from a seed."""

GOLDEN_SCHEMA = pa.schema(
    [
        ("package", pa.string()),
        ("message", pa.string()),
        ("version", pa.int16()),
        ("bytes", pa.binary()),
        ("json", pa.string()),
    ]
)
"""One message: its correct bytes, and its JSON form without unknown tagged fields."""

DIFFERENCES_SCHEMA = pa.schema(
    [
        ("package", pa.string()),
        ("message", pa.string()),
        ("version", pa.int16()),
        ("check", pa.string()),
        ("number", pa.int32()),
        ("bytes", pa.binary()),
        ("difference", pa.string()),
    ]
)
"""A difference: the check, the number of the message in its case, and its bytes."""

_SHOWN = 200
_TEXTS = ("", "a", "topic-1", "é", "日本語", "\U0001d11e", "\0", "x" * 126, "x" * 127, "y" * 128, "null")
_BLOBS = (b"", b"\0", b"\xff" * 127, b"\x80" * 128, b"bytes")
_FLOATS = (0.0, -0.0, 1.5, -2.25e300, 5e-324, float("inf"), float("-inf"))
_DEEPEST = 6
"""The deepest nesting of structs; further down all arrays are empty."""


def differences(cases: DataFrame) -> DataFrame:
    """Convert random messages by encode, decode, JSON and columns; return a row for each that does not come back equal.

    Args:
        cases: rows of `CASES_SCHEMA`; each of their partitions is a task.
    """
    return cases.mapInArrow(check_random, struct_type(DIFFERENCES_SCHEMA))


def golden_differences(corpus: DataFrame) -> DataFrame:
    """Convert messages with known bytes in the same ways; return a row for each difference.

    Args:
        corpus: rows of `GOLDEN_SCHEMA`.
    """
    return corpus.mapInArrow(check_golden, struct_type(DIFFERENCES_SCHEMA))


def cases(packages: Iterable[str], count: int, seed: int) -> list[dict[str, Any]]:
    """Return a case for each version of each message of packages, except for layouts, which have their own rules.

    Args:
        packages: names of generated packages.
        count: random messages of each class.
        seed: each case has its own seed, made from this one.
    """
    found = []
    for package in packages:
        known = registry_of(package)
        for name in known.names():
            for version in known.versions(name):
                if known.message(name, version).TYPE != "layout":
                    case = {"package": package, "message": name, "version": version, "count": count}
                    found.append({**case, "seed": Random(f"{seed} {package} {name} {version}").getrandbits(62)})
    return found


def check_random(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Check cases with random messages: yield rows of `DIFFERENCES_SCHEMA` from rows of `CASES_SCHEMA`."""
    for batch in batches:
        rows: list[dict[str, Any]] = []
        for case in batch.to_pylist():
            cls = registry_of(case["package"]).message(case["message"], case["version"])
            random = Random(case["seed"])
            # The JSON form has no unknown tagged fields, so only every other message has them.
            made = [random_message(cls, random, unknown=number % 2 == 1) for number in range(case["count"])]
            rows += [
                {**{name: case[name] for name in ("package", "message", "version")}, **row}
                for row in differing(cls, made)
            ]
        yield pa.RecordBatch.from_pylist(rows, DIFFERENCES_SCHEMA)


def check_golden(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Check golden files: yield rows of `DIFFERENCES_SCHEMA` from rows of `GOLDEN_SCHEMA`."""
    for batch in batches:
        rows: list[dict[str, Any]] = []
        for number, line in enumerate(batch.to_pylist()):
            case = {**{name: line[name] for name in ("package", "message", "version", "bytes")}, "number": number}
            found = _golden_difference(line)
            rows += [{**case, "check": check, "difference": text} for check, text in found.items()]
        yield pa.RecordBatch.from_pylist(rows, DIFFERENCES_SCHEMA)


def _golden_difference(line: dict[str, Any]) -> dict[str, str]:
    """Return the differences in a row of `GOLDEN_SCHEMA`, by check."""
    missing = [name for name, value in line.items() if value is None]
    if missing:
        return {"line": f"is not a golden message: cannot read its {', '.join(missing)}"}
    data = line["bytes"]
    try:
        cls = registry_of(line["package"]).message(line["message"], line["version"])
        expected = json.loads(line["json"])
        message = cls.decode(data)
        through_columns = columns.encode(cls, columns.decode(cls, [data]))[0].as_py()
    except (KipwireError, ValueError) as error:
        return {"decode": str(error)}
    found = {
        "encode": _bytes_difference(data, message.encode()),
        "json": (
            ""
            if message.to_json() == expected
            else f"expected {expected}"[:_SHOWN] + f", got {message.to_json()}"[:_SHOWN]
        ),
        "columns": _bytes_difference(data, through_columns),
    }
    return {check: text for check, text in found.items() if text}


def differing(cls: type[Message], made: list[Message]) -> Iterator[dict[str, Any]]:
    """Yield the differences of messages of one class."""
    good, encoded = [], []
    for number, message in enumerate(made):
        try:
            data = message.encode()
        except KipwireError as error:
            yield _row("encode", number, b"", str(error))
            continue
        good.append(number)
        encoded.append(data)
        for check, again in (("decode", _decode), ("json", _through_json)):
            if check == "json" and number % 2 == 1:
                continue
            try:
                text = _bytes_difference(data, again(cls, message, data))
            except (KipwireError, ValueError) as error:
                text = str(error)
            if text:
                yield _row(check, number, data, text)
        if message.encoded_size() != len(data):
            yield _row(
                "size", number, data, f"encoded_size is {message.encoded_size()}, but there are {len(data)} bytes"
            )
    try:
        through = columns.encode(cls, columns.decode(cls, encoded)).to_pylist()
    except KipwireError as error:
        yield _row("columns", 0, b"", str(error))
        return
    for number, data, again_data in zip(good, encoded, through, strict=True):
        text = _bytes_difference(data, again_data)
        if text:
            yield _row("columns", number, data, text)


def _decode(cls: type[Message], message: Message, data: bytes) -> bytes:
    return cls.decode(data).encode()


def _through_json(cls: type[Message], message: Message, data: bytes) -> bytes:
    return cls.from_json(json.loads(json.dumps(message.to_json()))).encode()


def _bytes_difference(expected: bytes, got: bytes) -> str:
    """Describe the first difference of two byte strings; "" if they are equal."""
    if expected == got:
        return ""
    at = next((i for i, (a, b) in enumerate(zip(expected, got, strict=False)) if a != b), min(len(expected), len(got)))
    return f"{len(got)} bytes instead of {len(expected)}; the first difference is at byte {at}"


def _row(check: str, number: int, data: bytes, text: str) -> dict[str, Any]:
    return {"check": check, "number": number, "bytes": data, "difference": text}


def random_message(cls: type[S], random: Random, *, unknown: bool, depth: int = 0) -> S:
    """Return a random struct of a class, in which limits of ranges and lengths are more frequent than by chance.

    Args:
        cls: a generated class, of a message or of a struct in one; not of a record format.
        random: the source of randomness.
        unknown: true if flexible structs may have tagged fields that no version defines.
        depth: the number of structs around it.
    """
    item = cls(
        **{field.name: _value(field, random, unknown, depth) for field in cls.ATTRIBUTES if _is_set(field, random)}
    )
    if unknown and cls.FLEXIBLE and random.random() < 0.3:
        tags = [tag for tag in random.sample(range(200), 2) if tag not in cls.DECLARED_TAGS]
        item._unknown_tagged_fields = {tag: random.choice(_BLOBS) for tag in sorted(tags)}
    return item


def _is_set(field: Field, random: Random) -> bool:
    """Decide whether to set a field: tagged ones are left at their defaults now and then."""
    return field.tag is None or random.random() < 0.7


def _value(field: Field, random: Random, unknown: bool, depth: int) -> Any:
    if field.nullable and random.random() < 0.2:
        return None
    if not field.array:
        return _element(field, random, unknown, depth)
    count = 0 if depth >= _DEEPEST else random.choice((0, 1, 1, 2, 3))
    return [_element(field, random, unknown, depth) for _ in range(count)]


def _element(field: Field, random: Random, unknown: bool, depth: int) -> Any:
    if field.struct is not None:
        return random_message(field.struct, random, unknown=unknown, depth=depth + 1)
    kind = KINDS.get(field.element, "struct")
    if kind == "integer":
        return _integer(random, *field_range(field))
    if kind == "text":
        return random.choice(_TEXTS)
    if kind == "blob":
        return random.choice(_BLOBS)
    if kind == "uuid":
        return UUID(int=random.choice((0, 1, random.getrandbits(128))))
    return random.random() < 0.5 if kind == "bool" else random.choice(_FLOATS)


def _integer(random: Random, lowest: int, highest: int) -> int:
    if random.random() < 0.5:
        return random.randint(lowest, highest)
    bits = random.randint(0, highest.bit_length())
    edge = random.choice((lowest, highest, 0, -1, 1 << bits, (1 << bits) - 1, -(1 << bits)))
    return min(max(edge, lowest), highest)
