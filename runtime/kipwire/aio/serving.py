"""A server: its listener, and a task for each connection, so that nothing is left when the server is closed.

`close` must leave nothing: no task, no socket, no connection that was accepted a moment before. So the listener is
accepted from in a task of our own and not by `asyncio.Server`, and `close` ends that task by a connection to itself, as
its docstring explains. An error of one connection is logged and ends that connection alone; running out of file
descriptors is waited out.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl as tls
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any, TypedDict

import kafka_messages
from kipwire.aio.answering import handlers_of
from kipwire.aio.failures import Address, Failure, expect_some, openssl_says, shown_address
from kipwire.aio.filters import Answering, Filter
from kipwire.aio.link import log
from kipwire.aio.served import ClosedByHandler, Handler, Served, Session
from kipwire.connection import LARGEST_FRAME, RemoteProtocolError
from kipwire.model.errors import DecodeError
from kipwire.tools.text import printable_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType
    from typing import Unpack

    from kipwire.message.registry import Registry

_BACKLOG = 100
SECONDS_TO_NEXT_ACCEPT = 0.1
"""Time after an accept that failed, such as for want of file descriptors: until then some may be closed."""
_SECONDS_TO_CLOSE = 10.0
"""Time for a client to read its last responses, once it has ended the connection or violated the protocol."""
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses to listen at, to which not every system connects, each with the address to connect to."""


class ServerSettings(TypedDict, total=False):
    """Settings of a server besides its handler and address: keyword arguments of `serve` and `serve_each`."""

    ssl: tls.SSLContext | None
    """A context with a certificate of the server; by default connections are without TLS."""
    registry: Registry
    """The registry of the package of messages; by default of `kafka_messages`."""
    in_flight: int
    """Requests of a connection that are handled at a time; by default one, as in Kafka, so that each finds what earlier
    requests have done. Responses go out in the order of their requests in any case."""
    largest_frame: int
    """Bytes of a request at most; by default 100 MiB."""
    logger: logging.Logger
    """Gets a line for each connection that is closed because of what a client has sent; by default `kipwire.aio`."""
    failed: Callable[[Exception], None] | None
    """Called with errors of handlers, and of accepting connections; by default they go to the logger."""


class Server:
    """A server that listens until it is closed."""

    def __init__(
        self,
        session: Session,
        host: str,
        port: int,
        *,
        ssl: tls.SSLContext | None = None,
        registry: Registry = kafka_messages.REGISTRY,
        in_flight: int = 1,
        largest_frame: int = LARGEST_FRAME,
        logger: logging.Logger = log,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """Wait for `open`; `serve_each` and `ServerSettings` explain the arguments."""
        self._host, self._port, self._context = host, port, ssl
        self._new_connection = partial(Served, registry, session, in_flight, largest_frame, ssl is not None)
        self._log, self._on_failure = logger, failed
        self._connections: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()
        self._closed = asyncio.Event()
        self._address: Address = (host, port)

    @property
    def address(self) -> Address:
        """Host and port at which the server listens."""
        return self._address

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self._connections)

    def open(self) -> None:
        """Listen; with port 0, at a free one.

        Raises:
            OSError: the server cannot listen there.
        """
        family, _, _, _, address = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)[0]
        self._listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
        self._listener.setblocking(False)
        self._address = self._listener.getsockname()[:2]
        self._accepting = asyncio.create_task(self._accept())

    async def wait_closed(self) -> None:
        """Wait until the server is closed."""
        await self._closed.wait()

    async def close(self) -> None:
        """Close all connections and listen no more, whatever clients do. Handlers that still run are cancelled.

        `asyncio.Server`, and a task that is cancelled while it accepts, leave open what was just accepted. So a
        connection of our own ends the task. If there is no descriptor for it, clients' connections are closed before.
        """
        if self._closing.is_set():
            await self._closed.wait()
            return
        self._closing.set()
        if not await self._end_accepting():
            await self._end_connections()
            if not await self._end_accepting():  # no descriptor is left to accept anything with, either
                self._accepting.cancel()
                await asyncio.gather(self._accepting, return_exceptions=True)
        self._listener.close()
        await self._end_connections()
        self._closed.set()

    async def _end_accepting(self) -> bool:
        """Connect to the listener, so that the task which accepts ends; return False if there is no descriptor."""
        try:
            waker = socket.socket(self._listener.family, socket.SOCK_STREAM)
        except OSError:
            return False
        waker.setblocking(False)
        host, port = self._address
        address = (EVERYWHERE.get(host, host), port)
        waking = asyncio.ensure_future(asyncio.get_running_loop().sock_connect(waker, address))
        try:
            await self._accepting
        finally:
            waking.cancel()
            await asyncio.gather(waking, return_exceptions=True)
            waker.close()
        return True

    async def _end_connections(self) -> None:
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def __aenter__(self) -> Server:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        is_short = False
        while not self._closing.is_set():
            try:
                client, address = await loop.sock_accept(self._listener)
            except OSError as error:
                if not is_short:  # said once, not ten times a second
                    self._fail(OSError(error.errno, f"cannot accept a connection: {error.strerror}"))
                is_short = True
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), SECONDS_TO_NEXT_ACCEPT)
                continue
            is_short = False
            if self._closing.is_set():
                client.close()  # which may be our own
                return
            task = loop.create_task(self._on_connection(client, address[:2]))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            task.add_done_callback(partial(_close, client))

    async def _on_connection(self, client: socket.socket, address: Address) -> None:
        log.debug("client %s: connected", shown_address(address))
        served, why = self._new_connection(), "the client has closed the connection"
        try:
            await self._shake_hands(served, client)
            await served.run()
        except tls.SSLError as error:
            self._warn(why := f"TLS handshake with the client failed: {openssl_says(error)}")
        except (ClosedByHandler, DecodeError, Failure, RemoteProtocolError) as error:
            why = str(error) or "by its handler"
            if str(error):
                self._warn(why)
        except asyncio.CancelledError:
            why = "the server is closed"
        except Exception as error:
            why = f"the client broke off the connection: {error}"
            if error is not served.broken:
                why = f"the server failed: {error}"
                self._fail(error)
        log.debug("client %s: closed: %s", shown_address(address), printable_line(why))
        try:
            await (served.abort() if self._closing.is_set() else served.close(_SECONDS_TO_CLOSE))
        except asyncio.CancelledError:
            await served.abort()

    async def _shake_hands(self, served: Served, client: socket.socket) -> None:
        """Give a connection its transport.

        Raises:
            ClosedByHandler: the client leaves during the handshake of TLS, or is too slow; the text says which.
            ssl.SSLError: the client does not speak TLS.
        """
        extra: dict[str, Any] = {} if self._context is None else {"ssl_shutdown_timeout": _SECONDS_TO_CLOSE}
        try:
            await asyncio.get_running_loop().connect_accepted_socket(lambda: served, client, ssl=self._context, **extra)
        except ConnectionError as error:
            raise ClosedByHandler(str(error)) from None

    def _warn(self, reason: str) -> None:
        self._log.warning("A connection is closed: %s", printable_line(reason))

    def _fail(self, error: Exception) -> None:
        """Report an error of the server itself, or of its handler."""
        if self._on_failure is not None:
            self._on_failure(error)
        else:
            self._log.error("The server at %s failed: %s", shown_address(self._address), error, exc_info=error)


def _close(client: socket.socket, _: asyncio.Task[None]) -> None:
    """Close the socket of a connection whose task was cancelled before it began; other tasks have closed theirs."""
    client.close()


class Serving:
    """A server that `await` opens, or `async with`, which closes it at its end."""

    def __init__(self, make: Callable[[], Server]) -> None:
        """Keep what makes the server, in the event loop that will run."""
        self._make = make
        self._server: Server | None = None

    def __await__(self) -> Generator[Any, None, Server]:
        return self._open().__await__()

    async def __aenter__(self) -> Server:
        self._server = await self._open()
        return self._server

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        await self._server.close()

    async def _open(self) -> Server:
        server = self._make()
        server.open()
        return server


def serve_each(session: Session, host: str = "127.0.0.1", port: int = 0, **settings: Unpack[ServerSettings]) -> Serving:
    """Make a server with a handler for each connection, as a proxy needs; otherwise like `serve`.

    Args:
        session: called with the `Client` of each connection; gives an async context manager whose value is the handler
            of its requests. The manager ends when the connection is closed.
        host: where it listens: the first address of a name.
        port: where it listens; 0 is a free port.
        **settings: see `ServerSettings`.

    Raises:
        ValueError: `in_flight` is below 1.
        OSError: the server cannot listen there; raised when it is opened.
    """
    expect_some(settings.get("in_flight", 1))
    return Serving(lambda: Server(session, host, port, **settings))


def serve(
    handler: Handler | Iterable[Answering],
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    partial: bool = False,
    **settings: Unpack[ServerSettings],
) -> Serving:
    """Make a server; `await` opens it, and `async with` also closes it at its end.

    Wrong bytes of a client close its connection alone. So does an error of a handler, unless it is a marked function
    whose response has a place for an error code. A connection keeps at most `in_flight` requests with their responses,
    one frame that is not whole, and less than a mebibyte of what comes after it: no more is read until there is room.

    Args:
        handler: functions marked by `on`, one for each request of their package: each is called with the request in its
            version, and the `Exchange`, and returns the response of that version, or an error code; the server answers
            ApiVersions by itself. Or one function that is called with each request; it gives a response of any version,
            which is converted to the request's version, or a frame, or None for no response. Both may raise
            `ClosedByHandler` to close the connection, and are not cancelled if their client leaves.
        host: see `serve_each`, also for what is raised.
        port: where it listens; 0 is a free port.
        partial: True if requests of the package may be without a marked function.
        **settings: see `ServerSettings`. The registry is by default of the package of the marked functions.

    Raises:
        FilterError: marked functions do not fit together, or one is missing.
    """
    if callable(handler) and not isinstance(handler, Filter):
        return serve_each(lambda _: nullcontext(handler), host, port, **settings)
    filters = (handler,) if isinstance(handler, Filter) else handler
    handlers = handlers_of(filters, settings.get("registry"), partial=partial)
    settings["registry"] = handlers.registry
    given = settings.get("failed")
    session = handlers.session(_logged(settings.get("logger", log)) if given is None else given)
    return serve_each(session, host, port, **settings)


def _logged(logger: logging.Logger) -> Callable[[Exception], None]:
    """Make what puts errors of handlers in a log, each with the traceback of its cause."""
    return lambda error: logger.error("%s", error, exc_info=error.__cause__ or error)
