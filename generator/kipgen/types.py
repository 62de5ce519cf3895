"""The types of the spec language and the integer encodings of KIP-625."""

from __future__ import annotations

import re
from dataclasses import dataclass

INTEGER_RANGES = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
"""Every integer type with the lowest and the highest value it holds."""

PRIMITIVES = frozenset({"bool", "float64", "string", "uuid", "bytes", "records", *INTEGER_RANGES})
NULLABLE_PRIMITIVES = frozenset({"string", "bytes", "records"})
ENCODABLE = {"int16": 16, "int32": 32, "int64": 64}
"""The types that may have an `encoding`, with their width in bits (KIP-625)."""

_ENCODING = re.compile(r"(?P<form>fixed|packed|upacked)(?P<bits>16|32|64)", re.ASCII)
_STRUCT_NAME = re.compile(r"[A-Z][A-Za-z0-9]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class FieldType:
    """A type as a field names it: a primitive, a struct, or an array of either."""

    element: str
    """The primitive's or the struct's name; of an array, that of its elements."""
    is_array: bool = False

    @classmethod
    def parse(cls, text: str) -> FieldType:
        """Read a type as it stands in a spec.

        Raises:
            ValueError: the text is no type; the message says what would be.
        """
        trimmed = text.strip()
        is_array = trimmed.startswith("[]")
        element = trimmed[2:] if is_array else trimmed
        if element.startswith("[]"):
            raise ValueError(f"{text!r} is an array of arrays: put the inner array into a struct")
        if element not in PRIMITIVES and not _STRUCT_NAME.fullmatch(element):
            known = ", ".join(sorted(PRIMITIVES))
            raise ValueError(f"{text!r} is not a type: write one of {known}, a struct's name, or [] before one")
        return cls(element, is_array)

    @property
    def is_struct(self) -> bool:
        """Whether it is one struct (an array of structs is not)."""
        return not self.is_array and self.has_struct

    @property
    def has_struct(self) -> bool:
        """Whether it is a struct or an array of structs."""
        return self.element not in PRIMITIVES

    @property
    def may_be_null(self) -> bool:
        return self.is_array or self.has_struct or self.element in NULLABLE_PRIMITIVES

    def __str__(self) -> str:
        return f"[]{self.element}" if self.is_array else self.element


def encoding_property(type_: FieldType) -> str:
    """The property that says how the integers of a field are written; KIP-625 has none for the elements of arrays."""
    return "elementEncoding" if type_.is_array else "encoding"


@dataclass(frozen=True, slots=True)
class Encoding:
    """How an integer is written (KIP-625): `fixed`, `packed` (zigzag varint) or `upacked` (varint), and a width."""

    form: str
    bits: int

    @classmethod
    def parse(cls, text: str) -> Encoding:
        """Read an encoding's name.

        Raises:
            ValueError: it is not one of KIP-625's nine names.
        """
        match = _ENCODING.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not an encoding: write fixed, packed or upacked, then 16, 32 or 64")
        return cls(match["form"], int(match["bits"]))

    @property
    def range(self) -> tuple[int, int]:
        """The lowest and the highest value it can carry."""
        return -(1 << self.bits - 1), (1 << self.bits - 1) - 1

    def __str__(self) -> str:
        return f"{self.form}{self.bits}"
