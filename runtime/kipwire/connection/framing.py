"""Frames of one direction: how bytes are split, what can be wrong, and which requests have no answer.

A frame is an int32 size and that many bytes.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kipwire.codec.wire import pack_i, read_size, unpack_h, unpack_i
from kipwire.message.frame_errors import foreign_protocol
from kipwire.message.frames import SIZE_BYTES
from kipwire.model.api_keys import PRODUCE_KEY
from kipwire.model.errors import DecodeError, KipwireError, Malformed
from kipwire.tools.text import count_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry


class LocalProtocolError(KipwireError):
    """A call of this side that its own connection does not allow in its state.

    Nothing was sent, and the connection is as it was before.
    """


class RemoteProtocolError(KipwireError):
    """Bytes of the peer that cannot be where they are. Nothing can be read after them: close the connection."""

    def __init__(self, reason: str, frame: int, offset: int) -> None:
        super().__init__(reason, frame, offset)
        self.reason = reason
        self.frame = frame
        """Number of the peer's frame, from 0."""
        self.offset = offset
        """Position of that frame's size, in bytes from the start of what the peer sent."""

    def __str__(self) -> str:
        return f"frame {self.frame}, at byte {self.offset} of what was received: {self.reason}"


_LARGE = 65536
"""A frame of more bytes is put together from its pieces at its end, so that each byte is copied once."""
_SMALL_PIECE = 4096
"""A piece of fewer bytes joins its neighbour at once, since each piece takes memory of its own."""


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
        """Position of the next frame in the buffer."""
        self._pieces: list[bytes | bytearray] = []
        """Parts of a large frame, without its size; the buffer then has the bytes after it."""
        self._missing = 0
        """Number of bytes of the large frame that have not come."""
        self._is_at_end = False
        self._error: RemoteProtocolError | None = None
        self.location = Location(0, 0)
        """The location of the next frame."""

    @property
    def waiting(self) -> int:
        """Number of bytes that came, without the frames that were taken."""
        pieces = SIZE_BYTES + sum(map(len, self._pieces)) if self._pieces else 0
        return pieces + len(self._bytes) - self._at

    def begun(self, size: int) -> bytes:
        """Return the first bytes of a frame that is not whole yet, without its size; fewer where fewer have come.

        Args:
            size: how many.
        """
        if self._pieces:
            return b"".join(self._pieces[:2])[:size]
        at = self._at + SIZE_BYTES
        return bytes(self._bytes[at : at + size])

    def feed(self, data: bytes) -> None:
        """Add the bytes that came next.

        Raises:
            LocalProtocolError: the end came before.
        """
        if self._is_at_end:
            raise LocalProtocolError("nothing can be received after the end")
        if self._missing:
            data = self._feed_piece(data)
        if self._at:
            del self._bytes[: self._at]
            self._at = 0
        self._bytes += data

    def _feed_piece(self, data: bytes) -> bytes:
        """Add the bytes that belong to the large frame; return the others."""
        piece, data = bytes(data[: self._missing]), data[self._missing :]
        self._missing -= len(piece)
        last = self._pieces[-1]
        if len(piece) >= _SMALL_PIECE:
            self._pieces.append(piece)
        elif isinstance(last, bytearray):
            last += piece
        else:
            self._pieces.append(bytearray(piece))
        return data

    def end(self) -> None:
        """Note that nothing more will come."""
        self._is_at_end = True

    def take(self) -> bytes | None:
        """Return the next frame, without its size; None where it is not whole yet.

        Raises:
            RemoteProtocolError: the size is below 0 or above the largest, the peer stopped within the frame, or there
                was an error before.
        """
        if self._error is not None:
            raise self._error
        if self._pieces:
            if not self._missing:
                frame = b"".join(self._pieces)
                self._pieces = []
                return self._take(frame)
        elif len(self._bytes) - self._at >= SIZE_BYTES:
            (size,) = unpack_i(self._bytes, self._at)
            if not 0 <= size <= self._largest:
                self.refuse(self.location, self._wrong_size(size))
            end = self._at + SIZE_BYTES + size
            if end <= len(self._bytes):
                frame = bytes(memoryview(self._bytes)[self._at + SIZE_BYTES : end])
                self._at = end
                return self._take(frame)
            if size > _LARGE:
                self._pieces.append(self._bytes[self._at + SIZE_BYTES :])
                self._missing = end - len(self._bytes)
                self._bytes, self._at = bytearray(), 0
        if self._is_at_end and self.waiting:
            self.refuse(self.location, self._describe_cut())
        return None

    def _take(self, frame: bytes) -> bytes:
        """Move the location to the end of a frame, and return the frame."""
        self.location = Location(self.location.frame + 1, self.location.offset + SIZE_BYTES + len(frame))
        return frame

    def refuse(self, location: Location, reason: str) -> NoReturn:
        """Raise the error of a frame, now and at every later call of `take`."""
        self._error = RemoteProtocolError(reason, location.frame, location.offset)
        raise self._error

    def _wrong_size(self, size: int) -> str:
        # Of the size alone, so that the error is the same however the bytes come.
        hint = foreign_protocol(bytes(self._bytes[self._at : self._at + SIZE_BYTES]))
        reason = f"the frame size is {count_of(size, 'byte')}; the limit is {self._largest:,}"
        if size < 0:
            reason = f"the frame size is {size}; it must not be negative"
        return f"{reason}; {hint}" if hint else reason

    def _describe_cut(self) -> str:
        if self.waiting < SIZE_BYTES:
            return f"the connection ends {count_of(self.waiting, 'byte')} into the size of a frame"
        size = self.waiting - SIZE_BYTES + self._missing
        if not self._pieces:
            (size,) = unpack_i(self._bytes, self._at)
        return f"the connection ends after {self.waiting - SIZE_BYTES} of the {count_of(size, 'byte')} of a frame"


def add_size(frame: bytes) -> bytes:
    """Put its size before a frame, as connections carry it."""
    return pack_i(len(frame)) + frame


def is_answered(registry: Registry, frame: bytes, api_key: int, version: int) -> bool:
    """True if a request has a response; also if the request cannot be read.

    Args:
        registry: the registry of the package.
        frame: the request with its header.
        api_key: the request's API key.
        version: the request's version.
    """
    if api_key != PRODUCE_KEY or not registry.has_request(api_key, version):
        return True
    cls = registry.request(api_key, version)
    try:
        header = registry.header_class("RequestHeader", cls)
        return _acks(cls, frame, header.read(frame)[1]) != 0
    except (DecodeError, Malformed, struct.error, IndexError):
        return True


def _acks(cls: type[Message], frame: bytes, at: int) -> int | None:
    """Read the number of acknowledgements that a Produce request asks for; None where its class has no such field."""
    number: int
    for field in cls.FIELDS:
        if field.name == "acks":
            (number,) = unpack_h(frame, at)
            return number
        if field.element != "string" or field.tag is not None:
            return None
        at = _end_of_string(frame, at, field.compact)
    return None


def _end_of_string(frame: bytes, at: int, compact: bool) -> int:
    if not compact:
        (size,) = unpack_h(frame, at)
        return at + 2 + max(int(size), 0)
    size, at = frame[at], at + 1
    if size > 0x7F:
        size, at = read_size(frame, at)
    return at + max(size - 1, 0)
