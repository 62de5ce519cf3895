"""The wire items of one version of a message, for comparing; the same for record formats and all other messages.

Two items with the same `wire_form` have the same bytes for the same values, even if their names differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kipgen.language.spec import FieldSpec, StructSpec
from kipgen.language.types import Encoding, FieldType
from kipgen.language.wire_form import PROPERTIES, REST
from kipgen.resolve.wire import WireField, WireMessage, WireStruct

WireForm = tuple[object, ...]
"""Nested tuples that are equal where the bytes are."""
Properties = tuple[tuple[str, object], ...]
"""Properties of the spec language with their values; other items are given by position, so that names do not count."""


@dataclass(frozen=True, slots=True)
class WireItem:
    """A named item: a field, or bits."""

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
    attribute: WireField | None
    """The value's attribute in Python; None if it has none."""
    inner: WireItems | None
    """The items of a struct, or of an array's structs; of an integer with named bits, the bits."""


@dataclass(frozen=True, slots=True)
class WireItems:
    """The items of a message, a struct or an integer with named bits."""

    struct: StructSpec | None
    """None for the message itself and for bits."""
    flexible: bool
    """Whether a tag section ends it."""
    plain: tuple[WireItem, ...]
    """In the order of the wire."""
    tagged: tuple[WireItem, ...]


def wire_items(message: WireMessage) -> WireItems:
    """The items of one version of a message."""
    return _items(message, message.root, None)


def wire_form(items: tuple[WireItem, ...]) -> WireForm:
    """The form of consecutive items; that of a struct is its items and its tag section."""
    return tuple(form for item in items for form in _item_form(item))


def _item_form(item: WireItem) -> WireForm:
    is_array = item.type is not None and item.type.is_array
    value = _value_form(item)
    if item.inner is None and is_array:
        value = ((value, False, False, item.compact if _has_length(item) else None, ()),)
    elif item.inner is not None and not (is_array or item.nullable or item.rest):
        return value
    return ((value, is_array, item.nullable, item.compact, item.rest),)


def _has_length(item: WireItem) -> bool:
    return item.type is not None and item.type.element in ("string", "bytes")


def _value_form(item: WireItem) -> WireForm:
    """The form of the value itself, or of an element, without its prefix."""
    if item.inner is not None:
        tagged = tuple((field.tag, _item_form(field)) for field in item.inner.tagged)
        return (*wire_form(item.inner.plain), *((("tags", tagged),) if item.inner.flexible else ()))
    if item.encoding is not None:
        return (str(item.encoding),)
    if item.type is None:
        return ()
    return ("bytes" if item.type.element == "records" else item.type.element,)


def _items(message: WireMessage, struct: WireStruct, spec: StructSpec | None) -> WireItems:
    fields = {field.name: field for field in (spec or message.spec).fields}
    items = [_item(message, struct, item, fields[item.spec_name]) for item in struct.items]
    return WireItems(
        struct=spec,
        flexible=struct.flexible,
        plain=tuple(item for item in items if item.tag is None),
        tagged=tuple(item for item in items if item.tag is not None),
    )


def _item(message: WireMessage, around: WireStruct, item: WireField, spec: FieldSpec) -> WireItem:
    struct = _struct_of(message, item)
    inner = None
    if struct is not None:
        inner = _items(message, struct, message.spec.struct(item.type.element))
    elif item.role == "bits":
        bits = sorted(item.inner, key=lambda bit: bit.bit or 0)
        inner = WireItems(None, False, tuple(_bit(bit, spec) for bit in bits), ())
    return WireItem(
        name=spec.name,
        spec=spec,
        type=None if item.role == "bits" else item.type,
        tag=item.tag,
        nullable=item.nullable,
        compact=item.compact if item.is_sized else None,
        encoding=_encoding(item),
        rest=_rest(item, spec, around, struct) if around.is_bounded else (),
        attribute=item if item.role == "value" else None,
        inner=inner,
    )


def _struct_of(message: WireMessage, item: WireField) -> WireStruct | None:
    """The struct that an item has, or the elements of an array."""
    return next((struct for struct in message.structs if struct.class_name == item.struct), None)


def _encoding(item: WireField) -> Encoding | None:
    if not item.type.is_encodable or item.role == "bits":
        return None
    return item.encoding or Encoding("fixed", item.type.bits)


def _bit(bit: WireField, spec: FieldSpec) -> WireItem:
    rest: Properties = (("bits", (bit.bit, bit.bits or 1)),)
    attribute = bit if bit.role == "value" else None
    return WireItem(bit.spec_name, spec, None, None, False, None, None, rest, attribute, None)


_IN_OTHER_WORDS = frozenset({"bits", "presentIf", "absentIf", "required"})
"""The properties that `_rest` does not list by their own names, or that do not change what is written. All others count
as written in the spec."""


def _rest(item: WireField, spec: FieldSpec, around: WireStruct, elements: WireStruct | None) -> Properties:
    """What types and versions do not say. Items name each other; here they point at each other by position."""
    positions = _positions(around.items)
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
        "sorted": item.sorted_by and elements and _positions(elements.fields)[item.sorted_by],
        "requiredIf": item.required_if and _flag(around.items, item.required_if),
        "sameLengthAs": item.same_length_as and positions[item.same_length_as],
    }
    for attribute, property_ in PROPERTIES.items():
        if property_.name not in pairs and property_.name not in _IN_OTHER_WORDS:
            pairs[property_.name] = getattr(spec.wire, attribute)
    return tuple((name, value) for name, value in pairs.items() if value is not None and value is not False)


def _flag(items: Sequence[WireField], name: str) -> tuple[int, int] | None:
    """Where a bit is: the position of its integer, and its mask."""
    flags = ((number, bit) for number, item in enumerate(items) for bit in item.inner)
    return next(((number, bit.mask) for number, bit in flags if bit.attribute == name), None)


def _positions(items: Sequence[WireField]) -> dict[str, int]:
    return {item.attribute: number for number, item in enumerate(items)}
