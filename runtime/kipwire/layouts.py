"""The wire form of a layout, as plain data: what stands in each place of a record format, in order.

Messages of other types need none of this: their `FIELDS` say it all. A layout has computed parts besides (sizes,
checksums, constants) and several ways to tell how long a value is. Its class lists the parts as `LAYOUT`.
"""

from __future__ import annotations

from typing import NamedTuple


class Value(NamedTuple):
    """A field as it stands on the wire."""

    name: str
    """The attribute's name; `FIELDS` has its type."""
    size: str = ""
    """What tells how many bytes it takes: a prefix `int16`, `int32`, `varint` (zigzag) or `uvarint`, or `rest`: it
    goes on to the end of its struct, less the parts of fixed width behind it. Empty where the type tells it."""
    elements: str = ""
    """What tells how many elements an array has: a prefix as for `size`."""
    size_only_with: str = ""
    """The attribute together with which the size stands there; where that is absent, this value takes the rest."""
    bit: str = ""
    """The bit that tells whether the value is there, by its name in `Bits`; empty where it always is."""
    bit_means_present: bool = False
    """Whether it is there where the bit is 1; else where it is 0."""
    sorted_by: str = ""
    """The attribute of the elements by which they strictly ascend; empty for an array that is no set."""
    same_length_as: str = ""
    """The attribute of an earlier array that has as many elements."""


class Bit(NamedTuple):
    """One bit or several neighbouring ones of an integer."""

    name: str
    lowest: int
    """0 is the lowest bit of the integer."""
    width: int
    presence_of: str = ""
    """The attribute whose presence it tells; such a bit is no attribute itself."""


class Bits(NamedTuple):
    """An integer that is made of bits; those without a name are zero."""

    name: str
    type: str
    bits: tuple[Bit, ...]


class SizeOf(NamedTuple):
    """A computed integer: how many bytes stand behind it, to the end of its struct."""

    name: str
    type: str
    encoding: str | None = None


class Checksum(NamedTuple):
    """A computed 32-bit checksum."""

    name: str
    algorithm: str
    """`crc32` or `crc32c`."""
    start: str
    """The part that it covers first: everything from there to the end of the struct, or, where that part stands before
    the checksum, to the checksum itself."""


class Constant(NamedTuple):
    """An integer that always has the same value."""

    name: str
    type: str
    value: int


Part = Value | Bits | SizeOf | Checksum | Constant
