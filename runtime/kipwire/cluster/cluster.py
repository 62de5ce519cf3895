"""Connections to the brokers of a cluster, kept from round to round; one that fails is asked no more in its round."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from kafka_messages.enums import CoordinatorType, ErrorCode
from kafka_messages.metadata_request.v13 import MetadataRequest
from kipwire.aio import Address, Connection, Failure
from kipwire.aio.failures import shown_address
from kipwire.cluster.finding import Node, coordinator
from kipwire.cluster.model import Problem
from kipwire.cluster.settings import Settings
from kipwire.message.messages import Message

if TYPE_CHECKING:
    from kipwire.message.frames import AnsweredBy

M = TypeVar("M", bound=Message)
T = TypeVar("T")

_MOST_KNOWN = 1000
"""Brokers that are kept as ways into the cluster."""


class Cluster:
    """The brokers of a cluster."""

    def __init__(self, settings: Settings, addresses: Sequence[Address]) -> None:
        """Connect to nothing yet.

        Args:
            settings: how to reach brokers.
            addresses: some of them, of which one must answer in the first round.
        """
        self._settings = settings
        self._addresses = tuple(addresses)
        self._known: tuple[Address, ...] = ()
        """The addresses of the last round."""
        self._connections: dict[Address, Connection] = {}
        self._opening: dict[Address, asyncio.Lock] = {}
        self._failures: dict[Node, Failure] = {}

    @property
    def name(self) -> str:
        """The addresses that were given."""
        return ",".join(map(shown_address, self._addresses))

    @property
    def problems(self) -> list[Problem]:
        """The brokers that have failed in this round."""
        return [Problem(str(node), failure.reason, may_pass=True) for node, failure in self._failures.items()]

    async def brokers(self) -> list[Node]:
        """Begin a round, and list all brokers of the cluster by the first one that answers.

        Raises:
            KipwireError: none answers; the error is the one of the first address.
        """
        self._failures.clear()
        first: Failure | None = None
        connected = [address for address, one in self._connections.items() if one.failure is None]
        for address in dict.fromkeys((*connected, *self._addresses, *self._known)):
            try:
                connection = await self._connection(address)
                found = await connection.request(MetadataRequest(topics=[]))
            except Failure as error:
                if first is None or (error.address in self._addresses and first.address not in self._addresses):
                    first = error
                continue
            nodes = sorted(Node(one.node_id, (one.host, one.port)) for one in found.brokers)
            self._known = tuple(node.address for node in nodes[:_MOST_KNOWN])
            await self._forget({*self._known, *self._addresses})
            return nodes
        assert first is not None
        raise first

    async def versions(self, node: Node, api_key: int) -> range:
        """Return the versions of an API that a broker serves; empty if it has none.

        Raises:
            Failure: it cannot be asked, or could not be before in this round.
        """
        return (await self._connection_to(node)).versions.get(api_key, range(0))

    async def ask(self, node: Node, request: AnsweredBy[M]) -> M:
        """Send a request to a broker, and return its response.

        Raises:
            Failure: it does not answer, or did not before in this round.
            KipwireError: it is too old for the request, or its response is broken.
        """
        return await self._asked(node, lambda connection: connection.request(request))

    async def coordinator(self, node: Node, group: str) -> Node:
        """Ask a broker which one coordinates a group.

        Raises:
            Failure: it does not answer, or did not before in this round.
            NotFound: it names none.
        """
        return await self._asked(node, lambda connection: coordinator(connection, CoordinatorType.GROUP, group))

    async def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            await connection.close()
        self._connections.clear()

    async def _asked(self, node: Node, ask: Callable[[Connection], Awaitable[T]]) -> T:
        connection = await self._connection_to(node)
        try:
            return await ask(connection)
        except Failure as failure:
            self._failures.setdefault(node, failure)
            raise

    async def _connection_to(self, node: Node) -> Connection:
        if (known := self._failures.get(node)) is not None:
            raise type(known)(known.address, known.reason)
        try:
            return await self._connection(node.address)
        except Failure as failure:
            self._failures.setdefault(node, failure)
            raise

    async def _connection(self, address: Address) -> Connection:
        async with self._opening.setdefault(address, asyncio.Lock()):
            connection = self._connections.get(address)
            if connection is None or connection.failure is not None:
                if connection is not None:
                    del self._connections[address]
                    await connection.close()
                connection = self._connections[address] = await self._settings.connect(address)
            return connection

    async def _forget(self, present: set[Address]) -> None:
        """Close the connections to brokers that the cluster has no more."""
        for address in self._connections.keys() - present:
            await self._connections.pop(address).close()
        for address in self._opening.keys() - present:
            del self._opening[address]


def make_problem(where: str, who: str, code: int) -> Problem:
    """Make a problem of an error code in a response."""
    known = ErrorCode.find(code)
    return Problem(where, f"{who} returned {ErrorCode.text(code)}", known is not None and known.retriable)
