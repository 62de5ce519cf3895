"""The checks of `kipwire.values` for layouts, whose fields have wire forms, and so limits, of their own."""

from __future__ import annotations

from itertools import pairwise

from kipwire.errors import shown
from kipwire.layouts import Bits, Checksum, Constant, SizeOf, Value
from kipwire.plan import WIDTHS
from kipwire.values import integer_range
from kipwire.walk_layout import CHECKSUM_WIDTH
from kipwire.wire import write_packed, write_size, write_upacked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kipwire.fields import Field
    from kipwire.layouts import Part
    from kipwire.structs import Struct
    from kipwire.values import Checker


def check_layout(checker: Checker, item: Struct) -> int:
    """Look at every value of a struct of a layout; gives how many bytes the struct takes.

    Raises:
        EncodeError: for the first value that its field cannot carry, in the order of the fields.
    """
    return _StructCheck(checker, item).size()


class _StructCheck:
    """One look at one struct."""

    __slots__ = ("checker", "fields", "item", "parts")

    def __init__(self, checker: Checker, item: Struct) -> None:
        self.checker = checker
        self.item = item
        self.parts = item.LAYOUT or ()
        self.fields = {field.name: field for field in item.FIELDS}

    def size(self) -> int:
        sizes = [self.part(part) for part in self.parts]
        for number, part in enumerate(self.parts):
            if isinstance(part, SizeOf):
                sizes[number] = self.size_of(part, sum(sizes[number + 1 :]))
        return sum(sizes)

    # Each gives how many bytes it takes.

    def part(self, part: Part) -> int:
        if isinstance(part, Value):
            self.checker.path.append(part.name)
            size = self.value(part, self.fields[part.name])
            self.checker.path.pop()
            return size
        if isinstance(part, Bits):
            for bit in part.bits:
                if not bit.presence_of:
                    self.checker.path.append(bit.name)
                    field = self.fields[bit.name]
                    self.checker.field(field, self.checker.attribute(self.item, field))
                    self.checker.path.pop()
        if isinstance(part, Bits | Constant):
            return WIDTHS[part.type]
        return CHECKSUM_WIDTH if isinstance(part, Checksum) else 0  # a size is only known when all else is

    def size_of(self, part: SizeOf, behind: int) -> int:
        _, most = integer_range(part.type, part.encoding)
        if behind > most:
            self.checker.path.append(part.name)
            form = part.encoding or part.type
            self.checker.fail(f"{behind} bytes stand behind it; a size in the form of {form} tells of {most} at most")
        return _integer_size(part.type, part.encoding, behind)

    def value(self, part: Value, field: Field) -> int:
        checker = self.checker
        value = checker.attribute(self.item, field)
        if value is None:
            checker.null(field)
            return 0 if part.bit else self.prefix(part, -1, "")
        if field.array:
            return self.array(part, field, value)
        if field.struct is not None or field.element not in ("string", "bytes", "records"):
            return self.element(field, value)
        size = len(checker.text(value)) if field.element == "string" else checker.bytes(value).nbytes
        if self.is_absent(part, field, size):
            return 0
        return size + self.prefix(part, size, f"{field.element} of {size} bytes")

    def array(self, part: Value, field: Field, value: object) -> int:
        checker = self.checker
        elements = checker.elements(value)
        before = 0
        if part.elements and not self.is_absent(part, field, len(elements)):
            before = self.prefix(part, len(elements), f"array of {len(elements)} elements")
        if part.same_length_as:
            self.check_length(elements, part.same_length_as)
        size = sum(self.element(field, element) for element in checker.each(elements))
        if part.sorted_by:
            self.check_keys(elements, part.sorted_by)
        if part.size and not self.is_absent(part, field, len(elements)):
            before = self.prefix(part, size, f"array of {size} bytes")
        return before + size

    def element(self, field: Field, value: Any) -> int:
        """A value of a type that tells itself how long it is; elements of arrays always are such."""
        if field.struct is not None:
            return check_layout(self.checker, self.checker.of_class(field.struct, value))
        self.checker.element(field, value)
        if field.element == "string":
            return 2 + len(value.encode())
        if field.element in ("bytes", "records"):
            return 4 + memoryview(value).nbytes
        return _integer_size(field.element, field.encoding, value)

    def prefix(self, part: Value, number: int, what: str) -> int:
        """What stands before a value: a size, a count or nothing."""
        form = part.size or part.elements
        if form == "rest" or (part.size_only_with and not self.is_there(part.size_only_with)):
            return 0
        _, most = integer_range("int16" if form == "int16" else "int32", None)
        if number > most:
            self.checker.fail(f"{what}; {form} before it tells of {most} at most")
        if form == "uvarint":
            return len(write_size(number))
        return WIDTHS[form] if form in WIDTHS else len(write_packed(number, 32))

    # What a value has to do with others.

    def is_absent(self, part: Value, field: Field, size: int) -> bool:
        """Whether a bit tells that a value which is not null, and of this size, is not there."""
        return bool(part.bit) and not field.nullable and not size

    def is_there(self, name: str) -> bool:
        """Whether a later value with a bit will be there; it may be of any type as yet."""
        value = getattr(self.item, name, None)
        if self.fields[name].nullable or not isinstance(value, (str, bytes, bytearray, memoryview, list, tuple)):
            return value is not None
        return len(value) > 0

    def check_length(self, elements: Sequence[object], other: str) -> None:
        theirs = getattr(self.item, other)
        if theirs is None or len(theirs) != len(elements):
            there = "is null" if theirs is None else f"has {len(theirs)}"
            self.checker.fail(f"array of {len(elements)} elements, but {other} {there}; both must have as many")

    def check_keys(self, elements: Sequence[object], name: str) -> None:
        keys = [getattr(element, name) for element in elements]
        try:
            order = sorted(range(len(keys)), key=keys.__getitem__)
            twins = [(one, other) for one, other in pairwise(order) if keys[one] >= keys[other]]
        except TypeError:
            self.checker.fail(f"the elements cannot be put in order: values of {name} cannot be compared")
        if twins:
            first, second = twins[0]
            self.checker.path += [second, name]
            self.checker.fail(f"element {first} has the key {shown(keys[first])} too; no two may have the same")


def _integer_size(type: str, encoding: str | None, number: int) -> int:
    """The bytes of an integer, or of another type with a width of its own."""
    if encoding is None:
        return WIDTHS[type]
    form, bits = encoding[:-2], int(encoding[-2:])
    if form == "fixed":
        return bits // 8
    return len(write_packed(number, bits) if form == "packed" else write_upacked(number, bits))
