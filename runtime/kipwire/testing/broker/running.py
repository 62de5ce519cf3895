"""A server between its start and its end, and the thread of its event loop, which alone touches the state."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from kipwire.testing.broker.server import Server

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
