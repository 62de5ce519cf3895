"""A fake broker that listens: the answer to each request, and the thread of its event loop.

Each connection has one request handled at a time, as in Kafka. The thread alone touches the state.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from asyncio import sleep
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

import kafka_messages
from kafka_messages.enums import ApiKey
from kipwire import Message, aio, build
from kipwire.connection import Request, versions_answer
from kipwire.testing.broker.apis import APIS
from kipwire.testing.broker.apis.api import Api, NoAnswer, Values
from kipwire.testing.broker.faults import Delay, Disconnect, Effect, Fail, Faults
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused

_log = logging.getLogger("kipwire.testing")


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
        self.failure: Exception | None = None
        """The first error of the fake broker itself."""

    async def open(self) -> None:
        """Listen at the node's address; with port 0, at a free port, which is the node's from then on."""
        self._server = await aio.serve(self._handle, self._node.host, self._node.port, logger=_log, failed=self._fail)
        self._node.port = self._server.address[1]

    async def close(self) -> None:
        """Close all connections and listen no more, whatever clients do."""
        await self._server.close()

    async def _handle(self, request: Request) -> Message:
        self._requests.append(request)
        return await answer(self._node, request, self._faults.take(request))

    def _fail(self, error: Exception) -> None:
        """Keep the first error of the fake broker itself, and report it: clients try again, many times."""
        if isinstance(error, OSError):
            error = OSError(error.errno, f"the fake broker {error.strerror}")
        if self.failure is None:
            _log.error("The fake broker failed: %s", error, exc_info=error)
            self.failure = error


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
