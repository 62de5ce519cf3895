"""Messages between processes that read and the one that wants rows, and the memory that both have mapped.

A worker writes each Arrow batch into that memory, and only says where: the rows are not copied a second time, and the
place is free again once no row is held. Such memory is also the bound: a worker that has filled it waits.
"""

from __future__ import annotations

import mmap
import os
import select
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from socket import socketpair
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

Read = Callable[[Any], Iterator[pa.RecordBatch]]
"""Yields the rows of a piece of work; it can be pickled, and so can the piece."""

ROOM = 32 * 1024 * 1024
"""Bytes of rows that a worker may be ahead; the read-ahead should have about a piece of work."""
MOST_BATCHES = 64
"""Batches that a worker may be ahead, so that no message about them ever waits for its reader."""
_SECONDS_BETWEEN_LOOKS = 0.05
"""Time after which places are given back at the latest while a worker waits for them."""


# What this process says to a worker: a piece of work is its number.


class Work(NamedTuple):
    """Work to do from now on."""

    read: Read
    pieces: Sequence[Any]


class Free(NamedTuple):
    """Places in the shared memory that are read no more."""

    starts: list[int]


class Stop(NamedTuple):
    """Read nothing more of this work."""


# What a worker says.


class Ready(NamedTuple):
    """The worker can read."""

    process: int


class Shared(NamedTuple):
    """Rows in the shared memory."""

    start: int
    size: int


class Sent(NamedTuple):
    """Rows that are too large for the shared memory."""

    data: bytes


class Warned(NamedTuple):
    """Reading has warned, such as of records that are gone."""

    warning: Warning


class Done(NamedTuple):
    """A piece has no more rows."""


class Failed(NamedTuple):
    """A piece could not be read further."""

    error: BaseException


class Stopped(NamedTuple):
    """The worker has stopped."""


class End:
    """One end of a socket, with messages in both directions."""

    def __init__(self, file: int) -> None:
        self._connection = Connection(file)
        self._poll = select.poll()  # made once: the poll of a connection costs as much as to decode a small batch
        self._poll.register(file, select.POLLIN)
        self.send, self.receive = self._connection.send, self._connection.recv
        self.send_packed, self.close = self._connection.send_bytes, self._connection.close

    def has_message(self, seconds: float = 0) -> bool:
        """True if a message is there, or comes within some seconds, or the other end is closed."""
        return bool(self._poll.poll(seconds * 1000))


class _Place(weakref.ref[Any]):
    """A place in the shared memory whose rows may still be read: once they are not, its callback is called.

    That must be compiled code: an interrupt that arrives in a callback in Python is printed, and lost.
    """

    __slots__ = ("size", "start")
    start: int
    size: int


class Reader:
    """A worker, as this process has it."""

    def __init__(self) -> None:
        ours, theirs = socketpair()
        self.end = End(ours.detach())
        self.their_end = theirs.detach()
        self.file = _memory_file()
        self.memory = mmap.mmap(self.file, ROOM)
        self.process: int | None = None
        """None until it is ready."""
        self.held: dict[int, _Place] = {}
        """Places that the worker has not back, by their starts."""
        self._freed: deque[Any] = deque()
        """Places whose rows are read no more."""

    def close_theirs(self) -> None:
        """Close what the worker has opened."""
        os.close(self.their_end)
        os.close(self.file)

    def is_ready(self) -> bool:
        """True once the worker has said that it is ready.

        Raises:
            EOFError, OSError: it has ended.
        """
        if self.process is None and self.end.has_message():
            self.process = self.end.receive().process
        return self.process is not None

    def receive(self) -> Any:
        """Return the next message, and give back places meanwhile.

        Raises:
            EOFError, OSError: the worker has ended.
        """
        while not self.end.has_message(_SECONDS_BETWEEN_LOOKS):
            self.give_back()
        self.give_back()
        return self.end.receive()

    def give_back(self) -> None:
        """Tell the worker which places are free."""
        starts = [self._freed.popleft().start for _ in range(len(self._freed))]
        if starts:
            for start in starts:
                del self.held[start]
            self.end.send(Free(starts))

    def rows(self, shared: Shared) -> pa.RecordBatch:
        """Return rows in the shared memory, whose place is free once they are dropped.

        If whoever gets the rows keeps them, they are copies from some number on, since the worker needs the place.
        """
        is_much = sum(place.size for place in self.held.values()) > ROOM // 4
        held = self._hold(shared)
        return batch_of(held.tobytes() if is_much or len(self.held) > MOST_BATCHES // 4 else held)

    def _hold(self, shared: Shared) -> Any:
        """Return the bytes of rows; their place is free once Arrow, or whoever else has them, drops them."""
        held = np.frombuffer(self.memory, np.uint8, shared.size, shared.start)
        place = _Place(held, self._freed.append)
        place.start, place.size = shared
        self.held[shared.start] = place
        return held

    def stop(self) -> None:
        """Stop reading, and forget what has been read since.

        Raises:
            EOFError, OSError: the worker has ended.
        """
        self.end.send(Stop())
        while not isinstance(message := self.receive(), Stopped):
            if isinstance(message, Shared):
                self._hold(message)
        self.give_back()


def _memory_file() -> int:
    """Return a new file of memory, or else one without a name on the disk."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("kipwire-rows")
    else:
        with TemporaryFile() as opened:
            file = os.dup(opened.fileno())
    os.ftruncate(file, ROOM)
    return file


def batch_of(data: Any) -> pa.RecordBatch:
    return pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch()
