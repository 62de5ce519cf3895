"""Bytes -> what each of them means, up to the first that cannot be read, and why it cannot.

Pieces are the tracer's elements in the order of the bytes, without gaps, up to the first error: `text`, `html` and JSON
show them and decide nothing. A frame may be given with its size or without, so it is read both ways, and the one that
gets further counts (`_Reading.rank`). Bytes after an error are never guessed at.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from kipwire import DecodeError, KipwireError, Message, UnsupportedVersionError
from kipwire.codec.wire import pack_i, unpack_i
from kipwire.description.trace import Element, trace
from kipwire.message.frames import SIZE_BYTES, class_of_answer, key_and_version
from kipwire.message.messages import expect_end
from kipwire.message.registry import Registry
from kipwire.model.enums import NamedNumber
from kipwire.tools.text import count_of, leftover_reason

_SMALL = 0xFFFF
"""Bytes: the largest frame whose size, taken for API key and version, has the key 0."""
RECORD = "record"
"""The kind of a piece without bytes of its own: a record of the batches before it, as JSON."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One stretch of bytes with its meaning."""

    part: str
    """The frame or message that it belongs to: `frame`, or a message such as `RequestHeader v2`."""
    path: str
    """The field's path, such as `topics[0].name`; "" for the message itself."""
    role: str
    """Role as in `kipwire.description.trace.Element`; `length` for the size of a frame."""
    kind: str
    """Type and encoding in words, such as `int32 packed32` or `compact string length`."""
    start: int
    """Offset of the first byte."""
    end: int
    """Offset after the last byte."""
    value: object
    about: str = ""
    """Description of the field and the meaning of its number, from the spec."""
    name: str | None = None
    """The name of the number, if the package has one for it."""
    entity_type: str | None = None
    """The entity type of the field of which it is the value."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """All that is known about some bytes."""

    message: str
    """Name of the message; of the header where its body is of an API or version that the package does not have."""
    version: int
    data: bytes
    pieces: tuple[Piece, ...]
    """Pieces in the order of the bytes, without gaps, up to the error if there is one."""
    error: DecodeError | None
    """Reason why the bytes are not a message, with the offset in `data`; None if all of them were read."""
    hint: str = ""
    """A guess of the command line that reads them; "" without one."""

    @property
    def rest(self) -> int:
        """Offset of the first byte that was not read or is in error; the number of bytes where all is well."""
        read = self.pieces[-1].end if self.pieces else 0
        return read if self.error is None else min(read, self.error.offset)


def inspect_message(cls: type[Message], data: bytes) -> Inspection:
    """Explain one message, without a header; it must take all bytes."""
    pieces: list[Piece] = []
    error = None
    try:
        expect_end(cls, _read(cls, data, 0, pieces), data)
    except DecodeError as caught:
        error = caught
    return Inspection(cls.NAME, cls.VERSION, data, tuple(pieces), error)


def inspect_request(registry: Registry, data: bytes) -> Inspection:
    """Explain a request frame: header and body, with or without the int32 size before them.

    Args:
        registry: the registry of the package, such as `kafka_messages.REGISTRY`.
        data: the bytes of one frame.
    """
    return _inspect_frame(data, lambda frame, start: _request_contents(registry, frame, start))


def inspect_response(registry: Registry, cls: type[Message], data: bytes) -> Inspection:
    """Explain a response frame: header and body, with or without the int32 size before them.

    Args:
        registry: the registry of the package, such as `kafka_messages.REGISTRY`.
        cls: the class of the body, which the frame itself does not say.
        data: the bytes of one frame.

    Raises:
        UnsupportedVersionError: the package has no such response header.
    """
    header = registry.header_class("ResponseHeader", cls)
    return _inspect_frame(data, lambda frame, start: _response_contents(header, cls, frame, start))


def frame_option(registry: Registry, cls: type[Message], data: bytes) -> str:
    """Find the option for bytes that are a whole frame, where a message was expected; "" for other bytes.

    A frame without its size must be a request of that message, since zeros alone are some frame.
    """
    has_size = data[:SIZE_BYTES] == pack_i(len(data) - SIZE_BYTES)
    frame = data[SIZE_BYTES:] if has_size else data
    if has_size and cls.TYPE == "response":
        with suppress(KipwireError):
            registry.decode_response(frame, cls)
            return f"--response {cls.NAME.removesuffix('Response')} {cls.VERSION}"
    with suppress(KipwireError):
        if type(registry.decode_request(frame).body) is cls or has_size:
            return "--request"
    return ""


def _read(cls: type[Message], data: bytes, pos: int, pieces: list[Piece]) -> int:
    """Read one message, adding its pieces; the position after it."""
    part = f"{cls.NAME} v{cls.VERSION}"

    def add(it: Element) -> None:
        about = it.field.about if it.field else ""
        named = _number_names(it)
        if len(named) == 1 and named[0].about:
            about = f"{about} {named[0].label}: {named[0].about}"
        name = ", ".join(one.label for one in named) or None
        entity = it.field.entity_type if it.field is not None and it.role == "value" else None
        pieces.append(Piece(part, it.path, it.role, it.kind, it.start, it.end, it.value, about.strip(), name, entity))

    return trace(cls, data, pos, add)


def _number_names(it: Element) -> tuple[NamedNumber, ...]:
    """Find the name of the number, or the names of its bits, where they have some."""
    if it.role != "value" or it.field is None or not isinstance(it.value, int) or isinstance(it.value, bool):
        return ()
    return it.field.named(it.value)


# Frames.


@dataclass(frozen=True, slots=True)
class _Contents:
    """The classes of a frame's parts."""

    header: type[Message]
    body: type[Message] | DecodeError
    """Class of the body, or the error if it has none."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to read a frame: with a size before it or without, and how far that goes."""

    inspection: Inspection
    header_read: bool
    body_known: bool
    exact_size: bool
    """True if the frame has a size that equals the number of bytes after it."""

    @property
    def rank(self) -> tuple[bool | int, ...]:
        """Higher for what is more likely meant."""
        error = self.inspection.error
        read = len(self.inspection.data) if error is None else error.offset
        known, header = self.body_known, self.header_read
        return error is None, known and header, known, header, self.exact_size, read


def _inspect_frame(data: bytes, contents_at: Callable[[bytes, int], _Contents]) -> Inspection:
    """Explain a frame in the reading that gets further, since nothing in it shows whether its size is before it."""
    readings = [_read_frame(data, None, contents_at)]
    if len(data) >= SIZE_BYTES:
        (size,) = unpack_i(data, 0)
        if size >= 0:
            readings.append(_read_frame(data, size, contents_at))
    return max(readings, key=lambda it: it.rank).inspection


def _read_frame(data: bytes, size: int | None, contents_at: Callable[[bytes, int], _Contents]) -> _Reading:
    pieces: list[Piece] = []
    start, frame = 0, data
    if size is not None:
        start, frame = SIZE_BYTES, data[: SIZE_BYTES + size]
        about = "How many bytes of header and body follow."
        pieces.append(Piece("frame", "size", "length", "frame size int32", 0, start, size, about))
    contents = contents_at(frame, start)
    named = contents.header if isinstance(contents.body, DecodeError) else contents.body
    header_read = False
    error = None
    try:
        pos = _read(contents.header, frame, start, pieces)
        header_read = True
        if isinstance(contents.body, DecodeError):
            raise contents.body
        pos = _read(contents.body, frame, pos, pieces)
        expect_end(contents.body, pos, frame)
        if size is not None:
            _expect_size(contents.body, size, data)
    except DecodeError as caught:
        error = caught
    return _Reading(
        Inspection(named.NAME, named.VERSION, data, tuple(pieces), error),
        header_read,
        # A large size is more likely the API key and version of a frame without one.
        named is contents.body and (header_read or size is None or size <= _SMALL),
        size == len(data) - SIZE_BYTES,
    )


def _expect_size(body: type[Message], size: int, data: bytes) -> None:
    there = len(data) - SIZE_BYTES
    if size > there:
        reason = f"the frame's size is {size}, but {there} bytes follow it"
        raise DecodeError(body.NAME, body.VERSION, "", len(data), reason)
    if size < there:
        reason = leftover_reason(there - size, f"the frame of {count_of(size, 'byte')}")
        raise DecodeError(body.NAME, body.VERSION, "", SIZE_BYTES + size, reason)


def _request_contents(registry: Registry, frame: bytes, start: int) -> _Contents:
    """Choose the classes of a request by API key and version, with which every request header starts."""
    headers = registry.with_header("RequestHeader")
    lowest = headers.message("RequestHeader", headers.served("RequestHeader").start)
    try:
        api_key, version = key_and_version(frame[start:])
    except DecodeError as error:  # never shown: reading the header finds it first, with its field
        return _Contents(lowest, error)
    try:
        body = registry.request(api_key, version)
        return _Contents(registry.header_class("RequestHeader", body), body)
    except UnsupportedVersionError as error:
        # All header versions begin alike, so the lowest shows whose request it is.
        return _Contents(lowest, DecodeError("RequestHeader", lowest.VERSION, "request_api_key", start, str(error)))


def _response_contents(header: type[Message], asked: type[Message], frame: bytes, start: int) -> _Contents:
    """Choose the classes of a response: as asked for, except if a broker does not support a version of ApiVersions."""
    try:
        _, body_at = header.read(frame, start)
    except DecodeError:
        return _Contents(header, asked)
    return _Contents(header, class_of_answer(asked, frame, body_at))
