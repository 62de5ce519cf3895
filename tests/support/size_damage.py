"""Bytes of layouts whose sizes, counts and lengths are at the edges of their forms, made from bytes that are right."""

from __future__ import annotations

import random
import re

from kipwire import DecodeError, Message
from kipwire.codec.wire import write_varint
from kipwire.description.trace import Element, trace
from tests.fuzz.fuzzing import EDGES

SIZES = ("size", "length", "count")
_BITS = re.compile(r"\d+$")
_CHECKSUM = re.compile(r" is 0x[0-9a-f]{8}, but bytes .* have 0x([0-9a-f]{8})$")


def tampered(cls: type[Message], data: bytes, chance: random.Random) -> bytes:
    """Return the bytes with another size somewhere, or with more bytes and sizes around them that fit or nearly fit."""
    elements: list[Element] = []
    trace(cls, data, 0, elements.append)
    made = _stretched if chance.random() < 0.6 else _overwritten
    return with_checksums(cls, made(data, elements, chance))


def written(element: Element, number: int) -> bytes:
    """Return a number in the form of a size, a count or a length; only its lowest bits if the width is fixed."""
    kind = element.kind
    bits = _BITS.search(kind)
    if "compact" in kind:
        return write_varint(max(number + 1, 0))
    if "upacked" in kind and bits:
        return write_varint(number & (1 << int(bits[0])) - 1)
    if "uvarint" in kind:
        return write_varint(number & (1 << 32) - 1)
    if " packed" in kind or "varint" in kind:
        return write_varint(2 * number if number >= 0 else -2 * number - 1)
    width = element.end - element.start
    return (number & (1 << 8 * width) - 1).to_bytes(width, "big")


def _overwritten(data: bytes, elements: list[Element], chance: random.Random) -> bytes:
    """Replace one size by another number."""
    sizes = [element for element in elements if element.role in SIZES]
    if not sizes:
        return data
    element = chance.choice(sizes)
    now = element.value if isinstance(element.value, int) else -1
    edges = [
        now + 1,
        now - 1,
        -1,
        -2,
        *EDGES,
        *(-edge for edge in EDGES),
        *(sign * 2**bits for sign in (1, -1) for bits in (31, 32, 63)),
    ]
    edges += [2**bits - 1 for bits in (31, 32, 63, 64)] + [now + 2**bits for bits in (15, 16, 31, 32)]
    return data[: element.start] + written(element, chance.choice(edges)) + data[element.end :]


def _stretched(data: bytes, elements: list[Element], chance: random.Random) -> bytes:
    """Lengthen text or bytes, so that a size around them gets to an edge, and correct all sizes around them."""
    values = [one for one in elements if one.role == "value" and isinstance(one.value, (str, bytes))]
    if not values:
        return data
    value = chance.choice(values)
    around = [
        one
        for one in elements
        if one.role in ("size", "length")
        and isinstance(one.value, int)
        and one.end <= value.start
        and value.end <= one.end + one.value
    ]
    if not around:
        return data
    now = chance.choice(around).value
    assert isinstance(now, int)
    more = chance.choice([edge - now for edge in EDGES if edge >= now] or [1])
    result = data[: value.end] + b"a" * more + data[value.end :]
    for one in reversed(around):  # the innermost first, as those around it count its bytes
        assert isinstance(one.value, int)
        number = written(one, one.value + more + (chance.random() < 0.05))
        result = result[: one.start] + number + result[one.end :]
        more += len(number) - (one.end - one.start)
    return result


def with_checksums(cls: type[Message], data: bytes) -> bytes:
    """Return the bytes with right checksums, so that reading goes on after them."""
    for _ in range(20):
        try:
            trace(cls, data, 0)
        except DecodeError as error:
            due = _CHECKSUM.search(str(error))
            if due is None:
                break
            data = data[: error.offset] + bytes.fromhex(due[1]) + data[error.offset + 4 :]
        else:
            break
    return data
