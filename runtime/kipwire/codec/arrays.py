"""Functions of generated code for arrays and nested structs.

The caller reads the count before an array; `size` is the first byte of a compact count, which is one more.
"""

from __future__ import annotations

from itertools import repeat

from kipwire.codec.wire import (
    BOOL_BYTE,
    FALSE_TRUE,
    ONE_BYTE,
    as_bytes,
    as_list,
    encode_text,
    new,
    pack_h,
    pack_i,
    read_size,
    read_string_size,
    unpack_h,
    unpack_i,
    write_size,
    write_string_size,
)
from kipwire.model.errors import Malformed
from kipwire.model.structs import Struct

__all__ = [
    "read_blobs", "read_bools", "read_bounded_struct", "read_bounded_structs", "read_compact_blobs",
    "read_compact_structs", "read_compact_texts", "read_struct", "read_structs", "read_texts", "section", "write_blobs",
    "write_bools", "write_compact_blobs", "write_compact_structs", "write_compact_texts", "write_elements",
    "write_sized_blobs", "write_sized_texts", "write_struct", "write_structs", "write_texts",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    Unpack = Callable[[bytes, int], tuple[int, ...]]
    T = TypeVar("T", bound=Struct)

MOST_MADE = 128
"""Limit for the instances made before the first is read, so that a count without bytes after it takes little memory."""


# Structs.


def read_struct(cls: type[T], data: bytes, pos: int) -> tuple[T, int]:
    """Read the struct at a position; return it and the position after it."""
    item = new(cls)
    return item, item._read(data, pos)


def write_struct(cls: type[Struct], item: Struct, parts: list[bytes]) -> None:
    """Write a struct, which must be an instance of the class."""
    if not isinstance(item, cls):
        raise Malformed
    item._write(parts)


def read_structs(cls: type[T], data: bytes, pos: int, count: int) -> tuple[list[T], int]:
    """Read `count` structs in a row; return them and the position after the last."""
    if count < 0:
        raise Malformed
    items: list[T] = []
    read = cls._read
    while count:
        made = [*map(new, repeat(cls, count if count < MOST_MADE else MOST_MADE))]
        for item in made:
            pos = read(item, data, pos)
        items += made
        count -= len(made)
    return items, pos


def read_compact_structs(cls: type[T], data: bytes, pos: int, size: int) -> tuple[list[T], int]:
    """Read the structs after a compact count; return them and the position after the last."""
    if size > 127 or not size:
        size, pos = read_size(data, pos)
    elif size == 2:  # one topic or one coordinator is what most messages are about
        item = new(cls)
        return [item], item._read(data, pos)
    elif size <= MOST_MADE:  # mostly: this saves a call
        items = [*map(new, repeat(cls, size - 1))]
        read = cls._read
        for item in items:
            pos = read(item, data, pos)
        return items, pos
    return read_structs(cls, data, pos, size - 1)


def write_elements(cls: type[Struct], items: Sequence[Struct], parts: list[bytes]) -> None:
    """Write structs in a row, each of which must be an instance of the class."""
    write = cls._write
    for item in items:
        if not isinstance(item, cls):
            raise Malformed
        write(item, parts)


def write_structs(cls: type[T], items: list[T], parts: list[bytes]) -> None:
    """Write an array of structs: their count, then the structs."""
    if type(items) is not list:
        items = as_list(items)
    parts.append(pack_i(len(items)))
    write_elements(cls, items, parts)


def write_compact_structs(cls: type[T], items: list[T], parts: list[bytes]) -> None:
    """Write an array of structs: their compact count, then the structs."""
    if type(items) is not list:
        items = as_list(items)
    size = len(items) + 1
    parts.append(ONE_BYTE[size] if size < 128 else write_size(size))
    write = cls._write
    for item in items:  # as `write_elements` does; most arrays are short, and this saves them a call
        if not isinstance(item, cls):
            raise Malformed
        write(item, parts)


def section(cls: type[Struct], items: list[Any]) -> bytes:
    """Encode structs in a row."""
    parts: list[bytes] = []
    write_elements(cls, items, parts)
    return b"".join(parts)


def read_bounded_struct(cls: type[T], data: bytes, pos: int, bound: int) -> tuple[T, int]:
    """Read the struct at a position, with no byte beyond the bound; return it and the position after it."""
    item = new(cls)
    return item, item._read(data, pos, bound)


def read_bounded_structs(
    cls: type[T], data: bytes, pos: int, bound: int, count: int | None = None
) -> tuple[list[T], int]:
    """Read `count` structs in a row, or all up to the bound; return them and the position after the last."""
    items: list[T] = []
    read = cls._read
    while pos < bound and len(items) != count:
        item = new(cls)
        pos = read(item, data, pos, bound)
        items.append(item)
    if count is not None and len(items) != count:
        raise Malformed
    return items, pos


# Texts and bytes.


def read_blobs(data: bytes, pos: int, count: int) -> tuple[list[bytes], int]:
    """Read `count` bytes objects, each after its length as int32; return them and the position after the last."""
    return _read_sized(data, pos, count, unpack_i, 4)


def read_texts(data: bytes, pos: int, count: int) -> tuple[list[str], int]:
    """Read `count` strings, each after its length as int16; return them and the position after the last."""
    texts, pos = _read_sized(data, pos, count, unpack_h, 2)
    return [text.decode() for text in texts], pos


def _read_sized(data: bytes, pos: int, count: int, unpack: Unpack, width: int) -> tuple[list[bytes], int]:
    if count < 0:
        raise Malformed
    items = []
    for _ in range(count):
        (size,) = unpack(data, pos)
        if size < 0:
            raise Malformed
        pos += width
        end = pos + size
        items.append(data[pos:end])
        pos = end
    return items, pos


def read_compact_blobs(data: bytes, pos: int, size: int) -> tuple[list[bytes], int]:
    """Read the bytes objects after a compact count; return them and the position after the last."""
    return _read_compact(data, pos, size, read_size)


def read_compact_texts(data: bytes, pos: int, size: int) -> tuple[list[str], int]:
    """Read the strings after a compact count; return them and the position after the last."""
    texts, pos = _read_compact(data, pos, size, read_string_size)
    return [text.decode() for text in texts], pos


def _read_compact(
    data: bytes, pos: int, size: int, read_long: Callable[[bytes, int], tuple[int, int]]
) -> tuple[list[bytes], int]:
    if size > 127 or not size:
        size, pos = read_size(data, pos)
    items = []
    for _ in range(size - 1):
        size = data[pos]
        pos += 1
        if size > 127 or not size:
            size, pos = read_long(data, pos)
        end = pos + size - 1
        items.append(data[pos:end])
        pos = end
    return items, pos


def write_blobs(items: list[bytes], parts: list[bytes]) -> None:
    """Write an array of bytes objects: their count, then each after its length as int32."""
    items = as_list(items)
    parts.append(pack_i(len(items)))
    write_sized_blobs(items, parts)


def write_sized_blobs(items: list[bytes], parts: list[bytes]) -> None:
    """Write bytes objects in a row, each after its length as int32."""
    for item in map(as_bytes, items):
        parts.append(pack_i(len(item)))
        parts.append(item)


def write_texts(items: list[str], parts: list[bytes]) -> None:
    """Write an array of strings: their count, then each after its length as int16."""
    items = as_list(items)
    parts.append(pack_i(len(items)))
    write_sized_texts(items, parts)


def write_sized_texts(items: list[str], parts: list[bytes]) -> None:
    """Write strings in a row, each after its length as int16."""
    for item in map(encode_text, items):
        parts.append(pack_h(len(item)))
        parts.append(item)


def write_compact_blobs(items: list[bytes], parts: list[bytes]) -> None:
    """Write a compact array of bytes objects."""
    _write_compact([*map(as_bytes, as_list(items))], parts, write_size)


def write_compact_texts(items: list[str], parts: list[bytes]) -> None:
    """Write a compact array of strings."""
    _write_compact([*map(encode_text, as_list(items))], parts, write_string_size)


def _write_compact(items: list[bytes], parts: list[bytes], write_long: Callable[[int], bytes]) -> None:
    size = len(items) + 1
    parts.append(ONE_BYTE[size] if size < 128 else write_size(size))
    for item in items:
        size = len(item) + 1
        parts.append(ONE_BYTE[size] if size < 128 else write_long(size))
        parts.append(item)


# Flags.


def read_bools(data: bytes, pos: int, count: int) -> tuple[list[bool], int]:
    """Read `count` flags; return them and the position after the last."""
    if count < 0:
        raise Malformed
    end = pos + count
    return [FALSE_TRUE[byte] for byte in data[pos:end]], end


def write_bools(items: list[bool]) -> bytes:
    """Encode flags in a row."""
    return bytes([BOOL_BYTE[item] for item in items])
