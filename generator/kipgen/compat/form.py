"""What stands on the wire in one version of a message: slots, the same for layouts and all other messages.

A slot is a place of the wire with a name. What it is made of are its form and, of a struct, the slots in it; two slots
with the same `wire_form` have the same bytes for the same values, whatever they are called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kipgen import names
from kipgen.layout_parts import Bit, BitsPart, ChecksumPart, ConstantPart, SizePart, ValuePart
from kipgen.types import ENCODABLE, Encoding, FieldType

if TYPE_CHECKING:
    from kipgen.layout import FieldLayout, MessageLayout, StructLayout
    from kipgen.layout_parts import Part
    from kipgen.spec import FieldSpec, StructSpec

WireForm = tuple[object, ...]
"""Nested tuples that are equal where the bytes are."""
Properties = tuple[tuple[str, object], ...]
"""Properties of the spec language with their values; other places are given by position, so that names do not count."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One place of the wire."""

    name: str
    """As in the spec: of a field, or of bits."""
    spec: FieldSpec
    """The field; of bits, the integer that they are part of."""
    type: FieldType | None
    """None for bits, and for what is computed."""
    tag: int | None
    """Where it is tagged in this version."""
    nullable: bool
    compact: bool | None
    """Whether its length is a varint (KIP-482); None where it has none."""
    encoding: Encoding | None
    """Of an integer that KIP-625 has encodings for, or of such elements, in every case."""
    rest: Properties
    """What only layouts have: sizes, bits, checksums."""
    attribute: FieldLayout | None
    """What Python knows of the value; None where no attribute holds it."""
    body: Body | None
    """Of a struct or an array of structs, what stands in it; of an integer with named bits, the bits."""


@dataclass(frozen=True, slots=True)
class Body:
    """The slots of a message, a struct or an integer with named bits."""

    struct: StructSpec | None
    """None for the message itself and for bits."""
    flexible: bool
    """Whether a tag section ends it."""
    plain: tuple[Slot, ...]
    """In the order of the wire."""
    tagged: tuple[Slot, ...]


def body_of(layout: MessageLayout) -> Body:
    """What stands on the wire in one version of a message."""
    structs = {struct.class_name: struct for struct in layout.structs}
    return _body(layout, layout.root, None, structs)


def wire_form(slots: tuple[Slot, ...]) -> WireForm:
    """The form of slots one after the other; a struct is nothing but the slots in it and its tag section."""
    return tuple(form for slot in slots for form in _slot_form(slot))


def _slot_form(slot: Slot) -> WireForm:
    is_array = slot.type is not None and slot.type.is_array
    value = _value_form(slot)
    if slot.body is None and is_array:
        value = ((value, False, False, slot.compact if _has_length(slot) else None, ()),)
    elif slot.body is not None and not (is_array or slot.nullable or slot.rest):
        return value
    return ((value, is_array, slot.nullable, slot.compact, slot.rest),)


def _has_length(slot: Slot) -> bool:
    return slot.type is not None and slot.type.element in ("string", "bytes")


def _value_form(slot: Slot) -> WireForm:
    """The form of the value itself, or of an element, without what stands before it."""
    if slot.body is not None:
        tagged = tuple((field.tag, _slot_form(field)) for field in slot.body.tagged)
        return (*wire_form(slot.body.plain), *((("tags", tagged),) if slot.body.flexible else ()))
    if slot.encoding is not None:
        return (str(slot.encoding),)
    if slot.type is None:
        return ()
    return ("bytes" if slot.type.element == "records" else slot.type.element,)


def _body(
    layout: MessageLayout, struct: StructLayout, spec: StructSpec | None, structs: dict[str, StructLayout]
) -> Body:
    fields = {field.name: field for field in (spec or layout.spec).fields}
    if layout.spec.is_layout:
        return Body(spec, False, tuple(_parts(layout, struct, fields, structs)), ())
    slots = [_slot(layout, field, fields[field.spec_name], (), structs) for field in struct.fields]
    return Body(
        struct=spec,
        flexible=struct.flexible,
        plain=tuple(slot for slot in slots if slot.tag is None),
        tagged=tuple(slot for slot in slots if slot.tag is not None),
    )


def _slot(
    layout: MessageLayout, field: FieldLayout, spec: FieldSpec, rest: Properties, structs: dict[str, StructLayout]
) -> Slot:
    body = None
    if field.struct is not None:
        body = _body(layout, structs[field.struct], layout.spec.struct(field.type.element), structs)
    return Slot(
        name=spec.name,
        spec=spec,
        type=field.type,
        tag=field.tag,
        nullable=field.nullable,
        compact=field.compact if field.is_sized else None,
        encoding=_encoding(field),
        rest=rest,
        attribute=field,
        body=body,
    )


def _encoding(field: FieldLayout) -> Encoding | None:
    width = ENCODABLE.get(field.type.element)
    return field.encoding or (Encoding("fixed", width) if width is not None else None)


def _parts(
    layout: MessageLayout, struct: StructLayout, fields: dict[str, FieldSpec], structs: dict[str, StructLayout]
) -> list[Slot]:
    """The slots of a layout's struct. Parts name each other; here they point at each other by position."""
    by_attribute = {names.attribute_name(field.name): field for field in fields.values()}
    positions = {part.name: number for number, part in enumerate(struct.parts)}
    slots = []
    for part in struct.parts:
        spec = by_attribute[part.name]
        rest = _rest(part, struct, positions, structs)
        if isinstance(part, ValuePart):
            slots.append(_slot(layout, part.field, spec, rest, structs))
        else:
            slots.append(_computed(part, spec, rest, struct))
    return slots


def _computed(part: Part, spec: FieldSpec, rest: Properties, struct: StructLayout) -> Slot:
    encoding = part.encoding if isinstance(part, SizePart) else None
    width = ENCODABLE.get(spec.type.element)
    if encoding is None and width is not None:
        encoding = Encoding("fixed", width)
    body = None
    if isinstance(part, BitsPart):
        attributes = {field.attribute: field for field in struct.fields}
        bits = sorted(part.bits, key=lambda bit: bit.lowest)
        body = Body(None, False, tuple(_bit(bit, spec, attributes.get(bit.name)) for bit in bits), ())
        rest += (("integer", spec.type.element),)
        encoding = None
    return Slot(spec.name, spec, None if body else spec.type, None, False, None, encoding, rest, None, body)


def _bit(bit: Bit, spec: FieldSpec, attribute: FieldLayout | None) -> Slot:
    written = next(own.name for own in spec.wire.bits if names.attribute_name(own.name) == bit.name)
    rest: Properties = (("bits", (bit.lowest, bit.width)),)
    return Slot(written, spec, None, None, False, None, None, rest, attribute, None)


def _rest(part: Part, struct: StructLayout, positions: dict[str, int], structs: dict[str, StructLayout]) -> Properties:
    if isinstance(part, SizePart):
        return (("sizeOf", "rest"),)
    if isinstance(part, ChecksumPart):
        return (("checksum", (part.algorithm, positions[part.start])),)
    if isinstance(part, ConstantPart):
        return (("constant", part.value),)
    if isinstance(part, BitsPart):
        return ()
    presence = part.presence
    pairs = (
        ("size", part.size),
        ("count", part.count),
        ("sizeOnlyWith", part.size_only_with and positions[part.size_only_with]),
        ("presence", presence and (positions[presence.bits], presence.mask, presence.means_present)),
        ("sorted", part.sorted_by and _key_position(part, structs)),
        ("sameLengthAs", part.same_length_as and positions[part.same_length_as]),
    )
    return tuple(pair for pair in pairs if pair[1] is not None)


def _key_position(part: ValuePart, structs: dict[str, StructLayout]) -> int:
    assert part.field.struct is not None  # sets have structs as elements
    elements = structs[part.field.struct].fields
    return next(number for number, field in enumerate(elements) if field.attribute == part.sorted_by)
