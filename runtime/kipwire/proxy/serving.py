"""The proxy: a listener for each broker of a cluster, so that clients stay on it, and a link for each client.

Clients must never learn an address of a broker, or they would leave the proxy. So every broker that a response names
gets a listener before the response goes on, which stays until the proxy ends; `rewriting` puts its address there.
"""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from math import inf
from time import perf_counter
from typing import Any, Self

from kafka_messages.enums import ErrorCode
from kipwire import aio
from kipwire.aio import Address, Client, ClosedByHandler
from kipwire.aio.failures import Closed, shown_address
from kipwire.aio.serving import EVERYWHERE
from kipwire.connection import LARGEST_FRAME, Expected, Request, Response, refusal
from kipwire.model.errors import KipwireError
from kipwire.proxy.filters import Exchange, Filter, FilterError, log, wanting
from kipwire.proxy.rewriting import is_rewritten, rewritten
from kipwire.tools.text import printable_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.connection import Mechanism

IN_FLIGHT = 100
"""Requests of one client that wait for their responses; no more are read."""
_PORTS = range(65536)


@dataclass(eq=False, repr=False)
class Proxy:
    """A proxy before the brokers of a cluster; `async with` opens and closes it. A wrong address is a `ValueError`."""

    to: str | Address
    """A broker of the cluster."""
    filters: Iterable[Filter] = ()
    """Made by `on`. Requests go through them in this order, responses in the opposite one."""
    _: KW_ONLY
    listen: str | Address = ("127.0.0.1", 0)
    """Address at which clients connect first; `:9093` is at all addresses of the machine. The broker with id n is at
    this port + 1 + n. With port 0, and above the highest port, it is at a free one."""
    advertise: str | None = None
    """The host that clients are sent to; by default the host of `listen`, or, if it listens at all addresses, the one
    that the client has come in at."""
    certificate: tls.SSLContext | None = None
    """A context with a certificate of the proxy, with which listeners speak TLS."""
    ssl: bool | tls.SSLContext | None = None
    """TLS to brokers, as of `kipwire.aio.connect`."""
    sasl: Mechanism | None = None
    """Credentials of the proxy at brokers; by default clients authenticate through it."""
    timeout: float = 30.0
    """Seconds to connect to a broker."""
    largest_frame: int = LARGEST_FRAME
    """Bytes of a request or of a response at most."""
    observer: Callable[[Exchange, int | None, float], None] | None = None
    """Called after each exchange, with it, the bytes of the response if there is one, and seconds."""

    def __post_init__(self) -> None:
        listen, to = self.listen, self.to
        if isinstance(listen, str):
            listen = aio.parse_address(f"0.0.0.0{listen}" if listen.startswith(":") else listen)
        self._host, self._port = listen
        self._filters = tuple(self.filters)
        self._brokers: dict[int | None, Address] = {None: aio.parse_address(to) if isinstance(to, str) else to}
        """The addresses of brokers, by node id; None is the one that was given."""
        self._servers: dict[int | None, aio.Server] = {}
        self._opening = asyncio.Lock()

    @property
    def address(self) -> Address:
        """Host and port at which clients connect first."""
        return self._servers[None].address

    async def wait_closed(self) -> None:
        """Wait until it is closed."""
        await self._servers[None].wait_closed()

    async def __aenter__(self) -> Self:
        await self._serve(None, self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*[one.close() for one in self._servers.values()])

    async def _serve(self, node: int | None, port: int) -> None:
        limits: dict[str, Any] = {"in_flight": IN_FLIGHT, "largest_frame": self.largest_frame}
        linked = partial(self._linked, node)
        self._servers[node] = await aio.serve_each(linked, self._host, port, ssl=self.certificate, logger=log, **limits)

    async def _moved(self, client: Client, node: int, broker: Address) -> Address:
        """Find the address at which a client reaches a broker; its listener opens when it is first needed."""
        self._brokers[node] = broker  # it may have another address than before
        async with self._opening:
            if node not in self._servers:
                port = self.address[1] + 1 + node if self._port else 0
                try:
                    await self._serve(node, port if port in _PORTS else 0)
                except OSError as error:
                    why = f"cannot listen at port {port} for the broker with id {node}: {error.strerror or error}"
                    raise KipwireError(why) from None
        host = client.reached[0] if self._host in EVERYWHERE else self._host
        return self.advertise or host, self._servers[node].address[1]

    @asynccontextmanager
    async def _linked(self, node: int | None, client: Client) -> AsyncIterator[aio.Handler]:
        """Connect one client to a broker, until one side closes the connection or breaks the rules."""
        how: dict[str, Any] = {"client_id": "kipwire-proxy", "timeout": self.timeout, "ssl": self.ssl}
        how |= {"sasl": self.sasl, "versions": None if self.sasl else {}}  # SASL asks for them; nothing else needs them
        try:
            async with aio.connect(self._brokers[node], largest_frame=self.largest_frame, **how) as upstream:
                upstream.when_closed(client.close)
                yield _Link(self, node, client, upstream).answer
                failure = upstream.failure
                if failure is not None and (failure.__cause__ or not isinstance(failure, Closed)):
                    raise failure
        except (KipwireError, OSError) as error:
            reason = f"the client broke off the connection: {error}" if isinstance(error, OSError) else str(error)
            log.warning("the connection of %s is closed: %s", shown_address(client.address), printable_line(reason))
            raise ClosedByHandler from None


@dataclass(eq=False)
class _Link:
    """One client and its connection to a broker: requests go through filters to the broker, and responses back."""

    proxy: Proxy
    node: int | None
    client: Client
    upstream: aio.Connection
    notes: dict[str, Any] = field(default_factory=dict)
    turn: asyncio.Semaphore = field(default_factory=asyncio.Semaphore)
    """Kept by a request until it is sent, so that the broker gets requests in their order, however long filters take.
    A `Lock` is not enough: it is free for a moment before the next of those that wait gets it."""

    async def answer(self, asked: Request) -> bytes | None:
        """Answer a request of the client; return None if no response is due."""
        exchange = Exchange(self.client.address, self.node, asked, self.notes)
        observer = self.proxy.observer
        if observer is None:
            return await self._exchanged(exchange)
        began = perf_counter()
        answer = await self._exchanged(exchange)
        observer(exchange, None if answer is None else len(answer), perf_counter() - began)
        return answer

    async def _exchanged(self, exchange: Exchange) -> bytes | None:
        frame = exchange.request.raw
        filters = wanting(self.proxy._filters, exchange.request.api_key, requests=True)
        if not filters and not self.turn.locked():
            return await self._answered(exchange, await self.upstream.exchange(frame, timeout=inf))
        async with self.turn:
            for position, one in filters:
                given = await one.apply(Request(exchange.request.registry, frame), exchange)
                if not isinstance(given, bytes):
                    return await self._answered(exchange, _response(exchange.request, given), position)
                frame = given
            sent = asyncio.ensure_future(self.upstream.exchange(frame, timeout=inf))
            await asyncio.sleep(0)  # in which it is sent, or waits behind those before it
        return await self._answered(exchange, await sent)

    async def _answered(self, exchange: Exchange, frame: bytes | None, position: int | None = None) -> bytes | None:
        """Return the response for the client: of the broker, or of the filter at a position, which those before see."""
        asked = exchange.request
        if not asked.is_answered:
            return None
        if frame is None:
            raise FilterError("a filter changed acks to 0, but the client waits for a response")
        to = Expected(asked.api_key, asked.api_version, asked.correlation_id)
        if position is None and is_rewritten(asked.api_key, asked.api_version):
            move = partial(self.proxy._moved, self.client)
            frame = await rewritten(Response(asked.registry, frame, to), move, self.proxy._filters)
        for _, one in reversed(wanting(self.proxy._filters[:position], asked.api_key, requests=False)):
            given = await one.apply(Response(asked.registry, frame, to), exchange)
            frame = given if isinstance(given, bytes) else _response(asked, given)
        return frame


def _response(asked: Request, given: Any) -> bytes:
    """Encode the response that a filter has made: of an error code, or of a message of any version."""
    if not asked.is_answered:  # Kafka's brokers close the connection, too, if a Produce with acks of 0 fails
        raise FilterError("a filter rejected a Produce request with acks of 0, which has no response")
    body = refusal(asked.body, given, given.about) if isinstance(given, ErrorCode) else given
    return asked.registry.encode_response(body, asked.correlation_id, version=asked.api_version)
