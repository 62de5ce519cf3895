"""Splits the bytes of one direction into frames: each is an int32 size and that many bytes."""

from __future__ import annotations

from struct import Struct as Packer
from typing import NamedTuple

from kipwire.connection.errors import LocalProtocolError, RemoteProtocolError
from kipwire.frame_hints import foreign_protocol
from kipwire.tools.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_SIZE = Packer(">i")


class Location(NamedTuple):
    """The location of a frame in what the peer sent."""

    frame: int
    offset: int


class Splitter:
    """The frames of one direction."""

    def __init__(self, largest: int) -> None:
        """Wait for the first frame.

        Args:
            largest: bytes of a frame at most; a larger size is an error as soon as it is announced.
        """
        self._largest = largest
        self._bytes = bytearray()
        self._at = 0
        """Where in the buffer the next frame begins."""
        self._is_at_end = False
        self._error: RemoteProtocolError | None = None
        self.location = Location(0, 0)
        """The location of the next frame."""

    @property
    def waiting(self) -> int:
        """How many bytes are waiting: those that came, without the frames that were taken."""
        return len(self._bytes) - self._at

    def feed(self, data: bytes) -> None:
        """Add the bytes that came next.

        Raises:
            LocalProtocolError: the end came before.
        """
        if self._is_at_end:
            raise LocalProtocolError("nothing can be received after the end")
        if self._at:
            del self._bytes[: self._at]
            self._at = 0
        self._bytes += data

    def end(self) -> None:
        """Note that nothing more will come."""
        self._is_at_end = True

    def take(self) -> bytes | None:
        """The next frame, without its size; None where it is not whole yet.

        Raises:
            RemoteProtocolError: its size is below 0 or above the largest, or it ends before all of it came; or
                there was an error before.
        """
        if self._error is not None:
            raise self._error
        if self.waiting >= _SIZE.size:
            (size,) = _SIZE.unpack_from(self._bytes, self._at)
            if not 0 <= size <= self._largest:
                self.refuse(self.location, self._wrong_size(size))
            end = self._at + _SIZE.size + size
            if end <= len(self._bytes):
                frame = bytes(memoryview(self._bytes)[self._at + _SIZE.size : end])
                self._at = end
                self.location = Location(self.location.frame + 1, self.location.offset + _SIZE.size + size)
                return frame
        if self._is_at_end and self.waiting:
            self.refuse(self.location, self._cut_short())
        return None

    def refuse(self, location: Location, reason: str) -> NoReturn:
        """Raise the error of a frame, now and at every later call of `take`."""
        self._error = RemoteProtocolError(reason, location.frame, location.offset)
        raise self._error

    def _wrong_size(self, size: int) -> str:
        # Of the size alone, so that the error is the same however the bytes come.
        hint = foreign_protocol(bytes(self._bytes[self._at : self._at + _SIZE.size]))
        reason = f"a frame of {counted(size, 'byte')} is announced; the limit is {self._largest:,}"
        if size < 0:
            reason = f"a frame of {size} bytes is announced; a size must not be negative"
        return f"{reason}; {hint}" if hint else reason

    def _cut_short(self) -> str:
        if self.waiting < _SIZE.size:
            return f"the connection ends {counted(self.waiting, 'byte')} into the size of a frame"
        (size,) = _SIZE.unpack_from(self._bytes, self._at)
        return f"the connection ends after {self.waiting - _SIZE.size} of the {counted(size, 'byte')} of a frame"


def sized(frame: bytes) -> bytes:
    """A frame with its size before it, as connections carry it."""
    return _SIZE.pack(len(frame)) + frame
