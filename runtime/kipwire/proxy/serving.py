"""The proxy: a listener for each broker of a cluster, so that clients stay on it, and a link for each client.

Clients must never learn an address of a broker, or they would leave the proxy. So every broker that a response names
gets a listener before the response goes on, and `rewriting` puts its address there. Clients of an earlier proxy, or of
another proxy behind the same name, know such addresses already: so the proxy also asks for the brokers itself.
"""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from math import inf
from time import perf_counter
from typing import Any, Self

import kafka_messages
from kipwire import aio
from kipwire.aio import Address, Client, ClosedByHandler
from kipwire.aio.failures import AuthenticationFailure, Closed, Failure, parse_host, shown_address
from kipwire.aio.filters import Connected, Disconnected, Exchange, Filter, FilterError
from kipwire.connection import LARGEST_FRAME, Expected, Request, Response, refusal
from kipwire.model.enums import ErrorNumber
from kipwire.model.errors import KipwireError
from kipwire.proxy.applying import apply, log, tell, wanting
from kipwire.proxy.nodes import Nodes
from kipwire.proxy.rewriting import METADATA_KEY, addresses_of, is_rewritten, rewritten
from kipwire.tools.text import error_line, printable_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.connection import Mechanism
    from kipwire.message.registry import Registry

IN_FLIGHT = 100
"""Requests of one client that wait for their responses; no more are read."""
MOST_FILTERED = 8 << 20
"""Bytes of the responses of one client that filters have; no more are read."""
METADATA_MAX_AGE = 30.0
SECONDS_TO_FIRST_RETRY = 0.5
_SECONDS_TO_ANSWER = 10.0
_SECONDS_TO_ASK_FIRST = 3.0
"""Time that the proxy waits for the brokers when it opens; after that time it goes on asking."""


@dataclass(eq=False, repr=False)
class Proxy:
    """A proxy before the brokers of a cluster; `async with` opens and closes it. A wrong address is a `ValueError`."""

    to: str | Address | Iterable[str | Address]
    """Brokers of the cluster, of which one has to answer: as for `kipwire.aio.parse_addresses`."""
    filters: Iterable[Filter] = ()
    """Made by `on`. Requests go through the filters in this order, responses in the opposite order."""
    _: KW_ONLY
    listen: str | Address = ("127.0.0.1", 0)
    """Address at which clients connect first; `:9093` is at all addresses of the machine. The broker with id n is at
    this port + 1 + n. With port 0, and above the highest port, it is at a free one."""
    advertise: str | tuple[str, int | None] | None = None
    """The host that clients are sent to, or `HOST:PORT`; by default the host of `listen`, or, if it listens at all
    addresses, the address that the client came in at. A port stands for the port of `listen`, which it is mapped to:
    clients find the broker with id n at the advertised port + 1 + n."""
    certificate: tls.SSLContext | None = None
    """A context with a certificate of the proxy, with which listeners speak TLS."""
    ssl: bool | tls.SSLContext | None = None
    """TLS to brokers; see `kipwire.aio.connect`."""
    sasl: Mechanism | None = None
    """Credentials of the proxy at brokers; by default clients authenticate through it."""
    timeout: float = 30.0
    """Seconds to connect to a broker."""
    largest_frame: int = LARGEST_FRAME
    """Bytes of a request or of a response at most."""
    metadata_max_age: float = METADATA_MAX_AGE
    """The proxy asks for the brokers, when it opens and so often, so that it listens for each before a client asks;
    `math.inf`: never."""
    registry: Registry = kafka_messages.REGISTRY
    """The messages that filters can have: of Kafka, of it and others as `kipwire.combine` joins them, or of another
    protocol. The versions of its own ApiVersions are limited, too; only Kafka's messages have addresses."""
    observer: Callable[[Exchange, int | None, float], None] | None = None
    """Called after each exchange, with the exchange, the number of bytes of its response if any, and seconds."""

    def __post_init__(self) -> None:
        listen, to, advertised = self.listen, self.to, self.advertise
        if isinstance(listen, str):
            listen = aio.parse_address(f"0.0.0.0{listen}" if listen.startswith(":") else listen)
        if isinstance(advertised, str):
            advertised = parse_host(advertised)
        if advertised is not None and advertised[1] is not None and not listen[1]:
            raise ValueError("to advertise a port, the proxy has to listen at a port, not at a free one")
        self.use(self.filters)
        self._ways = aio.parse_addresses(to)
        """The given addresses; the one that has answered last is the first."""
        self._dead: set[Address] = set()
        """Given addresses that do not answer, as the log has said."""
        self._nodes = Nodes(self._ways[0], *listen, advertised or (None, None), self._serve)
        self._asking: asyncio.Task[None] | None = None

    def use(self, filters: Iterable[Filter]) -> None:
        """Take other filters, for clients that connect from now on; clients that are connected keep theirs.

        Raises:
            FilterError: a filter is of another package; the filters stay as they were.
        """
        new = tuple(filters)
        for one in new:
            one.expect_of(self.registry)
        self.filters = new

    @property
    def address(self) -> Address:
        """Host and port at which clients connect first."""
        return self._nodes.first.address

    async def wait_closed(self) -> None:
        """Wait until the proxy is closed."""
        await self._nodes.first.wait_closed()

    async def __aenter__(self) -> Self:
        await self._nodes.open()
        try:
            if self.metadata_max_age < inf and METADATA_KEY in addresses_of(self.registry):
                has_asked = asyncio.Event()
                self._asking = asyncio.create_task(self._ask_on(has_asked))
                with suppress(TimeoutError):
                    async with asyncio.timeout(_SECONDS_TO_ASK_FIRST):
                        await has_asked.wait()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
        await self._nodes.close()

    async def _serve(self, node: int | None, port: int) -> aio.Server:
        return await aio.serve_each(
            partial(self._linked, node),
            self._nodes.host,
            port,
            ssl=self.certificate,
            in_flight=IN_FLIGHT,
            largest_frame=self.largest_frame,
            registry=self.registry,
            logger=log,
        )

    async def _ask_on(self, has_asked: asyncio.Event) -> None:
        """Ask for the brokers now and then. A reason for failure is one line of the log, however long it lasts."""
        said, pause = "", SECONDS_TO_FIRST_RETRY
        while True:
            why = ""
            try:
                for problem in await self._ask():
                    why = problem
                pause = self.metadata_max_age
            except (KipwireError, OSError) as error:
                why = f"cannot ask for the brokers, whose ports open once a client has asked: {error}"
                pause = min(2 * pause, self.metadata_max_age)
            if why and why != said:
                log.warning("%s", printable_line(why))
            said = why
            has_asked.set()
            await asyncio.sleep(pause)

    async def _ask(self) -> list[str]:
        """Ask a broker for all brokers, and listen for each; return the reasons why the proxy cannot for some."""
        async with self._connected(None, min(self.timeout, _SECONDS_TO_ANSWER)) as upstream:
            cls: Any = self.registry.request(METADATA_KEY, self.registry.api_versions()[METADATA_KEY][-1])
            metadata = await upstream.request(cls(topics=[]))
        brokers = {one.node_id: (one.host, one.port) for one in metadata.brokers if one.port >= 0}
        problems = []
        for node, address in brokers.items():
            try:
                await self._nodes.update({node: address}, are_all=False)
            except KipwireError as error:
                problems.append(str(error))
        if not problems:
            await self._nodes.update(brokers, are_all=True)
        return problems

    @asynccontextmanager
    async def _connected(self, node: int | None, timeout: float, **how: Any) -> AsyncIterator[aio.Connection]:
        """Connect to a broker; at the first listener to the first of the given addresses that answers."""
        if self.registry.has_client_ids():
            how["client_id"] = "kipwire-proxy"
        how |= {"registry": self.registry, "ssl": self.ssl, "sasl": self.sasl, "largest_frame": self.largest_frame}
        *others, last = self._ways if node is None else (self._nodes.brokers[node],)
        for address in others:
            try:
                upstream = await aio.connect(address, timeout=timeout, **how)
            except AuthenticationFailure:
                raise
            except Failure as failure:
                if address not in self._dead:
                    self._dead.add(address)
                    log.warning("%s", failure)
            else:
                break
        else:
            upstream = await aio.connect(last, timeout=timeout, **how)
        if others:  # the next client begins with the address that answers
            self._dead.discard(upstream.address)
            self._ways = tuple(dict.fromkeys((upstream.address, *self._ways)))
        try:
            yield upstream
        finally:
            await upstream.close()

    async def _moved(self, client: Client, brokers: dict[int, Address], are_all: bool) -> dict[int, Address]:
        """Find the addresses at which a client reaches brokers; their listeners open when they are first needed."""
        await self._nodes.update(brokers, are_all=are_all)
        return {node: self._nodes.told(node, client.reached[0]) for node in brokers}

    @asynccontextmanager
    async def _linked(self, node: int | None, client: Client) -> AsyncIterator[aio.Handler]:
        """Connect one client to a broker, until one side closes the connection or breaks the rules."""
        versions: dict[int, range] | None = None if self.sasl else {}  # SASL asks for versions; nothing else needs them
        filters, reason = tuple(self.filters), None
        notes: dict[str, Any] = {}
        try:
            if failed := tell(filters, Connected(client.address, node, notes)):
                raise FilterError("; ".join(failed))
            async with self._connected(node, self.timeout, versions=versions) as upstream:
                upstream.when_closed(client.close)
                link = _Link(self, node, client, upstream, filters, notes)
                client.on_full, client.on_room = link.pause, link.resume
                yield link.answer
                failure = upstream.failure
                if failure is not None and (failure.__cause__ or not isinstance(failure, Closed)):
                    raise failure
        except (KipwireError, OSError) as error:
            reason = f"the client broke off the connection: {error}" if isinstance(error, OSError) else str(error)
            reason = printable_line(reason)
            log.warning("the connection of %s is closed: %s", shown_address(client.address), reason)
            raise ClosedByHandler from None
        except asyncio.CancelledError:
            reason = "the proxy is closed"
            raise
        except Exception as error:
            reason = str(error) if isinstance(error, ClosedByHandler) else error_line(error)
            raise
        finally:
            for line in tell(filters, Disconnected(client.address, node, notes, reason)):
                log.warning("%s", line)


@dataclass(eq=False)
class _Link:
    """One client and its connection to a broker: requests go through filters to the broker, and responses back."""

    proxy: Proxy
    node: int | None
    client: Client
    upstream: aio.Connection
    filters: tuple[Filter, ...]
    notes: dict[str, Any]
    turn: asyncio.Semaphore = field(default_factory=asyncio.Semaphore)
    """Kept by a request until it is sent, so that the broker gets requests in their order, however long filters take.
    A `Lock` is not enough: it is free for a moment before the next of those that wait gets it."""
    is_full: bool = False
    """True while responses cannot go out to the client."""
    filtered_bytes: int = 0
    """Bytes of the responses that filters have."""

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
        filters = wanting(self.filters, exchange.request.api_key, requests=True)
        if not filters and not self.turn.locked():
            return await self._answered(exchange, await self.upstream.exchange(frame, timeout=inf))
        async with self.turn:
            for position, one in filters:
                given = await apply(one, Request(exchange.request.registry, frame), exchange)
                if not isinstance(given, bytes):
                    return await self._answered(exchange, _response(exchange.request, given), position)
                frame = given
            response = await self.upstream.begin(frame, timeout=inf)
        return await self._answered(exchange, await response)

    async def _answered(self, exchange: Exchange, frame: bytes | None, position: int | None = None) -> bytes | None:
        """Return the response for the client: of the broker, or of the filter at a position, which those before see."""
        asked = exchange.request
        if not asked.is_answered:
            return None
        if frame is None:
            raise FilterError("a filter changed acks to 0, but the client waits for a response")
        to = Expected(asked.api_key, asked.api_version, asked.correlation_id)
        if position is None and is_rewritten(self.proxy.registry, asked.api_key, asked.api_version):
            move = partial(self.proxy._moved, self.client)
            frame = await rewritten(Response(asked.registry, frame, to), move, self.filters)
        filters = wanting(self.filters[:position], asked.api_key, requests=False)
        if not filters:
            return frame
        size = len(frame)
        self._note_filtered(size)
        try:
            for _, one in reversed(filters):
                given = await apply(one, Response(asked.registry, frame, to), exchange)
                frame = given if isinstance(given, bytes) else _response(asked, given)
            return frame
        finally:
            self._note_filtered(-size)

    # Memory: the broker has to wait while responses that it has sent cannot go out.

    def pause(self) -> None:
        """Read no more responses, since the client does not."""
        self.is_full = True
        self._read_or_not()

    def resume(self) -> None:
        """Read responses again."""
        self.is_full = False
        self._read_or_not()

    def _note_filtered(self, size: int) -> None:
        self.filtered_bytes += size
        self._read_or_not()

    def _read_or_not(self) -> None:
        if self.is_full or self.filtered_bytes > MOST_FILTERED:
            self.upstream.pause_reading()
        else:
            self.upstream.resume_reading()


def _response(asked: Request, given: Any) -> bytes:
    """Encode the response that a filter has made: of an error code, or of a message of any version."""
    if not asked.is_answered:  # Kafka's brokers close the connection, too, if a Produce with acks of 0 fails
        raise FilterError("a filter rejected a Produce request with acks of 0, which has no response")
    body = refusal(asked.body, given, given.about) if isinstance(given, ErrorNumber) else given
    return asked.registry.encode_response(body, asked.correlation_id, version=asked.api_version)
