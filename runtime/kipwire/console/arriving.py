"""The bytes of a pipe, which come as others write them: what is known is shown before more of them are waited for."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

AT_ONCE = 1 << 18
"""Bytes that are read at once: as many as a pipe may have, and less than take a moment to look at."""


class OutputClosedError(Exception):
    """The reader of the output, such as head, has seen enough; found out while input was waited for.

    It is no `OSError`, which would be taken for an error of the input.
    """


class Arriving(io.RawIOBase):
    """A stream that can be looked at: what `peek` gave comes again."""

    def __init__(self, source: Any, before_waiting: Callable[[], None]) -> None:
        """Read a binary stream that has `read1`.

        Args:
            source: the stream.
            before_waiting: called before more bytes are waited for; shows what is known.
        """
        self._source = source
        self._before_waiting = before_waiting
        self._seen = b""

    def peek(self, size: int) -> bytes:
        """Return the first bytes that were not read yet, fewer only at the end, and leave them to be read."""
        while len(self._seen) < size and (more := self._wait(size - len(self._seen))):
            self._seen += more
        return self._seen[:size]

    def read_some(self, size: int) -> bytes:
        """Read the bytes that are there, at most `size`; none at the end."""
        if self._seen:
            some, self._seen = self._seen[:size], self._seen[size:]
            return some
        return self._wait(size)

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read like `read_some`, into a buffer."""
        view = memoryview(buffer).cast("B")
        some = self.read_some(len(view))
        view[: len(some)] = some
        return len(some)

    def _wait(self, size: int) -> bytes:
        try:
            self._before_waiting()
        except BrokenPipeError:
            raise OutputClosedError from None
        return cast("bytes", self._source.read1(size))
