"""What the generated code of layouts reads and writes with, besides `kipwire.wire`."""

from __future__ import annotations

from operator import attrgetter, ge

from kipwire.errors import Malformed
from kipwire.wire import ONE_BYTE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    T = TypeVar("T")

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


def section(write: Callable[[list[T], Callable[[bytes], object]], None], items: list[T]) -> bytes:
    """The bytes of structs, which `write` hands over piece by piece, side by side."""
    pieces: list[bytes] = []
    write(items, pieces.append)
    return b"".join(pieces)
