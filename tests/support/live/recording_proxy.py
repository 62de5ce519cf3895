"""A proxy with a recorder in its connections: every frame that passes is kept."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kipwire.aio import link, served
from kipwire.connection import ClientConnection, Request, Response, SaslToken, ServerConnection
from kipwire.proxy import Proxy
from kipwire.proxy.applying import log

SECONDS_TO_END = 30


class Passed:
    """Frames that a proxy passed on, and lines that it logged."""

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
    """Run a proxy before a broker; yield its address, and the frames that it passes on."""
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
    handler = logging.Handler()
    handler.emit = lambda record: passed.lines.append(record.getMessage())  # type: ignore[method-assign]
    log.addHandler(handler)
    proxy = Proxy(broker)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(proxy.__aenter__(), loop).result(SECONDS_TO_END)
        yield f"127.0.0.1:{proxy.address[1]}", passed
    finally:
        asyncio.run_coroutine_threadsafe(proxy.__aexit__(None, None, None), loop).result(SECONDS_TO_END)
        log.removeHandler(handler)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
