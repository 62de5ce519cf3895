"""The values that a field is tried with, each under the name of its case.

Cases stand where an implementation may go wrong: the ends of a range, the numbers at which a varint grows by a byte,
lengths at which a compact length does, texts of several bytes a character. The last two values of a field differ from
its default, so that a message with all fields has something in each. A name of a case is part of the ids of vectors and
does not change.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from kipwire.description.plan import Item
from kipwire.description.values import field_range
from kipwire.model.structs import Field, Root, Struct
from kipwire.model.types import KINDS, MAX_STRING
from kipwire.records import Record, write_batch, write_message_set

LONG = 128
"""Bytes or elements of a long value: a compact length takes a second byte from 127 on."""
_FORMATS = {"ProduceRequest": {0: 0, 1: 0, 2: 1}, "FetchResponse": {0: 0, 1: 0, 2: 1, 3: 1}}
"""The magic of record batches in old versions of Kafka's messages; it is 2 in all others."""
_TIMESTAMP = 1_700_000_000_000
"""Milliseconds since 1970."""
_TEXT = "é\U0001d11eA"
_PATTERN = 0x0102030405060708
_UUIDS = {"pattern": uuid.UUID(int=0x0102030405060708090A0B0C0D0E0F10), "highest": uuid.UUID(int=2**128 - 1)}
_FLOATS = {
    "pattern": 1.0000000000000002,
    "highest": 1.7976931348623157e308,
    "lowest": -1.7976931348623157e308,
    "smallest": 5e-324,
    "negative zero": -0.0,
    "infinity": float("inf"),
    "negative infinity": float("-inf"),
    "not a number": float("nan"),
}


class Case(NamedTuple):
    """A value to try."""

    name: str
    value: Any


def cases(item: Item, message: type[Root]) -> Iterator[Case]:
    """Yield the values of a field, of which the last two differ from its default if it has so many."""
    if item.nullable:
        yield Case("null", None)
    if item.array:
        yield from _arrays(item, message)
    elif item.plan is not None:
        yield Case("present", build_struct(item.plan.cls))
    else:
        yield from _values(item, message)


def _arrays(item: Item, message: type[Root]) -> Iterator[Case]:
    yield Case("empty", [])
    if item.plan is not None:
        key = item.field.sorted_by
        if not key and not item.field.same_length_as:
            if item.plan.minimum_size:
                yield Case("long", distinct([build_struct(item.plan.cls) for _ in range(LONG)]))
            yield Case("two", distinct([build_struct(item.plan.cls) for _ in range(2)]))
        yield Case("one", [build_struct(item.plan.cls)])
        return
    values = [one.value for one in _values(item, message)]
    if not item.field.same_length_as:
        yield Case("long", [values[number % len(values)] for number in range(LONG)])
    yield Case("each", values)
    yield Case("one", values[-1:])


def _values(item: Item, message: type[Root]) -> Iterator[Case]:
    """Yield the values of a primitive type."""
    match KINDS[item.field.element]:
        case "bool":
            yield Case("false", False)
            yield Case("true", True)
        case "integer":
            yield from _integers(item)
        case "float":
            yield from (Case(name, value) for name, value in reversed(_FLOATS.items()))
        case "uuid":
            yield Case("zero", uuid.UUID(int=0))
            yield from (Case(name, value) for name, value in reversed(_UUIDS.items()))
        case "text":
            yield Case("empty", "")
            yield Case("long", "é" * (LONG // 2))
            yield Case("short", _TEXT)
        case _:
            yield Case("empty", b"")
            if item.field.element == "records":
                yield Case("batch", batch_for(message.NAME, message.VERSION))
            else:
                yield Case("long", b"\xff\0" * (LONG // 2))
                yield Case("short", b"\0\xff\x80")


def _integers(item: Item) -> Iterator[Case]:
    lowest, highest = field_range(item.field)
    bits = (highest - lowest + 1).bit_length() - 1
    yield Case("zero", 0)
    if item.field.is_varint:  # around the numbers at which a varint grows by a byte
        is_unsigned = str(item.field.encoding).startswith("upacked")
        for step in range(7, bits, 7):
            for name, edge in (("below", (1 << step) - 1), ("above", 1 << step)):
                yield Case(f"{name} {step} bits", min(highest, edge if is_unsigned else edge >> 1))
                yield Case(f"minus {name} {step} bits", max(lowest, -edge))
    yield Case("lowest", lowest)
    yield Case("highest", highest)
    if lowest < 0:
        yield Case("minus one", -1)
    yield Case("pattern", _PATTERN & highest if bits < 64 else _PATTERN)


def longest_text() -> str:
    """Make a text of as many bytes as a string may have."""
    return "é" * (MAX_STRING // 2) + "a"


def build_struct(cls: type[Struct], values: dict[str, Any] | None = None) -> Struct:
    """Build a struct with values, and defaults for the rest; what has neither gets zero or an empty value."""
    given = dict(values or {})
    for item in cls.ATTRIBUTES:
        if item.name not in given and item.default is None and not item.nullable:
            given[item.name] = item.struct() if item.struct and not item.array else _plain(item.element)
    return cls(**given)


def distinct(elements: list[Any]) -> list[Any]:
    """Change structs of one class so that they differ in their keys: many readers put them into a map.

    The keys are the map keys of the spec, and the first field of a type that can be a key.
    """
    for number, element in enumerate(elements):
        plain = [one for one in type(element).ATTRIBUTES if not one.array and one.tag is None and one.bit is None]
        can_be = [one for one in plain if KINDS.get(one.element) in ("text", "integer", "uuid") and not one.prefix]
        for field in {*can_be[:1], *(one for one in can_be if one.map_key)}:
            setattr(element, field.name, _key(field, number))
    return elements


def _key(field: Field, number: int) -> Any:
    """Make the key of an element: numbers from -64 on, which fit every type with a sign."""
    if KINDS[field.element] == "text":
        return f"key-{number}"
    if KINDS[field.element] == "uuid":
        return uuid.UUID(int=number + 1)
    return max(number - LONG // 2, field_range(field)[0]) if field_range(field)[0] else number


def _plain(element: str) -> Any:
    """Return a value of a primitive type that has no default."""
    match KINDS[element]:
        case "text":
            return ""
        case "blob":
            return b""
        case "uuid":
            return uuid.UUID(int=0)
        case _:
            return 0


def batch_for(message: str, version: int) -> bytes:
    """Build the value of a field of type `records`: one record, in the format that the version of the message has."""
    return _batch(_FORMATS.get(message, {}).get(version, 2))


@cache
def _batch(magic: int) -> bytes:
    if magic == 0:
        return write_message_set([Record(key=b"k", value=b"v", offset=0)], magic=0)
    record = Record(key=b"k", value=b"v", offset=0, timestamp=_TIMESTAMP)
    return write_message_set([record], magic=1) if magic == 1 else write_batch([record])
