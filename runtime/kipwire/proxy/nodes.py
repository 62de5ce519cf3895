"""The listeners of a proxy: one for its clients to begin with, and one for each broker of the cluster.

Numbers in responses open listeners, so there is a bound on them, all listeners that a response opens are closed again
if one cannot be had, and a listener that no client uses is closed when no response has named its broker for a while.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from kipwire import aio
from kipwire.aio import Address
from kipwire.aio.serving import EVERYWHERE
from kipwire.model.errors import KipwireError

MOST_NODES = 1000
SHARE_OF_DESCRIPTORS = 4
"""A quarter of the files that the process may have open is for listeners, so that three are left for clients."""
SECONDS_UNNAMED = 60.0
"""Time after which a listener without clients is closed, when responses name brokers without its own."""
_PORTS = range(1, 65536)


def most_nodes() -> tuple[int, str]:
    """Return the highest number of brokers to listen for, and what limits it."""
    try:
        import resource  # which not every system has
    except ImportError:
        return MOST_NODES, ""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY or files >= MOST_NODES * SHARE_OF_DESCRIPTORS:
        return MOST_NODES, ""
    return files // SHARE_OF_DESCRIPTORS, f", since it may have {files:,} files open (ulimit -n)"


@dataclass(eq=False)
class Nodes:
    """The listeners, and the brokers behind them, by node id; None is the broker that the proxy was given."""

    to: Address
    host: str
    port: int
    """Port of the first listener; 0 for free ones."""
    advertised: tuple[str | None, int | None]
    """The host and port of the first listener as clients are told; None where clients are told its own."""
    listen: Callable[[int | None, int], Awaitable[aio.Server]]
    """Opens a listener for a node at a port."""
    brokers: dict[int | None, Address] = field(init=False)
    _servers: dict[int | None, aio.Server] = field(default_factory=dict)
    _named: dict[int, float] = field(default_factory=dict)
    """The time at which a response has last named each broker."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __post_init__(self) -> None:
        self.brokers = {None: self.to}

    @property
    def first(self) -> aio.Server:
        """The listener at which clients connect first."""
        return self._servers[None]

    async def open(self) -> None:
        """Listen where clients connect first."""
        self._servers[None] = await self.listen(None, self.port)

    async def close(self) -> None:
        """Close all."""
        await asyncio.gather(*[one.close() for one in self._servers.values()])

    async def update(self, named: Mapping[int, Address], *, are_all: bool) -> None:
        """Take in the brokers that a response names, and listen for all of them, or for no new broker.

        Args:
            named: addresses of brokers, by node id.
            are_all: True if the cluster has no others, so that listeners which nothing needs can be closed.

        Raises:
            KipwireError: the proxy cannot listen for a broker, or for so many.
        """
        async with self._turn:
            new = [node for node in named if node not in self._servers]
            most, why = most_nodes()
            if new and len(self._servers) - 1 + len(new) > most:
                count = len(self._servers) - 1 + len(new)
                raise KipwireError(f"responses name {count:,} brokers; the proxy listens for at most {most:,}{why}")
            opened: list[aio.Server] = []
            try:
                for node in new:
                    opened.append(await self._open(node))  # noqa: PERF401 - listeners before one that fails are closed
            except BaseException:
                await asyncio.gather(*[one.close() for one in opened])
                raise
            self._servers |= zip(new, opened, strict=True)
            self.brokers |= named.items()  # a broker may have another address than before
            now = asyncio.get_running_loop().time()
            self._named |= dict.fromkeys(named, now)
            if are_all and len(self._servers) > len(named) + 1:
                await self._close_unnamed(now - SECONDS_UNNAMED)

    async def _open(self, node: int) -> aio.Server:
        port = self._regular(node, self.port)
        try:
            return await self.listen(node, port)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else error  # asyncio's own words repeat the address
            where = f"at port {port}" if port else f"at a free port of {self.host}"
            raise KipwireError(f"cannot listen {where} for the broker with id {node}: {why}") from None

    async def _close_unnamed(self, since: float) -> None:
        """Close the listeners without clients whose brokers no response has named since then."""
        unnamed = [node for node, at in self._named.items() if at < since and not self._servers[node].connections]
        for node in unnamed:
            await self._servers.pop(node).close()
            del self._named[node], self.brokers[node]

    def told(self, node: int, reached: str) -> Address:
        """Return the address of a broker's listener for a client, which has reached the proxy at a host."""
        host, port = self.advertised
        own = self._servers[node].address[1]
        is_regular = port is not None and own == self._regular(node, self.port)
        shown = self._regular(node, port) if is_regular and port is not None else 0
        return host or (reached if self.host in EVERYWHERE else self.host), shown or own

    @staticmethod
    def _regular(node: int, first: int) -> int:
        """Return the port of a node, if the first listener has a port; 0 for a free one."""
        port = first + 1 + node
        return port if first and node >= 0 and port in _PORTS else 0
