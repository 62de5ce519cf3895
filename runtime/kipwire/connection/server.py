"""The broker's side of a connection.

There are two collections of the open requests: a queue in their order, for what may go out, and a dict by identity,
which finds the request of a response at the same cost however many are open. A response that is early waits in the
queue. Taking an event adds to both, `respond` and `leave_unanswered` remove; the caller bounds them by when it takes
events. `client` is the other side, and the head of `kipwire.connection` has the theory of both.
"""

from __future__ import annotations

from collections import deque
from struct import Struct as Packer
from typing import NamedTuple

from kipwire.connection.events import CORRELATION_ID, HEAD, Request, SaslToken
from kipwire.connection.framing import LocalProtocolError, Splitter, add_size
from kipwire.message.conversion import convert
from kipwire.message.frames import LARGEST_FRAME, may_answer_in_version_0
from kipwire.message.messages import described
from kipwire.model.api_keys import SASL_HANDSHAKE_KEY, UNSUPPORTED_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from kipwire.message.conversion import Loss
    from kipwire.message.frames import ResponseHeader
    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry

_SASL_HANDSHAKE = (SASL_HANDSHAKE_KEY, 0)
"""API key and version of the request after whose answer tokens of SASL come without headers."""
_NO_ERROR = b"\0\0"


class _Open:
    """A request that waits for its response, or for earlier responses to be sent."""

    __slots__ = ("frame", "is_settled", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.is_settled = False
        """True if it is decided what to send: the response, or nothing."""
        self.frame: bytes | None = None

    @property
    def size(self) -> int:
        """Bytes of the request and its response."""
        return len(self.request.raw) + len(self.frame or b"")


_API_KEY = Packer(">h")


class Part(NamedTuple):
    """A request that is not whole yet."""

    api_key: int
    size: int
    """Bytes of the request that have come, with the four of its size."""


class ServerConnection:
    """One client's connection to this broker. Responses go out in the order of their requests, as Kafka's do."""

    def __init__(self, registry: Registry, *, largest_frame: int = LARGEST_FRAME) -> None:
        """Wait for requests.

        Args:
            registry: the registry of the package of messages, such as `kafka_messages.REGISTRY`.
            largest_frame: bytes of a request at most, as `socket.request.max.bytes` of a broker.
        """
        self._registry = registry
        self._splitter = Splitter(largest_frame)
        self._open: deque[_Open] = deque()
        """Requests whose responses are not sent yet, in their order."""
        self._waiting: dict[int, _Open] = {}
        """The open requests whose responses have not been given, in the same order, by the identity of the request."""
        self._early_bytes = 0
        self._takes_tokens = False

    @property
    def state(self) -> Literal["idle", "open", "tokens", "tokens, open"]:
        """State of the connection: `idle` until a request is `open`; `tokens` while it takes SASL tokens."""
        if self._takes_tokens:
            return "tokens, open" if self._waiting else "tokens"
        return "open" if self._waiting else "idle"

    @property
    def open_requests(self) -> tuple[Request, ...]:
        """The requests whose responses have not been given yet, in their order."""
        return tuple(one.request for one in self._waiting.values())

    @property
    def in_flight(self) -> int:
        """Number of kept requests: without a response, or with a response that waits for earlier ones to be sent.

        The caller has to limit it, by when it takes `events`.
        """
        return len(self._open)

    @property
    def early_bytes(self) -> int:
        """Bytes of the responses that wait for earlier ones to be sent, with their requests. The caller limits them."""
        return self._early_bytes

    @property
    def part(self) -> Part | None:
        """The request that is not whole yet, once all before it were taken; None where its API key has not come."""
        begun = self._splitter.begun(_API_KEY.size)
        return Part(_API_KEY.unpack(begun)[0], self._splitter.waiting) if len(begun) == _API_KEY.size else None

    @property
    def takes_tokens(self) -> bool:
        """True while frames are tokens of SASL; `expect_requests` ends that."""
        return self._takes_tokens

    def receive_data(self, data: bytes) -> None:
        """Accept any number of bytes from the client; `events` returns the frames.

        Raises:
            LocalProtocolError: `receive_end` was called before.
        """
        self._splitter.feed(data)

    def receive_end(self) -> None:
        """Accept that the client has stopped sending; `events` checks that it ended between two frames."""
        self._splitter.end()

    def events(self) -> Iterator[Request | SaslToken]:
        """Yield what has arrived, frame by frame. Stopping, and calling `events` again, loses nothing.

        Raises:
            RemoteProtocolError: the next frame is too large, is cut short, or cannot be a request.
        """
        while True:
            location = self._splitter.location
            frame = self._splitter.take()
            if frame is None:
                return
            if self._takes_tokens:
                yield SaslToken(frame)
                continue
            if len(frame) < HEAD.size:
                reason = f"a request has at least {HEAD.size} bytes, not {len(frame)}"
                self._splitter.refuse(location, reason)
            request = Request(self._registry, frame)
            if request.is_answered:
                self._waiting[id(request)] = one = _Open(request)
                self._open.append(one)
            yield request

    def respond(
        self,
        request: Request,
        body: Message,
        *,
        header: ResponseHeader | None = None,
        version: int | None = None,
        lost: list[Loss] | None = None,
    ) -> bytes:
        """Return the bytes to send once a request has its response; empty while earlier requests wait for theirs.

        Args:
            request: an event of this connection.
            body: of the version of the request; or, to ApiVersions, of version 0 with UNSUPPORTED_VERSION (KIP-511).
            header: by default one with the request's correlation id.
            version: `request.api_version`, to which a body of another version is then converted.
            lost: see `kipwire.convert`.

        Raises:
            LocalProtocolError: the request does not wait for a response, or not for this one.
            EncodeError: a value does not fit its field, or the package does not have such a response.
            ConversionError: the version cannot carry the body.
            UnsupportedVersionError: the response has no such version.
        """
        waiting = self._waiting_for(request)
        is_response = getattr(type(body), "TYPE", None) == "response" and request.api_key == body.API_KEY
        if is_response and version is not None:
            body = convert(body, version, lost=lost)
        if not is_response or not _fits(body, request):
            what = f"API key {request.api_key}, version {request.api_version}"
            raise LocalProtocolError(f"{described(body)} is not the response to {what}")
        if header is None:
            frame = self._registry.encode_response(body, request.correlation_id)
        else:
            frame = self._registry.encode_response(body, header=header)
        return self._answer(waiting, frame)

    def respond_frame(self, request: Request, frame: bytes) -> bytes:
        """Return the bytes to send once a request has its response, which is encoded already: as `respond`.

        Args:
            request: an event of this connection.
            frame: header and body, without a size.

        Raises:
            LocalProtocolError: the request does not wait for a response, or the frame has another correlation id.
        """
        return self._answer(self._waiting_for(request), frame)

    def leave_unanswered(self, request: Request) -> bytes:
        """Return the bytes to send once it is known that a request gets no response: the responses that waited for it.

        Raises:
            LocalProtocolError: the request does not wait for a response.
        """
        return self._settle(self._waiting_for(request), None)

    def send_token(self, token: bytes) -> bytes:
        """Return the bytes of a SASL token, after the response to SaslHandshake v0.

        Raises:
            LocalProtocolError: the client waits for a response instead.
        """
        if not self._takes_tokens or self._open:
            raise LocalProtocolError("tokens without headers may be sent only after the response to SaslHandshake v0")
        return add_size(token)

    def expect_tokens(self) -> None:
        """Treat what arrives as SASL tokens. The response to SaslHandshake v0 does this itself."""
        self._takes_tokens = True

    def expect_requests(self) -> None:
        """Treat what arrives as requests again, since the SASL mechanism has finished."""
        self._takes_tokens = False

    def _waiting_for(self, request: Request) -> _Open:
        waiting = self._waiting.get(id(request))
        if waiting is not None:
            return waiting
        why = "was already answered, or belongs to another connection" if request.is_answered else "expects no response"
        raise LocalProtocolError(f"the request with correlation id {request.correlation_id} {why}")

    def _answer(self, waiting: _Open, frame: bytes) -> bytes:
        due = waiting.request.correlation_id
        if frame[: CORRELATION_ID.size] != CORRELATION_ID.pack(due):
            shown = frame[: CORRELATION_ID.size].hex(" ") or "nothing"
            raise LocalProtocolError(f"the response must begin with correlation id {due}, not with the bytes {shown}")
        return self._settle(waiting, frame)

    def _settle(self, waiting: _Open, frame: bytes | None) -> bytes:
        """Settle a request, without a response for None; return the responses before the first open request."""
        del self._waiting[id(waiting.request)]
        waiting.is_settled, waiting.frame = True, frame
        if self._open[0] is not waiting:
            self._early_bytes += waiting.size
        parts: list[bytes] = []
        while self._open and self._open[0].is_settled:
            one = self._open.popleft()
            if one is not waiting:
                self._early_bytes -= one.size
            request, frame = one.request, one.frame
            if frame is None:
                continue
            if (request.api_key, request.api_version) == _SASL_HANDSHAKE:
                self._takes_tokens = frame[CORRELATION_ID.size :].startswith(_NO_ERROR)
            parts.append(add_size(frame))
        return b"".join(parts)


def _fits(body: Message, request: Request) -> bool:
    """True if a response has the version that it must have."""
    if request.api_version == body.VERSION:
        return True
    is_refusal = getattr(body, "error_code", None) == UNSUPPORTED_VERSION
    return is_refusal and body.VERSION == 0 and may_answer_in_version_0(type(body))
