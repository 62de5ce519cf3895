"""Limit on array elements that take no bytes: the size of the input does not bound their number."""

from __future__ import annotations

from kipwire.codec.arrays import read_structs, write_structs
from kipwire.codec.wire import MAX_LENGTH
from kipwire.model.errors import Malformed

__all__ = [
    "counted_bytes", "counted_parts", "read_empty_structs", "settle_bytes", "settle_parts", "write_empty_structs",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from kipwire.model.structs import Struct

    T = TypeVar("T", bound=Struct)

MIN_LIMIT = 1000
"""Number of elements without bytes that any message may have."""
BYTES_PER_ELEMENT = 2
"""Number of bytes that a longer message needs for each such element."""


def most_empty_elements(size: int) -> int:
    """Return the number of elements without bytes that all arrays of a message of a size may have together."""
    return max(MIN_LIMIT, size // BYTES_PER_ELEMENT)


class EmptyElements:
    """Counter of the elements without bytes, while a message is read or written."""

    __slots__ = ("_count", "_limit", "_start")

    def __init__(self, start: int, end: int) -> None:
        self._start = start
        self._count = 0
        self._limit = most_empty_elements(end - start)

    def add(self, count: int) -> None:
        """Count the elements of an array, before there are any.

        Raises:
            Malformed: the count so far is more than all bytes up to the end would allow.
        """
        self._count += count
        if self._count > self._limit:
            raise Malformed

    def settle(self, end: int) -> None:
        """Check the number of elements against the size of a message that ends at `end`.

        Raises:
            Malformed: there are more than a message of this size may have.
        """
        if self._count > most_empty_elements(end - self._start):
            raise Malformed


# Generated code of a message with such arrays reads from `counted_bytes`, and appends to `counted_parts`.


class _CountedBytes(bytes):
    """The bytes of a message, with the count of its elements without bytes."""

    empties: EmptyElements


class _CountedParts(list[bytes]):
    """The parts of a message that is written, with the count of its elements without bytes."""

    __slots__ = ("empties", "out")

    def __init__(self, out: list[bytes]) -> None:
        self.out = out
        self.empties = EmptyElements(0, MAX_LENGTH)


def counted_bytes(data: bytes, pos: int) -> bytes:
    """Wrap the bytes of a message that starts at `pos`, so that the elements without bytes are counted."""
    counted = _CountedBytes(data)
    counted.empties = EmptyElements(pos, len(data))
    return counted


def settle_bytes(data: bytes, end: int) -> int:
    """Check that a message read from counted bytes may have as many elements as were counted; return its end."""
    assert isinstance(data, _CountedBytes)
    data.empties.settle(end)
    return end


def read_empty_structs(cls: type[T], data: bytes, pos: int, count: int) -> tuple[list[T], int]:
    """Read `count` structs that can be empty, from counted bytes; return them and the position after the last."""
    assert isinstance(data, _CountedBytes)
    data.empties.add(count)
    return read_structs(cls, data, pos, count)


def counted_parts(out: list[bytes]) -> list[bytes]:
    """Wrap the list of parts for `out`, so that the elements written to it are counted."""
    return _CountedParts(out)


def settle_parts(parts: list[bytes]) -> None:
    """Append the parts to `out`, and check that the message may have as many elements as were counted."""
    assert isinstance(parts, _CountedParts)
    parts.out += parts
    parts.empties.settle(sum(map(len, parts)))


def write_empty_structs(cls: type[T], items: list[T], parts: list[bytes]) -> None:
    """Write an array of structs that can take no byte: their count, then the structs."""
    assert isinstance(parts, _CountedParts)
    parts.empties.add(len(items))
    write_structs(cls, items, parts)
