"""Records of partitions from their leaders: one answer of many partitions, and partition by partition up to an end.

Reading goes by offsets, and every answer must lead on: to the end of its whole batches, or to the next offset that
exists if the one that was asked for was removed. An offset that does not move some answers in a row ends reading with
an error. A batch that is larger than what was asked for comes cut off at very old brokers, so that partition is asked
for more.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_messages.enums import ErrorCode, ListOffsetsTimestamp
from kafka_messages.fetch_request.v12 import FetchPartition, FetchRequest, FetchTopic
from kipwire.aio import AuthenticationFailure, Failure, TlsFailure
from kipwire.aio.failures import shown_address
from kipwire.cluster.brokers import Brokers, Node, Patience, may_pass
from kipwire.cluster.partitions import find_offsets, level_of, renewed
from kipwire.logs.accounting import Head, head_of
from kipwire.logs.names import Partition
from kipwire.model.errors import KipwireError
from kipwire.records import Record, read_batches, read_committed
from kipwire.records.control import AbortedTransaction
from kipwire.records.heads import RECORDS
from kipwire.records.reading import MAX_BATCH_SIZE

WAIT = 500
"""Milliseconds that a broker waits for new records."""
FETCHED = 1 << 22
"""Bytes of records that are asked for at once."""
MOST_STALLED = 10
"""Answers in a row with which reading does not go on before the end."""
_OUT_OF_RANGE = ErrorCode.OFFSET_OUT_OF_RANGE


class ReadFailedError(KipwireError):
    """A leader does not give the records of a partition."""


class Part(NamedTuple):
    """The answer of a leader about a partition."""

    records: bytes
    end: int
    """The offset that consumers can read up to now: the high watermark, or the last stable offset."""
    aborted: Sequence[AbortedTransaction]
    error_code: int = 0

    @property
    def is_out_of_range(self) -> bool:
        """True if the log does not have the offset: it was removed, or cut off."""
        return self.error_code == _OUT_OF_RANGE


async def fetch(
    brokers: Brokers,
    leader: Node,
    asked: Iterable[tuple[Partition, int, int]],
    size: int,
    *,
    wait: int = 0,
    committed: bool = False,
) -> dict[Partition, Part]:
    """Fetch records of many partitions from their leader.

    Args:
        brokers: of the cluster.
        leader: of all of them.
        asked: partitions, offsets to begin at, and bytes.
        size: bytes of all together; a batch that is larger comes alone, except from very old brokers.
        wait: milliseconds to wait for new records.
        committed: True to leave out transactions that are open or aborted.

    Raises:
        Failure: the leader cannot be asked.
        KipwireError: it is too old, or its response is broken.
    """
    topics: dict[str, list[FetchPartition]] = {}
    for (topic, number), offset, most in asked:
        one = FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=most)
        topics.setdefault(topic, []).append(one)
    response = await brokers.ask(
        leader,
        FetchRequest(
            max_wait_ms=wait,
            min_bytes=1 if wait else 0,
            max_bytes=size,
            isolation_level=level_of(committed),
            topics=[FetchTopic(topic=topic, partitions=some) for topic, some in topics.items()],
        ),
    )
    return {
        Partition(topic.topic, one.partition_index): Part(
            bytes(one.records or b""),
            one.last_stable_offset if committed else one.high_watermark,
            one.aborted_transactions or [],
            one.error_code,
        )
        for topic in response.responses
        for one in topic.partitions
    }


@dataclass(frozen=True)
class Batches:
    """Batches of a partition, as its leader has them."""

    partition: Partition
    offset: int
    """The offset that was asked for; the first batch may begin before it."""
    data: bytes = field(repr=False)
    """The bytes of the batches; the last one may be cut off."""
    next_offset: int
    """The offset to go on from."""
    lost: str = ""
    """Why reading goes on somewhere else, if the log does not have the offset; there are no batches then."""
    end: int | None = None
    """The offset that reading ends before; None if it does not end."""
    aborted: Sequence[AbortedTransaction] | None = field(default=None, repr=False)
    """Aborted transactions, whose records are left out; None if all records are wanted."""
    heads: list[Head] = field(default_factory=list, repr=False)
    """The heads of whole batches."""

    def records(self) -> Iterator[Record]:
        """Decode the records from `offset` on, before `end`, without markers of transactions.

        Raises:
            DecodeError: they are damaged.
            MissingExtraError: the library of their codec is not installed.
        """
        batches = read_batches(self.data)
        for batch in batches if self.aborted is None else read_committed(batches, self.aborted):
            for record in () if batch.is_control else batch.records:
                if record.offset >= self.offset and (self.end is None or record.offset < self.end):
                    yield record


class Reader:
    """Reader of partitions from their leaders; a failure of one partition does not stop the others."""

    def __init__(
        self, brokers: Brokers, leaders: Mapping[Partition, Node], patience: Patience, *, committed: bool
    ) -> None:
        """Begin with leaders that may have moved.

        Args:
            brokers: of the cluster.
            leaders: of the partitions to read.
            patience: for each partition, until it is read again.
            committed: True to leave out transactions that are open or aborted.
        """
        self._brokers = brokers
        self._leaders = dict(leaders)
        self._patience = patience
        self._committed = committed
        self._failures: Counter[Partition] = Counter()
        """Number of failures of each since it last succeeded."""
        self._sizes: dict[Partition, int] = {}
        """Bytes that are asked for, of partitions with larger batches than usual at very old brokers."""

    def where(self, partition: Partition) -> str:
        """Format the address of the leader."""
        return shown_address(self._leaders[partition].address)

    async def offset(self, partition: Partition, timestamp: int) -> int:
        """Find the first offset of a timestamp or a later one, -1 if there is none; or of a `ListOffsetsTimestamp`.

        Raises:
            ReadFailedError: the leader refuses it, or cannot be asked, also not after some time.
        """
        leader = {partition: self._leaders[partition]}
        found = await find_offsets(self._brokers, leader, timestamp, committed=self._committed, patience=self._patience)
        if partition in found:
            return found[partition]
        raise self._error(partition, found.problems[0].reason if found.problems else "the leader returned nothing")

    async def read(
        self, offsets: Mapping[Partition, int], ends: Mapping[Partition, int] | None = None
    ) -> AsyncIterator[Batches]:
        """Read from offsets on, as leaders answer.

        Args:
            offsets: the start of reading in each partition.
            ends: the offsets to end before; None to go on with what is added, without end.

        Raises:
            ReadFailedError: a leader refuses the request, or what it returns leads nowhere.
            Failure: a leader cannot be reached, also after some time.
        """
        reached = {at: offset for at, offset in offsets.items() if ends is None or offset < ends[at]}
        stalled: Counter[Partition] = Counter()
        while reached:
            for partition, part in (await self.fetch(reached, self._most(reached))).items():
                end, before = None if ends is None else ends[partition], reached[partition]
                if not part.records and not part.is_out_of_range:
                    if end is not None and part.end >= end:  # compaction has left nothing up to there
                        del reached[partition]
                        continue
                else:
                    found = await self._batches(partition, before, part, end)
                    reached[partition] = found.next_offset
                    yield found
                if end is None:
                    continue
                stalled[partition] = 0 if reached[partition] != before else stalled[partition] + 1
                if stalled[partition] == MOST_STALLED:
                    what = f"the leader returned no batches from offset {before} on, but the end is {end}"
                    raise self._error(partition, what)
                if reached[partition] >= end:
                    del reached[partition]

    async def fetch(self, offsets: Mapping[Partition, int], size: int) -> dict[Partition, Part]:
        """Fetch from offsets on, for the partitions whose leaders answer now; each leader is asked once.

        Args:
            offsets: the start of reading in each partition.
            size: bytes of records from a leader.

        Raises:
            ReadFailedError: a leader refuses the request.
            Failure: a leader cannot be reached, also after some time.
        """
        by_leader: dict[Node, list[Partition]] = {}
        for partition in offsets:
            by_leader.setdefault(self._leaders[partition], []).append(partition)
        answers = [self._ask(leader, group, offsets, size) for leader, group in by_leader.items()]
        found: dict[Partition, Part] = {}
        for group, parts in zip(by_leader.values(), await asyncio.gather(*answers), strict=True):
            if parts is None:
                continue
            for partition in group:
                part = parts.get(partition)
                if part is None:
                    raise self._error(partition, "the leader returned nothing for it")
                if part.error_code and not part.is_out_of_range:
                    error = self._error(partition, f"the leader returned {ErrorCode.text(part.error_code)}")
                    if not may_pass(part.error_code):
                        raise error
                    self._fail([partition], error)
                    continue
                self._failures.pop(partition, None)
                found[partition] = part
        await self._pause(partition for partition in offsets if partition not in found)
        return found

    def _most(self, partitions: Iterable[Partition]) -> int:
        return max(self._sizes.get(partition, FETCHED) for partition in partitions)

    async def _ask(
        self, leader: Node, group: list[Partition], offsets: Mapping[Partition, int], size: int
    ) -> dict[Partition, Part] | None:
        """Fetch from a leader; None if it failed, which counts for each of its partitions."""
        asked = [(partition, offsets[partition], size) for partition in group]
        try:
            return await fetch(self._brokers, leader, asked, size, wait=WAIT, committed=self._committed)
        except (AuthenticationFailure, TlsFailure):
            raise
        except Failure as failure:
            self._fail(group, failure)
            return None

    def _fail(self, group: Iterable[Partition], error: KipwireError) -> None:
        """Count a failure of partitions; the last one is raised."""
        for partition in group:
            self._failures[partition] += 1
            if self._failures[partition] >= self._patience.attempts:
                raise error

    async def _pause(self, partitions: Iterable[Partition]) -> None:
        """Wait because of partitions that failed, and look for their leaders again."""
        failed = [partition for partition in partitions if self._failures[partition]]
        if failed:
            most = max(self._failures[partition] for partition in failed)
            await asyncio.sleep(self._patience.pause * 2 ** (most - 1))
            self._brokers.begin()
            self._leaders |= await renewed(self._brokers, failed)

    async def _batches(self, partition: Partition, offset: int, part: Part, end: int | None) -> Batches:
        """Find the whole batches of a part, and the offset to go on from."""
        aborted = part.aborted if self._committed else None
        if part.is_out_of_range:
            return await self._in_range(partition, offset, end)
        heads = list(heads_of(part.records))
        if heads:
            after = max([offset, *(head.last_offset + 1 for head in heads)])
            return Batches(partition, offset, part.records, after, "", end, aborted, heads)
        head = head_of(part.records[:RECORDS], 0)
        size = self._sizes.get(partition, FETCHED)
        if head is None or head.end <= len(part.records) or size >= MAX_BATCH_SIZE:
            raise self._error(partition, f"no batch follows offset {offset - 1}, so the rest of it cannot be read")
        self._sizes[partition] = min(max(2 * size, head.size), MAX_BATCH_SIZE)
        return Batches(partition, offset, b"", offset, "", end, aborted)

    async def _in_range(self, partition: Partition, offset: int, end: int | None) -> Batches:
        """Find the next offset that there is, where one was removed or cut off."""
        first = await self.offset(partition, ListOffsetsTimestamp.EARLIEST)
        if offset < first:
            return Batches(partition, offset, b"", first, f"offsets {offset} to {first - 1} were removed", end)
        last = await self.offset(partition, ListOffsetsTimestamp.LATEST)
        if offset <= last:  # it is there by now
            await asyncio.sleep(self._patience.pause)
            return Batches(partition, offset, b"", offset, "", end)
        return Batches(partition, offset, b"", last, f"was cut off: its next offset is {last}", end)

    def _error(self, partition: Partition, reason: str) -> ReadFailedError:
        return ReadFailedError(f"{self.where(partition)}: {partition}: {reason}")


def heads_of(records: bytes) -> Iterator[Head]:
    """Read the heads of the whole batches of a part, one after the other by their lengths."""
    at = 0
    while (head := head_of(records[at : at + RECORDS], at)) is not None and head.end <= len(records):
        yield head
        at = head.end
