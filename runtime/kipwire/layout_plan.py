"""The part of a plan that layouts have: what stands in each place, with every name resolved, as plain data.

Parts are told by their number in the layout. Where `kipwire.layouts` names one part from another, this has what is
needed to read or write the first without a look at the second.
"""

from __future__ import annotations

from typing import NamedTuple

from kipwire.layouts import Bits, Checksum, Constant, SizeOf, Value
from kipwire.plan import WIDTHS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kipwire.layouts import Bit, Part
    from kipwire.plan import Operation
    from kipwire.structs import Struct

CHECKSUM_WIDTH = 4
"""Bytes."""


class Presence(NamedTuple):
    """How to tell whether a value is there."""

    operation: Operation
    """The value. One that is nullable is absent where it is None, any other where it is empty."""
    part: int
    """The number of the part that has the bit, when read."""
    lowest: int
    """Which bit of it; 0 is the lowest."""
    means_present: bool
    """Whether the value is there where the bit is 1; else where it is 0."""


class ValuePart(NamedTuple):
    """A field."""

    operation: Operation
    """What the value is, but for the lengths and counts that a plan without layout would have."""
    prefix: str
    """What stands before it: `int16`, `int32`, `varint` (zigzag) or `uvarint`; `rest` is nothing, and the value goes
    on to the end of its struct; empty is nothing, and the type tells."""
    is_count: bool
    """Whether that tells the number of elements; else that of bytes."""
    behind: int
    """Where the value takes the rest: the bytes that stand behind it."""
    presence: Presence | None
    """How to tell whether it is there; None if it always is."""
    partner: Presence | None
    """How to tell whether the prefix is there; if it is not, the value takes the rest. None if it always is."""
    sorted_by: str
    """The attribute by which elements strictly ascend, or empty."""
    same_length_as: str
    """The attribute of an earlier array that has as many elements, or empty."""


class BitPart(NamedTuple):
    """One or several bits of an integer."""

    name: str
    """The attribute; that of the value whose presence it tells, where `presence` is not None."""
    lowest: int
    width: int
    presence: Presence | None


class BitsPart(NamedTuple):
    """An integer that is made of bits."""

    width: int
    """Bytes."""
    bits: tuple[BitPart, ...]


class SizePart(NamedTuple):
    """The number of bytes behind it, to the end of the struct."""

    kind: str
    """As `Operation.kind`, of an integer."""


class ChecksumPart(NamedTuple):
    """A checksum of four bytes."""

    algorithm: str
    """`crc32` or `crc32c`."""
    start: int
    """The number of the part that it covers first."""
    is_behind: bool
    """Whether it stands behind what it covers; else it covers everything to the end of the struct."""


class ConstantPart(NamedTuple):
    """An integer that always has the same value."""

    width: int
    """Bytes."""
    value: int


PlannedPart = ValuePart | BitsPart | SizePart | ChecksumPart | ConstantPart


def planned_parts(cls: type[Struct], operations: dict[str, Operation]) -> list[PlannedPart]:
    """The parts of a layout's class, from the operations of its fields by name."""
    return _Planner(cls.LAYOUT or (), operations).parts()


class _Planner:
    """The lowering of one layout."""

    def __init__(self, layout: tuple[Part, ...], operations: dict[str, Operation]) -> None:
        self.layout = layout
        self.operations = operations
        self.numbers = {part.name: number for number, part in enumerate(layout)}
        self.values = {part.name: part for part in layout if isinstance(part, Value)}

    def parts(self) -> list[PlannedPart]:
        return [self.part(number, part) for number, part in enumerate(self.layout)]

    def part(self, number: int, part: Part) -> PlannedPart:
        if isinstance(part, Value):
            return self.value(number, part)
        if isinstance(part, Bits):
            return BitsPart(WIDTHS[part.type], tuple(map(self.bit, part.bits)))
        if isinstance(part, SizeOf):
            return SizePart(part.encoding.replace("fixed", "int") if part.encoding else part.type)
        if isinstance(part, Checksum):
            start = self.numbers[part.start]
            return ChecksumPart(part.algorithm, start, start < number)
        return ConstantPart(WIDTHS[part.type], part.value)

    def value(self, number: int, part: Value) -> ValuePart:
        partner = self.presence(part.size_only_with) if part.size_only_with else None
        takes_rest = part.size == "rest" or partner is not None
        behind = self.layout[number + (2 if partner else 1) :]  # the partner itself is then not there
        return ValuePart(
            self.operations[part.name],
            part.size or part.elements,
            bool(part.elements),
            self.width(behind) if takes_rest else 0,
            self.presence(part.name) if part.bit else None,
            partner,
            part.sorted_by,
            part.same_length_as,
        )

    def bit(self, bit: Bit) -> BitPart:
        presence = self.presence(bit.presence_of) if bit.presence_of else None
        return BitPart(bit.presence_of or bit.name, bit.lowest, bit.width, presence)

    def presence(self, name: str) -> Presence:
        """How to tell whether a value that has a bit is there."""
        value = self.values[name]
        part, lowest = next(
            (number, bit.lowest)
            for number, one in enumerate(self.layout)
            if isinstance(one, Bits)
            for bit in one.bits
            if bit.name == value.bit
        )
        return Presence(self.operations[name], part, lowest, value.bit_means_present)

    def width(self, parts: Iterable[Part]) -> int:
        """The bytes of parts that all have a fixed width, as those behind a rest have."""
        return sum(CHECKSUM_WIDTH if isinstance(part, Checksum) else WIDTHS[self.type(part)] for part in parts)

    def type(self, part: Part) -> str:
        return part.type if isinstance(part, Bits | Constant) else self.operations[part.name].kind
