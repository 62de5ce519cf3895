"""A fake broker that listens: its sockets, the answer to each request, and the thread of its event loop.

Each connection has one request handled at a time, as in Kafka. The thread alone touches the state.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import socket
import threading
from asyncio import sleep
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TypeVar

import kafka_messages
from kafka_messages.enums import ApiKey
from kipwire import Message, build
from kipwire.connection import RemoteProtocolError, Request, ServerConnection, versions_answer
from kipwire.model.errors import DecodeError
from kipwire.testing.broker.apis import APIS
from kipwire.testing.broker.apis.api import Api, NoAnswer, Values
from kipwire.testing.broker.faults import Delay, Disconnect, Effect, Fail, Faults
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused

_log = logging.getLogger("kipwire.testing")
_CHUNK = 65536
_SECONDS_TO_NEXT_ACCEPT = 0.1
"""After an accept that failed, such as for want of file descriptors: others may be closed until then."""


class Server:
    """Listens, until it is closed."""

    def __init__(self, node: Node, faults: Faults, requests: list[Request]) -> None:
        """Wait for `open`.

        Args:
            node: what requests act on.
            faults: what happens to them.
            requests: where all that come are kept.
        """
        self._node, self._faults, self._requests = node, faults, requests
        self._connections: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()
        self.failure: Exception | None = None
        """The first error of the fake broker itself."""

    async def open(self) -> None:
        """Listen at the node's address; with port 0, at a free port, which is the node's from then on."""
        family, _, _, _, address = socket.getaddrinfo(self._node.host, self._node.port, type=socket.SOCK_STREAM)[0]
        self._waker = socket.socket(family, socket.SOCK_STREAM)
        self._waker.setblocking(False)
        try:
            self._listener = socket.create_server(address[:2], family=family, backlog=100)
        except OSError:
            self._waker.close()
            raise
        self._listener.setblocking(False)
        self._address = self._listener.getsockname()[:2]
        self._node.port = self._address[1]
        self._accepting = asyncio.create_task(self._accept())

    async def close(self) -> None:
        """Close all connections and listen no more, whatever clients do.

        `asyncio.Server`, and a task that is cancelled while it accepts, leave open what they have just accepted. So a
        connection of our own ends the task. Its socket is made when the server opens: later there may be no descriptor.
        """
        self._closing.set()
        waking = asyncio.ensure_future(asyncio.get_running_loop().sock_connect(self._waker, self._address))
        await self._accepting
        waking.cancel()
        await asyncio.gather(waking, return_exceptions=True)
        self._waker.close()
        self._listener.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._closing.is_set():
            try:
                client, _ = await loop.sock_accept(self._listener)
            except OSError as error:
                self._fail(OSError(error.errno, f"the fake broker cannot accept a connection: {error.strerror}"))
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), _SECONDS_TO_NEXT_ACCEPT)
                continue
            task = loop.create_task(self._connected(client))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            task.add_done_callback(partial(_close, client))

    async def _connected(self, client: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=client)
        try:
            try:
                await self._serve(reader, writer)
            except (NoAnswer, DecodeError, RemoteProtocolError) as error:
                if str(error):
                    _log.warning("A connection is closed: %s", error)
            writer.close()
            await writer.wait_closed()
        except OSError:
            pass  # the client has closed it
        except asyncio.CancelledError:
            pass  # by `close`
        except Exception as error:
            self._fail(error)
        finally:
            writer.transport.abort()  # without what the client does not read
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    def _fail(self, error: Exception) -> None:
        """Keep the first error of the fake broker itself, and report it: clients try again, many times."""
        if self.failure is None:
            _log.error("The fake broker failed: %s", error, exc_info=error)
            self.failure = error

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ServerConnection(kafka_messages.REGISTRY)
        while data := await reader.read(_CHUNK):
            connection.receive_data(data)
            for request in connection.events():
                assert isinstance(request, Request)  # tokens come only after SaslHandshake, which is not served
                self._requests.append(request)
                body = await answer(self._node, request, self._faults.take(request))
                if request.is_answered:
                    writer.write(connection.respond(request, body))
                    await writer.drain()


def _close(client: socket.socket, _: asyncio.Task[None]) -> None:
    """Close the socket of a connection whose task was cancelled before it began; others have closed theirs."""
    client.close()


# From a request to its answer: faults first, then the handler of its API.


_REGISTRY = kafka_messages.REGISTRY


async def answer(node: Node, request: Request, fault: Effect | None) -> Message:
    """The response to a request.

    Args:
        node: what the request acts on.
        request: of any API, known or not.
        fault: what happens to it.

    Raises:
        NoAnswer: the connection is closed instead.
        DecodeError: the request is broken.
    """
    key, version = request.api_key, request.api_version
    if version not in node.served.get(key, ()):
        return _unserved(node, request)
    if isinstance(fault, Delay):
        await sleep(fault.seconds)
    elif isinstance(fault, Disconnect) and not fault.is_handled:
        raise NoAnswer
    api = APIS[key]
    if isinstance(fault, Fail):
        if not request.is_answered:
            raise NoAnswer
        values = api.refuse(request.body, fault.error)
    else:
        values = await _handled(node, request, api)
        node.changes.notify()
    if isinstance(fault, Disconnect):
        raise NoAnswer
    return build(_REGISTRY.response(key, version), values)


async def _handled(node: Node, request: Request, api: Api) -> Values:
    try:
        values = api.answer(node, request)
        return await values if inspect.isawaitable(values) else values
    except Refused as error:
        return api.refuse(request.body, error.error)


def _unserved(node: Node, request: Request) -> Message:
    """The answer to a request that ApiVersions does not name; there is one to ApiVersions alone (KIP-511).

    Raises:
        NoAnswer: Kafka closes the connection, too, since it cannot know what the request says.
    """
    if request.api_key == ApiKey.API_VERSIONS:
        return versions_answer(_REGISTRY, request.api_version, node.served)
    what = f"{ApiKey.text(request.api_key)} in version {request.api_version}"
    raise NoAnswer(f"the fake broker does not serve {what}; ApiVersions says what it serves")


# A server between its start and its end.


T = TypeVar("T")


class Running:
    """A server that listens, in the event loop of the thread that makes this."""

    def __init__(self, server: Server, thread: threading.Thread | None = None) -> None:
        """Take the event loop that runs.

        Args:
            server: one that is open.
            thread: the one that ends with it; None where the event loop is that of the test.
        """
        self.server, self.loop = server, asyncio.get_running_loop()
        self._thread, self._thread_id = thread, threading.get_ident()
        self._stopping = asyncio.Event()

    @property
    def is_here(self) -> bool:
        """Whether this is the thread of the event loop."""
        return self._thread_id == threading.get_ident()

    def call(self, action: Callable[[], T]) -> T:
        """What an action gives in the thread of the event loop."""
        if self.is_here:
            return action()
        result: Future[T] = Future()

        def run() -> None:
            try:
                result.set_result(action())
            except Exception as error:
                result.set_exception(error)

        self.loop.call_soon_threadsafe(run)
        return result.result()

    async def work(self) -> None:
        """Serve until `stop`."""
        await self._stopping.wait()
        await self.server.close()

    def stop(self) -> Exception | None:
        """End the server and its thread; the first error of the fake broker itself, if there was one."""
        if self._thread is None:
            return None
        self.loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        return self.server.failure


def start_thread(server: Server) -> Running:
    """A server that listens, in a new thread.

    Raises:
        OSError: it cannot listen there.
    """
    started: Future[Running] = Future()

    def run() -> None:
        try:
            with asyncio.Runner() as runner:
                runner.get_loop()  # before there is something that nobody would await
                runner.run(_serve(server, started))
        except OSError as error:
            if started.done():
                raise
            started.set_exception(error)  # there is no descriptor for an event loop

    thread = threading.Thread(target=run, name="fake broker", daemon=True)
    thread.start()
    try:
        return started.result()
    except OSError:
        thread.join()
        raise


async def _serve(server: Server, started: Future[Running]) -> None:
    try:
        await server.open()
    except OSError as error:
        started.set_exception(error)
        return
    running = Running(server, threading.current_thread())
    started.set_result(running)
    await running.work()
