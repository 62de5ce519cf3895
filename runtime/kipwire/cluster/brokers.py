"""Connections to the brokers of a cluster: one for each, opened when it is needed, and again when it has failed.

A broker that failed is asked no more in the same round, so that a hundred requests do not wait for a hundred timeouts.
A round begins with `nodes`, and whoever is patient begins another one with each attempt. Of several addresses that lead
into the cluster one has to answer; the log `kipwire.cluster` names those that do not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafka_messages.describe_cluster_request.v2 import DescribeClusterRequest
from kafka_messages.enums import ApiKey, EndpointType, ErrorCode
from kafka_messages.metadata_request.v13 import MetadataRequest
from kipwire.aio import Address, AuthenticationFailure, Connection, Failure, TlsFailure
from kipwire.aio.failures import parse_addresses, shown_address
from kipwire.cluster.model import Problem
from kipwire.cluster.settings import Settings, log
from kipwire.message.messages import Message
from kipwire.model.errors import KipwireError
from kipwire.tools.text import printable_line

if TYPE_CHECKING:
    from kipwire.message.frames import AnsweredBy

M = TypeVar("M", bound=Message)
T = TypeVar("T")

_MOST_KNOWN = 1000
"""Brokers that are kept as ways into the cluster."""


class Node(NamedTuple):
    """One broker, or one controller."""

    id: int | None
    """Id of the broker; None for one that is only known by its address."""
    address: Address

    def __str__(self) -> str:
        return shown_address(self.address) if self.id is None else f"node {self.id} at {shown_address(self.address)}"


class Description(NamedTuple):
    """A cluster, as one of its brokers describes it.

    Controllers have no Metadata; where that API is missing, DescribeCluster gives the nodes, which are controllers.
    """

    address: Address
    """The broker that has answered."""
    nodes: list[Node]
    """In the order of their ids."""
    controller: int
    """The id of the controller."""


class NotFound(KipwireError):
    """There is no such broker, topic or partition, or the cluster does not say which broker it is now."""

    @classmethod
    def by(cls, address: Address, reason: str) -> NotFound:
        """Make the error from what a broker does not have."""
        return cls(printable_line(f"{shown_address(address)}: the broker {reason}"))


class Patience(NamedTuple):
    """Attempts to get what may pass by itself, such as a leader that moves."""

    attempts: int
    pause: float = 0.1
    """Seconds before the second attempt; twice as many before each that follows."""

    def pauses(self) -> Iterator[float]:
        """Yield the seconds to wait before each attempt but the first."""
        return (self.pause * 2**number for number in range(self.attempts - 1))

    async def repeat(self, work: Callable[[], Awaitable[T]], is_wanting: Callable[[T], bool]) -> T:
        """Do something again as long as its result is wanting, but no more than `attempts` times."""
        found = await work()
        for pause in self.pauses():
            if not is_wanting(found):
                break
            await asyncio.sleep(pause)
            found = await work()
        return found


ONCE = Patience(1)
"""Report what failed."""
PATIENT = Patience(7)
"""Go on asking, for about six seconds."""


class Brokers:
    """The brokers of a cluster."""

    def __init__(self, addresses: str | Address | Iterable[str | Address], settings: Settings) -> None:
        """Connect to nothing yet.

        Args:
            addresses: some brokers, of which one must answer in the first round; see `parse_addresses`.
            settings: how to reach brokers.
        """
        self.settings = settings
        self.addresses = parse_addresses(addresses)
        self._known: tuple[Address, ...] = ()
        """The addresses of the last round."""
        self._connections: dict[Address, Connection] = {}
        self._opening: dict[Address, asyncio.Lock] = {}
        self._failures: dict[Node, Failure] = {}
        self._dead: set[Address] = set()
        """Given addresses that do not answer, as the log has said."""

    def __reduce__(self) -> tuple[type[Brokers], tuple[object, ...]]:
        """Let the same cluster be used in another process, with connections of its own."""
        return Brokers, (self.addresses, self.settings)

    @property
    def name(self) -> str:
        """The addresses that were given."""
        return ",".join(map(shown_address, self.addresses))

    @property
    def problems(self) -> list[Problem]:
        """The brokers that have failed in this round."""
        return [failure_of(node, failure) for node, failure in self._failures.items()]

    def begin(self) -> None:
        """Begin a round, in which brokers that failed are asked again."""
        self._failures.clear()

    async def nodes(self) -> list[Node]:
        """Begin a round, and list all brokers of the cluster by the first one that answers; see `Description`.

        Raises:
            KipwireError: none answers.
        """
        return (await self.describe()).nodes

    async def describe(self) -> Description:
        """Begin a round, and describe the cluster as `nodes` does, with its controller."""
        self.begin()
        _, found = await self.at_any(_describe)
        self._known = tuple(node.address for node in found.nodes[:_MOST_KNOWN])
        await self._forget({*self._known, *self.addresses})
        return found

    async def at_any(self, ask: Callable[[Connection], Awaitable[T]]) -> tuple[Address, T]:
        """Ask one broker after the other until one answers; return its address and the answer.

        Raises:
            Failure: none answers; the text begins with the first address that was given.
            KipwireError: the one that answers is too old for the request, or its response is broken.
        """
        failures: list[Failure] = []
        for address in self._ways():
            try:
                answer = await ask(await self._connection(address))
            except AuthenticationFailure:  # wrong credentials are wrong everywhere, and are tried once
                raise
            except Failure as failure:
                failures.append(failure)
            else:
                self._note_dead(failures, address)
                return address, answer
        raise self._first_of(failures)

    async def ask_any(self, request: AnsweredBy[M]) -> tuple[Address, M]:
        """Send a request to any broker, as `at_any`; return the address of the broker and the response."""
        return await self.at_any(lambda broker: broker.request(request))

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
        connection = await self._connection_to(node)
        try:
            return await connection.request(request)
        except Failure as failure:
            self._failures.setdefault(node, failure)
            raise

    async def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            await connection.close()
        self._connections.clear()

    def _ways(self) -> list[Address]:
        """List the addresses to try for any broker: first those that are connected."""
        connected = [address for address, one in self._connections.items() if one.failure is None]
        failed = {node.address for node in self._failures}
        ways = dict.fromkeys((*connected, *self.addresses, *self._known))
        return [address for address in ways if address not in failed] or list(self.addresses)

    def _note_dead(self, failures: Iterable[Failure], alive: Address) -> None:
        """Log given addresses that were tried before the one that answers, each once."""
        self._dead.discard(alive)
        for failure in failures:
            if failure.address in self.addresses and failure.address not in self._dead:
                self._dead.add(failure.address)
                log.warning("%s", failure)

    def _first_of(self, failures: list[Failure]) -> Failure:
        """Make the error of a cluster of which no broker answers, with all addresses that were given."""
        first = min(failures, key=lambda failure: failure.address not in self.addresses)
        others = [shown_address(address) for address in self.addresses if address != first.address]
        return (
            type(first)(first.address, f"{first.reason}; nor can {', '.join(others)} be reached") if others else first
        )

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
                connection = self._connections[address] = await self.settings.connect(address)
            return connection

    async def _forget(self, present: set[Address]) -> None:
        """Close the connections to brokers that the cluster has no more."""
        for address in self._connections.keys() - present:
            await self._connections.pop(address).close()
        for address in self._opening.keys() - present:
            del self._opening[address]


async def _describe(broker: Connection) -> Description:
    if ApiKey.METADATA in broker.versions:
        found = await broker.request(MetadataRequest(topics=[]))
        nodes = sorted(Node(one.node_id, (one.host, one.port)) for one in found.brokers)
        return Description(broker.address, nodes, found.controller_id)
    cluster = await broker.request(DescribeClusterRequest(endpoint_type=EndpointType.CONTROLLER))
    if cluster.error_code:
        why = f"{ErrorCode.text(cluster.error_code)}{': ' * bool(cluster.error_message)}{cluster.error_message or ''}"
        raise NotFound.by(broker.address, f"cannot describe its cluster: {why}")
    nodes = sorted(Node(one.broker_id, (one.host, one.port)) for one in cluster.brokers)
    return Description(broker.address, nodes, cluster.controller_id)


def may_pass(code: int) -> bool:
    """Return True if an error code may be gone a moment later."""
    known = ErrorCode.find(code)
    return known is not None and known.retriable


def problem_of(where: str, who: str, code: int) -> Problem:
    """Make the problem of an error code in a response."""
    return Problem(where, f"{who} returned {ErrorCode.text(code)}", may_pass(code))


def failure_of(node: Node, failure: Failure) -> Problem:
    """Make the problem of a broker that cannot be asked; what it does not believe of a client does not pass."""
    return Problem(str(node), failure.reason, not isinstance(failure, AuthenticationFailure | TlsFailure))
