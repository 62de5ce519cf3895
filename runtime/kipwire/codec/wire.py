"""Functions and tables of generated code: the parts that are too long to be inline.

Functions that read take the whole buffer and a position and return a position. They do not check for a short buffer
where a slice comes out short: the head of templates/read.py.j2 says what notices it.
"""

from __future__ import annotations

from itertools import repeat
from operator import attrgetter, ge
from struct import Struct as Packer
from struct import error as StructError  # noqa: N812
from struct import iter_unpack

from kipwire.model.errors import Malformed
from kipwire.model.types import MAX_STRING

__all__ = [
    "BOOL_BYTE", "FALSE_TRUE", "ONE_BYTE", "PACK_FLOAT64", "PACK_INT8", "PACK_INT16", "PACK_INT32", "PACK_INT64",
    "PACK_UINT16", "PACK_UINT32", "UNPACK_FLOAT64", "UNPACK_INT8", "UNPACK_INT16", "UNPACK_INT32", "UNPACK_INT64",
    "UNPACK_UINT16", "UNPACK_UINT32", "VARINTS", "as_bytes", "as_list", "encode_text", "in_order", "is_empty",
    "is_in_order", "pack_B", "pack_H", "pack_I", "pack_b", "pack_d", "pack_h", "pack_i", "pack_q", "read_packed_array",
    "read_size", "read_string_size", "read_tag_section", "read_upacked", "read_upacked_array", "read_upacked_run",
    "read_varint", "tag_section", "unpack_H", "unpack_I", "unpack_b", "unpack_d", "unpack_h", "unpack_i",
    "unpack_q", "write_packed", "write_packed_array", "write_size", "write_string_size", "write_upacked",
    "write_upacked_array", "write_upacked_run",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from kipwire.model.structs import Struct

    T = TypeVar("T")

    def new(cls: type[T]) -> T: ...

    VARINTS: tuple[bytes, ...]
    """The unsigned varints of one and two bytes, by number; made when the first module asks for them."""

else:
    new = object.__new__
    """An instance without a call of `__init__`; the reader sets every slot itself."""


encode_text = str.encode
"""UTF-8 of a text; unlike `value.encode()` it takes nothing but a text."""

MAX_LENGTH = 2**31 - 2
"""The most bytes or elements that a compact length can declare."""
MAX_TAG = 2**31 - 1

ONE_BYTE = tuple(bytes((i,)) for i in range(256))
FALSE_TRUE = (False, True)
BOOL_BYTE = {False: 0, True: 1}


if not TYPE_CHECKING:

    def __getattr__(name: str) -> tuple[bytes, ...]:
        """Make `VARINTS`: few messages need the table, and making it takes a tenth of the time of a first import."""
        if name != "VARINTS":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        pairs = bytearray(2 * 127 * 128)
        pairs[::2] = bytes(range(0x80, 0x100)) * 127
        pairs[1::2] = b"".join([high * 128 for high in ONE_BYTE[1:128]])
        table = globals()[name] = (*ONE_BYTE[:128], *[pair for (pair,) in iter_unpack("2s", pairs)])
        return table


class _Unpackers(dict[int, "Callable[[bytes, int], tuple[Any, ...]]"]):
    """Functions that read elements of a fixed width, by the number of elements."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __missing__(self, count: int) -> Callable[[bytes, int], tuple[Any, ...]]:
        unpack = Packer(f">{count}{self.code}").unpack_from
        if count < 256:  # longer ones are rare and must not fill the memory
            self[count] = unpack
        return unpack


class _Packers(dict[int, "Callable[..., bytes]"]):
    """Functions that encode elements of a fixed width, by the number of elements."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __missing__(self, count: int) -> Callable[..., bytes]:
        pack = Packer(f">{count}{self.code}").pack
        if count < 256:
            self[count] = pack
        return pack


UNPACK_INT8, PACK_INT8 = _Unpackers("b"), _Packers("b")
UNPACK_INT16, PACK_INT16 = _Unpackers("h"), _Packers("h")
UNPACK_UINT16, PACK_UINT16 = _Unpackers("H"), _Packers("H")
UNPACK_INT32, PACK_INT32 = _Unpackers("i"), _Packers("i")
UNPACK_UINT32, PACK_UINT32 = _Unpackers("I"), _Packers("I")
UNPACK_INT64, PACK_INT64 = _Unpackers("q"), _Packers("q")
UNPACK_FLOAT64, PACK_FLOAT64 = _Unpackers("d"), _Packers("d")

# One number, by its code in the `struct` module; a capital is a code of its own.
unpack_b, pack_b = Packer(">b").unpack_from, Packer(">b").pack
pack_B = Packer(">B").pack  # noqa: N816 - as bytes, one such number is read by its index
unpack_h, pack_h = Packer(">h").unpack_from, Packer(">h").pack
unpack_H, pack_H = Packer(">H").unpack_from, Packer(">H").pack  # noqa: N816
unpack_i, pack_i = Packer(">i").unpack_from, Packer(">i").pack
unpack_I, pack_I = Packer(">I").unpack_from, Packer(">I").pack  # noqa: N816
unpack_q, pack_q = Packer(">q").unpack_from, Packer(">q").pack
unpack_d, pack_d = Packer(">d").unpack_from, Packer(">d").pack


# Unsigned varints (KIP-482). The first byte is read inline; these take over where it is 128 or more.


def read_varint(data: bytes, pos: int, bits: int) -> tuple[int, int]:
    """Read the varint whose first byte is before `pos`: minimal form only, and at most `bits` bits."""
    byte = data[pos]
    value = byte << 7 | data[pos - 1] & 0x7F
    pos += 1
    if 0 < byte < 0x80:
        return value, pos
    value &= 0x3FFF
    shift = 14
    while byte > 0x7F:
        if shift >= bits:
            raise Malformed
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    if not byte or value >> bits:
        raise Malformed
    return value, pos


def read_size(data: bytes, pos: int) -> tuple[int, int]:
    """Read a compact size, a count or a tag of two bytes and more: (value, position after it).

    The single byte 0 is refused: it means null, and callers that accept null check for it first.
    """
    if not data[pos - 1]:
        raise Malformed
    byte = data[pos]
    if 0 < byte < 0x80:
        return byte << 7 | data[pos - 1] & 0x7F, pos + 1
    return read_varint(data, pos, 31)


def read_string_size(data: bytes, pos: int) -> tuple[int, int]:
    """Read the compact size of a string that takes two bytes or more; refuse the size of null, like `read_size`."""
    size, pos = read_size(data, pos)
    if size > MAX_STRING + 1:
        raise Malformed
    return size, pos


def write_varint(value: int) -> bytes:
    """Encode any number from 0 as an unsigned varint."""
    if value < 0x80:
        return ONE_BYTE[value]
    if value < 0x4000:
        return ONE_BYTE[value & 0x7F | 0x80] + ONE_BYTE[value >> 7]
    low, middle = value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80
    if value < 0x200000:
        return bytes((low, middle, value >> 14))
    high = value >> 14 & 0x7F | 0x80
    if value < 0x10000000:
        return bytes((low, middle, high, value >> 21))
    if value < 0x800000000:
        return bytes((low, middle, high, value >> 21 & 0x7F | 0x80, value >> 28))
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class _Sizes(dict[int, bytes]):
    """Compact sizes of two bytes and more, by number."""

    def __missing__(self, size: int) -> bytes:
        if size > MAX_LENGTH + 1:
            raise Malformed
        encoded = write_varint(size)
        if size < 0x4000:  # longer ones are rare and must not fill the memory
            self[size] = encoded
        return encoded


write_size = _Sizes().__getitem__
"""A compact size of two bytes and more. Most values of bytes need it, and what is kept takes no function of Python."""


def write_string_size(size: int) -> bytes:
    """Encode the compact size of a string, of two bytes and more."""
    if size > MAX_STRING + 1:
        raise Malformed
    return write_size(size)


# Integers as varints (KIP-625). As above, a first byte below 128 is dealt with inline.


def read_packed(data: bytes, pos: int, bits: int) -> tuple[int, int]:
    """Read a zigzag varint of two bytes and more."""
    value, pos = read_varint(data, pos, bits)
    return (value >> 1) ^ -(value & 1), pos


def read_upacked(data: bytes, pos: int, bits: int) -> tuple[int, int]:
    """Read a varint of at least two bytes that holds a two's complement pattern of `bits` bits."""
    value, pos = read_varint(data, pos, bits)
    return (value - (1 << bits) if value >> bits - 1 else value), pos


def write_packed(value: int, bits: int) -> bytes:
    """Encode a number of at most `bits` bits as zigzag varint."""
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise Malformed
    return write_varint((value << 1) ^ (value >> bits - 1))


def write_upacked(value: int, bits: int) -> bytes:
    """Encode a number of at most `bits` bits as varint of its two's complement pattern."""
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise Malformed
    return write_varint(value & (1 << bits) - 1)


_ZIGZAG = bytes((number << 1 ^ number >> 7) & 0xFF for number in (*range(128), *range(-128, 0)))
"""Table from the byte of a signed number to its zigzag number; a zigzag number below 128 is its own varint."""
_SIGNED = bytes((byte >> 1 ^ -(byte & 1)) & 0xFF for byte in range(256))
"""Translates a byte in zigzag form to the byte of the signed number."""


def read_upacked_run(data: bytes, pos: int, bits: Iterable[int]) -> tuple[list[int], int]:
    """Read varints of two's complement patterns of `bits` bits in a row; return them and the position after them."""
    numbers = []
    for width in bits:
        number = data[pos]
        pos += 1
        if number > 127:
            number, pos = read_upacked(data, pos, width)
        numbers.append(number)
    return numbers, pos


def write_upacked_run(numbers: Iterable[int], bits: Iterable[int]) -> bytes:
    """Encode numbers as varints of their two's complement patterns of `bits` bits."""
    return b"".join(map(write_upacked, numbers, bits))


def read_packed_array(data: bytes, pos: int, count: int, bits: int) -> tuple[list[int], int]:
    """Read `count` zigzag varints: (the numbers, position after them)."""
    if count < 0:
        raise Malformed
    end = pos + count
    chunk = data[pos:end]
    if chunk.isascii() and len(chunk) == count:  # all of them have one byte, as most arrays of small numbers do
        return [*UNPACK_INT8[count](chunk.translate(_SIGNED), 0)], end
    numbers = []
    for _ in range(count):
        number = data[pos]
        pos += 1
        if number > 127:
            number, pos = read_packed(data, pos, bits)
        else:
            number = (number >> 1) ^ -(number & 1)
        numbers.append(number)
    return numbers, pos


def read_upacked_array(data: bytes, pos: int, count: int, bits: int) -> tuple[list[int], int]:
    """Read `count` varints of two's complement patterns: (the numbers, position after them)."""
    if count < 0:
        raise Malformed
    end = pos + count
    chunk = data[pos:end]
    if chunk.isascii() and len(chunk) == count:
        return [*chunk], end
    return read_upacked_run(data, pos, repeat(bits, count))


def write_packed_array(numbers: list[int], bits: int) -> bytes:
    """Encode numbers as zigzag varints."""
    try:
        encoded = PACK_INT8[len(numbers)](*numbers).translate(_ZIGZAG)
        if encoded.isascii():
            return encoded
    except StructError:  # not all of them have one byte
        pass
    return b"".join([write_packed(number, bits) for number in numbers])


def write_upacked_array(numbers: list[int], bits: int) -> bytes:
    """Encode numbers as varints of their two's complement patterns."""
    try:
        encoded = bytes(numbers)
        if encoded.isascii():
            return encoded
    except ValueError:  # not all of them have one byte
        pass
    return write_upacked_run(numbers, repeat(bits))


# Values that are not quite of the attribute's type, but mean the same.


def as_list(value: list[T]) -> list[T]:
    """Convert an array given as a tuple or as a subclass of list."""
    if not isinstance(value, (list, tuple)):
        raise Malformed
    return list(value)


def is_empty(value: list[T] | None) -> bool:
    """True if a value is an empty array."""
    return isinstance(value, (list, tuple)) and not value


def as_bytes(value: bytes) -> bytes:
    """Convert bytes given in another buffer type."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise Malformed
    return bytes(value)


# Tag sections (KIP-482).


def read_tag_section(item: Struct, data: bytes, pos: int) -> int:
    """Read a tag section that is not empty into its struct; return the position after it."""
    count = data[pos]
    pos += 1
    if count > 127:
        count, pos = read_size(data, pos)
    unknown: dict[int, bytes] = {}
    previous = -1
    for _ in range(count):
        tag = data[pos]
        pos += 1
        if tag > 127:
            tag, pos = read_size(data, pos)
        size = data[pos]
        pos += 1
        if size > 127:
            size, pos = read_size(data, pos)
        if tag <= previous:
            raise Malformed
        previous = tag
        end = pos + size
        read_to = item._read_tagged_field(tag, data, pos)
        if read_to is None:
            if tag in item.OTHER_TAGS:
                raise Malformed
            unknown[tag] = data[pos:end]
        elif read_to != end:
            raise Malformed
        pos = end
    item._unknown_tagged_fields = unknown
    return pos


def tag_section(item: Struct, fields: list[tuple[int, bytes]]) -> bytes:
    """Encode the tag section of a struct with these fields and the unknown ones, in the order of their tags."""
    unknown = item._unknown_tagged_fields
    if unknown:
        for tag, value in [*unknown.items()]:  # which another thread may add to
            if tag in item.DECLARED_TAGS or not 0 <= tag <= MAX_TAG:
                raise Malformed
            fields.append((tag, as_bytes(value)))
        fields.sort()
    count = len(fields)
    parts = [ONE_BYTE[count] if count < 128 else write_varint(count)]
    for tag, value in fields:
        size = len(value)
        parts.append(ONE_BYTE[tag] if tag < 128 else write_varint(tag))
        parts.append(ONE_BYTE[size] if size < 128 else write_varint(size))
        parts.append(value)
    return b"".join(parts)


def is_in_order(items: list[T], key: str) -> bool:
    """True if an attribute strictly ascends from element to element."""
    keys = list(map(attrgetter(key), items))
    return not any(map(ge, keys, keys[1:]))


def in_order(items: list[T], key: str) -> list[T]:
    """Sort the elements of a set by ascending keys; no two may have the same key."""
    ordered = sorted(items, key=attrgetter(key))
    if not is_in_order(ordered, key):
        raise Malformed
    return ordered
