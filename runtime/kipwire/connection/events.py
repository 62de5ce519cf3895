"""Received frames, which are decoded when their header or body is first used.

Most frames are passed on or answered without a look at more than their header, so an event keeps the bytes and decodes
at the first use of `header`, `body` or `rest`, all of them at once. A frame that is broken is therefore an error of
that event, and the connection goes on. What changes a frame (`replaced`, `with_body`, `renamed`) returns new bytes and
leaves the event as it is.
"""

from __future__ import annotations

from struct import Struct as Packer
from typing import Generic, NamedTuple, TypeVar

from kipwire.connection.framing import is_answered
from kipwire.message.conversion import convert
from kipwire.model.errors import DecodeError, UnsupportedVersionError
from kipwire.projection import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final, TypeVarTuple, overload

    from kipwire.message.conversion import Loss
    from kipwire.message.frames import AnsweredBy, FrameAndRest, RequestHeader, ResponseHeader
    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry
    from kipwire.projection import VersionedProjection
    from kipwire.projection.frames import Body, EntityType

    Values = TypeVarTuple("Values")

H = TypeVar("H", bound="Message")
"""A class of headers."""
M = TypeVar("M", bound="Message")
"""A class of bodies."""

HEAD = Packer(">hhi")
"""Start of every request: API key, version and correlation id."""
CORRELATION_ID = Packer(">i")
"""Start of every response."""


class Expected(NamedTuple):
    """A sent request, which identifies its response."""

    api_key: int
    api_version: int
    correlation_id: int
    request: type[Message] | None = None
    """The class of the request before its conversion to that version; None if the request was not converted."""

    def __str__(self) -> str:
        return f"correlation id {self.correlation_id} (API key {self.api_key}, version {self.api_version})"


def shown_request(registry: Registry, api_key: int, version: int, correlation_id: int) -> str:
    """Format a request as logs name it, such as `Metadata v13 #7`; by its API key if the package does not have it."""
    name = f"API {api_key}"
    if registry.has_request(api_key, version):
        name = registry.request(api_key, version).NAME.removesuffix("Request")
    return f"{name} v{version} #{correlation_id}"


class _Event(Generic[H]):
    """A frame of the peer. Its header and its body are decoded together, when one of them is first used.

    An event is frozen for type checkers alone: objects that refuse to be set take half as long again to make.
    """

    __slots__ = ("_frame", "raw", "registry")

    def __init__(self, registry: Registry, raw: bytes) -> None:
        self.raw: Final = raw
        """The frame as it came, without its size."""
        self.registry: Final = registry
        """The registry of the package of messages."""
        self._frame: FrameAndRest[H, Message] | None = None

    @property
    def header(self) -> H:
        """The header; decoded with the body, once.

        Raises:
            DecodeError: as `body`.
        """
        return self._decode().header

    @property
    def body(self) -> Message:
        """The message; decoded at its first use, then kept.

        A response has the version of the request given to `send`: if it was sent in another version, the response is
        converted back. Only an ApiVersions response may have version 0 instead, from a broker that does not support the
        version of the request (KIP-511).

        Raises:
            DecodeError: the frame is broken, or the package does not have the message (`UnknownApiKeyError`,
                `UnknownVersionError`).
            ConversionError: the version of its request cannot carry the response.
        """
        return self._decode().body

    @property
    def rest(self) -> bytes:
        """The bytes after the body, such as a byte too many that some clients send; brokers ignore it.

        Raises:
            DecodeError: as `body`.
        """
        return self._decode().rest

    def project(self, projection: VersionedProjection[*Values]) -> tuple[*Values]:
        """Decode the chosen values of the body, without the rest of it.

        Raises:
            DecodeError: see `body`.
            ProjectionError: the projection belongs to another message.
        """
        try:
            return frames.project(projection, self.raw, self._body())
        except (DecodeError, UnsupportedVersionError):
            self._decode()  # which raises the same error with more words
            raise

    def replaced(self, projection: VersionedProjection, values: tuple[Any, ...]) -> bytes:
        """Return the frame with other values in the chosen fields of its body; everything else is copied.

        Raises:
            DecodeError: see `body`.
            EncodeError: a value does not fit its field.
            ProjectionError: the projection belongs to another message, or there are more or fewer values than paths.
        """
        try:
            return frames.replaced(projection, self.raw, self._body(), values)
        except (DecodeError, UnsupportedVersionError):
            self._decode()
            raise

    def with_body(self, body: Message, *, lost: list[Loss] | None = None) -> bytes:
        """Return the frame with another body, converted to the version of this one; header and rest are kept.

        Args:
            body: the same message, of any version.
            lost: see `kipwire.convert`.

        Raises:
            DecodeError: see `body`.
            EncodeError: a value does not fit its field, or the body is another message.
            ConversionError: the version cannot carry the body.
        """
        header, own, rest = self._decode()
        version = None if body.VERSION == own.VERSION else own.VERSION
        registry: Any = self.registry
        encode = registry.encode_request if own.TYPE == "request" else registry.encode_response
        frame: bytes = encode(body, header=header, version=version, lost=lost)
        return frame + rest if rest else frame

    def renamed(self, entity_type: EntityType, change: Callable[[str], str]) -> bytes:
        """Return the frame with other names, wherever its message has names of a type of entity; all else is copied.

        The specs say which fields these are, by their `entityType`. What clients alone read has none, such as the
        subscriptions that a group's members send each other; nor have the names of a config's resources.

        Args:
            entity_type: the type of entity that is named, such as `topicName`.
            change: called with each name that is not null.

        Raises:
            DecodeError: as `body`.
            EncodeError: a name does not fit its field.
        """
        try:
            body = self._body()
            projection = frames.names_in(self.registry, body.cls.NAME, entity_type)
            if projection is None:
                return self.raw
            values = frames.project(projection, self.raw, body)
            new = frames.change_names(values, change)
            return self.raw if new == values else frames.replaced(projection, self.raw, body, new)
        except (DecodeError, UnsupportedVersionError):
            self._decode()
            raise

    def _decode(self) -> FrameAndRest[H, Message]:
        if self._frame is None:
            self._frame = self._read()
        return self._frame

    def _read(self) -> FrameAndRest[H, Message]:
        """Decode the frame."""
        raise NotImplementedError

    def _body(self) -> Body:
        """Find the body by the header."""
        raise NotImplementedError


class Request(_Event["RequestHeader"]):
    """A request of the client, known to the package or not."""

    __slots__ = ("api_key", "api_version", "correlation_id", "is_answered")

    def __init__(self, registry: Registry, raw: bytes) -> None:
        super().__init__(registry, raw)
        api_key, api_version, correlation_id = HEAD.unpack_from(raw)
        self.api_key: Final[int] = api_key
        self.api_version: Final[int] = api_version
        self.correlation_id: Final[int] = correlation_id
        self.is_answered: Final = is_answered(registry, raw, api_key, api_version)
        """True if the client waits for a response; false for Produce with `acks` of 0."""

    @property
    def is_known(self) -> bool:
        """True if the package has such a request in that version, so that it can be decoded."""
        return self.registry.has_request(self.api_key, self.api_version)

    @property
    def client_id(self) -> str | None:
        """The client's name for itself, read without the body; None where it has none, or the request is not known.

        Raises:
            DecodeError: the header is broken.
        """
        if not self.is_known:
            return None
        header, _ = self.registry.request_header_class(self.api_key, self.api_version).read(self.raw)
        return getattr(header, "client_id", None)

    def _read(self) -> FrameAndRest[RequestHeader, Message]:
        return self.registry.read_request(self.raw)

    def body_as(self, cls: type[M], *, lost: list[Loss] | None = None) -> M:
        """Convert the message to the version that a program is written for, whichever the client has sent.

        Args:
            cls: the class of the request in that version.
            lost: see `kipwire.convert`.

        Raises:
            DecodeError: see `body`.
            ConversionError: that version cannot carry the message.
            UnsupportedVersionError: the class belongs to another request.
        """
        return convert(self.body, cls, lost=lost)

    def _body(self) -> Body:
        return frames.body_of_request(self.registry, self.raw, self.api_key, self.api_version)

    def __str__(self) -> str:
        shown = shown_request(self.registry, self.api_key, self.api_version, self.correlation_id)
        return f"{shown}, {len(self.raw):,} B"

    def __repr__(self) -> str:
        what = f"API key {self.api_key}, version {self.api_version}, correlation id {self.correlation_id}"
        return f"<Request: {what}, {len(self.raw)} bytes>"


class Response(_Event["ResponseHeader"]):
    """A response of the broker."""

    __slots__ = ("_converted", "to")

    def __init__(self, registry: Registry, raw: bytes, to: Expected) -> None:
        super().__init__(registry, raw)
        self.to: Final = to
        """The request that the response answers."""
        self._converted: Message | None = None

    @property
    def is_known(self) -> bool:
        """True if the package has such a response in that version, so that it can be decoded."""
        return self.registry.has_request(self.to.api_key, self.to.api_version)

    @property
    def body(self) -> Message:
        if self.to.request is None:
            return self._decode().body
        if self._converted is None:
            self._converted = self.body_as(self.registry.response_class(self.to.request))
        return self._converted

    if TYPE_CHECKING:

        @overload
        def body_as(self, cls: type[AnsweredBy[M]], *, lost: list[Loss] | None = None) -> M: ...
        @overload
        def body_as(self, cls: type[M], *, lost: list[Loss] | None = None) -> M: ...

    def body_as(self, cls: Any, *, lost: list[Loss] | None = None) -> Any:
        """Convert the message to the version that a program is written for, whichever the broker has sent.

        Args:
            cls: the class of the response in that version, or of the request.
            lost: see `kipwire.convert`.

        Raises:
            DecodeError: see `body`.
            ConversionError: that version cannot carry the message.
            UnsupportedVersionError: the class belongs to another message.
        """
        body, wanted = self._decode().body, self.registry.response_class(cls)
        if body.NAME != wanted.NAME and body.API_KEY == wanted.API_KEY:  # of two names of one API
            return self.registry.read_response(self.raw, wanted, version=self.to.api_version, lost=lost).body
        return convert(body, wanted, lost=lost)

    def _read(self) -> FrameAndRest[ResponseHeader, Message]:
        return self.registry.read_response(self.raw, self.to.api_key, self.to.api_version)

    def _body(self) -> Body:
        return frames.body_of_response(self.registry, self.raw, self.to.api_key, self.to.api_version)

    def __repr__(self) -> str:
        return f"<Response to {self.to}, {len(self.raw)} bytes>"


class SaslToken:
    """A token of a SASL mechanism, in a frame without a header (before KIP-152)."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def __repr__(self) -> str:
        return f"<SaslToken: {len(self.raw)} bytes>"  # its content is a secret


Event = Request | Response | SaslToken
