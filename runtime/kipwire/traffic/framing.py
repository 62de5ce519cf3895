"""The frames in one direction of a connection: int32 sizes, each followed by that many bytes.

A side is out of step if the capture started within the connection, or if bytes are missing. Then the start of each
piece is checked for the start of a frame: peers write whole frames, so frames start where segments do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from kipwire.codec.wire import unpack_i
from kipwire.message.frames import LARGEST_FRAME, SIZE_BYTES
from kipwire.traffic.streams import Piece

_COST = 64
"""About how many bytes a part of a frame takes in addition to its content."""
_KEPT = 1024
"""The number of bytes kept of an incomplete frame: enough for its header."""


class Frame(NamedTuple):
    """One frame, without its size."""

    time: int
    """Time at which the last of its bytes was captured, in nanoseconds."""
    data: bytes
    """All of it; or its beginning, if bytes are missing."""
    size: int
    lost: int
    """Number of its missing bytes."""
    is_last: bool = False
    """True if the capture ended within it, and all bytes before that are there."""


class Skipped(NamedTuple):
    """Bytes that are not part of a known frame."""

    time: int
    captured: int
    lost: int
    """Bytes of the frame that were not captured."""
    is_first: bool
    """True if no frame came before them."""


@dataclass(eq=False, slots=True)
class Framer:
    """One direction of one connection; at first it waits for a piece that begins a frame."""

    smallest: int
    """The fewest bytes of a frame."""
    _begins: Callable[[bytes], bool | None]
    """Returns True if bytes can be the start of a frame, its size first; None if there are too few to decide."""
    in_step: bool = False
    """True if the positions of frames are certain."""
    held: int = 0
    """About how many bytes of memory the incomplete frame takes."""
    _has_begun: bool = False
    """True if it has been in step, and is not any more."""
    _skipped: int = 0
    _skipped_lost: int = 0
    _head: bytes = b""
    """The bytes of an incomplete size; if not in step, bytes that are too few to decide."""
    _size: int = -1
    """The size of the frame that has begun; below 0 if none has."""
    _have: int = 0
    """Bytes of it so far, missing ones among them."""
    _lost: int = 0
    """Missing bytes of the frame so far."""
    _parts: list[bytes] = field(default_factory=list)
    _time: int = 0
    """Time at which the last of its bytes was captured."""

    @property
    def has_skipped(self) -> bool:
        """True if bytes were skipped that have not been reported."""
        return self._skipped > 0

    @property
    def waits(self) -> bool:
        """True if the next bytes belong to those that it has."""
        return self.in_step or bool(self._head)

    @property
    def begun(self) -> tuple[bytes, int]:
        """The first bytes of an incomplete frame, and the number of all; none and 0 without a frame."""
        return (self._parts[0], self._size) if self._size >= 0 and self._parts else (b"", 0)

    def skip(self, captured: int, lost: int) -> None:
        """Count bytes that were looked at before, as skipped."""
        self._skipped += captured
        self._skipped_lost += lost

    def expect(self, smallest: int, begins: Callable[[bytes], bool | None]) -> None:
        """Look for other frames than at first."""
        self.smallest, self._begins = smallest, begins

    def feed(self, piece: Piece) -> list[Frame | Skipped]:
        """Process what comes next: the frames that end with it, and what was skipped before them."""
        found: list[Frame | Skipped] = []
        time, data, lost = piece
        if lost:
            self._miss(time, lost, found)
            return found
        if not self.in_step:
            data = self._seek(data)
            if not self.in_step:
                return found
            self._report_skipped(time, found)
        at, end = 0, len(data)
        while at < end:
            if self._size < 0 and not self._head and end - at >= SIZE_BYTES:  # nearly all frames are whole in a piece
                (size,) = unpack_i(data, at)
                start = at + SIZE_BYTES
                if self.smallest <= size <= end - start and size <= LARGEST_FRAME:
                    at = start + size
                    found.append(Frame(time, data[start:at], size, 0))
                    continue
            if self._size < 0:
                at = self._read_size(data, at)
                if not self.in_step:
                    break
            if self._size >= 0:
                take = min(self._size - self._have, end - at)
                self._take(data[at : at + take], time)
                at += take
                if self._have == self._size:
                    found.append(self._frame())
        return found

    def end(self, time: int) -> list[Frame | Skipped]:
        """Return the frame that has begun, and the skipped bytes, after the last piece."""
        found: list[Frame | Skipped] = []
        if self._size >= 0:
            is_last = not self._lost
            self._lost += self._size - self._have
            self._time = self._time or time
            found.append(self._frame()._replace(is_last=is_last))
        self._lose_step()
        self._report_skipped(time, found)
        return found

    def _seek(self, data: bytes) -> bytes:
        """Find where a frame begins, and return the bytes from there on; count those before as skipped."""
        waited = len(self._head)
        data = self._head + data
        self._head = b""
        for start in (0, waited) if waited else (0,):
            begins = self._begins(data[start:])
            if begins is not False:
                self._skipped += start
                if begins:
                    self.in_step = True
                else:
                    self._head = data[start:]
                return data[start:]
        self._skipped += len(data)
        return b""

    def _read_size(self, data: bytes, at: int) -> int:
        """Read a size, or a part of it; where it ends."""
        head = self._head + data[at : at + SIZE_BYTES - len(self._head)]
        at += len(head) - len(self._head)
        self._head = head
        if len(head) == SIZE_BYTES:
            (size,) = unpack_i(head, 0)
            if self.smallest <= size <= LARGEST_FRAME:
                self._head = b""
                self._size, self._have, self._lost = size, 0, 0
            else:
                self._lose_step()
                self._skipped += len(data) - at
        return at

    def _take(self, data: bytes, time: int) -> None:
        self._have += len(data)
        self._time = max(self._time, time)
        if data and not self._lost:
            self._parts.append(data)
            self.held += len(data) + _COST

    def _frame(self) -> Frame:
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        frame = Frame(self._time, data, self._size, self._lost)
        self._parts = []
        self._size = -1
        self.held = self._time = 0
        return frame

    def _miss(self, time: int, lost: int, found: list[Frame | Skipped]) -> None:
        if self._size >= 0:
            inside = min(lost, self._size - self._have)
            self._parts = [b"".join(self._parts)[:_KEPT]]
            self.held = len(self._parts[0])
            self._have += inside
            self._lost += inside
            self._time = max(self._time, time)
            lost -= inside
            if self._have == self._size:
                found.append(self._frame())
        if lost:
            self._lose_step()
            self._skipped_lost += lost

    def _lose_step(self) -> None:
        self._skipped += len(self._head)
        self._head = b""
        self._has_begun = self._has_begun or self.in_step
        self.in_step = False

    def _report_skipped(self, time: int, found: list[Frame | Skipped]) -> None:
        if self._skipped or self._skipped_lost:
            found.append(Skipped(time, self._skipped, self._skipped_lost, not self._has_begun))
            self._skipped = self._skipped_lost = 0
