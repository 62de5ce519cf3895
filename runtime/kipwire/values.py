"""Checks the values of a message against the metadata of its class, to tell which of them cannot be written."""

from __future__ import annotations

import struct
import uuid
from operator import index
from typing import NoReturn

from kipwire import wire
from kipwire.errors import EncodeError
from kipwire.plan import minimum_size
from kipwire.structs import Struct
from kipwire.walk import FIXED, path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.fields import Field
    from kipwire.structs import Message

INTEGER_BITS = {
    "int8": (8, True),
    "int16": (16, True),
    "uint16": (16, False),
    "int32": (32, True),
    "uint32": (32, False),
    "int64": (64, True),
}
"""Width and sign of the integer types."""


def integer_range(element: str, encoding: str | None) -> tuple[int, int]:
    """The lowest and highest value of an integer type under its encoding."""
    bits, signed = (int(encoding[-2:]), True) if encoding else INTEGER_BITS[element]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def shown(number: int) -> str:
    """A number as errors show it: Python refuses to write out numbers of thousands of digits."""
    return str(number) if number.bit_length() <= 128 else f"a number of {number.bit_length()} bits"


def check(message: Message) -> None:
    """Look at every value of the message.

    Raises:
        EncodeError: for the first value that its field cannot carry, in the order of the fields.
    """
    _Checker(message).struct(message)


class _Checker:
    def __init__(self, message: Message) -> None:
        self.message = message
        self.path: list[str | int] = []

    def fail(self, reason: str) -> NoReturn:
        raise EncodeError(self.message.NAME, self.message.VERSION, path_text(self.path), reason)

    def struct(self, item: Struct) -> None:
        for field in item.FIELDS:
            self.path.append(field.name)
            try:
                value = getattr(item, field.name)
            except AttributeError:
                self.fail("the attribute is missing")
            if not (field.tag is not None and field.is_default(value)):
                self.field(field, value)
            self.path.pop()
        if item.FLEXIBLE:
            self.path.append("unknown_tagged_fields")
            self.unknown(item)
            self.path.pop()

    def unknown(self, item: Struct) -> None:
        fields = item._unknown_tagged_fields
        if not fields:
            return
        if not isinstance(fields, dict):
            self.fail(f"must be a dict from tag to bytes, not {_kind(fields)}")
        for tag, value in fields.items():
            self.path.append(tag)
            if not isinstance(tag, int) or not 0 <= tag <= wire.MAX_TAG:
                self.fail(f"a tag is a number from 0 to {wire.MAX_TAG}")
            if tag in item.DECLARED_TAGS:
                self.fail(f"tag {tag} is that of a field which the spec knows")
            self.bytes(value)
            self.path.pop()

    def field(self, field: Field, value: object) -> None:
        if value is None:
            if not field.nullable:
                self.fail("must not be null in this version")
        elif field.array:
            self.array(field, value)
        else:
            self.element(field, value)

    def array(self, field: Field, value: object) -> None:
        if not isinstance(value, (list, tuple)):
            self.fail(f"must be a list, not {_kind(value)}")
        limit = wire.MAX_LENGTH
        if field.struct is not None and minimum_size(field.struct) == 0:
            limit = wire.MAX_EMPTY_ELEMENTS
        if len(value) > limit:
            self.fail(f"array of {len(value)} elements; the longest has {limit}")
        for number, element in enumerate(value):
            self.path.append(number)
            if element is None:
                self.fail("elements of an array must not be null")
            self.element(field, element)
            self.path.pop()

    def element(self, field: Field, value: object) -> None:
        kind = field.element
        if field.struct is not None:
            if not isinstance(value, field.struct):
                name = f"{field.struct.__module__}.{field.struct.__qualname__}"
                self.fail(f"must be a {name}, not {_kind(value)}")
            self.struct(value)
        elif kind in INTEGER_BITS:
            self.integer(field, value)
        elif kind == "bool":
            if value not in (False, True):
                self.fail(f"must be True or False, not {value!r}")
        elif kind == "float64":
            self.float(value)
        elif kind == "uuid":
            if not isinstance(value, uuid.UUID):
                self.fail(f"must be a uuid.UUID, not {_kind(value)}")
        elif kind == "string":
            self.string(value)
        else:
            self.bytes(value)

    def integer(self, field: Field, value: object) -> None:
        try:
            number = index(value)  # type: ignore[arg-type]
            if field.is_varint:  # which an index alone cannot become
                value << 1  # type: ignore[operator]
        except TypeError:
            self.fail(f"must be an int, not {_kind(value)}")
        lowest, highest = integer_range(field.element, field.encoding)
        if not lowest <= number <= highest:
            self.fail(f"{shown(number)} is out of range: {field.encoding or field.element} holds {lowest} to {highest}")

    def float(self, value: object) -> None:
        try:
            FIXED["float64"].pack(value)
        except struct.error:
            self.fail(f"must be a float, not {_kind(value)}")

    def string(self, value: object) -> None:
        if not isinstance(value, str):
            self.fail(f"must be a str, not {_kind(value)}")
        try:
            size = len(value.encode())
        except UnicodeEncodeError as error:
            self.fail(f"cannot be written as UTF-8: character {error.start} is a lone surrogate")
        if size > wire.MAX_STRING:
            self.fail(f"string of {size} bytes; the longest has {wire.MAX_STRING}")

    def bytes(self, value: object) -> None:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            self.fail(f"must be bytes, not {_kind(value)}")


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__
