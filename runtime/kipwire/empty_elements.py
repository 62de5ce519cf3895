"""How many elements without bytes the arrays of one message may have: no input bounds their number but this."""

from __future__ import annotations

from kipwire.errors import Malformed

ALWAYS = 1000
"""So many of them may stand in any message."""
BYTES_FOR_EACH = 2
"""In a longer message, so many of its bytes for each of them."""


def most_empty_elements(size: int) -> int:
    """How many elements that take no byte all arrays of a message of so many bytes may have together."""
    return max(ALWAYS, size // BYTES_FOR_EACH)


class EmptyElements:
    """Counts them while a message is read or written; generated code has one where there are such arrays."""

    __slots__ = ("_count", "_limit", "_start")

    def __init__(self, start: int, end: int) -> None:
        self._start = start
        self._count = 0
        self._limit = most_empty_elements(end - start)

    def add(self, count: int) -> None:
        """Count the elements of an array, before there are any.

        Raises:
            Malformed: they are more than all bytes up to the end would allow.
        """
        self._count += count
        if self._count > self._limit:
            raise Malformed

    def settle(self, end: int) -> None:
        """See that they are not too many for a message that ends there.

        Raises:
            Malformed: they are.
        """
        if self._count > most_empty_elements(end - self._start):
            raise Malformed
