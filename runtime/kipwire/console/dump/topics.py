"""Dump topics of a cluster: partition after partition up to their present ends, then what is added to them.

Reading goes by offsets, and every answer must lead on: to the end of its whole batches, or to the next offset that
exists if the one that was asked for was removed. An offset that does not move some answers in a row ends reading with
an error. A batch that is larger than what was asked for comes cut off at very old brokers, so that partition is asked
for more. The markers of transactions are read whatever the bounds, if only committed records are wanted. Positions in a
response are of no use, so damage is named by offset.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafka_messages.enums import ListOffsetsTimestamp
from kipwire.aio import Address
from kipwire.cluster.fetching import PAUSE, Brokers, Part, Partition, ReadFailedError
from kipwire.cluster.settings import Settings
from kipwire.console.brokers.running import prepare
from kipwire.console.dump.log_files import Log, internal_of
from kipwire.console.dump.logs import Item, LogDump
from kipwire.console.dump.reading import Damage, describe_damage
from kipwire.records import Bounds, RecordBatch, read_committed
from kipwire.records.accounting import Head, head_of
from kipwire.records.bounds import HEAD_BYTES
from kipwire.records.heads import RECORDS
from kipwire.records.names import HIGHEST_INT32
from kipwire.records.reading import MAX_BATCH_SIZE
from kipwire.records.segments import read_part
from kipwire.tools.text import print_err, printable_line

FETCHED = 1 << 22
"""Bytes of records that are asked for at once."""
MOST_STALLED = 10
"""Answers in a row with which reading does not go on before the present end."""


class Cluster(NamedTuple):
    """Settings for a cluster, and the address of one of its brokers."""

    settings: Settings
    address: Address


class Named(NamedTuple):
    """Topic or partition named by the user."""

    topic: str
    partition: int | None
    """None: all of them."""


def topics_of(names: Iterable[str]) -> list[Named]:
    """Parse the topics and partitions that words name, such as `orders` and `orders/0`.

    Raises:
        ValueError: one is not such a word, or is given twice.
    """
    found: list[Named] = []
    for name in names:
        topic, slash, number = name.partition("/")
        is_number = number.isascii() and number.isdigit() and len(number) <= len(str(HIGHEST_INT32))
        if not topic or (slash and not (is_number and int(number) <= HIGHEST_INT32)):
            raise ValueError(f"{name!r} is not a topic; with --brokers use TOPIC or TOPIC/PARTITION, such as orders/0")
        named = Named(topic, int(number) if slash else None)
        if any(one.topic == topic and (None in (one.partition, named.partition) or one == named) for one in found):
            raise ValueError(f"{name!r} is given twice")
        found.append(named)
    return found


def dump_topics(
    dump: LogDump, cluster: Cluster, topics: Iterable[Named], decode_as: str | None, *, follow: bool, committed: bool
) -> None:
    """Dump topics.

    Args:
        dump: the output, with its filter.
        cluster: to read from.
        topics: to read.
        decode_as: see `internal_of`.
        follow: True to go on with what is added, until Ctrl-C.
        committed: True to show only what consumers of committed records receive.

    Raises:
        NotFound: there is no such topic or partition.
        Failure: a broker cannot be reached.
        ReadFailedError: a broker refuses something.
    """
    prepare(cluster.settings)
    with asyncio.Runner() as runner:
        brokers = Brokers(*cluster, committed=committed)
        try:
            found = [one for named in topics for one in runner.run(brokers.partitions(*named))]
            reader = Reader(dump, brokers, runner, committed=committed)
            ends = {}
            for partition in found:
                internal = internal_of(partition.topic, decode_as)
                ends[partition] = reader.whole(partition, internal)
            if follow:
                reader.follow(ends, decode_as)
        finally:
            runner.run(brokers.close())


class Reader:
    """Reads partitions and dumps them."""

    def __init__(self, dump: LogDump, brokers: Brokers, runner: asyncio.Runner, *, committed: bool) -> None:
        self._dump = dump
        self._brokers = brokers
        self._runner = runner
        self._committed = committed
        self._sizes: dict[Partition, int] = {}
        """Bytes that are asked for, of partitions with larger batches than usual at very old brokers."""

    def whole(self, partition: Partition, internal: str | None) -> int:
        """Dump a partition up to its present end; return the offset to go on from."""
        start, end = self._runner.run(self._range(partition))
        what = f"offsets {start} to {end - 1}" if start < end else f"nothing before offset {end}"
        self._dump.items(self._log(partition, internal, what), self._items(partition, start, end))
        return end

    def follow(self, offsets: dict[Partition, int], decode_as: str | None) -> None:
        """Dump what is added to partitions, without end."""
        to_offset = self._bounds.end_offset
        while True:
            self._dump.out.flush()
            wanted = {one: at for one, at in offsets.items() if to_offset is None or at < to_offset} or offsets
            size = max(self._sizes.get(one, FETCHED) for one in wanted)
            for partition, part in self._runner.run(self._brokers.fetch(wanted, size)).items():
                if not part.records and not part.is_out_of_range:
                    continue
                log = self._log(partition, internal_of(partition.topic, decode_as), "more")
                reached = [offsets[partition]]
                self._dump.more(log, self._of_part(partition, part, reached), 0)
                offsets[partition] = reached[0]

    @property
    def _bounds(self) -> Bounds:
        return self._dump.options.bounds or Bounds()

    def _log(self, partition: Partition, internal: str | None, what: str) -> Log:
        where = self._brokers.where(partition)
        name = printable_line(f"{partition} at {where}")
        return Log(name, what, {"broker": where}, *partition, internal, has_positions=False)

    async def _range(self, partition: Partition) -> tuple[int, int]:
        """Find the first offset to read, and the one to end before."""
        bounds, offset = self._bounds, self._brokers.offset
        start = await offset(partition, ListOffsetsTimestamp.EARLIEST)
        end = await offset(partition, ListOffsetsTimestamp.LATEST)
        # To brokers a time before 1970 has another meaning; nothing is before the first offset.
        if bounds.first_timestamp is not None and bounds.first_timestamp >= 0:
            since = await offset(partition, bounds.first_timestamp)
            start = end if since < 0 else max(start, since)
        if bounds.first_offset is not None:
            start = max(start, bounds.first_offset)
        return start, end if bounds.end_offset is None else min(end, bounds.end_offset)

    def _items(self, partition: Partition, start: int, end: int) -> Iterator[Item]:
        """Fetch the batches of a partition that begin before an offset, and what is damaged."""
        reached, stalled = [start], 0
        while reached[0] < end:
            self._dump.out.flush()
            size = self._sizes.get(partition, FETCHED)
            part = self._runner.run(self._brokers.fetch({partition: reached[0]}, size)).get(partition)
            if part is None:
                continue
            if not part.records and not part.is_out_of_range and part.end >= end:
                return  # compaction has left nothing up to there
            before = reached[0]
            for item in self._of_part(partition, part, reached):
                if isinstance(item, RecordBatch) and item.base_offset >= end:
                    return
                yield item
            stalled = stalled + 1 if reached[0] == before else 0
            if stalled == MOST_STALLED:
                reason = f"the leader of {partition} returned no batches from offset {before} on, but its end is {end}"
                raise ReadFailedError(f"{self._brokers.where(partition)}: {reason}")

    def _of_part(self, partition: Partition, part: Part, reached: list[int]) -> Iterator[Item]:
        """Yield the batches of a part, and damage between them; `reached` becomes the offset to go on from."""
        if part.is_out_of_range:
            reached[0] = self._in_range(partition, reached[0])
            return
        heads = list(_heads(part.records))
        if not heads and part.records:
            self._without_batch(partition, part, reached)
            return
        yield from self._batches(part, heads)
        reached[0] = max([reached[0], *(head.last_offset + 1 for head in heads)])

    def _without_batch(self, partition: Partition, part: Part, reached: list[int]) -> None:
        """Ask for more the next time, if a batch is larger than what was asked for.

        Raises:
            ReadFailedError: it is none.
        """
        head = head_of(part.records[:RECORDS], 0)
        size = self._sizes.get(partition, FETCHED)
        if head is not None and head.end > len(part.records) and size < MAX_BATCH_SIZE:
            self._sizes[partition] = min(max(2 * size, head.size), MAX_BATCH_SIZE)
            return
        reason = f"no batch follows offset {reached[0] - 1}, so the rest of {partition} cannot be read"
        raise ReadFailedError(f"{self._brokers.where(partition)}: {reason}")

    def _in_range(self, partition: Partition, offset: int) -> int:
        """Find the next offset that there is, where one was removed or cut off."""
        first = self._runner.run(self._brokers.offset(partition, ListOffsetsTimestamp.EARLIEST))
        if offset < first:
            self._say(partition, f"offsets {offset} to {first - 1} were removed")
            return first
        last = self._runner.run(self._brokers.offset(partition, ListOffsetsTimestamp.LATEST))
        if offset <= last:  # it is there by now
            self._runner.run(asyncio.sleep(PAUSE))
            return offset
        self._say(partition, f"was cut off: its next offset is {last}")
        return last

    def _batches(self, part: Part, heads: list[Head]) -> Iterator[Item]:
        bounds = self._dump.options.bounds
        file = io.BytesIO(part.records)
        damage: list[Damage] = []

        def batches() -> Iterator[RecordBatch]:
            # The markers of transactions are needed, whatever the bounds.
            of_part = read_part(file, "", grows=True, bounds=None if self._committed else bounds)
            for item in describe_damage(of_part):
                if isinstance(item, RecordBatch):
                    yield item
                elif isinstance(item, Damage):
                    damage.append(_at_offset(item, heads))

        found = read_committed(batches(), part.aborted) if self._committed else batches()
        for batch in found:
            yield from damage
            damage.clear()
            head = part.records[batch.position : batch.position + HEAD_BYTES]
            if not self._committed or bounds is None or bounds.may_have(head):
                yield batch
        yield from damage

    def _say(self, partition: Partition, what: str) -> None:
        self._dump.out.flush()
        print_err((f"{printable_line(str(partition))}: {what}", "yellow"))


def _heads(records: bytes) -> Iterator[Head]:
    """Read the heads of the whole batches of a part, one after the other by their lengths."""
    at = 0
    while (head := head_of(records[at : at + RECORDS], at)) is not None and head.end <= len(records):
        yield head
        at = head.end


def _at_offset(damage: Damage, heads: list[Head]) -> Damage:
    """Name a damage by the offset of its batch, since the position in a response is of no use."""
    offset = next((head.offset for head in heads if head.position == damage.position), None)
    where = "a batch" if offset is None else f"batch at offset {offset}"
    field = f"{damage.path}: " if damage.path else ""
    return Damage(-1, -1, damage.path, f"{where}: {field}{damage.reason}", "")
