"""The client's end of a transport: requests go out in batches, and each response goes to its request.

The queue of futures has the order of the requests, and each response goes to the first future. A future that was
cancelled or is too late stays until its response comes, since without it every later response would go to the wrong
request. A request that cannot be sent yet waits in its task, in `turn`, so nothing here grows without a bound. After
the first failure nothing is sent, and all futures get that failure. The head of `kipwire.aio` has the theory.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import deque
from contextlib import contextmanager, suppress
from math import inf

from kipwire.aio.failures import (
    Address,
    Closed,
    Failure,
    ProtocolFailure,
    TlsFailure,
    peer_of,
    shown_address,
    tls_reason,
)
from kipwire.connection import ClientConnection, RemoteProtocolError, Response
from kipwire.connection.events import HEAD, shown_request
from kipwire.connection.framing import is_answered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kipwire.message.registry import Registry

log = logging.getLogger("kipwire.aio")
"""Gets a line for each step of a connection, at the level DEBUG. Requests are named by API, version and correlation id:
content and sizes are left out, since a size would tell the length of a password.
"""
_AT_ONCE = 65536
"""Bytes: when requests that wait for the end of a turn of the event loop have more, they are written at once."""
_HIGHEST_ID = 2**31 - 1
_KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}
"""Seconds of silence, seconds between questions, and how many go unanswered before the connection is broken off."""


class Link(asyncio.Protocol):
    """One transport to a broker. Everything is called in the event loop that made it."""

    def __init__(self, registry: Registry, address: Address, largest_frame: int, in_flight: int) -> None:
        """Wait for a transport.

        Args:
            registry: the registry of the package of messages.
            address: of the broker, for errors.
            largest_frame: bytes of a response at most.
            in_flight: how many requests may wait for their responses.
        """
        self._loop = asyncio.get_running_loop()
        self._wire = ClientConnection(registry, largest_frame=largest_frame)
        self._registry = registry
        self.peer = peer_of(registry)
        """Word for the peer in errors."""
        self._address = address
        self._shown = shown_address(address)
        self._most_in_flight = in_flight
        self._transport: asyncio.Transport | None = None
        self._is_paused = False
        """True while the transport has more to write than it wants to keep."""
        self._is_held = False
        """True while requests wait for the end of something that must not be interrupted."""
        self._is_wanted = True
        """False while the program takes no more responses."""
        self._is_reading = True
        self._outgoing: list[bytes] = []
        """Requests that go out at the end of this turn of the event loop."""
        self._outgoing_size = 0
        self._waiting: deque[tuple[asyncio.Future[Response], float]] = deque()
        """Futures of responses, in the order of the requests, each with its deadline. A future that is done was given
        up; it keeps its place until its response comes.
        """
        self._turns: deque[asyncio.Future[None]] = deque()
        """Futures of tasks that wait to send. A future with a result has its turn; a cancelled future is skipped."""
        self._idle: asyncio.Future[None] | None = None
        """Done when no request is in flight."""
        self._sent_at: dict[int, float] = {}
        """The time of each request in flight, by its correlation id; only of requests that the log has named."""
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = inf
        self._next_id = 0
        self._lost: asyncio.Future[None] = self._loop.create_future()
        """Done when the transport has closed its socket."""
        self._at_end: list[Callable[[], None]] = []
        self.failure: Failure | None = None
        """The first failure, after which nothing can be sent."""
        self.suspicion = ""
        """A guess why the broker would not send its next response."""
        self.doubt = ""
        """A guess why it would not answer a request at any time."""

    # Sending.

    @property
    def is_full(self) -> bool:
        """True if a request has to wait for its `turn`."""
        return not self._has_room() or bool(self._turns)

    def _has_room(self) -> bool:
        return not (self._is_paused or self._is_held or len(self._waiting) >= self._most_in_flight)

    async def turn(self) -> None:
        """Wait until a request can be sent; tasks get their turns in the order in which they came.

        Raises:
            Failure: the connection fails before.
        """
        mine: asyncio.Future[None] = self._loop.create_future()
        self._turns.append(mine)
        try:
            await mine
        finally:
            if self._turns and self._turns[0] is mine:
                self._turns.popleft()
            self._loop.call_soon(self._give_turn)  # to the next task, whether this task uses its turn or not

    def _give_turn(self) -> None:
        """Wake the first task that waits, if there is room for a request."""
        while self._turns and self._turns[0].cancelled():
            self._turns.popleft()
        if self._turns and self._has_room():
            first = self._turns[0]
            if not first.done():
                first.set_result(None)

    @contextmanager
    def hold_turns(self) -> Iterator[None]:
        """Let requests wait for their turn until the end of the block; `submit` sends none the less."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False
            self._read_or_not(is_on=self._is_wanted)
            self._give_turn()

    async def idle(self) -> None:
        """Wait until no request is in flight, or the connection fails; then read, whatever the program wants."""
        while self._waiting:
            self._idle = self._loop.create_future()
            await self._idle
        self._read_or_not(is_on=True)

    def _note_idle(self) -> None:
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    def is_taken(self, number: int) -> bool:
        """True if a request in flight has this correlation id."""
        return self._wire.is_expected(number)

    def next_id(self) -> int:
        """Choose a correlation id that no request in flight has, for a request sent before anything is awaited."""
        number = self._next_id
        while self._wire.is_expected(number):
            number = (number + 1) & _HIGHEST_ID
        self._next_id = (number + 1) & _HIGHEST_ID
        return number

    def submit(self, frame: bytes, deadline: float) -> asyncio.Future[Response] | None:
        """Send a request frame with this turn of the event loop; return its future response, None if none is due.

        Args:
            frame: with an id that is not taken, such as `next_id`.
            deadline: the time of the event loop at which the future gets a `TimeoutError`.
        """
        if log.isEnabledFor(logging.DEBUG):
            self._log_request(frame)
        if not self._write(frame):
            return None
        answer: asyncio.Future[Response] = self._loop.create_future()
        self._waiting.append((answer, deadline))
        if deadline < self._alarm_at:
            self._set_alarm(deadline)
        return answer

    def _log_request(self, frame: bytes) -> None:
        api_key, version, number = HEAD.unpack_from(frame)
        log.debug("%s: sent %s", self._shown, shown_request(self._registry, api_key, version, number))
        if is_answered(self._registry, frame, api_key, version):
            self._sent_at[number] = self._loop.time()

    def _write(self, frame: bytes) -> bool:
        """Send a frame, together with the others of this turn of the event loop; return True if a response is due."""
        before = self._wire.in_flight
        data = self._wire.send_frame(frame)
        assert self._transport is not None
        if not self._waiting and not self._outgoing:
            self._transport.write(data)  # since no other is likely to come
            return self._wire.in_flight > before
        if not self._outgoing:
            self._loop.call_soon(self._flush)
        self._outgoing.append(data)
        self._outgoing_size += len(data)
        if self._outgoing_size > _AT_ONCE:
            self._flush()
        return self._wire.in_flight > before

    def _flush(self) -> None:
        if self._outgoing and self._transport is not None:
            data = b"".join(self._outgoing)
            self._outgoing.clear()
            self._outgoing_size = 0
            self._transport.write(data)

    # Receiving.

    def want(self, *, is_on: bool) -> None:
        """Take responses, or leave them in the buffers of the system, so that the broker has to wait."""
        self._is_wanted = is_on
        if not self._is_held:
            self._read_or_not(is_on=is_on)

    def _read_or_not(self, *, is_on: bool) -> None:
        if self._transport is None or is_on == self._is_reading or self._transport.is_closing():
            return
        self._is_reading = is_on
        if is_on:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    # Deadlines. One timer is enough: it checks all waiting futures, and is set again for the next deadline.

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
        keep_alive(transport)
        if log.isEnabledFor(logging.DEBUG):
            own, used = transport.get_extra_info("sockname"), transport.get_extra_info("ssl_object")
            how = f", {used.version()}" if used is not None else ""
            log.debug("%s: connected from %s%s", self._shown, shown_address(own[:2]), how)

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._give_turn()

    def data_received(self, data: bytes) -> None:
        if self.failure is None:
            self._wire.receive_data(data)
            self._deliver()

    def eof_received(self) -> None:
        self._end(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(exc)
        self._transport = None
        if not self._lost.done():
            self._lost.set_result(None)

    def _deliver(self) -> None:
        """Give each response to the future that waits for it; drop responses that were given up."""
        try:
            for event in self._wire.events():
                assert isinstance(event, Response)  # no tokens of SASL are sent
                answer, _ = self._waiting.popleft()
                self.suspicion = ""
                if log.isEnabledFor(logging.DEBUG):
                    self._log_response(event, is_late=answer.done())
                if not answer.done():
                    answer.set_result(event)
        except RemoteProtocolError as error:
            self.fail(ProtocolFailure(self._address, f"invalid bytes from the {self.peer}: {error}{self._suspicion()}"))
        if not self._waiting:
            self._note_idle()
        if self._turns:
            self._give_turn()

    def _log_response(self, response: Response, *, is_late: bool) -> None:
        to = response.to
        sent_at = self._sent_at.pop(to.correlation_id, None)
        after = "" if sent_at is None else f" in {(self._loop.time() - sent_at) * 1000:,.1f} ms"
        shown = shown_request(self._registry, to.api_key, to.api_version, to.correlation_id)
        log.debug("%s: answered %s%s%s", self._shown, shown, after, ", which nothing waits for" if is_late else "")

    def _end(self, error: Exception | None) -> None:
        """Fail because nothing more comes from the broker."""
        if self.failure is not None:
            return
        self._wire.receive_end()
        self._deliver()  # which finds a frame that is cut short
        failure: Failure
        if isinstance(error, ssl.SSLError):
            failure = TlsFailure(self._address, tls_reason(error))
        else:
            how = "closed the connection"
            if error is not None:
                how = f"broke off the connection: {getattr(error, 'strerror', None) or error}"
            failure = Closed(self._address, f"the {self.peer} {how}{self._unanswered()}{self._suspicion()}")
        failure.__cause__ = error
        self.fail(failure)

    def _unanswered(self) -> str:
        """Name the first request without a response, by its API and version."""
        first = next(iter(self._wire.expected), None)
        if first is None or not self._registry.has_request(first.api_key, first.api_version):
            return ""
        name = self._registry.request(first.api_key, first.api_version).NAME
        return f" instead of answering {name} v{first.api_version}{f'; {self.doubt}' if self.doubt else ''}"

    def _suspicion(self) -> str:
        return f"; {self.suspicion}" if self.suspicion else ""

    # The end.

    def fail(self, failure: Failure) -> None:
        """Close the socket with a failure, which all waiting requests get; the first failure stays."""
        if self._settle(failure) and self._transport is not None:
            self._transport.abort()

    async def close(self, failure: Failure, seconds: float) -> None:
        """Close the socket after what has been sent, as far as the broker reads it in time; wait until it is closed."""
        is_first = self._settle(failure)
        if is_first and self._transport is not None:
            self._flush()
            self._transport.close()
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._lost)
        except TimeoutError:
            pass
        finally:
            if self._transport is not None:
                self._transport.abort()

    def _settle(self, failure: Failure) -> bool:
        """Give a failure to all waiting futures; return True if it is the first one."""
        if self.failure is not None:
            return False
        self.failure = failure
        log.debug("%s: closed, %d in flight: %s", self._shown, len(self._waiting), failure.reason)
        for action in self._at_end:
            action()
        if self._alarm is not None:
            self._alarm.cancel()
        for answer, _ in self._waiting:
            if not answer.done():
                answer.set_exception(self.reason())
        for turn in self._turns:
            if not turn.done():
                turn.set_exception(self.reason())
        self._waiting.clear()
        self._note_idle()
        return True

    def when_closed(self, action: Callable[[], None]) -> None:
        """Call something when the connection is closed or fails; at once if it has been."""
        if self.failure is None:
            self._at_end.append(action)
        else:
            action()

    def reason(self) -> Failure:
        """Copy the failure: an error that several tasks raise would collect the traces of all of them."""
        assert self.failure is not None
        again = type(self.failure)(self.failure.address, self.failure.reason)
        again.__cause__ = self.failure.__cause__
        return again


def keep_alive(transport: asyncio.BaseTransport) -> None:
    """Let the system ask a peer, after a minute of silence, if it is there: a peer that has vanished says nothing."""
    connected = transport.get_extra_info("socket")
    with suppress(OSError):  # the socket may be closed already
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if hasattr(socket, name):
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
