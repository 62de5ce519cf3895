"""A small encoder, which tests compare with kipwire: it knows what documents say, and neither kipwire nor specs.

Each function gives what it writes twice: as JSON has it, and its bytes.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from typing import Any

Written = tuple[Any, bytes]
"""A value as JSON has it, and its bytes."""


def _integer(width: int) -> Callable[[int], Written]:
    return lambda value: (value, value.to_bytes(width, "big", signed=True))


int8, int16, int32, int64 = map(_integer, (1, 2, 4, 8))


def bool8(value: bool) -> Written:
    return value, bytes([value])


def uvarint(value: int, bits: int = 32) -> Written:
    """Write groups of seven bits, the lowest first; a negative number as its pattern of so many bits."""
    rest, data = value % (1 << bits), b""
    while rest > 0x7F:
        data += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return value, data + bytes([rest])


def varint(value: int) -> Written:
    """Write zigzag: 0, -1, 1, -2 are 0, 1, 2, 3."""
    return value, uvarint(2 * value if value >= 0 else -2 * value - 1)[1]


def string(value: str) -> Written:
    return value, int16(len(value.encode()))[1] + value.encode()


def compact_string(value: str | None) -> Written:
    return value, b"\0" if value is None else uvarint(len(value.encode()) + 1)[1] + value.encode()


def rest(value: bytes) -> Written:
    """Write bytes that end where what they are in ends."""
    return base64.b64encode(value).decode(), value


def data32(value: bytes | None) -> Written:
    """Write bytes with their length in 32 bits; it is -1 for null."""
    return (None, int32(-1)[1]) if value is None else (rest(value)[0], int32(len(value))[1] + value)


def struct(**fields: Written) -> Written:
    """Write fields in their order; those with an underscore are no values, but follow from the others."""
    values = {name: value for name, (value, _) in fields.items() if not name.startswith("_")}
    return values, b"".join(data for _, data in fields.values())


def _array(count: Callable[[int], bytes]) -> Callable[..., Written]:
    return lambda *items: ([value for value, _ in items], count(len(items)) + b"".join(data for _, data in items))


array16 = _array(lambda count: int16(count)[1])
array32 = _array(lambda count: int32(count)[1])
compact_array = _array(lambda count: uvarint(count + 1)[1])
messages_to_the_end = _array(lambda count: b"")


def array(items: Callable[..., Written], one: Callable[[int], Written], *values: int) -> Written:
    return items(*map(one, values))


def sized(written: Written) -> Written:
    """Put a size of 32 bits before it, which does not count itself."""
    return written[0], int32(len(written[1]))[1] + written[1]


def crc32(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4, "big")


def checked(written: Written) -> Written:
    """Put the CRC-32 of the bytes before them."""
    return written[0], crc32(written[1]) + written[1]
