"""The types of the spec language and the integer encodings of KIP-625."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from kipgen.language.foreign_types import advice_on
from kipwire.model.types import ENCODINGS, KINDS, TYPES, Kind
from kipwire.model.types import Encoding as Encoding

# As in Kafka, a capital alone makes a type a struct, so `INT32` is one. `primitive-in-capitals` refuses such a slip.
_STRUCT_NAME = re.compile(r"[A-Z][A-Za-z0-9]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class FieldType:
    """A type as a field names it: a primitive, a struct, or an array of either.

    Facts about primitives are in `kipwire.model.types.TYPES` alone, which the runtime reads too; here are only
    questions to that table. In Kafka's MessageDataGenerator, a new type goes into a dozen chains of `instanceof`.
    """

    element: str
    """Name of the primitive or struct; for an array, of its elements."""
    is_array: bool = False

    @classmethod
    def parse(cls, text: str) -> FieldType:
        """Read a type as written in a spec.

        Raises:
            ValueError: the text is not a type; the message names a right one.
        """
        trimmed = text.strip()
        is_array = trimmed.startswith("[]")
        element = trimmed[2:] if is_array else trimmed
        if element.startswith("[]"):
            raise ValueError(f"{text!r} is an array of arrays; put the inner array into a struct")
        if element not in TYPES and not _STRUCT_NAME.fullmatch(element):
            advice = advice_on(text)
            # A guess ("did you mean ..?") may be wrong, so the list of all types follows it; other advice is certain.
            if advice and not advice.endswith("?"):
                raise ValueError(f"{text!r} is not a type; {advice}")
            known = ", ".join(sorted(TYPES))
            due = f"{advice} Or write" if advice else "write"
            raise ValueError(f"{text!r} is not a type; {due} one of {known}, a struct's name, or [] before one")
        return cls(element, is_array)

    @property
    def is_struct(self) -> bool:
        """True for one struct (an array of structs is not)."""
        return not self.is_array and self.has_struct

    @property
    def has_struct(self) -> bool:
        """True for a struct or an array of structs."""
        return self.element not in TYPES

    @property
    def kind(self) -> Kind | Literal["struct"]:
        """Kind of one value, or of one element."""
        return KINDS.get(self.element, "struct")

    @property
    def is_encodable(self) -> bool:
        """True for an integer, or an array of integers, that may have an encoding (KIP-625).

        The KIP names int16, int32 and int64. It leaves out int8, which no varint makes shorter, and unsigned types.
        """
        return not self.has_struct and TYPES[self.element].encodable

    @property
    def is_integer(self) -> bool:
        return not self.is_array and self.kind == "integer"

    @property
    def bits(self) -> int:
        """Bits of one value of fixed width, or of one element."""
        return TYPES[self.element].bits

    @property
    def range(self) -> tuple[int, int]:
        """The lowest and the highest value of an integer."""
        return TYPES[self.element].range

    @property
    def prefix(self) -> str | None:
        """The type of the length or count before a value, where a version is not flexible; None where it has none."""
        if self.is_array:
            return "int32"
        return None if self.has_struct else TYPES[self.element].prefix or None

    @property
    def may_be_null(self) -> bool:
        return self.is_array or self.has_struct or TYPES[self.element].nullable

    def __str__(self) -> str:
        return f"[]{self.element}" if self.is_array else self.element


def encoding_property(type_: FieldType) -> str:
    """Name the property with the encoding of a field's integers; KIP-625 has none for the elements of arrays.

    Its motivation counts on short elements of `[]int32`, but its rules make an encoding of an array an error. The rules
    hold, and elements have a property of our own.
    """
    return "elementEncoding" if type_.is_array else "encoding"


def parse_encoding(text: str) -> Encoding:
    """Parse the name of an encoding.

    `unsigned32`, which the KIP's own example has, is none by the KIP's rule.

    Raises:
        ValueError: it is not one of KIP-625's nine names.
    """
    if text not in ENCODINGS:
        raise ValueError(f"{text!r} is not an encoding; write fixed, packed or upacked, followed by 16, 32 or 64")
    return ENCODINGS[text]
