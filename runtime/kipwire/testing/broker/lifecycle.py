"""A fake broker between its start and its end: the thread of its event loop alone touches the state meanwhile.

So the state has no locks. Calls come from three places (`is_here`): from another thread, which waits for the result;
from the thread of the loop, which cannot wait and leaves the rest as a task; and without a loop, before and after.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.server import Server
from kipwire.testing.broker.state import Refused

T = TypeVar("T")

_SECONDS_BETWEEN_LOOKS = 0.05
"""Interval of checks in `wait_until`: conditions may depend on time alone, without a request."""


@dataclass(eq=False)
class _Running:
    """A server that listens, or is being closed."""

    server: Server
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    thread_id: int = field(default_factory=threading.get_ident)
    """Id of the event loop's thread."""
    thread: threading.Thread | None = None
    """The one that ends with the server; None where the test owns the event loop."""
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    """Actions that were asked for in the thread of the event loop, which cannot wait for it."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_here(self) -> bool:
        """Tell whether this is the thread of the event loop."""
        return self.thread_id == threading.get_ident()

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine to its end; in the thread of the event loop it runs when that goes on."""
        if self.is_here:
            self.tasks.append(self.loop.create_task(coroutine))
        else:
            asyncio.run_coroutine_threadsafe(coroutine, self.loop).result()

    async def close(self) -> None:
        """Close the server, after what was asked for before."""
        try:
            await asyncio.gather(*(one for one in self.tasks if one is not asyncio.current_task()))
        finally:
            await self.server.close()
            self.closed.set()


class Lifecycle:
    """Starts and stops, and acts on the state in the thread of the event loop."""

    def __init__(self, node: Node, make_server: Callable[[], Server]) -> None:
        """Wait for `start` or `open`."""
        self._node, self._make_server = node, make_server
        self._running: _Running | None = None
        self._ending: _Running | None = None
        """The server that `stop` has left to `close`."""

    @property
    def is_running(self) -> bool:
        """Tell whether it listens."""
        return self._running is not None

    def start(self) -> None:
        """Listen, in a new thread; as `FakeBroker.start`."""
        started: Future[_Running] = Future()

        def run() -> None:
            try:
                with asyncio.Runner() as runner:
                    runner.get_loop()  # which may fail, before there is a coroutine that is then never awaited
                    runner.run(self._serve(started))
            except (OSError, RuntimeError) as error:
                if started.done():
                    raise
                started.set_exception(error)

        thread = threading.Thread(target=run, name="fake broker", daemon=True)
        thread.start()
        try:
            started.result().thread = thread
        except (OSError, RuntimeError):
            thread.join()
            raise

    async def _serve(self, started: Future[_Running]) -> None:
        running = await self.open()
        started.set_result(running)
        await running.closed.wait()

    async def open(self) -> _Running:
        """Listen, in the event loop that runs; as `FakeBroker.start`."""
        if self._running is not None:
            raise RuntimeError(f"the fake broker is already running, at {self._node.nodes.bootstrap_servers}")
        server = self._make_server()
        await server.open()
        self._running = _Running(server)
        return self._running

    def stop(self, error: BaseException | None) -> None:
        """Listen no more, as `FakeBroker.stop`; an error of the test hides one of the fake broker itself."""
        running, self._running = self._running, None
        if running is None:
            return
        running.run(running.close())
        if running.is_here:
            self._ending = running
        elif running.thread is not None:
            running.thread.join()
        _raise_failure(running.server, error)

    async def close(self, error: BaseException | None) -> None:
        """Listen no more, where the event loop goes on; as `stop`, which may have begun it."""
        running = self._running or self._ending
        self._running = self._ending = None
        if running is not None:
            await running.close()
            _raise_failure(running.server, error)

    def wait_until(self, condition: Callable[[], bool], timeout: float) -> None:
        """Wait until something holds; as `FakeBroker.wait_until`."""
        running = self._running
        if running is None:
            raise RuntimeError("the fake broker is not running, so nothing changes")
        if running.is_here:
            raise RuntimeError("wait_until would block the event loop; call it in another thread: asyncio.to_thread")

        async def wait() -> None:
            until = running.loop.time() + timeout
            while not condition():
                if running.loop.time() >= until:
                    raise TimeoutError(f"the condition did not hold within {timeout:g} s")
                await self._node.changes.wait(_SECONDS_BETWEEN_LOOKS)

        running.run(wait())

    def call(self, action: Callable[[], T]) -> T:
        """Run an action in the thread of the event loop, which alone touches the state while it runs; give its result.

        Raises:
            ValueError: the broker refuses it.
        """
        running = self._running

        async def act_there() -> T:
            return act()

        def act() -> T:
            self._node.expire_transactions()
            return action()

        try:
            if running is None or running.is_here:
                return act()
            return asyncio.run_coroutine_threadsafe(act_there(), running.loop).result()
        except Refused as error:
            raise ValueError(error.message or ErrorCode.text(error.error)) from None

    def change(self, action: Callable[[], object]) -> None:
        """Do as `call`; then all that wait for a change look again."""
        self.call(action)
        self.call(self._node.changes.notify)

    def update(self, node_id: int) -> None:
        """Let a node listen, or no more, as its state says; in the thread of the event loop when that goes on."""
        if self._running is not None:
            self._running.run(self._running.server.update(node_id))


def _raise_failure(server: Server, error: BaseException | None) -> None:
    if server.failure is not None and error is None:
        raise server.failure
