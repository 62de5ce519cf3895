"""One client's connection to a server: requests come in, a handler answers them, responses go out in their order.

The transport only collects bytes and wakes `run`; `run` takes a request when there is room for it, so the number of
open requests is bounded, and reading from the socket stops once enough bytes wait. With one request at a time the
handler is awaited in `run` itself; with several each has a task, and the order of responses is kept by
`ServerConnection`. When the client ends, open requests are still answered.

Counts bound nothing where the client chooses the sizes, so bytes are bounded, too: of open requests, and of responses.
While responses cannot go out, no handler begins, and `Client.on_full` lets handlers at work fetch no more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial

from kipwire.aio.failures import Address, shown_address
from kipwire.aio.link import keep_alive, log
from kipwire.connection import Request, SaslToken, ServerConnection
from kipwire.connection.events import shown_request
from kipwire.connection.server import Part
from kipwire.message.frames import may_answer_in_version_0
from kipwire.message.messages import Message
from kipwire.model.api_keys import UNSUPPORTED_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.registry import Registry

_UNSEEN = 65536
"""Bytes: while as many have come from which no request was taken, no more is read."""
MOST_BYTES = 8 << 20
"""Bytes of open requests, or of early responses, with which no more is taken. Five Produce requests have less, as
many as Java's producer has in flight."""
_MOST_UNSENT = 2 << 20
"""Bytes that wait to be sent, with several requests at a time: with asyncio's 64 KiB a proxy would stop and go on
within each large response, which takes twice the time."""

Handler = Callable[[Request], Awaitable[Message | bytes | None]]
"""Answers a request: by a response in any version, which is converted to the request's version; by a frame with its
header; or by None, which sends nothing."""


class ClosedByHandler(Exception):
    """Raised by a handler to close the connection instead of an answer; the error's text, if any, goes to the log."""


class Client:
    """A client that is connected to a server."""

    def __init__(self, address: Address, transport: asyncio.Transport) -> None:
        """Name the client's end of a transport."""
        self.address = address
        """Host and port of the client."""
        self.reached: Address = (transport.get_extra_info("sockname") or ("", 0))[:2]
        """Host and port of this server that the client has connected to."""
        self.on_part: Callable[[Part], None] | None = None
        """Called with a request that is not whole, whenever more of it has come; may raise `ClosedByHandler`."""
        self.on_full: Callable[[], None] | None = None
        """Called when responses cannot go out, since the client does not read: handlers that fetch more should stop."""
        self.on_room: Callable[[], None] | None = None
        """Called when responses can go out again."""
        self._transport = transport

    def write(self, data: bytes) -> None:
        """Send bytes beside all responses; a handler that raises `ClosedByHandler` then has sent a part of its own."""
        self._transport.write(data)

    def close(self) -> None:
        """Close the connection; requests that are being handled get no response."""
        self._transport.abort()


Session = Callable[[Client], AbstractAsyncContextManager[Handler]]
"""Gives the handler of one connection, and ends what belongs to the handler when the connection is closed."""


class Served(asyncio.Protocol):
    """The server's end of a transport."""

    def __init__(self, registry: Registry, session: Session, in_flight: int, largest_frame: int, is_tls: bool) -> None:
        """Wait for a transport.

        Args:
            registry: the registry of the package of messages.
            session: makes the handler.
            in_flight: how many requests are handled at a time.
            largest_frame: bytes of a request at most.
            is_tls: True for TLS, which cannot end one direction alone.
        """
        self._loop = asyncio.get_running_loop()
        self._wire = ServerConnection(registry, largest_frame=largest_frame)
        self._session = session
        self._most_in_flight = in_flight
        self._is_tls = is_tls
        self._transport: asyncio.Transport | None = None
        self._unseen = 0
        """Number of bytes received since a request was last looked for."""
        self._is_reading = True
        self._is_paused = False
        """True while the client reads too slowly for more to be written."""
        self._is_at_end = False
        self._error: Exception | None = None
        """Error of a handler that runs beside others, or of the transport."""
        self.broken: Exception | None = None
        """The transport's error for a client that broke off the connection."""
        self._handling: set[asyncio.Task[None]] = set()
        self._handled_bytes = 0
        """Bytes of the requests that have a task."""
        self._client: Client | None = None
        self._room = asyncio.Event()
        """Set while responses can go out."""
        self._room.set()
        self._gate = asyncio.Semaphore()
        """Kept by the first handler that waits for room, so that handlers begin in the order of their requests."""
        self._at_gate = 0
        """Number of handlers that wait, with the first."""
        self._lost: asyncio.Future[None] = self._loop.create_future()
        """Done when the transport has closed its socket."""
        self._change: asyncio.Future[None] | None = None
        """Done when something has changed that `run` waits for."""

    async def run(self) -> None:
        """Answer requests until the client ends the connection.

        Raises:
            RemoteProtocolError: bytes of the client are no requests.
            OSError: `broken`.
            Exception: of the handler.
        """
        if self._transport is None:
            return  # the client has left already
        address = (self._transport.get_extra_info("peername") or ("a client", 0))[:2]
        self._client = client = Client(address, self._transport)
        async with self._session(client) as handler:
            try:
                await self._answer_all(handler, client)
            finally:
                for task in self._handling:
                    task.cancel()
                if self._handling:
                    await asyncio.gather(*self._handling, return_exceptions=True)

    async def _answer_all(self, handler: Handler, client: Client) -> None:
        while True:
            self._unseen = 0
            for event in self._wire.events():
                if isinstance(event, SaslToken):
                    raise ClosedByHandler("SASL tokens without headers are not supported; use SaslHandshake v1")
                if self._most_in_flight == 1:
                    await self._answer(handler, event)
                else:
                    task = self._loop.create_task(self._answer_beside_others(handler, event))
                    self._handling.add(task)
                    self._handled_bytes += len(event.raw)
                    task.add_done_callback(partial(self._on_handled, len(event.raw)))
                while self._is_full() and self._error is None:
                    await self._on_change()
                if self._transport is not None and self._transport.is_closing():
                    await asyncio.sleep(0)  # in which the transport says why, if the client broke off the connection
                self._raise_error()
            self._raise_error()
            if client.on_part is not None and (part := self._wire.part) is not None:
                client.on_part(part)
            if self._is_at_end and not self._handling:
                return
            if not self._unseen:
                self._read_on()
                await self._on_change()

    def _is_full(self) -> bool:
        """True if no more requests are taken: the limit is reached, or the client has to read first."""
        return (
            not self._room.is_set()
            or max(self._wire.in_flight, len(self._handling)) >= self._most_in_flight
            or self._handled_bytes > MOST_BYTES
        )

    async def _answer(self, handler: Handler, request: Request) -> None:
        is_logged = log.isEnabledFor(logging.DEBUG)
        began = self._loop.time() if is_logged else 0.0
        answer = await handler(request)
        if is_logged and self._client is not None:
            shown = shown_request(request.registry, request.api_key, request.api_version, request.correlation_id)
            took = (self._loop.time() - began) * 1000
            log.debug("client %s: handled %s in %.1f ms", shown_address(self._client.address), shown, took)
        if not request.is_answered:
            return
        if answer is None:
            data = self._wire.leave_unanswered(request)
        elif isinstance(answer, Message):
            as_is = request.api_version == answer.VERSION or _is_refusal(answer)
            data = self._wire.respond(request, answer, version=None if as_is else request.api_version)
        else:
            data = self._wire.respond_frame(request, answer)
        if data and self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
        self._note_room()

    async def _answer_beside_others(self, handler: Handler, request: Request) -> None:
        try:
            if self._at_gate or not self._room.is_set():
                await self._pass_gate()
            await self._answer(handler, request)
        except Exception as error:
            self._error = self._error or error

    async def _pass_gate(self) -> None:
        """Wait until responses can go out, behind all handlers that wait already."""
        self._at_gate += 1
        try:
            async with self._gate:
                while not self._room.is_set():
                    await self._room.wait()
        finally:
            self._at_gate -= 1

    def _on_handled(self, size: int, task: asyncio.Task[None]) -> None:
        self._handling.discard(task)
        self._handled_bytes -= size
        self._wake()

    def _note_room(self) -> None:
        """Note whether responses can go out; tell the handler what has changed."""
        has_room = not self._is_paused and self._wire.early_bytes <= MOST_BYTES
        if has_room == self._room.is_set():
            return
        if has_room:
            self._room.set()
            self._wake()
        else:
            self._room.clear()
        action = None if self._client is None else self._client.on_room if has_room else self._client.on_full
        if action is not None:
            action()

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    # What is waited for.

    async def _on_change(self) -> None:
        self._change = self._loop.create_future()
        await self._change

    def _wake(self) -> None:
        if self._change is not None and not self._change.done():
            self._change.set_result(None)

    def _read_on(self) -> None:
        if not self._is_reading and not self._is_at_end and self._transport is not None:
            self._is_reading = True
            self._transport.resume_reading()

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if self._most_in_flight > 1:
            transport.set_write_buffer_limits(_MOST_UNSENT)
        keep_alive(transport)

    def data_received(self, data: bytes) -> None:
        self._wire.receive_data(data)
        self._unseen += len(data)
        if self._unseen > _UNSEEN and self._transport is not None:
            self._is_reading = False
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._at_end()
        return not self._is_tls  # the client may still read

    def pause_writing(self) -> None:
        self._is_paused = True
        self._note_room()

    def resume_writing(self) -> None:
        self._is_paused = False
        self._note_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._is_paused = False
        self.broken = exc
        self._error = self._error or exc
        self._note_room()
        self._at_end()
        if not self._lost.done():
            self._lost.set_result(None)

    def _at_end(self) -> None:
        if not self._is_at_end:
            self._is_at_end = True
            self._wire.receive_end()
            self._wake()

    async def close(self, seconds: float) -> None:
        """Close the socket after what has been written, as far as the client reads it in time."""
        if self._transport is None:
            return
        self._transport.close()
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._lost)
        except TimeoutError:
            await self.abort()

    async def abort(self) -> None:
        """Close the socket at once."""
        if self._transport is not None:
            self._transport.abort()
            await asyncio.shield(self._lost)


def _is_refusal(answer: Message) -> bool:
    """True if an answer to ApiVersions refuses the version, which it does in version 0 (KIP-511)."""
    is_refused = getattr(answer, "error_code", 0) == UNSUPPORTED_VERSION
    return is_refused and answer.VERSION == 0 and may_answer_in_version_0(type(answer))
