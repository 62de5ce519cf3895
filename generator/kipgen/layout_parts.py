"""Part of station "layout": what stands in each place of a layout's struct in one version, computed parts included."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kipgen import names
from kipgen.types import INTEGER_RANGES
from kipgen.wire_form import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable

    from kipgen.layout import FieldLayout
    from kipgen.spec import FieldSpec, MessageSpec
    from kipgen.types import Encoding


@dataclass(frozen=True, slots=True)
class Presence:
    """The bit that tells whether a value is there."""

    bits: str
    """The name of the part that holds the bit."""
    name: str
    """The bit's own name."""
    mask: int
    means_present: bool
    """Whether the value is there where the bit is 1; else where it is 0."""


@dataclass(frozen=True, slots=True)
class ValuePart:
    """A field, with what tells how long it is."""

    field: FieldLayout
    size: str | None
    """The form of the size in bytes before it, or `rest`; None where its type tells it, or a count does."""
    count: str | None
    """The form of the count of elements before it."""
    size_only_with: str | None
    """The attribute together with which the size stands there."""
    presence: Presence | None
    sorted_by: str | None
    """The attribute of the elements that orders them, of a set."""
    same_length_as: str | None
    """The attribute of an earlier array."""

    @property
    def name(self) -> str:
        return self.field.attribute


@dataclass(frozen=True, slots=True)
class Bit:
    """One bit of an integer, or several."""

    name: str
    plain: FieldLayout
    """It as an attribute, even where it is none."""
    lowest: int
    width: int
    presence_of: FieldLayout | None
    """The field whose presence it tells."""
    means_present: bool
    """Of such a bit: whether 1 says that the field is there."""

    @property
    def limit(self) -> int:
        """The highest number that it holds."""
        return (1 << self.width) - 1


@dataclass(frozen=True, slots=True)
class BitsPart:
    """An integer that is made of bits."""

    plain: FieldLayout
    name: str
    type: str
    width: int
    """In bits."""
    bits: tuple[Bit, ...]

    @property
    def unnamed(self) -> int:
        """The mask of the bits that must be zero."""
        mask = (1 << self.width) - 1
        for bit in self.bits:
            mask &= ~(bit.limit << bit.lowest)
        return mask


@dataclass(frozen=True, slots=True)
class SizePart:
    """The computed number of bytes behind it."""

    plain: FieldLayout
    name: str
    type: str
    encoding: Encoding | None


@dataclass(frozen=True, slots=True)
class ChecksumPart:
    """A computed checksum."""

    plain: FieldLayout
    name: str
    algorithm: str
    start: str
    """The name of the part that it covers first."""
    is_behind: bool
    """Whether it stands behind what it covers; else it covers everything from there to the end of the struct."""


@dataclass(frozen=True, slots=True)
class ConstantPart:
    """An integer with only one value."""

    plain: FieldLayout
    name: str
    type: str
    value: int


Part = ValuePart | BitsPart | SizePart | ChecksumPart | ConstantPart


def lay_out_parts(
    message: MessageSpec,
    version: int,
    fields: tuple[FieldSpec, ...],
    lay_out_field: Callable[[FieldSpec], FieldLayout],
) -> tuple[tuple[FieldLayout, ...], tuple[Part, ...]]:
    """The attributes of a struct and its parts, each in the order of the wire.

    Args:
        message: the layout.
        version: its version.
        fields: the struct's fields that this version has.
        lay_out_field: gives the layout of one of them.
    """
    by_bit = {field.wire.presence_bit: field for field in fields if field.wire.presence_bit}
    positions = {field.name: number for number, field in enumerate(fields)}
    presences: dict[str, Presence] = {}
    attributes: list[FieldLayout] = []
    parts: list[Part] = []
    for number, field in enumerate(fields):
        name, wire, plain = names.attribute_name(field.name), field.wire, lay_out_field(field)
        if wire.is_size_of_rest:
            parts.append(SizePart(plain, name, field.type.element, plain.encoding))
        elif wire.checksum is not None:
            start = wire.checksum.start
            is_behind = positions[start] < number
            parts.append(ChecksumPart(plain, name, wire.checksum.algorithm, names.attribute_name(start), is_behind))
        elif wire.constant is not None:
            value = version if wire.constant == VERSION else int(wire.constant)
            parts.append(ConstantPart(plain, name, field.type.element, value))
        elif wire.bits:
            bits = []
            for bit in wire.bits:
                told = by_bit.get(bit.name)
                means_present = told is not None and told.wire.present_if == bit.name
                of = lay_out_field(told) if told else None
                attribute = _bit_attribute(plain, bit.name, bit.about, bit.width)
                bits.append(Bit(attribute.attribute, attribute, bit.lowest, bit.width, of, means_present))
                presences[bit.name] = Presence(name, bits[-1].name, 1 << bit.lowest, means_present)
                if told is None:
                    attributes.append(attribute)
            lowest, highest = INTEGER_RANGES[field.type.element]
            parts.append(BitsPart(plain, name, field.type.element, (highest - lowest).bit_length(), tuple(bits)))
        else:
            attributes.append(plain)
            parts.append(_value(message, field, plain, presences))
    return tuple(attributes), tuple(parts)


def _bit_attribute(integer: FieldLayout, name: str, about: str, width: int) -> FieldLayout:
    """The attribute that a named bit is, or several."""
    flag = width == 1
    return replace(
        integer,
        attribute=names.attribute_name(name),
        spec_name=name,
        type=replace(integer.type, element="bool") if flag else integer.type,
        about=about,
        default=False if flag else 0,
        bits=None if flag else width,
    )


def _value(message: MessageSpec, field: FieldSpec, plain: FieldLayout, presences: dict[str, Presence]) -> ValuePart:
    wire, size, count = field.wire, field.wire.size, field.wire.count
    if field.type.is_array:
        count = count or (None if size else "int32")
    elif size is None:
        size = {"string": "int16", "bytes": "int32", "records": "int32"}.get(field.type.element)
    key = None
    if wire.is_sorted:
        elements = message.struct(field.type.element).fields
        key = next(names.attribute_name(element.name) for element in elements if element.map_key)
    return ValuePart(
        field=plain,
        size=size,
        count=count,
        size_only_with=names.attribute_name(wire.size_only_with) if wire.size_only_with else None,
        presence=presences[wire.presence_bit] if wire.presence_bit else None,
        sorted_by=key,
        same_length_as=names.attribute_name(wire.same_length_as) if wire.same_length_as else None,
    )
