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
from kipgen.language.spec import FieldSpec, enum_of
from kipgen.resolve.wire import WireStruct
from kipwire.description.fields import is_required
from kipwire.description.json_codec import float_to_json, uuid_to_json
from kipwire.description.plan import Item, struct_plan
from kipwire.model.structs import Field
from kipwire.model.types import KINDS, MAX_STRING, PLUS_ONE, PREFIXES, TYPES

Data = dict[str, Any]
"""An object of JSON."""

_VARINTS = {"packed": "zigzag_varint", "upacked": "unsigned_varint"}


def items(struct: type[WireStruct], spec_fields: Sequence[FieldSpec], enums: frozenset[str]) -> list[Data]:
    """Describe the items of a struct in the order of the spec, tagged ones among them.

    Args:
        struct: the class of the struct.
        spec_fields: the fields that the spec has for the struct.
        enums: the names of the enums of the package.
    """
    by_name = {field.name: field for field in spec_fields}
    spec_names = {field.name: field.spec_name for field in struct.FIELDS}
    found = []
    for item in struct_plan(struct).in_order:
        data = _head(item, struct.TEXTS)
        if item.tag is not None:
            data["tag"] = item.tag
        data["value"] = _value(item)
        found.append(data | _rest(item, by_name[item.field.spec_name], spec_names, struct.TEXTS, enums))
    return found


def _head(item: Item, texts: dict[str, str]) -> Data:
    data: Data = {"name": item.field.spec_name, "attribute": item.name, "role": item.role}
    about = texts[item.field.spec_name]
    return data | {"about": about} if about else data


def _rest(
    item: Item, spec: FieldSpec, spec_names: dict[str, str], texts: dict[str, str], enums: frozenset[str]
) -> Data:
    """Describe an item apart from its bytes."""
    data: Data = {}
    field = item.field
    if item.presence is not None:
        data["presentIf"] = _condition(item.presence)
        data["absentMeans"] = "null" if item.nullable else "empty"
    if item.role == "value":
        if item.nullable:
            data["nullable"] = True
        if is_required(field):
            data["required"] = True
        else:
            data["default"] = _default(field)
        data |= {name: True for name, it in (("ignorable", field.ignorable), ("mapKey", field.map_key)) if it}
        if field.entity_type is not None:
            data["entityType"] = field.entity_type
        if (enum := enum_of(spec)) in enums:
            data["enumOfBits" if spec.enum_bits else "enum"] = enum
    elif item.role == "checksum":
        data |= {"algorithm": field.algorithm, "from": spec_names[field.start]}
        data["to"] = "here" if item.is_after else "end"
    elif item.role == "constant":
        data["constant"] = item.default
    elif item.role == "bits":
        data |= {"bits": [_bit(bit, texts) for bit in item.bits], "zeroMask": item.unnamed}
    if field.sorted_by:
        data["sortedByAttribute"] = field.sorted_by
    for name, attribute in (("requiredIf", field.required_if), ("sameLengthAs", field.same_length_as)):
        if attribute:
            data[name] = spec_names[attribute]
    return data


def _bit(bit: Item, texts: dict[str, str]) -> Data:
    """Describe one bit, or several with one value."""
    data = _head(bit, texts)
    data |= {"type": "bool" if bit.field.bits is None else "integer", "lowest": bit.lowest, "width": bit.bit_count}
    if bit.of is not None:
        data["presenceOf"] = bit.of.field.spec_name
    else:
        data["default"] = _default(bit.field)
    return data


def _condition(presence: Item) -> Data:
    return {"bit": presence.field.spec_name, "is": 1 if presence.means_present else 0}


def _value(item: Item) -> Data:
    """Describe how to read the bytes of an item."""
    if item.array:
        return {"type": "array", **_length(item), "element": _element(item)}
    if item.prefix:
        return {"type": item.field.element, **_length(item)}
    data = _element(item)
    if item.kind == "struct" and item.nullable:
        # Kafka marks null by an int8 in the body of a message, and by an unsigned varint in tagged data.
        tagged: Data = {"form": "unsigned_varint", "bits": 31, "present": 1, "null": 0}
        data["marker"] = {"form": "int8", "present": 1, "null": -1} if item.tag is None else tagged
    return data


def _element(item: Item) -> Data:
    """Describe one value that is never null, or one element of an array, whose length no bit decides."""
    element = item.field.element
    if item.kind == "struct":
        return {"type": "struct", "struct": element}
    if item.element_prefix:
        return {"type": element, "prefix": _prefix(element, item.element_prefix, "bytes", may_be_null=False)}
    if item.varint is not None:
        return {"type": element, "form": _VARINTS[item.varint.scheme], "bits": item.varint.bits}
    data: Data = {"type": element, "form": "fixed", "width": item.element_width}
    if KINDS[element] == "integer":
        data["signed"] = TYPES[element].signed and item.role not in ("checksum", "bits")
    return data


def _length(item: Item) -> Data:
    """Describe the length of an item: a prefix, the rest, or first the one and else the other."""
    if item.prefix == REST:
        return {"rest": {"after": item.after}}
    counts = "bytes" if item.field.sized or not item.array else "elements"
    may_be_null = item.nullable and item.presence is None
    data: Data = {"prefix": _prefix(item.field.type, item.prefix, counts, may_be_null=may_be_null)}
    if item.prefix_presence is not None:
        data["prefix"]["presentIf"] = _condition(item.prefix_presence)
        data["rest"] = {"after": item.after}
    return data


def _prefix(type_: str, prefix: str, counts: str, *, may_be_null: bool) -> Data:
    row = PREFIXES[prefix]
    data: Data = {"form": row.name} if row.form == "fixed" else {"form": row.form, "bits": row.bits}
    data["plus"] = row.plus
    if may_be_null and row.null is not None:
        data["null"] = row.null
    data["counts"] = counts
    if type_ == "string" and prefix == PLUS_ONE:
        data["most"] = MAX_STRING
    return data


def _default(field: Field) -> bool | int | float | str | list[object] | Data | None:
    """Convert a default to the JSON form of messages."""
    default = field.default
    if default == ():
        return [] if field.array else {}
    if isinstance(default, bytes):
        return ""
    if isinstance(default, uuid.UUID):
        return uuid_to_json(default)
    if isinstance(default, float):
        return float_to_json(default) if not math.isfinite(default) else default
    assert not isinstance(default, tuple)
    return default
