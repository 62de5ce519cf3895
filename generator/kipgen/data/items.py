"""The items of a struct as plain data: the kind of each, and how to read its bytes.

Words of the spec language end here. A prefix has the number that is added to it, and the number for null; a value that
takes the rest has the number of bytes that follow it; an integer has the mapping of its varint.

There are as few kinds as a reader has to distinguish, and none depends on another property of the message: compactness,
nullability in a version, and the encodings of KIP-625 are resolved into a prefix, a number for null, a form and a
width. A new property of specs either becomes one of these or is a new key, which a reader of the present format must be
able to skip; if it cannot, `document.FORMAT` grows.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from typing import Any

from kipgen.language.layout_properties import REST
from kipgen.language.spec import Default, FieldSpec, enum_of
from kipgen.python.steps import fixed_code
from kipgen.resolve.wire import Presence, WireField
from kipwire.description.json_codec import float_to_json, uuid_to_json
from kipwire.model.types import MAX_STRING, PLUS_ONE, PREFIXES, TYPES

Data = dict[str, Any]
"""An object of JSON."""

_VARINTS = {"packed": "zigzag_varint", "upacked": "unsigned_varint"}
_KINDS = {"text": "string", "blob": "bytes"}


def items(wire: Sequence[WireField], spec_fields: Sequence[FieldSpec], enums: frozenset[str]) -> list[Data]:
    """Describe the items of a struct, tagged ones among them.

    Args:
        wire: the items in the order of the spec.
        spec_fields: the fields that the spec has for the struct.
        enums: the names of the enums of the package.
    """
    spec_names = {one.attribute: one.spec_name for item in wire for one in (item, *item.inner)}
    by_name = {field.name: field for field in spec_fields}
    # A value that takes the rest leaves the bytes of the items after it, which all have a fixed width.
    widths = [_width(item) for item in wire]
    return [
        _item(item, by_name[item.spec_name], spec_names, sum(widths[at + 1 :]), enums) for at, item in enumerate(wire)
    ]


def _item(item: WireField, spec: FieldSpec, spec_names: dict[str, str], after: int, enums: frozenset[str]) -> Data:
    data: Data = {"name": item.spec_name, "attribute": item.attribute, "role": item.role}
    if item.about:
        data["about"] = item.about
    if item.tag is not None:
        data["tag"] = item.tag
    data["value"] = _value(item, spec_names, after)
    if item.presence is not None:
        data["presentIf"] = _condition(item.presence, spec_names)
        data["absentMeans"] = "null" if item.nullable else "empty"
    if item.role == "value":
        if item.nullable:
            data["nullable"] = True
        if item.is_required:
            data["required"] = True
        else:
            data["default"] = _default(item)
        data |= {name: True for name, it in (("ignorable", item.ignorable), ("mapKey", item.map_key)) if it}
        if item.entity_type is not None:
            data["entityType"] = item.entity_type
        if (enum := enum_of(spec)) in enums:
            data["enumOfBits" if spec.enum_bits else "enum"] = enum
    elif item.role == "checksum":
        data |= {"algorithm": item.algorithm, "from": spec_names[item.start or ""]}
        data["to"] = "here" if item.is_after else "end"
    elif item.role == "constant":
        data["constant"] = item.default
    elif item.role == "bits":
        data |= {"bits": [_bit(bit, spec_names) for bit in item.inner], "zeroMask": item.unnamed}
    if item.sorted_by is not None:
        data["sortedByAttribute"] = item.sorted_by
    for name, attribute in (("requiredIf", item.required_if), ("sameLengthAs", item.same_length_as)):
        if attribute is not None:
            data[name] = spec_names[attribute]
    return data


def _bit(bit: WireField, spec_names: dict[str, str]) -> Data:
    """Describe one bit, or several with one value."""
    data: Data = {"name": bit.spec_name, "attribute": bit.attribute, "role": bit.role}
    if bit.about:
        data["about"] = bit.about
    data |= {"type": "bool" if bit.bits is None else "integer", "lowest": bit.bit, "width": bit.bits or 1}
    if bit.role == "presence" and bit.presence is not None:
        data["presenceOf"] = spec_names[bit.presence.value]
    else:
        data["default"] = _default(bit)
    return data


def _condition(presence: Presence, spec_names: dict[str, str]) -> Data:
    return {"bit": spec_names[presence.name], "is": 1 if presence.means_present else 0}


def _value(item: WireField, spec_names: dict[str, str], after: int) -> Data:
    """Describe how to read the bytes of an item."""
    if not item.type.is_array:
        return _single(item, item.prefix, spec_names, after)
    data: Data = {"type": "array", **_length(item, item.prefix, spec_names, after)}
    # Elements are compact where their array is.
    element_prefix = None if item.type.has_struct else TYPES[item.type.element].prefix or None
    return {**data, "element": _single(item, PLUS_ONE if element_prefix and item.compact else element_prefix)}


def _single(item: WireField, prefix: str | None, spec_names: dict[str, str] | None = None, after: int = 0) -> Data:
    """Describe one value, or one element of an array, which is never null and whose length no bit decides."""
    is_element = spec_names is None
    kind = item.type.kind
    if kind == "struct":
        data: Data = {"type": "struct", "struct": item.type.element}
        if item.nullable and not is_element:
            # Kafka marks null by an int8 in the body of a message, and by an unsigned varint in tagged data.
            tagged: Data = {"form": "unsigned_varint", "bits": 31, "present": 1, "null": 0}
            data["marker"] = {"form": "int8", "present": 1, "null": -1} if item.tag is None else tagged
        return data
    if kind in _KINDS:
        if spec_names is None:
            return {"type": item.type.element, "prefix": _prefix(item.type.element, prefix, "bytes", may_be_null=False)}
        return {"type": item.type.element, **_length(item, prefix, spec_names, after)}
    data = {"type": item.type.element}
    if item.encoding is not None and item.encoding.scheme != "fixed":
        return {**data, "form": _VARINTS[item.encoding.scheme], "bits": item.encoding.bits}
    data |= {"form": "fixed", "width": item.element_width}
    if kind == "integer":
        data["signed"] = TYPES[item.type.element].signed and item.role not in ("checksum", "bits")
    return data


def _length(item: WireField, prefix: str | None, spec_names: dict[str, str], after: int) -> Data:
    """Describe the length of an item: a prefix, the rest, or first the one and else the other."""
    if prefix == REST:
        return {"rest": {"after": after}}
    counts = "bytes" if item.sized or not item.type.is_array else "elements"
    may_be_null = item.nullable and item.presence is None
    data: Data = {"prefix": _prefix(str(item.type), prefix, counts, may_be_null=may_be_null)}
    if item.partner is not None:
        data["prefix"]["presentIf"] = _condition(item.partner, spec_names)
        data["rest"] = {"after": after}
    return data


def _prefix(type_: str, prefix: str | None, counts: str, *, may_be_null: bool) -> Data:
    row = PREFIXES[prefix or ""]
    data: Data = {"form": row.name} if row.form == "fixed" else {"form": row.form, "bits": row.bits}
    data["plus"] = row.plus
    if may_be_null and row.null is not None:
        data["null"] = row.null
    data["counts"] = counts
    if type_ == "string" and prefix == PLUS_ONE:
        data["most"] = MAX_STRING
    return data


def _width(item: WireField) -> int:
    """Bytes of an item that always takes as many; 0 of others."""
    return item.element_width if fixed_code(item) is not None else 0


def _default(item: WireField) -> bool | int | float | str | list[object] | Data | None:
    """Convert a default to the JSON form of messages."""
    default: Default = item.default
    if default == ():
        return [] if item.type.is_array else {} if item.type.has_struct else ""
    if isinstance(default, uuid.UUID):
        return uuid_to_json(default)
    if isinstance(default, float):
        return float_to_json(default) if not math.isfinite(default) else default
    assert not isinstance(default, tuple)
    return default
