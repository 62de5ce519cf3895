"""A fake broker between its start and its end: the thread of its event loop alone touches the state meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.server import Server
from kipwire.testing.broker.state.refusals import Refused

if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")

_SECONDS_BETWEEN_LOOKS = 0.05
"""Of `wait_until`, since time passes without a request."""


class Lifecycle:
    """Starts and stops, and changes the state in the thread of the event loop."""

    def __init__(self, node: Node, make_server: Callable[[], Server]) -> None:
        """Wait for `start`.

        Args:
            node: the first node.
            make_server: makes what listens.
        """
        self._node, self._make_server = node, make_server
        self._running: Running | None = None

    @property
    def host(self) -> str:
        """Where the first node is reached."""
        return self._node.place.host

    @property
    def port(self) -> int:
        """The port of the first node; known once it has started."""
        return self._node.place.port

    @property
    def bootstrap_servers(self) -> str:
        """Host and port of each node, as clients take them."""
        return ",".join(f"{one.host}:{one.port}" for one in self._node.nodes.by_id.values())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'not running' if self._running is None else f'at {self.bootstrap_servers}'}>"

    def start(self) -> None:
        """Listen, in a thread of its own.

        Raises:
            RuntimeError: it has started already.
            OSError: it cannot listen there.
        """
        self._expect_stopped()
        self._running = start_thread(self._make_server())

    def stop(self) -> None:
        """Close all connections, listen no more, and end the thread.

        Raises:
            Exception: the first error of the fake broker itself, if there was one: its answers were then incomplete.
        """
        self.__exit__(None, None, None)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        running, self._running = self._running, None
        failure = None if running is None else running.stop()
        if failure is not None and error is None:  # the test's own error says more
            raise failure

    async def __aenter__(self) -> Self:
        self._expect_stopped()
        server = self._make_server()
        await server.open()
        self._running = Running(server)
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, at: object) -> None:
        running, self._running = self._running, None
        if running is not None:
            await running.server.close()
            if running.server.failure is not None and error is None:
                raise running.server.failure

    def wait_until(self, condition: Callable[[], bool], timeout: float = 10.0) -> None:
        """Wait until something holds, such as `lambda: len(broker.records("orders")) == 5`.

        Args:
            condition: called in the broker's thread, after each request that was handled.
            timeout: seconds.

        Raises:
            TimeoutError: it does not hold in time.
            RuntimeError: the broker is not running, or this is the thread of its event loop.
        """
        running = self._running
        if running is None:
            raise RuntimeError("the fake broker is not running, so nothing changes")
        if running.is_here:
            raise RuntimeError("wait_until would block the event loop; call it in another thread: asyncio.to_thread")

        async def wait() -> None:
            async with asyncio.timeout(timeout):
                while not condition():
                    await self._node.changes.wait(_SECONDS_BETWEEN_LOOKS)

        asyncio.run_coroutine_threadsafe(wait(), running.loop).result()

    def _call(self, action: Callable[[], T]) -> T:
        """What an action gives, in the thread of the event loop, which alone touches the state while it runs.

        Raises:
            ValueError: the broker refuses it.
        """
        running = self._running

        def at_this_time() -> T:
            self._node.expire_transactions()
            return action()

        try:
            return at_this_time() if running is None else running.call(at_this_time)
        except Refused as error:
            raise ValueError(error.message or ErrorCode.text(error.error)) from None

    def _change(self, action: Callable[[], T]) -> T:
        """As `_call`; then all that wait for a change look again."""
        found = self._call(action)
        self._call(self._node.changes.notify)
        return found

    def _expect_stopped(self) -> None:
        if self._running is not None:
            raise RuntimeError(f"the fake broker runs already, at {self.bootstrap_servers}")


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

    def update(self, node_id: int) -> None:
        """Let a node listen, or no more, as its state says; in the thread of the event loop that happens soon."""
        if self.is_here:
            self._updating = self.loop.create_task(self.server.update(node_id))
        else:
            asyncio.run_coroutine_threadsafe(self.server.update(node_id), self.loop).result()

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
