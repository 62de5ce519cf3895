"""The bytes of one direction of a TCP connection: segments in any order in, bytes in order out.

What comes again is left out. Where bytes are missing, later ones wait for them, but not for ever: they are given up
when too much waits, when the peer has said a while ago that it has them, or when the capture ends.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

_MODULUS = 2**32
_HALF = 2**31
_WINDOW = 2**30
"""The largest that TCP has; what starts further back than that is no repetition."""

_MOST_WAITING_BYTES = 8 * 1024 * 1024
_MOST_WAITING = 4096
"""Segments that wait for missing bytes at most."""
_COST = 256
"""Bytes that one waiting segment takes besides its content, about."""
_LATE = 10**9
"""Nanoseconds. A packet is captured later than the answer to it by less than that, or not at all."""


class Piece(NamedTuple):
    """What comes next in a stream: some bytes, or how many are missing."""

    time: int
    """When it was captured, in nanoseconds; of missing bytes, when those behind them were."""
    data: bytes
    lost: int


class _Waiting(NamedTuple):
    data: bytes
    size: int
    time: int


class Stream:
    """One direction of one connection.

    Positions are sequence numbers that do not start again behind 2**32.
    """

    __slots__ = ("_acknowledged_at", "_position", "_start", "_starts", "_waiting", "early", "held")

    def __init__(self) -> None:
        self.held = 0
        """Bytes of memory that wait for missing ones, about."""
        self.early = 0
        """Bytes from before what was taken for the start, which came too late."""
        self._position: int | None = None
        """Of the next byte; None until there is one."""
        self._start = 0
        """Where the stream was taken up."""
        self._waiting: dict[int, _Waiting] = {}
        """By position."""
        self._starts: list[int] = []
        """Their positions, as a heap."""
        self._acknowledged_at: int | None = None
        """When it was first seen that the peer has the missing bytes."""

    @property
    def is_started(self) -> bool:
        """Whether it is known where the next byte stands."""
        return self._position is not None

    @property
    def has_hole(self) -> bool:
        """Whether bytes are missing before others that are there."""
        return bool(self._starts)

    def start(self, sequence: int) -> None:
        """Tell the sequence number of the first byte."""
        self._position = self._start = sequence

    def has_reached(self, sequence: int) -> bool:
        """Whether all bytes before a sequence number have been told, or given up."""
        return self._position is not None and self._ahead(sequence) <= 0

    def add(self, sequence: int, data: bytes, size: int, time: int) -> list[Piece]:
        """Take in a segment; what can be told then.

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
        if ahead < -_WINDOW:  # too far back to come again: so much further on that its number started again
            pieces = self.give_up_all()
            return [
                *pieces,
                Piece(time, b"", self._skip(self._ahead(sequence) % _MODULUS)),
                *self._pieces(data, size, time),
            ]
        if ahead > 0:
            self._wait(self._at(ahead), _Waiting(data, size, time))
            too_much = self.held > _MOST_WAITING_BYTES or len(self._waiting) > _MOST_WAITING
            return self.give_up() if too_much else []
        if self._at(ahead) < self._start:
            self.early += min(size, -ahead)
        if ahead + size <= 0:
            return []
        return [*self._pieces(data[-ahead:], size + ahead, time), *self._released()]

    def acknowledged(self, number: int, time: int) -> list[Piece]:
        """Hear that the peer has all bytes before a number; what can be told if missing ones are given up then.

        It is of no use to call it where there is no hole.
        """
        if self._ahead(number) <= 0:
            return []
        if self._acknowledged_at is None:
            self._acknowledged_at = time
        return self.give_up() if time - self._acknowledged_at > _LATE else []

    def give_up(self) -> list[Piece]:
        """Go on behind the first hole; what can be told then, beginning with how many bytes are missing."""
        if not self._starts:
            return []
        first = self._starts[0]
        lost = self._skip(first - self._at(0))
        return [Piece(self._waiting[first].time, b"", lost), *self._released()]

    def give_up_all(self) -> list[Piece]:
        """Go on behind all holes."""
        pieces: list[Piece] = []
        while self._starts:
            pieces += self.give_up()
        return pieces

    def give_up_before(self, sequence: int, time: int) -> list[Piece]:
        """Go on at a number that the stream has reached, as was said; tells how many bytes are missing before it."""
        # Where it ends, the stream has one number more than bytes.
        if self._position is None or not 1 < self._ahead(sequence) < _WINDOW:
            return []
        return [Piece(time, b"", self._skip(self._ahead(sequence)))]

    def _ahead(self, sequence: int) -> int:
        """How far a number is ahead of the next byte; below 0 if it is behind."""
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

    def _released(self) -> list[Piece]:
        """Those that waited, as far as nothing is missing before them."""
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
