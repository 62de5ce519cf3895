"""Checks the values of a message against the metadata of its class, to tell which of them cannot be written."""

from __future__ import annotations

import struct
import uuid
from contextlib import suppress
from operator import index
from typing import Any, NoReturn

from kipwire import wire
from kipwire.empty_elements import most_empty_elements
from kipwire.errors import EncodeError, Malformed, shown
from kipwire.plan import minimum_size
from kipwire.structs import Struct
from kipwire.walk import FIXED, path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


def field_range(field: Field) -> tuple[int, int]:
    """The lowest and highest value of an integer field."""
    return integer_range(field.element, field.encoding) if field.bits is None else (0, (1 << field.bits) - 1)


def out_of_range(field: Field, number: int) -> str:
    """What to say of a number that an integer field cannot carry; "" if it can."""
    lowest, highest = field_range(field)
    if lowest <= number <= highest:
        return ""
    holder = field.encoding or field.element if field.bits is None else f"{field.bits} bits"
    return (
        f"{shown(number)} is out of range: {holder} {'holds' if field.bits is None else 'hold'} {lowest} to {highest}"
    )


def check(message: Message) -> None:
    """Look at every value of the message.

    Raises:
        EncodeError: for the first value that its field cannot carry, in the order of the fields.
    """
    checker = Checker(message)
    checker.struct(message)
    if checker.empty_arrays:
        checker.see_that_elements_are_few()


class Checker:
    """One look at the values of one message."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.path: list[str | int] = []
        self.empty_arrays: list[tuple[str, int]] = []
        """Path and number of elements of each array whose elements take no byte."""

    def see_that_elements_are_few(self) -> None:
        """See that the elements without bytes are not too many; all else must be right by now."""
        parts: list[bytes] = []
        with suppress(Malformed):  # raised when all parts are there
            self.message._write(parts.append)
        size = sum(map(len, parts))
        most = most_empty_elements(size)
        total = 0
        for path, count in self.empty_arrays:
            total += count
            if total > most:
                so_far = f"array of {count} elements of no bytes, {total} with those of arrays before it"
                reason = f"{so_far}; at most {most} may be in a message of {size} bytes"
                raise EncodeError(self.message.NAME, self.message.VERSION, path, reason)

    def fail(self, reason: str) -> NoReturn:
        raise EncodeError(self.message.NAME, self.message.VERSION, path_text(self.path), reason)

    def struct(self, item: Struct) -> None:
        if item.LAYOUT is not None:
            from kipwire.layout_values import check_layout  # here, since few programs use layouts

            check_layout(self, item)
            return
        for field in item.FIELDS:
            self.path.append(field.name)
            value = self.attribute(item, field)
            if field.tag is None or not self.is_default(field, value):
                self.field(field, value)
            self.path.pop()
        if item.FLEXIBLE:
            self.path.append("unknown_tagged_fields")
            self.unknown(item)
            self.path.pop()

    def is_default(self, field: Field, value: object) -> bool:
        try:
            return field.is_default(value)
        except Exception:  # what cannot be compared, such as a struct without an attribute, is looked at more closely
            return False

    def attribute(self, item: Struct, field: Field) -> Any:
        try:
            return getattr(item, field.name)
        except AttributeError:
            self.fail("the attribute is missing")

    def unknown(self, item: Struct) -> None:
        fields: Any = getattr(item, "_unknown_tagged_fields", self)  # which is no value that it could have
        if fields is self:
            self.fail("the attribute is missing")
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
            self.null(field)
        elif field.array:
            self.array(field, value)
        else:
            self.element(field, value)

    def null(self, field: Field) -> None:
        if not field.nullable:
            self.fail("must not be null in this version")

    def array(self, field: Field, value: object) -> None:
        elements = self.elements(value)
        if len(elements) > wire.MAX_LENGTH:
            self.fail(f"array of {len(elements)} elements; the longest has {wire.MAX_LENGTH}")
        if field.struct is not None and minimum_size(field.struct) == 0:
            self.empty_arrays.append((path_text(self.path), len(elements)))
        for element in self.each(elements):
            self.element(field, element)

    def elements(self, value: object) -> Sequence[object]:
        if not isinstance(value, (list, tuple)):
            self.fail(f"must be a list, not {_kind(value)}")
        return value

    def each(self, elements: Sequence[object]) -> Iterator[object]:
        """One element after the other; while it is looked at, the path has its number."""
        for number, element in enumerate(elements):
            self.path.append(number)
            if element is None:
                self.fail("elements of an array must not be null")
            yield element
            self.path.pop()

    def element(self, field: Field, value: object) -> None:
        kind = field.element
        if field.struct is not None:
            self.struct(self.of_class(field.struct, value))
        elif kind in INTEGER_BITS:
            self.integer(field, value)
        elif kind == "bool":
            if value not in (False, True):
                self.fail(f"must be True or False, not {shown(value)}")
        elif kind == "float64":
            self.float(value)
        elif kind == "uuid":
            if not isinstance(value, uuid.UUID):
                self.fail(f"must be a uuid.UUID, not {_kind(value)}")
        elif kind == "string":
            self.string(value)
        else:
            self.bytes(value)

    def of_class(self, cls: type[Struct], value: object) -> Struct:
        if not isinstance(value, cls):
            self.fail(f"must be a {cls.__module__}.{cls.__qualname__}, not {_kind(value)}")
        return value

    def integer(self, field: Field, value: object) -> None:
        try:
            number = index(value)  # type: ignore[arg-type]
            if field.is_varint or field.bits is not None:  # which an index alone cannot become
                value << 1  # type: ignore[operator]
        except TypeError:
            self.fail(f"must be an int, not {_kind(value)}")
        if problem := out_of_range(field, number):
            self.fail(problem)

    def float(self, value: object) -> None:
        try:
            FIXED["float64"].pack(value)
        except struct.error:
            self.fail(f"must be a float, not {_kind(value)}")

    def string(self, value: object) -> None:
        size = len(self.text(value))
        if size > wire.MAX_STRING:
            self.fail(f"string of {size} bytes; the longest has {wire.MAX_STRING}")

    def text(self, value: object) -> bytes:
        """A text as UTF-8."""
        if not isinstance(value, str):
            self.fail(f"must be a str, not {_kind(value)}")
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            self.fail(f"cannot be written as UTF-8: character {error.start} is a lone surrogate")

    def bytes(self, value: object) -> memoryview:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            self.fail(f"must be bytes, not {_kind(value)}")
        return memoryview(value)


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__
