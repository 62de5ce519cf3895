"""What the generated code of layouts reads and writes with, besides `kipwire.wire`."""

from __future__ import annotations

from operator import attrgetter, ge

from kipwire.arrays import write_elements
from kipwire.errors import Malformed
from kipwire.wire import ONE_BYTE, new

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from kipwire.structs import Struct

    T = TypeVar("T")
    S = TypeVar("S", bound=Struct)

VARINTS = (*ONE_BYTE[:128], *(bytes((low | 0x80, high)) for high in range(1, 128) for low in range(128)))
"""By number: the unsigned varints of one and two bytes."""


def is_in_order(items: list[T], key: str) -> bool:
    """Whether the elements strictly ascend by an attribute."""
    keys = list(map(attrgetter(key), items))
    return not any(map(ge, keys, keys[1:]))


def in_order(items: list[T], key: str) -> list[T]:
    """The elements of a set by ascending keys; no two may have the same key."""
    ordered = sorted(items, key=attrgetter(key))
    if not is_in_order(ordered, key):
        raise Malformed
    return ordered


def section(cls: type[Struct], items: list[Any]) -> bytes:
    """The bytes of structs side by side."""
    pieces: list[bytes] = []
    write_elements(cls, items, pieces.append)
    return b"".join(pieces)


def read_bounded_struct(cls: type[S], data: bytes, pos: int, bound: int) -> tuple[S, int]:
    """The struct that stands there, before the bound: (it, position after it)."""
    item = new(cls)
    return item, item._read(data, pos, bound)


def read_bounded_structs(
    cls: type[S], data: bytes, pos: int, bound: int, count: int | None = None
) -> tuple[list[S], int]:
    """So many structs side by side, or as many as there are before the bound: (they, position after them)."""
    items: list[S] = []
    read = cls._read
    while pos < bound and len(items) != count:
        item = new(cls)
        pos = read(item, data, pos, bound)
        items.append(item)
    return items, pos
