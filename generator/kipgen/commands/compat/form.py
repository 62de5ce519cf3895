"""What stands on the wire in one version of a message: slots, the same for layouts and all other messages.

A slot is a place of the wire with a name. What it is made of are its form and, of a struct, the slots in it; two slots
with the same `wire_form` have the same bytes for the same values, whatever they are called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kipgen.language.types import Encoding, FieldType
from kipgen.language.wire_form import PROPERTIES, REST

if TYPE_CHECKING:
    from kipgen.language.spec import FieldSpec, StructSpec
    from kipgen.resolve.layout import FieldLayout, MessageLayout, StructLayout

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
    positions = {item.attribute: number for number, item in enumerate(struct.items)}
    slots = [
        _slot(
            layout,
            item,
            fields[item.spec_name],
            _rest(item, fields[item.spec_name], struct, positions, structs),
            structs,
        )
        for item in struct.items
    ]
    return Body(
        struct=spec,
        flexible=struct.flexible,
        plain=tuple(slot for slot in slots if slot.tag is None),
        tagged=tuple(slot for slot in slots if slot.tag is not None),
    )


def _slot(
    layout: MessageLayout, item: FieldLayout, spec: FieldSpec, rest: Properties, structs: dict[str, StructLayout]
) -> Slot:
    body = None
    if item.struct is not None:
        body = _body(layout, structs[item.struct], layout.spec.struct(item.type.element), structs)
    elif item.role == "bits":
        bits = sorted(item.inner, key=lambda bit: bit.bit or 0)
        body = Body(None, False, tuple(_bit(bit, spec) for bit in bits), ())
    return Slot(
        name=spec.name,
        spec=spec,
        type=None if item.role == "bits" else item.type,
        tag=item.tag,
        nullable=item.nullable,
        compact=item.compact if item.is_sized else None,
        encoding=_encoding(item),
        rest=rest,
        attribute=item if item.role == "value" else None,
        body=body,
    )


def _encoding(item: FieldLayout) -> Encoding | None:
    if not item.type.is_encodable or item.role == "bits":
        return None
    return item.encoding or Encoding("fixed", item.type.bits)


def _bit(bit: FieldLayout, spec: FieldSpec) -> Slot:
    rest: Properties = (("bits", (bit.bit, bit.bits or 1)),)
    attribute = bit if bit.role == "value" else None
    return Slot(bit.spec_name, spec, None, None, False, None, None, rest, attribute, None)


_IN_OTHER_WORDS = frozenset({"bits", "presentIf", "absentIf"})
"""The properties that have no slot or pair of their own name. Whatever else there is counts as the spec has it."""


def _rest(
    item: FieldLayout,
    spec: FieldSpec,
    struct: StructLayout,
    positions: dict[str, int],
    structs: dict[str, StructLayout],
) -> Properties:
    """What types and versions do not say. Items name each other; here they point at each other by position."""
    if not struct.is_bounded:
        return ()
    presence = item.presence
    is_size = item.sized or item.prefix == REST or not item.type.is_array
    pairs: dict[str, object] = {
        "sizeOf": "rest" if item.role == "size" else None,
        "checksum": (item.algorithm, positions[item.start]) if item.start is not None else None,
        "constant": item.default if item.role == "constant" else None,
        "integer": item.type.element if item.role == "bits" else None,
        "size": item.prefix if is_size else None,
        "count": None if is_size else item.prefix,
        "sizeOnlyWith": item.partner and positions[item.partner.value],
        "presence": presence and (positions[presence.bits], presence.mask, presence.means_present),
        "sorted": item.sorted_by and _key_position(item, structs),
        "sameLengthAs": item.same_length_as and positions[item.same_length_as],
    }
    for attribute, property_ in PROPERTIES.items():
        if property_.name not in pairs and property_.name not in _IN_OTHER_WORDS:
            pairs[property_.name] = getattr(spec.wire, attribute)
    return tuple((name, value) for name, value in pairs.items() if value is not None and value is not False)


def _key_position(item: FieldLayout, structs: dict[str, StructLayout]) -> int:
    assert item.struct is not None  # sets have structs as elements
    elements = structs[item.struct].fields
    return next(number for number, field in enumerate(elements) if field.attribute == item.sorted_by)
