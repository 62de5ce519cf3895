"""What a peer has sent: frames that are decoded when their header or body is first used."""

from __future__ import annotations

from struct import Struct as Packer
from typing import NamedTuple

from kipwire.connection.framing import is_answered
from kipwire.errors import DecodeError, UnsupportedVersionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVarTuple

    from kipwire.frames import FrameAndRest, RequestHeader, ResponseHeader
    from kipwire.messages import Message
    from kipwire.projection import VersionedProjection
    from kipwire.registry import Registry

    Values = TypeVarTuple("Values")

HEAD = Packer(">hhi")
"""What every request begins with: API key, version and correlation id."""
CORRELATION_ID = Packer(">i")
"""What every response begins with."""


class Expected(NamedTuple):
    """A sent request, which identifies its response."""

    api_key: int
    api_version: int
    correlation_id: int

    def __str__(self) -> str:
        return f"correlation id {self.correlation_id} (API key {self.api_key}, version {self.api_version})"


class Request:
    """A request of the client, known to the package or not."""

    __slots__ = ("_frame", "_registry", "api_key", "api_version", "correlation_id", "is_answered", "raw")

    raw: bytes
    """The frame as it came, without its size."""
    api_key: int
    api_version: int
    correlation_id: int
    is_answered: bool
    """Whether the client waits for a response; it does not for what it produces with `acks` of 0."""

    def __init__(self, registry: Registry, raw: bytes) -> None:
        self.raw = raw
        self.api_key, self.api_version, self.correlation_id = HEAD.unpack_from(raw)
        self._registry = registry
        self._frame: FrameAndRest[RequestHeader, Message] | None = None
        self.is_answered = is_answered(registry, raw, self.api_key, self.api_version)

    @property
    def is_known(self) -> bool:
        """Whether the package has such a request in that version, so that it can be decoded."""
        return self._registry.has_request(self.api_key, self.api_version)

    @property
    def header(self) -> RequestHeader:
        """The header; decoded with the body, once.

        Raises:
            DecodeError: as `body`.
        """
        return self._decoded().header

    @property
    def body(self) -> Message:
        """The request; decoded at its first use, then kept.

        Raises:
            DecodeError: it is broken, or the package does not have it (`UnknownApiKeyError`, `UnknownVersionError`).
        """
        return self._decoded().body

    @property
    def rest(self) -> bytes:
        """What is left over after the body, such as a byte too many that some clients send; brokers ignore it.

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
        from kipwire.projection import frames  # here, since few programs choose

        try:
            return frames.project(
                projection, self.raw, frames.body_of_request(self._registry, self.raw, self.api_key, self.api_version)
            )
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
        from kipwire.projection import frames

        try:
            body = frames.body_of_request(self._registry, self.raw, self.api_key, self.api_version)
            return frames.replaced(projection, self.raw, body, values)
        except (DecodeError, UnsupportedVersionError):
            self._decoded()
            raise

    def _decoded(self) -> FrameAndRest[RequestHeader, Message]:
        if self._frame is None:
            self._frame = self._registry.read_request(self.raw)
        return self._frame

    def __repr__(self) -> str:
        what = f"API key {self.api_key}, version {self.api_version}, correlation id {self.correlation_id}"
        return f"<Request: {what}, {len(self.raw)} bytes>"


class Response:
    """A response of the broker."""

    __slots__ = ("_frame", "_registry", "raw", "to")

    raw: bytes
    """The frame as it came, without its size."""
    to: Expected
    """The request that it answers."""

    def __init__(self, registry: Registry, raw: bytes, to: Expected) -> None:
        self.raw = raw
        self.to = to
        self._registry = registry
        self._frame: FrameAndRest[ResponseHeader, Message] | None = None

    @property
    def header(self) -> ResponseHeader:
        """The header; decoded with the body, once.

        Raises:
            DecodeError: as `body`.
        """
        return self._decoded().header

    @property
    def body(self) -> Message:
        """The response; decoded at its first use, then kept.

        It has the version of the request. Only an ApiVersions response may have version 0 instead, from a broker that
        does not know the version of the request (KIP-511).

        Raises:
            DecodeError: it is broken, or the package does not have it (`UnknownApiKeyError`, `UnknownVersionError`).
        """
        return self._decoded().body

    @property
    def rest(self) -> bytes:
        """What is left over after the body.

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
        from kipwire.projection import frames  # here, since few programs choose

        try:
            return frames.project(
                projection,
                self.raw,
                frames.body_of_response(self._registry, self.raw, self.to.api_key, self.to.api_version),
            )
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
        from kipwire.projection import frames

        try:
            body = frames.body_of_response(self._registry, self.raw, self.to.api_key, self.to.api_version)
            return frames.replaced(projection, self.raw, body, values)
        except (DecodeError, UnsupportedVersionError):
            self._decoded()
            raise

    def _decoded(self) -> FrameAndRest[ResponseHeader, Message]:
        if self._frame is None:
            self._frame = self._registry.read_response(self.raw, self.to.api_key, self.to.api_version)
        return self._frame

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
