"""The bytes of one direction of a TCP connection: segments in any order in, bytes in order out.

Repeated bytes are left out. If bytes are missing, later ones wait for them, but not forever: the missing bytes are
given
up when too much waits, when the peer acknowledged them a while ago, or when the capture ends.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

_MODULUS = 2**32
_HALF = 2**31
_WINDOW = 2**30
"""TCP's largest; what starts further back is not a repetition."""

_MOST_WAITING_BYTES = 8 * 1024 * 1024
MOST_WAITING = 4096
"""The most segments that wait for missing bytes."""
_COST = 256
"""About how many bytes a waiting segment takes in addition to its content."""
_LATE = 10**9
"""Nanoseconds. A packet is captured later than the answer to it by less than that, or not at all."""


class Piece(NamedTuple):
    """The next part of a stream: some bytes, or the number of missing ones."""

    time: int
    """Time of capture, in nanoseconds; for missing bytes, the time of the bytes after them."""
    data: bytes
    lost: int


class _Waiting(NamedTuple):
    data: bytes
    size: int
    time: int


class Stream:
    """One direction of one connection.

    Positions are sequence numbers that do not wrap around at 2**32.
    """

    __slots__ = ("_acknowledged_at", "_position", "_start", "_starts", "_waiting", "early", "held")

    def __init__(self) -> None:
        self.held = 0
        """About how many bytes of memory wait for missing ones."""
        self.early = 0
        """The number of bytes before the assumed start, which came too late."""
        self._position: int | None = None
        """The sequence number of the next byte; None until it is known."""
        self._start = 0
        """Position at which the stream starts."""
        self._waiting: dict[int, _Waiting] = {}
        """Waiting segments by position."""
        self._starts: list[int] = []
        """Positions of the waiting segments, as a heap."""
        self._acknowledged_at: int | None = None
        """Time at which the peer was first seen to have the missing bytes."""

    @property
    def is_started(self) -> bool:
        """True if the position of the next byte is known."""
        return self._position is not None

    @property
    def has_hole(self) -> bool:
        """True if bytes are missing before others that are there."""
        return bool(self._starts)

    def start(self, sequence: int) -> None:
        """Set the sequence number of the first byte."""
        self._position = self._start = sequence

    def has_reached(self, sequence: int) -> bool:
        """True if all bytes before a sequence number have been returned, or given up."""
        return self._position is not None and self._ahead(sequence) <= 0

    def add(self, sequence: int, data: bytes, size: int, time: int) -> list[Piece]:
        """Process a segment; the pieces that are then in order.

        Args:
            sequence: the number of its first byte.
            data: its content, or as much of it as was captured.
            size: how many bytes its content has.
            time: in nanoseconds.
        """
        if self._position is None:
            self.start(sequence)
        ahead = self._ahead(sequence)
        if ahead == 0 and not self._starts:  # as nearly all are
            return self._pieces(data, size, time)
        if ahead < -_WINDOW:  # too far back for a repetition: it is ahead, and its number wrapped around
            pieces = self.give_up_all()
            return [
                *pieces,
                Piece(time, b"", self._skip(self._ahead(sequence) % _MODULUS)),
                *self._pieces(data, size, time),
            ]
        if ahead > 0:
            self._wait(self._at(ahead), _Waiting(data, size, time))
            too_much = self.held > _MOST_WAITING_BYTES or len(self._waiting) > MOST_WAITING
            return self.give_up() if too_much else []
        if self._at(ahead) < self._start:
            self.early += min(size, -ahead)
        if ahead + size <= 0:
            return []
        return [*self._pieces(data[-ahead:], size + ahead, time), *self._release()]

    def acknowledged(self, number: int, time: int) -> list[Piece]:
        """Note that the peer has all bytes before a number; the next pieces, if missing bytes are given up then.

        Only useful if there is a hole.
        """
        if self._ahead(number) <= 0:
            return []
        if self._acknowledged_at is None:
            self._acknowledged_at = time
        return self.give_up() if time - self._acknowledged_at > _LATE else []

    def give_up(self) -> list[Piece]:
        """Continue after the first hole; the next pieces, beginning with how many bytes are missing."""
        if not self._starts:
            return []
        first = self._starts[0]
        lost = self._skip(first - self._at(0))
        return [Piece(self._waiting[first].time, b"", lost), *self._release()]

    def give_up_all(self) -> list[Piece]:
        """Continue after all holes."""
        pieces: list[Piece] = []
        while self._starts:
            pieces += self.give_up()
        return pieces

    def give_up_before(self, sequence: int, time: int) -> list[Piece]:
        """Continue at a number that the stream is known to have reached; how many bytes are missing before it."""
        # Where it ends, the stream has one number more than bytes.
        if self._position is None or not 1 < self._ahead(sequence) < _WINDOW:
            return []
        return [Piece(time, b"", self._skip(self._ahead(sequence)))]

    def _ahead(self, sequence: int) -> int:
        """Compute the distance of a number from the next byte; below 0 if it is before it."""
        return (sequence - self._at(0) + _HALF) % _MODULUS - _HALF

    def _at(self, ahead: int) -> int:
        assert self._position is not None
        return self._position + ahead

    def _skip(self, count: int) -> int:
        self._position = self._at(count)
        return count

    def _pieces(self, data: bytes, size: int, time: int) -> list[Piece]:
        self._skip(size)
        pieces = [Piece(time, data, 0)] if data else []
        if len(data) < size:
            pieces.append(Piece(time, b"", size - len(data)))
        return pieces

    def _wait(self, position: int, waiting: _Waiting) -> None:
        before = self._waiting.get(position)
        if before is None:
            heappush(self._starts, position)
            self.held += len(waiting.data) + _COST
        elif before.size >= waiting.size:
            return
        else:
            self.held += len(waiting.data) - len(before.data)
        self._waiting[position] = waiting

    def _release(self) -> list[Piece]:
        """Release the waiting segments before which nothing is missing any more."""
        pieces: list[Piece] = []
        while self._starts and self._starts[0] <= self._at(0):
            position = heappop(self._starts)
            data, size, time = self._waiting.pop(position)
            self.held -= len(data) + _COST
            known = self._at(0) - position
            if known < size:
                pieces += self._pieces(data[known:], size - known, time)
        self._acknowledged_at = None
        return pieces
