"""Checks the values of a message against the plan of its class, to find out which of them cannot be written.

It runs only after writing has failed, so it may be slow, but it must refuse whatever the generated code and the kernel
refuse, and nothing else: whoever adds a check to the templates adds it here, too. Attributes are looked at in the order
of the fields, and the first that is wrong is the error. `trace` is the counterpart for bytes.
"""

from __future__ import annotations

import struct
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from operator import index
from typing import Any

from kipwire.codec import wire
from kipwire.codec.empty_elements import most_empty_elements
from kipwire.codec.wire import write_packed, write_size, write_upacked
from kipwire.description.fields import Visitor, fault, fault_of_null
from kipwire.description.plan import PREFIX_WIDTHS, Item, Plan, struct_plan
from kipwire.model.errors import EncodeError, Malformed, abbreviate, path_text
from kipwire.model.structs import Field, Root, Struct
from kipwire.model.types import ENCODINGS, KINDS, MAX_STRING, TYPES

MISSING = "the attribute is missing"
"""Reason against a struct from which an attribute was deleted."""
_RANGES = {
    **{row.name: row.range for row in TYPES.values() if row.kind == "integer"},
    **{name: one.range for name, one in ENCODINGS.items()},
}


def field_range(field: Field) -> tuple[int, int]:
    """Return the lowest and highest value of an integer field."""
    return _RANGES[field.encoding or field.element] if field.bits is None else (0, (1 << field.bits) - 1)


def out_of_range(field: Field, number: int) -> str:
    """Explain why an integer field cannot carry a number; "" if it can."""
    lowest, highest = field_range(field)
    if lowest <= number <= highest:
        return ""
    holder = field.encoding or field.element if field.bits is None else f"{field.bits} bits"
    holds = "holds" if field.bits is None else "hold"
    return f"{abbreviate(number)} is out of range: {holder} {holds} {lowest} to {highest}"


def check(message: Root) -> None:
    """Check every value of the message.

    Raises:
        EncodeError: for the first value that its field cannot carry, in the order of the fields.
    """
    checker = Checker(message)
    checker.struct(struct_plan(type(message)), message)
    if checker.empty_arrays:
        checker.check_empty_elements()


class Checker(Visitor):
    """One look at the values of one message."""

    def __init__(self, message: Root) -> None:
        super().__init__(type(message))
        self.values = message
        self.empty_arrays: list[tuple[str, int]] = []
        """Path and number of elements of each array whose elements take no byte."""

    def check_empty_elements(self) -> None:
        """Check that there are not too many elements without bytes; everything else must already be right."""
        parts: list[bytes] = []
        with suppress(Malformed):  # raised when all parts are there
            self.values._write(parts)
        size = sum(map(len, parts))
        most = most_empty_elements(size)
        total = 0
        for path, count in self.empty_arrays:
            total += count
            if total > most:
                so_far = f"array of {count} elements without bytes, {total} with those of earlier arrays"
                reason = f"{so_far}; at most {most} are allowed in a message of {size} bytes"
                raise EncodeError(self.message.NAME, self.message.VERSION, path, reason)

    def struct(self, plan: Plan, struct: Struct) -> None:
        for item in plan.attributes:
            self.path.append(item.name)
            self.value(item, struct)
            self.path.pop()
        if plan.flexible:
            self.path.append("unknown_tagged_fields")
            self.unknown(struct)
            self.path.pop()
        if not plan.is_plain:
            self.sizes(plan, struct)

    def value(self, item: Item, struct: Struct) -> None:
        """Check the value of one attribute."""
        value = self.attribute(struct, item)
        if item.tag is not None and self.is_default(item.field, value):
            return
        if value is None:
            if not item.nullable:
                self.fail("must not be null in this version")
            if found := fault_of_null(item.field, lambda bit: getattr(struct, bit)):
                self.fail(f"{found.what}; {found.right}")
        elif item.array:
            self.array(item, value, struct)
        elif item.field.prefix:
            size = len(self.text(value)) if item.kind == "string" else self.bytes(value).nbytes
            self.prefix(item, size, "bytes", struct)
            self.conditions(item.field, size, struct)
        else:
            self.element(item, value)

    def is_default(self, field: Field, value: object) -> bool:
        try:
            return field.is_default(value)
        except Exception:  # what cannot be compared, such as a struct without an attribute, is looked at more closely
            return False

    def attribute(self, struct: Struct, item: Item) -> Any:
        try:
            return getattr(struct, item.name)
        except AttributeError:
            self.fail(MISSING)

    def unknown(self, item: Struct) -> None:
        fields: Any = getattr(item, "_unknown_tagged_fields", self)  # a value that it cannot have
        if fields is self:
            self.fail(MISSING)
        if not fields:
            return
        for tag, value in self.expect(fields, dict, "a dict from tag to bytes").items():
            self.path.append(tag)
            if not isinstance(tag, int) or not 0 <= tag <= wire.MAX_TAG:
                self.fail(f"a tag must be a number from 0 to {wire.MAX_TAG}")
            if tag in item.DECLARED_TAGS:
                self.fail(f"tag {tag} belongs to a field of the spec")
            self.bytes(value)
            self.path.pop()

    def array(self, item: Item, value: object, struct: Struct) -> None:
        elements, field = self.expect(value, (list, tuple), "a list"), item.field
        if not field.sized:
            self.prefix(item, len(elements), "elements", struct)
        self.conditions(field, len(elements), struct)
        for element in self.each(elements):
            if element is None:
                self.fail("elements of an array must not be null")
            self.element(item, element)
        if field.sorted_by:
            self.keys(elements, field.sorted_by)
        if field.sized and not (item.presence and not is_present(item, struct)):
            size = elements_size(item, elements)
            self.prefix(item, size, "bytes", struct)

    def prefix(self, item: Item, number: int, unit: str, struct: Struct) -> None:
        """Check that the prefix of a value can say how long it is."""
        prefix = item.field.prefix
        what = "array" if item.array else item.field.element
        if not prefix:
            if number > wire.MAX_LENGTH:
                self.fail(f"{what} of {number} {unit}; the limit is {wire.MAX_LENGTH}")
            if item.has_empty_elements:
                self.empty_arrays.append((path_text(self.path), number))
        elif has_prefix(item, struct):
            _, most = _RANGES["int16" if prefix == "int16" else "int32"]
            if number > most:
                self.fail(f"{what} of {number} {unit}; the {prefix} before it can declare at most {most}")

    def element(self, item: Item, value: object) -> None:
        """Check a value whose type implies its length, such as an element of an array."""
        kind = KINDS.get(item.field.element)
        if item.plan is not None:
            cls = item.plan.cls
            self.struct(item.plan, self.expect(value, cls, f"a {cls.__module__}.{cls.__qualname__}"))
        elif kind == "integer":
            self.integer(item.field, value)
        elif kind == "bool":
            if value not in (False, True):
                self.fail(f"must be True or False, not {abbreviate(value)}")
        elif kind == "float":
            self.float(value)
        elif kind == "uuid":
            self.expect(value, uuid.UUID, "a uuid.UUID")
        elif kind == "text":
            self.string(value)
        else:
            self.bytes(value)

    def integer(self, field: Field, value: object) -> None:
        try:
            number = index(value)  # type: ignore[arg-type]
            if field.is_varint or field.bits is not None:  # which an index alone cannot become
                value << 1  # type: ignore[operator]
        except TypeError:
            self.fail(f"must be an int, not {self.kind(value)}")
        if problem := out_of_range(field, number):
            self.fail(problem)

    def float(self, value: object) -> None:
        try:
            struct.pack(">d", value)
        except struct.error:
            self.fail(f"must be a float, not {self.kind(value)}")

    def string(self, value: object) -> None:
        size = len(self.text(value))
        if size > MAX_STRING:
            self.fail(f"string of {size} bytes; the limit is {MAX_STRING}")

    def text(self, value: object) -> bytes:
        """Encode a text as UTF-8."""
        text: str = self.expect(value, str, "a str")
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            self.fail(f"cannot be written as UTF-8: character {error.start} is a lone surrogate")

    def bytes(self, value: object) -> memoryview:
        return memoryview(self.expect(value, (bytes, bytearray, memoryview), "bytes"))

    # What a value has to do with others.

    def conditions(self, field: Field, length: int, struct: Struct) -> None:
        def length_of(name: str) -> int | None:
            value = getattr(struct, name)
            return None if value is None else len(value)

        if found := fault(field, length, length_of):
            self.fail(f"{found.what}; {found.right}")

    def keys(self, elements: Sequence[object], name: str) -> None:
        keys = [getattr(element, name) for element in elements]
        try:
            order = sorted(range(len(keys)), key=keys.__getitem__)
            twins = [(one, other) for one, other in pairwise(order) if keys[one] >= keys[other]]
        except TypeError:
            self.fail(f"the elements cannot be put in order: values of {name} cannot be compared")
        if twins:
            first, second = twins[0]
            self.path += [second, name]
            self.fail(f"element {first} has the same key {abbreviate(keys[first])}; keys must be unique")

    def sizes(self, plan: Plan, struct: Struct) -> None:
        """Check that a struct's size can say how many bytes follow it."""
        for number, item in enumerate(plan.items):
            if item.role == "size":
                _, most = field_range(item.field)
                after = items_size(plan.items[number + 1 :], struct)
                if after > most:
                    self.path.append(item.name)
                    type_ = item.field.encoding or item.field.type
                    self.fail(f"{after} bytes follow; a size of type {type_} can declare at most {most}")


# Sizes: how many bytes values take that have passed the check, for numbers that precede what they measure.


def items_size(items: Sequence[Item], struct: Struct) -> int:
    """Sum up the bytes of the last items of a struct of a record format."""
    total = 0
    for item in reversed(items):
        if item.role == "value":
            total += _value_size(item, struct)
        else:
            total += item.width or _varint_size(item.kind, total)  # the only varint of them is the size of the rest
    return total


def elements_size(item: Item, elements: Iterable[Any]) -> int:
    """Sum up the bytes of an array's elements."""
    before = PREFIX_WIDTHS.get(item.element_prefix, 0)
    return sum(before + _content_size(item, element) for element in elements)


def is_present(item: Item, struct: Struct) -> bool:
    """True if a value with a presence bit will be written, valid or not."""
    value = getattr(struct, item.name, None)
    if item.nullable or not isinstance(value, (str, bytes, bytearray, memoryview, list, tuple)):
        return value is not None
    return len(value) > 0


def has_prefix(item: Item, struct: Struct) -> bool:
    """True if a length prefix precedes the value."""
    if item.prefix in ("", "rest"):
        return False
    bit = item.prefix_presence
    return bit is None or bit.of is None or is_present(bit.of, struct)


def _value_size(item: Item, struct: Struct) -> int:
    if item.presence is not None and not is_present(item, struct):
        return 0
    value = getattr(struct, item.name)
    size = 0 if value is None else elements_size(item, value) if item.array else _content_size(item, value)
    if not has_prefix(item, struct):
        return size
    number = -1 if value is None else len(value) if item.array and not item.field.sized else size
    if item.prefix == "uvarint":
        return size + len(write_size(number))
    return size + (PREFIX_WIDTHS.get(item.prefix) or len(write_packed(number, 32)))


def _content_size(item: Item, value: Any) -> int:
    """Count the bytes of one value or element, without its length prefix."""
    if item.plan is not None:
        return items_size(item.plan.items, value)
    if item.kind == "string":
        return len(value.encode())
    return memoryview(value).nbytes if item.kind == "bytes" else item.element_width or _varint_size(item.kind, value)


def _varint_size(kind: str, number: int) -> int:
    scheme, bits = ENCODINGS[kind].scheme, ENCODINGS[kind].bits
    return len(write_packed(number, bits) if scheme == "packed" else write_upacked(number, bits))
