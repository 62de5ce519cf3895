"""The proxy: a listener for each broker of a cluster, so that clients stay on it."""

from __future__ import annotations

import asyncio
import ssl as tls
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from kipwire.aio import ClosedByHandler, Server, connect, parse_address, serve_each
from kipwire.aio.failures import Closed, shown_address
from kipwire.connection import LARGEST_FRAME
from kipwire.model.errors import KipwireError
from kipwire.proxy.filters import Filters, log
from kipwire.proxy.links import Link
from kipwire.tools.text import printable_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from types import TracebackType
    from typing import Self

    from kipwire.aio import Address, Client, Handler
    from kipwire.connection import Mechanism
    from kipwire.proxy.filters import Filter
    from kipwire.proxy.links import Observer

IN_FLIGHT = 100
"""Requests of one client that wait for their responses; no more are read."""
_EVERYWHERE = ("0.0.0.0", "::")
_PORTS = range(65536)


class Proxy:
    """A proxy before the brokers of a cluster, which `async with` opens, and closes at its end.

    Example:
        async with Proxy("kafka-1:9092", [mask], listen="0.0.0.0:9093") as proxy:
            await proxy.wait_closed()
    """

    def __init__(
        self,
        to: str | Address,
        filters: Iterable[Filter] = (),
        *,
        listen: str | Address = ("127.0.0.1", 0),
        advertise: str | None = None,
        certificate: tls.SSLContext | None = None,
        ssl: bool | tls.SSLContext | None = None,
        sasl: Mechanism | None = None,
        timeout: float = 30.0,
        largest_frame: int = LARGEST_FRAME,
        observer: Observer | None = None,
    ) -> None:
        """Take filters; the proxy does not listen yet.

        Args:
            to: a broker of the cluster.
            filters: what `on` has made. Requests go through them in this order, responses in the opposite one.
            listen: where clients connect first; `:9093` is at all addresses of the machine. The broker with id n is at
                this port + 1 + n. With port 0, and above the highest port, it is at a free one.
            advertise: the host that clients are sent to; by default the host of `listen`, or, if it listens at all
                addresses, the one that the client has come in at.
            certificate: a context with a certificate of the proxy, with which listeners speak TLS.
            ssl: TLS to brokers, as of `kipwire.aio.connect`.
            sasl: who the proxy is to brokers; by default clients authenticate through it.
            timeout: seconds to connect to a broker.
            largest_frame: bytes of a request or of a response at most.
            observer: called after each exchange, with it, the bytes of the response if there is one, and seconds.

        Raises:
            ValueError: an address is none. Opening it raises an OSError where it cannot listen.
        """
        if isinstance(listen, str):
            listen = parse_address(f"0.0.0.0{listen}" if listen.startswith(":") else listen)
        self._listen = listen
        self._advertise, self._certificate, self._largest_frame = advertise, certificate, largest_frame
        versions: Any = None if sasl else {}  # SASL asks for them; nothing else needs them
        self._connection: dict[str, Any] = {"ssl": ssl, "sasl": sasl, "timeout": timeout, "versions": versions}
        self._brokers: dict[int | None, Address] = {None: parse_address(to) if isinstance(to, str) else to}
        """The addresses of brokers, by node id; None is the one that was given."""
        self._servers: dict[int | None, Server] = {}
        self._opening = asyncio.Lock()
        self._filters, self._observer = Filters(filters), observer

    @property
    def address(self) -> Address:
        """Host and port at which clients connect first."""
        return self._servers[None].address

    async def wait_closed(self) -> None:
        """Wait until it is closed."""
        await self._servers[None].wait_closed()

    async def __aenter__(self) -> Self:
        await self._serve(None, self._listen[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*[one.close() for one in self._servers.values()])

    async def _serve(self, node: int | None, port: int) -> None:
        limits: dict[str, Any] = {"in_flight": IN_FLIGHT, "largest_frame": self._largest_frame}
        link, host = partial(self._link, node), self._listen[0]
        self._servers[node] = await serve_each(link, host, port, ssl=self._certificate, logger=log, **limits)

    async def _moved(self, client: Client, node: int, broker: Address) -> Address:
        """The address at which a client reaches a broker; its listener opens when it is first needed.

        Raises:
            KipwireError: it cannot listen there.
        """
        self._brokers[node] = broker  # it may have another address than before
        async with self._opening:
            if node not in self._servers:
                port = self.address[1] + 1 + node if self._listen[1] else 0
                try:
                    await self._serve(node, port if port in _PORTS else 0)
                except OSError as error:
                    why = f"cannot listen at port {port} for the broker with id {node}: {error.strerror or error}"
                    raise KipwireError(why) from None
        host = client.reached[0] if self._listen[0] in _EVERYWHERE else self._listen[0]
        return self._advertise or host, self._servers[node].address[1]

    @asynccontextmanager
    async def _link(self, node: int | None, client: Client) -> AsyncIterator[Handler]:
        """One client and its connection to a broker, until one side closes it or breaks the rules."""
        name, reason = shown_address(client.address), ""
        how = {"client_id": "kipwire-proxy", "largest_frame": self._largest_frame, **self._connection}
        try:
            async with connect(self._brokers[node], **how) as upstream:
                upstream.when_closed(client.close)
                move = partial(self._moved, client)
                yield Link(self._filters, client.address, node, upstream, move, self._observer).answer
                failure = upstream.failure
                if failure is not None and (failure.__cause__ or not isinstance(failure, Closed)):
                    reason = str(failure)
        except OSError as error:
            reason = f"it was broken off by the client: {error}"
        except KipwireError as error:
            reason = str(error)
        if reason:
            log.warning("the connection of %s is closed: %s", name, printable_line(reason))
            raise ClosedByHandler
