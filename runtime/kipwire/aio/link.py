"""The client's end of a transport: requests go out in batches, and each response goes to who waits for it."""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from math import inf

from kipwire.aio.failures import Address, Closed, Failure, ProtocolFailure, TlsFailure
from kipwire.connection import ClientConnection, RemoteProtocolError, Response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.registry import Registry

_AT_ONCE = 65536
"""Bytes: what waits for the end of a turn of the event loop is written when it is more."""
_HIGHEST_ID = 2**31 - 1


class Link(asyncio.Protocol):
    """One transport to a broker. Every method is called in the event loop that made it."""

    def __init__(self, registry: Registry, address: Address, largest_frame: int, in_flight: int) -> None:
        """Wait for a transport.

        Args:
            registry: that of the package of messages.
            address: of the broker, for errors.
            largest_frame: bytes of a response at most.
            in_flight: how many requests may wait for their responses.
        """
        self._loop = asyncio.get_running_loop()
        self._wire = ClientConnection(registry, largest_frame=largest_frame)
        self._address = address
        self._most_in_flight = in_flight
        self._transport: asyncio.Transport | None = None
        self._is_paused = False
        """Whether the transport has more to write than it wants to keep."""
        self._outgoing: list[bytes] = []
        """Requests that go out at the end of this turn of the event loop."""
        self._outgoing_size = 0
        self._waiting: deque[tuple[asyncio.Future[Response], float]] = deque()
        """Who waits for a response, in the order of the requests, and until when. A future that is done has been given
        up; its place stays until its response comes."""
        self._turns: deque[asyncio.Future[None]] = deque()
        """Who waits until something can be sent."""
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = inf
        self._next_id = 0
        self.failure: Failure | None = None
        """The first failure, after which nothing can be sent."""
        self.lost: asyncio.Future[None] = self._loop.create_future()
        """Done when the transport has closed its socket."""

    # Sending.

    @property
    def is_full(self) -> bool:
        """Whether who wants to send has to wait for `turn`."""
        return self._is_paused or len(self._waiting) >= self._most_in_flight or bool(self._turns)

    async def turn(self) -> None:
        """Wait until a request can be sent; those that wait are served in their order.

        Raises:
            Failure: the connection fails before.
        """
        mine: asyncio.Future[None] = self._loop.create_future()
        self._turns.append(mine)
        try:
            await mine
        finally:
            self._turns.remove(mine)
            self._loop.call_soon(self._give_turn)  # to the next one, whether this one uses it or not

    def _give_turn(self) -> None:
        """Wake the first of those that wait, if there is room for a request."""
        if self._turns and not self._is_paused and len(self._waiting) < self._most_in_flight:
            first = self._turns[0]
            if not first.done():
                first.set_result(None)

    def next_id(self) -> int:
        """A correlation id that no request in flight has."""
        number = self._next_id
        self._next_id = (number + 1) & _HIGHEST_ID
        return number

    def submit(self, frame: bytes, deadline: float) -> asyncio.Future[Response]:
        """The future response to a request frame, which is sent with this turn of the event loop.

        Args:
            frame: with an id of `next_id`.
            deadline: the time of the event loop at which the future becomes a `TimeoutError`.
        """
        self.write(frame)
        answer: asyncio.Future[Response] = self._loop.create_future()
        self._waiting.append((answer, deadline))
        if deadline < self._alarm_at:
            self._set_alarm(deadline)
        return answer

    def write(self, frame: bytes) -> None:
        """Send a request frame."""
        data = self._wire.send_frame(frame)
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append(data)
        self._outgoing_size += len(data)
        if self._outgoing_size > _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._outgoing and self._transport is not None and self.failure is None:
            data = b"".join(self._outgoing)
            self._outgoing.clear()
            self._outgoing_size = 0
            self._transport.write(data)

    # Deadlines. One timer is enough: it looks at all who wait, and comes again for the next of them.

    def _set_alarm(self, at: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._alarm_at = self._loop.call_at(at, self._on_alarm), at

    def _on_alarm(self) -> None:
        now, following = self._alarm_at, inf
        self._alarm, self._alarm_at = None, inf
        for answer, deadline in self._waiting:
            if answer.done():
                continue
            if deadline <= now:
                answer.set_exception(TimeoutError())
            else:
                following = min(following, deadline)
        if following < inf:
            self._set_alarm(following)

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._give_turn()

    def data_received(self, data: bytes) -> None:
        self._wire.receive_data(data)
        self._deliver()

    def eof_received(self) -> None:
        self._wire.receive_end()
        self._deliver()
        self.fail(Closed(self._address, "the broker has closed the connection"))

    def connection_lost(self, exc: Exception | None) -> None:
        if isinstance(exc, ssl.SSLError):
            self.fail(TlsFailure(self._address, f"the broker has refused TLS: {exc.reason or exc}"))
        elif exc is not None:
            self.fail(Closed(self._address, f"the connection was broken off: {exc.__class__.__name__}: {exc}"))
        else:
            self.fail(Closed(self._address, "the broker has closed the connection"))
        if not self.lost.done():
            self.lost.set_result(None)

    def _deliver(self) -> None:
        """Give each response to who waits for it; nobody does for one that was given up."""
        try:
            for event in self._wire.events():
                assert isinstance(event, Response)  # no tokens of SASL are sent
                answer, _ = self._waiting.popleft()
                if not answer.done():
                    answer.set_result(event)
        except RemoteProtocolError as error:
            self.fail(ProtocolFailure(self._address, str(error)))
        if self._turns:
            self._give_turn()

    # The end.

    def fail(self, failure: Failure) -> None:
        """Close the connection for a reason, which is that of all requests that wait; the first reason stays."""
        if self.failure is not None:
            return
        self.failure = failure
        self._flush_and_close()
        if self._alarm is not None:
            self._alarm.cancel()
        for waiting in [answer for answer, _ in self._waiting] + list(self._turns):
            if not waiting.done():
                waiting.set_exception(self.reason())
        self._waiting.clear()
        self._outgoing.clear()

    def _flush_and_close(self) -> None:
        if self._transport is not None:
            if self._outgoing:
                self._transport.write(b"".join(self._outgoing))
            self._transport.close()

    def abort(self) -> None:
        """Close the socket without what has not been written yet."""
        if self._transport is not None:
            self._transport.abort()

    def reason(self) -> Failure:
        """The failure again, as an error of its own: one error raised in several tasks would collect their traces."""
        assert self.failure is not None
        return type(self.failure)(self.failure.address, self.failure.reason)
