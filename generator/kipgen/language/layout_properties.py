"""Properties of a record format's field, where the language leaves a choice of the wire form.

Messages of all other types have one wire form for each type of field; see docs/spec-language.md, "Layouts".

Each property exists because some document draws such bytes: `presentIf` and `sorted` for the headers of KIP-82,
`absentIf`, `sizeOnlyWith`, `requiredIf` and `uvarint` for the KIP-98 draft, counts of 16 bits, `sameLengthAs` and
`required` for the 0.8 proposal, the others for Kafka's own record formats, too. What no document needs, such as
presence by the value of several bits, is left out.

A property has one line here, with its name, its types and its reader. `reading.parse_layout_properties` and the rules
of `reading.rules.layouts` go through `PROPERTIES`.

To add a condition on how many bytes or elements a value has, such as `sameLengthAs`, change seven places:

1. schemas/message-spec.schema.json: its name, its values (of a number `minimum` and `maximum`, too), and in
   `fieldOfMessages` that messages do not have it.
2. `LayoutProperties` here: its line, with its name, the types that it goes with, and how to read it.
3. `kipwire/model/structs.py`: the argument of `Field`, of the same name. That `Field` takes it is a new level: see
   `kipwire/model/abi.py`.
4. `python/pymodel.py`: the expression in `faults`.
5. `kipwire/description/fields.py`: what is wrong with a value, and how to make a value of a test fit.
6. `data/items.py` and schemas/resolved.schema.json: its name and value, for `kipgen resolve`.
7. `commands/compat/direction.py`: its name in `CONDITIONS`, so that a change says whom to upgrade first.

Generated code, `FIELDS`, the value check, the tracer, test strategies and the comparison of specs follow. The kernel
leaves classes with it to their generated code until it is among the `KNOWN_PROPERTIES` of `plans.pxi`;
`tests/kernel/test_served_classes.py` names such properties. `test_editor_schema.py` and `test_resolved.py` try one of
each. Then `tests/data/layouts` gets a spec that uses it; until then it has its own test. docs/spec-language.md gets its
row. A demand on other properties is a rule: see `reading.rules`.

A property that changes the bytes also needs what follows from it in `plan.py`, a step in `steps.py` with its reading
and writing in the templates, and a case in `trace.py`, `values.py` and `testing/strategies.py`. Another checksum needs
less: its name in the JSON Schema and its function in `codec/checksums.py`. The kernel leaves checksums that it does not
know to Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, get_type_hints

from kipgen.language.types import FieldType
from kipwire.model.types import PLUS_ONE, PREFIXES

PREFIX_TYPES = tuple(name for name in PREFIXES if name != PLUS_ONE)
"""The types of a prefix: the size of a value in bytes, or the count of its elements. `varint` is a zigzag one."""
REST = "rest"
"""Instead of a prefix: the value goes on to the end of its struct."""
VERSION = "version"
"""Instead of a constant number: the version of the message."""

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
    """`crc32` or `crc32c`."""
    start: str
    """The first field that the checksum covers. It covers everything from there: to the end of the struct if that field
    comes after the checksum, else to the checksum itself. Record batches have theirs before the data, messages of the
    KIP-98 draft after it."""


class Types(NamedTuple):
    """The types that a property goes with."""

    words: str
    have: Callable[[FieldType], bool]


class Property(NamedTuple):
    """A property that only fields of record formats have."""

    name: str
    """Name of the property in specs."""
    types: Types
    reader: Literal["nonblank", "flag", "integer", "own"] = "nonblank"
    """Method of `SpecObject` that reads the property; `own` where `parse_layout_properties` has a function for it."""


def has_size(type_: FieldType) -> bool:
    """True if values of a type have a size in bytes: string, bytes, records."""
    return not type_.is_array and type_.kind in ("text", "blob")


_ARRAYS = Types("arrays", lambda it: it.is_array)
_SETS = Types("arrays of structs", lambda it: it.is_array and it.has_struct)
_SIZED = Types("string, bytes, records and arrays of structs", lambda it: has_size(it) or _SETS.have(it))
_LONG = Types("string, bytes, records and arrays", lambda it: has_size(it) or it.is_array)
_LONE = Types("string and bytes", lambda it: str(it) in ("string", "bytes"))
_INTEGERS = Types("integers", lambda it: it.is_integer)
_SIGNED = Types("int16, int32 and int64", lambda it: it.is_encodable and not it.is_array)
_32_BITS = Types("int32 and uint32", lambda it: str(it) in ("int32", "uint32"))


@dataclass(frozen=True, slots=True)
class LayoutProperties:
    """The properties that only fields of record formats have; by default a field has none of them."""

    size: Annotated[str | None, Property("size", _SIZED)] = None
    """Type of the value's size prefix: one of `PREFIX_TYPES`, or `REST`."""
    count: Annotated[str | None, Property("count", _ARRAYS)] = None
    """Type of an array's count: one of `PREFIX_TYPES`."""
    size_of: Annotated[str | None, Property("sizeOf", _SIGNED)] = None
    """`REST` where the field is computed: the number of bytes after it, to the end of its struct."""
    checksum: Annotated[ChecksumSpec | None, Property("checksum", _32_BITS, "own")] = None
    constant: Annotated[int | str | None, Property("constant", _INTEGERS, "own")] = None
    """The only value that the field has; `VERSION` for the number of the message's version."""
    bits: Annotated[tuple[BitsSpec, ...], Property("bits", _INTEGERS, "own")] = ()
    present_if: Annotated[str | None, Property("presentIf", _LONG)] = None
    """The bit that is 1 where the field is on the wire."""
    absent_if: Annotated[str | None, Property("absentIf", _LONG)] = None
    """The bit that is 1 where the field is not on the wire."""
    required_if: Annotated[str | None, Property("requiredIf", _LONG)] = None
    """The bit that is 1 where the field must not be null."""
    size_only_with: Annotated[str | None, Property("sizeOnlyWith", _LONE)] = None
    """The next field. The size is written only if that field is present; otherwise the value takes the rest.

    The KIP-98 draft saves the length of a key where no value follows it."""
    is_sorted: Annotated[bool, Property("sorted", _SETS, "flag")] = False
    same_length_as: Annotated[str | None, Property("sameLengthAs", _ARRAYS)] = None
    is_required: Annotated[bool, Property("required", _INTEGERS, "flag")] = False
    """True if the field has no default: a number that the document leaves open, for which 0 would be a wrong guess."""

    @property
    def is_computed(self) -> bool:
        """True if the value follows from others, so that no attribute holds it."""
        return self.size_of is not None or self.checksum is not None or self.constant is not None

    @property
    def presence_bit(self) -> str | None:
        """The bit that says if the field is on the wire."""
        return self.present_if or self.absent_if


PROPERTIES: dict[str, Property] = {
    attribute: hint.__metadata__[0] for attribute, hint in get_type_hints(LayoutProperties, include_extras=True).items()
}
"""The properties by the attributes of `LayoutProperties`."""


def parse_bit_range(text: str) -> tuple[int, int]:
    """Read the bits that have a name: `4`, or `0-2`.

    Raises:
        ValueError: the text is neither a bit nor a range of bits; the message names a right one.
    """
    match = _BIT_RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a bit or a range of bits; write 4 or 0-2, for example")
    lowest = int(match[1])
    highest = int(match[2] or lowest)
    if highest < lowest:
        raise ValueError(f"{text!r} has its ends in the wrong order; write {highest}-{lowest}")
    return lowest, highest
