"""Values to bytes, by the plan of a class alone: slow, plain, and nothing of generated code or of the kernel."""

from __future__ import annotations

import struct
import uuid
from typing import Any

from kipwire.codec import checksums
from kipwire.codec.wire import write_packed, write_upacked, write_varint
from kipwire.description.plan import Item, Plan, struct_plan
from kipwire.description.values import has_prefix, is_present
from kipwire.model.structs import Struct
from kipwire.model.types import ENCODINGS, TYPES


def write(value: Struct) -> bytes:
    """Encode a message or a struct, whose values must be valid."""
    plan = struct_plan(type(value))
    parts = [_item(item, value) for item in plan.items]
    if not plan.is_plain:
        _compute(plan, parts)
    if plan.flexible:
        parts.append(_tag_section(plan, value))
    return b"".join(parts)


def value_bytes(item: Item, value: Any) -> bytes:
    """Write one value of a field in a message; for a tagged field, the bytes that its size counts."""
    if item.array:
        if value is None:
            return prefix(item.prefix, -1)
        return prefix(item.prefix, len(value)) + b"".join(_element(item, one) for one in value)
    if item.plan is not None:
        if not item.nullable:
            return write(value)
        present, null = (b"\1", b"\xff") if item.tag is None else (b"\1", b"\0")
        return null if value is None else present + write(value)
    if value is None:
        return prefix(item.prefix, -1)
    return _primitive(item, value)


def prefix(type_: str, number: int) -> bytes:
    """Encode a length or a count; -1 is null."""
    if type_ == "uvarint_plus_one":
        return write_varint(number + 1)
    if type_ == "uvarint":
        return write_varint(number)
    return write_packed(number, 32) if type_ == "varint" else struct.pack(f">{TYPES[type_].code}", number)


def tagged_field(tag: int, content: bytes) -> bytes:
    """Encode one field of a tag section."""
    return write_varint(tag) + write_varint(len(content)) + content


def scalar(kind: str, value: Any) -> bytes:
    """Encode a number, a boolean or a uuid of a kind of `kipwire.description.plan`."""
    if kind in ENCODINGS and not kind.startswith("fixed"):
        scheme, bits = ENCODINGS[kind].scheme, ENCODINGS[kind].bits
        return write_packed(value, bits) if scheme == "packed" else write_upacked(value, bits)
    return struct.pack(f">{TYPES[kind].code}", value.bytes if isinstance(value, uuid.UUID) else value)


def _primitive(item: Item, value: Any) -> bytes:
    if item.kind in ("string", "bytes"):
        raw = value.encode() if item.kind == "string" else bytes(value)
        return prefix(item.prefix, len(raw)) + raw
    return scalar(item.kind, value)


def _element(item: Item, value: Any) -> bytes:
    """Encode one element of an array."""
    if item.plan is not None:
        return write(value)
    if item.kind not in ("string", "bytes"):
        return scalar(item.kind, value)
    raw = value.encode() if item.kind == "string" else bytes(value)
    return prefix(item.element_prefix, len(raw)) + raw


def _tag_section(plan: Plan, value: Struct) -> bytes:
    fields = dict(value._unknown_tagged_fields or {})
    for item in plan.tagged:
        own = getattr(value, item.name)
        if not item.field.is_default(own):
            fields[item.tag or 0] = value_bytes(item, own)
    return write_varint(len(fields)) + b"".join(tagged_field(tag, fields[tag]) for tag in sorted(fields))


# Record formats.


def _item(item: Item, owner: Struct) -> bytes:
    """Encode an item of a struct; of a size or a checksum, which are known later, as many zeros as are known."""
    if item.role == "constant":
        return scalar(item.kind, item.default)
    if item.role in ("size", "checksum"):
        return bytes(item.width or 1)
    if item.role == "bits":
        return scalar(item.kind, _bits(item, owner))
    value = getattr(owner, item.name)
    if not item.field.prefix:
        return value_bytes(item, value)
    if item.presence is not None and not is_present(item, owner):
        return b""
    content = b"" if value is None else _content(item, value)
    if not has_prefix(item, owner):
        return content
    number = -1 if value is None else len(value) if item.array and not item.field.sized else len(content)
    return prefix(item.prefix, number) + content


def _content(item: Item, value: Any) -> bytes:
    if item.array:
        return b"".join(_element(item, one) for one in value)
    return value.encode() if item.kind == "string" else bytes(value)


def _bits(item: Item, owner: Struct) -> int:
    number = 0
    for bit in item.bits:
        if bit.of is not None:
            value = int(is_present(bit.of, owner) == bit.means_present)
        else:
            value = int(getattr(owner, bit.name))
        number |= value << bit.lowest
    if TYPES[item.kind].signed and number >> TYPES[item.kind].bits - 1:
        number -= 1 << TYPES[item.kind].bits
    return number


def _compute(plan: Plan, parts: list[bytes]) -> None:
    """Fill in sizes, which count what follows them, then checksums."""
    for number, item in reversed(list(enumerate(plan.items))):
        if item.role == "size":
            parts[number] = scalar(item.kind, sum(map(len, parts[number + 1 :])))
    for number, item in enumerate(plan.items):
        if item.role == "checksum":
            covered = parts[item.start : number] if item.is_after else parts[item.start :]
            checksum = getattr(checksums, item.field.algorithm)(b"".join(covered))
            parts[number] = int(checksum).to_bytes(item.width, "big")
