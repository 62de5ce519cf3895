"""The number of bytes that values take, from the plan of their class: for sizes that precede what they measure.

The values must have passed `kipwire.description.values`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kipwire.codec.wire import write_packed, write_size, write_upacked
from kipwire.description.plan import PREFIX_WIDTHS, Item
from kipwire.structs import Struct
from kipwire.types import ENCODINGS


def items_size(items: Sequence[Item], struct: Struct) -> int:
    """The bytes of the last items of a struct of a record format."""
    total = 0
    for item in reversed(items):
        if item.role == "value":
            total += _value_size(item, struct)
        else:
            total += item.width or _varint_size(item.kind, total)  # the only varint of them is the size of the rest
    return total


def elements_size(item: Item, elements: Iterable[Any]) -> int:
    """The bytes of an array's elements."""
    before = PREFIX_WIDTHS.get(item.element_prefix, 0)
    return sum(before + _content_size(item, element) for element in elements)


def is_present(item: Item, struct: Struct) -> bool:
    """Whether a value with a presence bit will be there; it need not be valid."""
    value = getattr(struct, item.name, None)
    if item.nullable or not isinstance(value, (str, bytes, bytearray, memoryview, list, tuple)):
        return value is not None
    return len(value) > 0


def has_prefix(item: Item, struct: Struct) -> bool:
    """Whether a number says how long the value is."""
    if item.prefix in ("", "rest"):
        return False
    return item.partner is None or item.partner.of is None or is_present(item.partner.of, struct)


def _value_size(item: Item, struct: Struct) -> int:
    if item.presence is not None and not is_present(item, struct):
        return 0
    value = getattr(struct, item.name)
    size = 0 if value is None else elements_size(item, value) if item.array else _content_size(item, value)
    if not has_prefix(item, struct):
        return size
    number = -1 if value is None else len(value) if item.array and not item.field.sized else size
    if item.prefix == "uvarint":
        return size + len(write_size(number))
    return size + (PREFIX_WIDTHS.get(item.prefix) or len(write_packed(number, 32)))


def _content_size(item: Item, value: Any) -> int:
    """The bytes of one value or element, without what says how long it is."""
    if item.plan is not None:
        return items_size(item.plan.items, value)
    if item.kind == "string":
        return len(value.encode())
    return memoryview(value).nbytes if item.kind == "bytes" else item.element_width or _varint_size(item.kind, value)


def _varint_size(kind: str, number: int) -> int:
    form, bits = ENCODINGS[kind].form, ENCODINGS[kind].bits
    return len(write_packed(number, bits) if form == "packed" else write_upacked(number, bits))
