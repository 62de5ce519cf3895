"""Records of partitions from their leaders, in parts of bounded size.

What may pass by itself is asked again a bounded number of times: a leader that moves, a connection that breaks.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafka_messages.enums import ErrorCode, IsolationLevel
from kafka_messages.fetch_request.v12 import FetchPartition, FetchRequest, FetchTopic
from kafka_messages.list_offsets_request.v9 import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kipwire.aio import Address, AuthenticationFailure, Connection, Failure, TlsFailure
from kipwire.aio.failures import shown_address
from kipwire.cluster.finding import Node, NotFound, find, leaders
from kipwire.cluster.given import Target
from kipwire.cluster.settings import Settings
from kipwire.model.errors import KipwireError
from kipwire.records.control import AbortedTransaction

ATTEMPTS = 7
"""Number of times in a row that a partition may fail."""
PAUSE = 0.1
"""Seconds before it is asked for again; twice as many after each failure."""
WAIT = 500
"""Milliseconds that a broker waits for new records."""

_NO_REPLICA = -1
"""The replica that asks; a replica id such as 0 would get the end of the log, not the end of what clients can read."""
_OUT_OF_RANGE = ErrorCode.OFFSET_OUT_OF_RANGE


class Partition(NamedTuple):
    """A partition of a topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic} partition {self.number}"


class Part(NamedTuple):
    """Some records of a partition."""

    records: bytes
    end: int
    """The offset that consumers can read up to now: the high watermark, or the last stable offset."""
    aborted: list[AbortedTransaction]
    is_out_of_range: bool
    """True if the log does not have the offset: it was removed, or cut off."""


class ReadFailedError(KipwireError):
    """A leader does not give the records of a partition."""


class Brokers:
    """Connections to the leaders of partitions. After an error of one partition the others can still be read."""

    def __init__(self, settings: Settings, address: Address, *, committed: bool) -> None:
        """Use any broker of a cluster to find the others.

        Args:
            settings: for the connections to them.
            address: the address of the first.
            committed: True to leave out transactions that are open or aborted.
        """
        self._settings = settings
        self._address = address
        self._isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        self._leaders: dict[Partition, Node] = {}
        self._connections: dict[Address, Connection] = {}
        self._failures: Counter[Partition] = Counter()
        """Number of failures of each since it last succeeded."""

    async def close(self) -> None:
        """Close all connections."""
        for connection in self._connections.values():
            await connection.close()

    async def partitions(self, topic: str, number: int | None) -> list[Partition]:
        """List the partitions of a topic in their order, or one of them, and remember their leaders.

        Raises:
            NotFound: there is no such topic or partition, or no leader.
            Failure: no broker can be asked.
        """
        if number is not None:
            self._leaders[Partition(topic, number)] = await self._find(Partition(topic, number))
            return [Partition(topic, number)]
        found = {
            Partition(topic, index): node
            for index, node in (await leaders(self._settings, self._address, topic)).items()
        }
        self._leaders |= found
        return list(found)

    def where(self, partition: Partition) -> str:
        """Format the address of the leader, or the first address while the leader is not known."""
        return shown_address(self._leaders[partition].address if partition in self._leaders else self._address)

    async def offset(self, partition: Partition, timestamp: int) -> int:
        """Find the first offset of a timestamp or a later one, -1 if there is none; or of a `ListOffsetsTimestamp`.

        Raises:
            ReadFailedError: the leader refuses it.
            Failure: it cannot be asked, also not after some time.
        """
        asked = ListOffsetsPartition(partition_index=partition.number, timestamp=timestamp)
        topics = [ListOffsetsTopic(name=partition.topic, partitions=[asked])]
        request = ListOffsetsRequest(replica_id=_NO_REPLICA, isolation_level=self._isolation, topics=topics)
        while True:
            response: Any = await self._ask([partition], request)
            answer = None if response is None else _of(partition, response.topics, "name")
            if answer is not None and not answer.error_code:
                self._failures.pop(partition, None)
                return int(answer.offset)
            if answer is not None:
                self._on_refusal(partition, answer.error_code)
            await self._pause([partition])

    async def fetch(self, offsets: Mapping[Partition, int], size: int) -> dict[Partition, Part]:
        """Fetch from offsets on, for the partitions whose leaders answer now; each leader is asked once.

        Args:
            offsets: the start of reading in each partition.
            size: bytes of records from a leader; a batch that is larger comes alone, except from very old brokers.

        Raises:
            ReadFailedError: a leader refuses the request.
            Failure: a leader cannot be reached, also after some time.
        """
        by_leader: dict[Address, list[Partition]] = {}
        for partition in offsets:
            try:
                by_leader.setdefault((await self._leader(partition)).address, []).append(partition)
            except (Failure, NotFound) as error:
                self._on_failure([partition], error)
        found: dict[Partition, Part] = {}
        groups = list(by_leader.values())
        asked = [self._ask(group, self._fetch_request(group, offsets, size)) for group in groups]
        for group, response in zip(groups, await asyncio.gather(*asked), strict=True):
            if response is None:
                continue
            for partition in group:
                answer = _of(partition, response.responses, "topic")
                if answer.error_code not in (0, _OUT_OF_RANGE):
                    self._on_refusal(partition, answer.error_code)
                    continue
                self._failures.pop(partition, None)
                found[partition] = self._part(answer)
        await self._pause(partition for partition in offsets if partition not in found)
        return found

    def _fetch_request(self, group: list[Partition], offsets: Mapping[Partition, int], size: int) -> FetchRequest:
        topics: dict[str, FetchTopic] = {}
        for topic, number in group:
            asked = FetchPartition(
                partition=number, fetch_offset=offsets[Partition(topic, number)], partition_max_bytes=size
            )
            topics.setdefault(topic, FetchTopic(topic=topic, partitions=[])).partitions.append(asked)
        return FetchRequest(
            max_wait_ms=WAIT,
            min_bytes=1,
            max_bytes=size,
            isolation_level=self._isolation,
            topics=list(topics.values()),
        )

    def _part(self, answer: Any) -> Part:
        is_committed = self._isolation == IsolationLevel.READ_COMMITTED
        end = answer.last_stable_offset if is_committed else answer.high_watermark
        records = bytes(answer.records or b"")
        return Part(records, end, answer.aborted_transactions or [], answer.error_code == _OUT_OF_RANGE)

    async def _ask(self, group: list[Partition], request: Any) -> Any:
        """Send a request to the leader of partitions; None if it failed, which counts for each of them."""
        node = None
        try:
            node = await self._leader(group[0])
            connection = self._connections.get(node.address)
            if connection is None:
                connection = self._connections[node.address] = await self._settings.connect(node.address)
            return await connection.request(request)
        except (AuthenticationFailure, TlsFailure):
            raise
        except (Failure, NotFound) as error:
            broken = None if node is None else self._connections.pop(node.address, None)
            if broken is not None:
                await broken.close()
            self._on_failure(group, error)
            return None

    async def _leader(self, partition: Partition) -> Node:
        if partition not in self._leaders:
            self._leaders[partition] = await self._find(partition)
        return self._leaders[partition]

    async def _find(self, partition: Partition) -> Node:
        """Ask the first broker for a leader, and the others that are known if it is gone."""
        target = Target("leader", *partition)
        for address in [*(set(self._connections) - {self._address}), self._address]:
            try:
                return (await find(self._settings, address, target))[0]
            except Failure:
                if address == self._address:
                    raise
        raise AssertionError

    def _on_refusal(self, partition: Partition, code: int) -> None:
        error = ReadFailedError(f"{self.where(partition)}: the leader of {partition} returned {ErrorCode.text(code)}")
        known = ErrorCode.find(code)
        if known is None or not known.retriable:
            raise error
        self._on_failure([partition], error)

    def _on_failure(self, group: Iterable[Partition], error: KipwireError) -> None:
        """Count a failure of partitions, whose leaders are looked for again; the last one is raised."""
        for partition in group:
            self._leaders.pop(partition, None)
            self._failures[partition] += 1
            if self._failures[partition] >= ATTEMPTS:
                raise error

    async def _pause(self, partitions: Iterable[Partition]) -> None:
        most = max((self._failures[partition] for partition in partitions), default=0)
        if most:
            await asyncio.sleep(PAUSE * 2 ** (most - 1))


def _of(partition: Partition, topics: Iterable[Any], name: str) -> Any:
    """Find the answer about a partition.

    Raises:
        ReadFailedError: there is none.
    """
    for topic in topics:
        for answer in topic.partitions if getattr(topic, name) == partition.topic else ():
            if answer.partition_index == partition.number:
                return answer
    raise ReadFailedError(f"the leader of {partition} returned nothing for it")
