"""The client's side of a connection.

The queue of what was sent gives the meaning of the next frame, which nothing in a frame does: the first entry is
removed when its response comes, and None in the queue is a token of SASL. A request enters the queue only after it is
encoded, so that a call which raises has changed nothing; a request without a response never enters the queue. `link` of
`kipwire.aio` is the same with a transport, `server` is the other side, and the head of `kipwire.connection` has the
theory of both.
"""

from __future__ import annotations

from collections import deque

from kipwire.connection.events import CORRELATION_ID, HEAD, Expected, Response, SaslToken
from kipwire.connection.framing import LocalProtocolError, Location, Splitter, add_size, is_answered
from kipwire.message.frames import LARGEST_FRAME
from kipwire.message.messages import described
from kipwire.tools.text import count_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Literal

    from kipwire.message.conversion import Loss
    from kipwire.message.frames import AnsweredBy
    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry

_HIGHEST_ID = 2**31 - 1


class ClientConnection:
    """This client's connection to one broker, whose responses come in the order of the requests."""

    def __init__(self, registry: Registry, client_id: str | None = None, *, largest_frame: int = LARGEST_FRAME) -> None:
        """Start without requests.

        Args:
            registry: the registry of the package of messages, such as `kafka_messages.REGISTRY`.
            client_id: the client's name for itself.
            largest_frame: bytes of a response at most.
        """
        self._registry = registry
        self._client_id = client_id
        self._splitter = Splitter(largest_frame)
        self._expected: deque[Expected | None] = deque()
        """The requests that wait for their responses, in their order; None means a SASL token."""
        self._ids: set[int] = set()
        """Correlation ids of the requests without a response."""
        self._next_id = 0

    @property
    def state(self) -> Literal["idle", "responses", "tokens", "tokens first"]:
        """State of the connection, by what it expects: nothing, responses, SASL tokens, or tokens before responses."""
        if None in self._expected:
            return "tokens first" if self._ids else "tokens"
        return "responses" if self._ids else "idle"

    @property
    def expected(self) -> tuple[Expected, ...]:
        """The requests whose responses have not come yet, in their order."""
        return tuple(one for one in self._expected if one is not None)

    @property
    def in_flight(self) -> int:
        """Number of requests that wait for their responses. The caller has to limit it."""
        return len(self._ids)

    def is_expected(self, correlation_id: int) -> bool:
        """True if a request with that correlation id waits for its response."""
        return correlation_id in self._ids

    def send(
        self,
        body: Message | AnsweredBy[Any],
        *,
        correlation_id: int | None = None,
        version: int | None = None,
        lost: list[Loss] | None = None,
    ) -> bytes:
        """Return the bytes to send for a request; its response will be an event.

        Args:
            body: the request, in the version that the program is written for.
            correlation_id: by default the next one that no request in flight has.
            version: the version in which to send it, such as `best_version` gives; by default its own.
            lost: see `kipwire.convert`.

        Raises:
            LocalProtocolError: the body is not a request, or another request with that correlation id waits for its
                response.
            EncodeError: a value does not fit its field, or the package does not have such a request.
            ConversionError: the version cannot carry the request.
            UnsupportedVersionError: the request has no such version.
        """
        if getattr(type(body), "TYPE", None) != "request":
            raise LocalProtocolError(f"{described(body)} is not a request")
        number = self._free_id() if correlation_id is None else correlation_id
        frame = self._registry.encode_request(body, number, self._client_id, version=version, lost=lost)
        data = self._bytes_to_send(frame, type(body))
        if correlation_id is None:
            self._next_id = (number + 1) & _HIGHEST_ID
        return data

    def send_frame(self, frame: bytes) -> bytes:
        """Return the bytes to send for a request that is already encoded, with its header; any API and version will do.

        Raises:
            LocalProtocolError: the frame is too short for a request, or another request with that correlation id waits
                for its response.
        """
        return self._bytes_to_send(frame, None)

    def _bytes_to_send(self, frame: bytes, cls: Any) -> bytes:
        """Return the bytes to send for a request, and expect its response from now on; `cls` is its class, if known."""
        if len(frame) < HEAD.size:
            raise LocalProtocolError(f"a request has at least {HEAD.size} bytes, not {len(frame)}")
        expected = Expected(*HEAD.unpack_from(frame))
        if cls is not None and expected.api_version != cls.VERSION:
            expected = expected._replace(request=cls)
        if expected.correlation_id in self._ids:
            raise LocalProtocolError(
                f"a request with correlation id {expected.correlation_id} is already waiting for its response"
            )
        if is_answered(self._registry, frame, expected.api_key, expected.api_version):
            self._ids.add(expected.correlation_id)
            self._expected.append(expected)
        return add_size(frame)

    def send_token(self, token: bytes, *, is_answered: bool = True) -> bytes:
        """Return the bytes to send for a SASL token, after the response to SaslHandshake v0.

        The broker's token will be an event.

        Args:
            token: made by the mechanism.
            is_answered: True if the broker answers it; some mechanisms have no answer to the last token.

        Raises:
            LocalProtocolError: a request waits for its response.
        """
        if self._ids:
            raise LocalProtocolError(f"no token can be sent before the response to {self.expected[0]}")
        if is_answered:
            self._expected.append(None)
        return add_size(token)

    def receive_data(self, data: bytes) -> None:
        """Accept any number of bytes from the broker; `events` returns the frames.

        Raises:
            LocalProtocolError: `receive_end` was called before.
        """
        self._splitter.feed(data)

    def receive_end(self) -> None:
        """Accept that the broker has stopped sending; `events` checks that it ended between two frames."""
        self._splitter.end()

    def events(self) -> Iterator[Response | SaslToken]:
        """Yield what has arrived, frame by frame. Stopping, and calling `events` again, loses nothing.

        Raises:
            RemoteProtocolError: the next frame is too large, is cut short, or is not the expected response.
        """
        while True:
            location = self._splitter.location
            frame = self._splitter.take()
            if frame is None:
                return
            if not self._expected:
                self._splitter.refuse(location, f"a response of {count_of(len(frame), 'byte')} without a request")
            expected = self._expected[0]
            if expected is not None:
                self._expect(expected, frame, location)
                self._ids.discard(expected.correlation_id)
            self._expected.popleft()
            yield SaslToken(frame) if expected is None else Response(self._registry, frame, expected)

    def _expect(self, expected: Expected, frame: bytes, location: Location) -> None:
        """Check that a frame is the expected response.

        Raises:
            RemoteProtocolError: the frame is too short, or has another correlation id.
        """
        if len(frame) < CORRELATION_ID.size:
            what = f"a response has at least {CORRELATION_ID.size} bytes, not {len(frame)}"
            self._splitter.refuse(location, what)
        (found,) = CORRELATION_ID.unpack_from(frame)
        if found != expected.correlation_id:
            fault = "response out of order" if found in self._ids else "response without a request"
            reason = f"{fault}: got correlation id {found}, expected {expected}"
            self._splitter.refuse(location, reason)

    def _free_id(self) -> int:
        number = self._next_id
        while number in self._ids:
            number = (number + 1) & _HIGHEST_ID
        return number
