"""What a peer has sent: frames that are decoded when their header or body is first used."""

from __future__ import annotations

from struct import Struct as Packer
from typing import Generic, NamedTuple, TypeVar

from kipwire.connection.framing import is_answered
from kipwire.message.conversion import convert
from kipwire.model.errors import DecodeError, UnsupportedVersionError
from kipwire.projection import frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, TypeVarTuple, overload

    from kipwire.message.conversion import Loss
    from kipwire.message.frames import AnsweredBy, FrameAndRest, RequestHeader, ResponseHeader
    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry
    from kipwire.projection import VersionedProjection
    from kipwire.projection.frames import Body

    Values = TypeVarTuple("Values")

H = TypeVar("H", bound="Message")
"""A class of headers."""
M = TypeVar("M", bound="Message")
"""A class of bodies."""

HEAD = Packer(">hhi")
"""What every request begins with: API key, version and correlation id."""
CORRELATION_ID = Packer(">i")
"""What every response begins with."""


class Expected(NamedTuple):
    """A sent request, which identifies its response."""

    api_key: int
    api_version: int
    correlation_id: int
    request: type[Message] | None = None
    """The class of the request before it was converted to that version; None where it was not."""

    def __str__(self) -> str:
        return f"correlation id {self.correlation_id} (API key {self.api_key}, version {self.api_version})"


class _Event(Generic[H]):
    """A frame of the peer. Its header and its body are decoded together, when one of them is first used.

    It is frozen for type checkers alone: what refuses to be set at run time takes half as long again to make.
    """

    __slots__ = ("_frame", "_registry", "raw")

    def __init__(self, registry: Registry, raw: bytes) -> None:
        self.raw: Final = raw
        """The frame as it came, without its size."""
        self._registry: Final = registry
        self._frame: FrameAndRest[H, Message] | None = None

    @property
    def header(self) -> H:
        """The header; decoded with the body, once.

        Raises:
            DecodeError: as `body`.
        """
        return self._decoded().header

    @property
    def body(self) -> Message:
        """The message; decoded at its first use, then kept.

        A response has the version of its request, as that was given to `send`: if it was sent in another version, the
        response is converted back. Only an ApiVersions response may have version 0 instead, from a broker that does not
        know the version of the request (KIP-511).

        Raises:
            DecodeError: it is broken, or the package does not have it (`UnknownApiKeyError`, `UnknownVersionError`).
            ConversionError: it is a response that the version of its request cannot carry.
        """
        return self._decoded().body

    @property
    def rest(self) -> bytes:
        """The bytes after the body, such as a byte too many that some clients send; brokers ignore it.

        Raises:
            DecodeError: as `body`.
        """
        return self._decoded().rest

    def project(self, projection: VersionedProjection[*Values]) -> tuple[*Values]:
        """The chosen values of the body, without decoding the rest of it.

        Raises:
            DecodeError: as `body`.
            ProjectionError: the projection is that of another message.
        """
        try:
            return frames.project(projection, self.raw, self._body())
        except (DecodeError, UnsupportedVersionError):
            self._decoded()  # which raises the same error with more words
            raise

    def replaced(self, projection: VersionedProjection, values: tuple[Any, ...]) -> bytes:
        """The frame with other values in the chosen fields of its body; everything else is copied.

        Raises:
            DecodeError: as `body`.
            EncodeError: a value does not fit its field.
            ProjectionError: the projection is that of another message, or there are more or fewer values than paths.
        """
        try:
            return frames.replaced(projection, self.raw, self._body(), values)
        except (DecodeError, UnsupportedVersionError):
            self._decoded()
            raise

    def _decoded(self) -> FrameAndRest[H, Message]:
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
        """Whether the client waits for a response; it does not for what it produces with `acks` of 0."""

    @property
    def is_known(self) -> bool:
        """Whether the package has such a request in that version, so that it can be decoded."""
        return self._registry.has_request(self.api_key, self.api_version)

    def _read(self) -> FrameAndRest[RequestHeader, Message]:
        return self._registry.read_request(self.raw)

    def body_as(self, cls: type[M], *, lost: list[Loss] | None = None) -> M:
        """The message as one of the version that a program is written for, whichever the client has sent.

        Args:
            cls: the class of the request in that version.
            lost: as of `kipwire.convert`.

        Raises:
            DecodeError: as `body`.
            ConversionError: that version cannot carry what came.
            UnsupportedVersionError: the class is that of another request.
        """
        return convert(self.body, cls, lost=lost)

    def _body(self) -> Body:
        return frames.body_of_request(self._registry, self.raw, self.api_key, self.api_version)

    def __repr__(self) -> str:
        what = f"API key {self.api_key}, version {self.api_version}, correlation id {self.correlation_id}"
        return f"<Request: {what}, {len(self.raw)} bytes>"


class Response(_Event["ResponseHeader"]):
    """A response of the broker."""

    __slots__ = ("_converted", "to")

    def __init__(self, registry: Registry, raw: bytes, to: Expected) -> None:
        super().__init__(registry, raw)
        self.to: Final = to
        """The request that it answers."""
        self._converted: Message | None = None

    @property
    def body(self) -> Message:
        if self.to.request is None:
            return self._decoded().body
        if self._converted is None:
            self._converted = self.body_as(self._registry.response_class(self.to.request))
        return self._converted

    if TYPE_CHECKING:

        @overload
        def body_as(self, cls: type[AnsweredBy[M]], *, lost: list[Loss] | None = None) -> M: ...
        @overload
        def body_as(self, cls: type[M], *, lost: list[Loss] | None = None) -> M: ...

    def body_as(self, cls: Any, *, lost: list[Loss] | None = None) -> Any:
        """The message as one of the version that a program is written for, whichever the broker has sent.

        Args:
            cls: the class of the response in that version, or of the request.
            lost: as of `kipwire.convert`.

        Raises:
            DecodeError: as `body`.
            ConversionError: that version cannot carry what came.
            UnsupportedVersionError: the class is that of another message.
        """
        body, wanted = self._decoded().body, self._registry.response_class(cls)
        if body.NAME != wanted.NAME and body.API_KEY == wanted.API_KEY:  # of two names of one API
            return self._registry.read_response(self.raw, wanted, version=self.to.api_version, lost=lost).body
        return convert(body, wanted, lost=lost)

    def _read(self) -> FrameAndRest[ResponseHeader, Message]:
        return self._registry.read_response(self.raw, self.to.api_key, self.to.api_version)

    def _body(self) -> Body:
        return frames.body_of_response(self._registry, self.raw, self.to.api_key, self.to.api_version)

    def __repr__(self) -> str:
        return f"<Response to {self.to}, {len(self.raw)} bytes>"


class SaslToken:
    """What a SASL mechanism sends to its counterpart, in a frame without a header (before KIP-152)."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def __repr__(self) -> str:
        return f"<SaslToken: {len(self.raw)} bytes>"  # its content is a secret


Event = Request | Response | SaslToken
