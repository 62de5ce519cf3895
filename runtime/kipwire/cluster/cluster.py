"""The brokers of a cluster, for programs: leaders, offsets, records and groups, asked for at the right brokers.

    async with Cluster("kafka-1:9092,kafka-2:9092", Settings(config=Path("client.properties"))) as cluster:
        leaders = await cluster.leaders("orders")
        ends = await cluster.offsets(leaders, LATEST)

It is no client: it joins no group, commits nothing, and gives no record a partition.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Self, TypeVar

from kafka_messages.enums import ListOffsetsTimestamp
from kipwire.aio import Address
from kipwire.cluster.brokers import ONCE, PATIENT, Brokers, Node, Patience
from kipwire.cluster.fetching import Batches, Reader, ReadFailedError
from kipwire.cluster.finding import find
from kipwire.cluster.given import Target
from kipwire.cluster.groups import Found, find_groups
from kipwire.cluster.model import Problem
from kipwire.cluster.partitions import (
    Leaders,
    Offsets,
    expect_partitions,
    find_leaders,
    find_offsets,
    find_topics,
    wanted_of,
)
from kipwire.cluster.remembered import Memory
from kipwire.cluster.settings import Settings
from kipwire.cluster.unread import Firsts, find_firsts, searches_of
from kipwire.cluster.writing import Producer, Writer, new_producer
from kipwire.logs.names import Partition
from kipwire.message.messages import Message

if TYPE_CHECKING:
    from kipwire.message.frames import AnsweredBy

M = TypeVar("M", bound=Message)

EARLIEST = ListOffsetsTimestamp.EARLIEST
"""Time for `offsets`: the first offset of a partition."""
LATEST = ListOffsetsTimestamp.LATEST
"""Time for `offsets`: the offset after the last record of a partition."""


class Cluster:
    """A cluster; `async with` closes its connections, which are opened when they are needed."""

    def __init__(
        self,
        addresses: str | Address | Iterable[str | Address],
        settings: Settings | None = None,
        *,
        patience: Patience = PATIENT,
    ) -> None:
        """Connect to nothing yet.

        Args:
            addresses: brokers that lead to the others, of which one must answer: texts such as `kafka-1:9092`, or
                `kafka-1:9092,[::1]:9092`, or pairs of host and port.
            settings: TLS, SASL and timeouts.
            patience: how often to ask for what may pass by itself.

        Raises:
            ValueError: an address is not valid.
        """
        self._brokers = Brokers(addresses, settings or Settings())
        self.patience = patience

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._brokers.close()

    @property
    def once(self) -> Cluster:
        """The same connections, without patience: what fails is reported at once."""
        same = copy(self)
        same.patience = ONCE
        return same

    def anew(self) -> Cluster:
        """Return the same cluster with connections of its own, for another event loop."""
        return Cluster(self._brokers.addresses, self._brokers.settings, patience=self.patience)

    @property
    def name(self) -> str:
        """The addresses that were given."""
        return self._brokers.name

    @property
    def problems(self) -> list[Problem]:
        """The brokers that have failed since they were last listed, or since the last attempt."""
        return self._brokers.problems

    async def nodes(self) -> list[Node]:
        """List the brokers, in the order of their ids.

        Raises:
            KipwireError: none answers.
        """
        return await self._brokers.nodes()

    async def find(self, target: Target | None) -> list[Node]:
        """Find the brokers that a target names; see `kipwire.cluster.finding.find`."""
        return await find(self._brokers, target)

    async def ask(self, node: Node, request: AnsweredBy[M]) -> M:
        """Send any request to a broker, and return its response.

        Raises:
            Failure: it does not answer, or did not before in this round.
            KipwireError: it is too old for the request, or its response is broken.
        """
        return await self._brokers.ask(node, request)

    async def leaders(self, *wanted: str | Partition) -> Leaders:
        """Find the leaders of partitions, and of all partitions of topics. No topic is created.

        Raises:
            KipwireError: no broker answers. What else fails is in `problems` of the result.
        """
        return await find_leaders(self._brokers, wanted_of(wanted), self.patience)

    async def expect(self, leaders: Leaders, *wanted: str | Partition) -> list[Partition]:
        """List the partitions that `leaders` was asked for, which must have leaders.

        Raises:
            NotFound: there is no such topic or partition, or no leader.
        """
        return await expect_partitions(self._brokers, leaders, wanted)

    async def topics(self) -> list[str]:
        """List the names of all topics that may be described.

        Raises:
            KipwireError: no broker answers.
        """
        return await find_topics(self._brokers)

    async def offsets(self, leaders: Mapping[Partition, Node], timestamp: int, *, committed: bool = False) -> Offsets:
        """Find the offsets of a time in partitions.

        Args:
            leaders: as `leaders` finds them.
            timestamp: milliseconds since 1970, for the first record with this time or a later one, -1 where there is
                none; or `EARLIEST`, `LATEST` or another of `kafka_messages.enums.ListOffsetsTimestamp`.
            committed: whether partitions end where the first open transaction begins.
        """
        return await find_offsets(self._brokers, leaders, timestamp, committed=committed, patience=self.patience)

    async def ranges(self, leaders: Mapping[Partition, Node], *, committed: bool = False) -> tuple[Offsets, Offsets]:
        """Find the first offsets of partitions and their ends, at the same time."""
        first = self.offsets(leaders, EARLIEST, committed=committed)
        return await asyncio.gather(first, self.offsets(leaders, LATEST, committed=committed))

    def reader(self, leaders: Mapping[Partition, Node], *, committed: bool = False) -> Reader:
        """Make a reader of partitions; `read` is the short form."""
        return Reader(self._brokers, leaders, self.patience, committed=committed)

    async def read(self, offsets: Mapping[Partition, int], *, committed: bool = False) -> AsyncIterator[Batches]:
        """Read partitions from offsets up to their present ends, in no order among partitions.

        Args:
            offsets: where to begin.
            committed: True to leave out transactions that are open or aborted.

        Raises:
            NotFound: there is no such partition, or no leader.
            ReadFailedError: a leader refuses it.
            KipwireError: no broker answers.
        """
        leaders = await self.leaders(*offsets)
        await self.expect(leaders, *offsets)
        ends = await self.offsets(leaders, LATEST, committed=committed)
        if len(ends) < len(offsets):
            raise ReadFailedError("; ".join(map(str, ends.problems)) or "a leader returned nothing for a partition")
        async for batches in self.reader(leaders, committed=committed).read(offsets, ends):
            yield batches

    async def producer(self) -> Producer:
        """Ask for the numbers of a new idempotent producer.

        Raises:
            NotFound: no broker gives any.
            KipwireError: no broker answers, or it is older than Kafka 0.11.
        """
        return await new_producer(self._brokers, self.patience)

    def writer(self, leaders: Mapping[Partition, Node]) -> Writer:
        """Make a writer of batches into partitions."""
        return Writer(self._brokers, leaders, self.patience)

    async def groups(self, patterns: Sequence[str] = (), topics: Sequence[str] = ()) -> Found:
        """Find consumer groups, with their members and committed offsets.

        Args:
            patterns: of names, such as `billing*`, of which one must fit; none: all groups.
            topics: the same for topics.

        Raises:
            KipwireError: no broker answers.
        """
        return await find_groups(self._brokers, await self.nodes(), patterns, topics)

    async def first_records(
        self,
        behind: Mapping[Partition, Iterable[int]],
        leaders: Leaders,
        starts: Mapping[Partition, int],
        ends: Mapping[Partition, int],
        memory: Memory | None = None,
    ) -> tuple[Firsts, list[Problem]]:
        """Find the first record from each offset on, for its time.

        Args:
            behind: offsets below the ends of their partitions, each once.
            leaders: of these partitions.
            starts: their first offsets.
            ends: their ends.
            memory: of the searches before; for topics that are not compacted, what it has is not read again.
        """
        searches = searches_of(behind, leaders, starts, ends)
        if memory is None:
            return await find_firsts(self._brokers, searches)
        return await memory.find(self._brokers, searches, leaders.logs)
