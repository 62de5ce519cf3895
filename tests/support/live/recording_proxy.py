"""The example proxy with a recorder in its connections: every frame that passes is kept."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kipwire.aio import link, served
from kipwire.connection import ClientConnection, Request, Response, SaslToken, ServerConnection
from tests.support.example_programs import example

SECONDS_TO_END = 30


class Passed:
    """What a proxy passed on, and what it printed."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.responses: list[Response] = []
        self.tokens: list[SaslToken] = []
        self.lines: list[str] = []
        self.connections = 0

    def keep(self, event: Request | Response | SaslToken) -> None:
        """Keep what came by its kind."""
        kept: list[Any] = self.tokens
        if isinstance(event, Request):
            kept = self.requests
        elif isinstance(event, Response):
            kept = self.responses
        kept.append(event)


@contextmanager
def recording_proxy(monkeypatch: pytest.MonkeyPatch, broker: tuple[str, int]) -> Iterator[tuple[str, Passed]]:
    """The address of the example proxy before a broker, and what it passes on."""
    proxy_module = example("proxy")
    passed = Passed()

    class Server(ServerConnection):
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **named)
            passed.connections += 1

        def events(self) -> Iterator[Request | SaslToken]:
            for event in super().events():
                passed.keep(event)
                yield event

    class Client(ClientConnection):
        def events(self) -> Iterator[Response | SaslToken]:
            for event in super().events():
                passed.keep(event)
                yield event

    monkeypatch.setattr(served, "ServerConnection", Server)
    monkeypatch.setattr(link, "ClientConnection", Client)
    monkeypatch.setattr(proxy_module, "print", passed.lines.append, raising=False)
    proxy = proxy_module.Proxy("127.0.0.1")
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        port = asyncio.run_coroutine_threadsafe(proxy.listen(broker), loop).result(SECONDS_TO_END)
        yield f"127.0.0.1:{port}", passed
    finally:
        asyncio.run_coroutine_threadsafe(_end(proxy), loop).result(SECONDS_TO_END)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(proxy: Any) -> None:
    """Accept nothing more, and end what clients have left open."""
    for server in proxy.servers.values():
        await server.close()
    if others := asyncio.all_tasks() - {asyncio.current_task()}:
        _, open_ones = await asyncio.wait(others, timeout=SECONDS_TO_END / 2)
        for task in open_ones:
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)
