"""Small peers of connections over asyncio: brokers that a test answers for, and servers of any bytes."""

from __future__ import annotations

import asyncio
import gc
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from typing import Any

import kafka_messages
from kipwire import Message, build
from kipwire.aio import Address, serve
from kipwire.connection import Request, versions_answer
from kipwire.proxy import Proxy
from tests.support.places import DATA

REGISTRY = kafka_messages.REGISTRY
QuietProxy = partial(Proxy, metadata_max_age=inf)
"""Proxy that asks nothing by itself, so that all that comes to a broker is of clients."""
SECONDS = 60
"""Time limit of actions that should take almost no time."""
TLS = DATA / "tls"


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a test in an event loop, in which no task and no socket may be left; an open one warns, which is an error.

    Nor may there be an error in a callback, which the event loop would only log.
    """
    errors: list[dict[str, Any]] = []

    async def checked() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        async with asyncio.timeout(SECONDS):
            await work
        assert asyncio.all_tasks() == {asyncio.current_task()}

    gc.freeze()  # older objects would make the collection take a third of a second
    asyncio.run(checked())
    gc.collect()
    assert errors == []


async def until(condition: Callable[[], object]) -> None:
    """Wait until something holds."""
    while not condition():
        await asyncio.sleep(0.001)


@asynccontextmanager
async def peer(talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[Address]:
    """Run a server with a test's conversation; yield its address, and close its connections at the end."""
    talking: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talking.add(task)
        try:
            await talk(reader, writer)
        except (ConnectionError, asyncio.CancelledError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        host, port = server.sockets[0].getsockname()[:2]
        yield host, port
    finally:
        server.close()
        for task in talking:
            task.cancel()
        await asyncio.gather(*talking, return_exceptions=True)
        await asyncio.sleep(0)


class Broker:
    """Broker that answers each request once a test allows it, with the test's answers."""

    def __init__(self, versions: dict[int, range] | None = None) -> None:
        """Answer at once, and ApiVersions with the given versions."""
        self.versions = REGISTRY.api_versions() if versions is None else versions
        self.requests: list[Request] = []
        """All but ApiVersions."""
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def __call__(self, request: Request) -> Message | bytes | None:
        """Answer a request."""
        if request.api_key == 18:
            return versions_answer(REGISTRY, request.api_version, self.versions)
        self.requests.append(request)
        await self.may_answer.wait()
        return self.answer(request)

    def answer(self, request: Request) -> Message | bytes | None:
        """Return a response that identifies its request: the group of a Heartbeat comes back as its throttle time."""
        if request.api_key == 12:
            body: Any = request.body
            return build(REGISTRY.response(12, request.api_version), {"throttle_time_ms": int(body.group_id)})
        return REGISTRY.response(request.api_key, request.api_version)()

    def serve(self, **options: Any) -> Any:
        """Serve with this broker's answers."""
        return serve(self, **options)


def server_context(*, wants_certificate: bool = False) -> ssl.SSLContext:
    """Return a server's TLS context, with a certificate that ca.pem has signed."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(TLS / "ca.pem"))
    context.load_cert_chain(TLS / "broker.pem")
    context.verify_mode = ssl.CERT_REQUIRED if wants_certificate else ssl.CERT_NONE
    return context


def client_context(ca: str = "ca.pem", certificate: str | None = None) -> ssl.SSLContext:
    """Whom a client trusts, and its own certificate."""
    context = ssl.create_default_context(cafile=str(TLS / ca))
    if certificate is not None:
        context.load_cert_chain(TLS / certificate)
    return context
