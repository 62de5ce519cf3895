"""How a field of a layout stands on the wire, where the language leaves the choice: the properties of record formats.

Messages of all other types have one wire form for each type of field; see docs/spec-language.md, "Layouts".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PREFIX_FORMS = ("int16", "int32", "varint", "uvarint")
"""What may stand before a value: its size in bytes, or the count of its elements. `varint` is a zigzag one."""
REST = "rest"
"""In place of a prefix: the value goes on to the end of its struct."""
CHECKSUMS = ("crc32", "crc32c")
VERSION = "version"
"""In place of a constant number: the version of the message."""

PROPERTIES = (
    "size",
    "count",
    "sizeOf",
    "checksum",
    "constant",
    "bits",
    "presentIf",
    "absentIf",
    "sizeOnlyWith",
    "sorted",
    "sameLengthAs",
)
"""The properties of fields that only layouts have, as they are written in a spec."""

_BIT_RANGE = re.compile(r"\s*([0-9]{1,2})(?:-([0-9]{1,2}))?\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class BitsSpec:
    """A name for one bit or several neighbouring bits of an integer; bit 0 is the lowest."""

    name: str
    lowest: int
    highest: int
    about: str = ""

    @property
    def width(self) -> int:
        return self.highest - self.lowest + 1


@dataclass(frozen=True, slots=True)
class ChecksumSpec:
    """A checksum over part of its struct."""

    algorithm: str
    """One of `CHECKSUMS`."""
    start: str
    """The field that it covers first. It covers everything from there: to the end of the struct if that field stands
    behind the checksum, else to the checksum itself."""


@dataclass(frozen=True, slots=True)
class WireForm:
    """The properties that only fields of layouts have; the defaults are the forms that all other messages have."""

    size: str | None = None
    """What tells how many bytes the value takes: one of `PREFIX_FORMS`, or `REST`."""
    count: str | None = None
    """What tells how many elements an array has: one of `PREFIX_FORMS`."""
    is_size_of_rest: bool = False
    """Whether the field is computed: the bytes behind it, to the end of its struct."""
    checksum: ChecksumSpec | None = None
    constant: int | str | None = None
    """The only value that the field has; `VERSION` for the number of the message's version."""
    bits: tuple[BitsSpec, ...] = ()
    present_if: str | None = None
    """The bit that is 1 where the field is on the wire."""
    absent_if: str | None = None
    """The bit that is 1 where the field is not on the wire."""
    size_only_with: str | None = None
    """The field behind it together with which its size stands there; alone, the value takes the rest."""
    is_sorted: bool = False
    same_length_as: str | None = None

    @property
    def is_computed(self) -> bool:
        """Whether the value follows from others, so that no attribute holds it."""
        return self.is_size_of_rest or self.checksum is not None or self.constant is not None

    @property
    def presence_bit(self) -> str | None:
        """The bit that tells whether the field is on the wire."""
        return self.present_if or self.absent_if


USUAL_FORM = WireForm()
"""That of the fields of all messages that are no layouts."""


def parse_bit_range(text: str) -> tuple[int, int]:
    """Read the bits that a name stands for: `4`, or `0-2`.

    Raises:
        ValueError: the text is no bit and no range of bits; the message says what would be.
    """
    match = _BIT_RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} names no bits; write one such as 4, or a range such as 0-2")
    lowest = int(match[1])
    highest = int(match[2] or lowest)
    if highest < lowest:
        raise ValueError(f"{text!r} runs backwards; write {highest}-{lowest}")
    return lowest, highest
