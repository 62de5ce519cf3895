"""Dump topics of a cluster: partition after partition up to their present ends, then what is added to them.

The markers of transactions are read whatever the bounds, if only committed records are wanted. Positions in a response
are of no use, so damage is named by offset.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from kipwire.cluster import EARLIEST, LATEST, PATIENT, Batches, Cluster, Partition
from kipwire.cluster.fetching import Reader
from kipwire.console.brokers.running import log_of_brokers, prepare
from kipwire.console.dump.log_files import Log, internal_of
from kipwire.console.dump.logs import Item, LogDump
from kipwire.console.dump.reading import Damage, describe_damage
from kipwire.console.dump.wanted import Chunk, Wanted, first_of_last
from kipwire.logs.accounting import Head
from kipwire.logs.segments import read_part
from kipwire.records import Bounds, RecordBatch, read_committed
from kipwire.records.bounds import HEAD_BYTES
from kipwire.records.heads import HIGHEST_INT32
from kipwire.tools.text import print_err, printable_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.aio import Address
    from kipwire.cluster.settings import Settings

PATIENCE = PATIENT


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
    dump: LogDump,
    settings: Settings,
    addresses: Iterable[Address],
    topics: Iterable[Named],
    wanted: Wanted,
    decode_as: str | None,
    *,
    follow: bool,
    committed: bool,
) -> None:
    """Dump topics.

    Args:
        dump: the output.
        settings: how to reach brokers.
        addresses: some brokers of the cluster to read from.
        topics: to read.
        wanted: the part of each partition.
        decode_as: see `internal_of`.
        follow: True to go on with what is added, until Ctrl-C.
        committed: True to show only what consumers of committed records receive.

    Raises:
        NotFound: there is no such topic or partition.
        Failure: a broker cannot be reached.
        ReadFailedError: a broker refuses something.
    """
    prepare(settings)
    with log_of_brokers(), asyncio.Runner() as runner:
        cluster = Cluster(addresses, settings, patience=PATIENCE)
        try:
            asked = [_asked(named) for named in topics]
            leaders = runner.run(cluster.leaders(*asked))
            found = runner.run(cluster.expect(leaders, *asked))
            reader = cluster.reader(leaders, committed=committed)
            topic_dump = TopicDump(dump, reader, runner, wanted, committed=committed)
            ends = {one: topic_dump.whole(one, internal_of(one.topic, decode_as)) for one in found}
            if follow:
                topic_dump.follow(ends, decode_as)
        finally:
            runner.run(cluster.close())


def _asked(named: Named) -> str | Partition:
    return named.topic if named.partition is None else Partition(named.topic, named.partition)


class TopicDump:
    """Dumps partitions as a reader reads them."""

    def __init__(
        self,
        dump: LogDump,
        reader: Reader,
        runner: asyncio.Runner,
        wanted: Wanted = Wanted(),  # noqa: B008  it is immutable
        *,
        committed: bool,
    ) -> None:
        self._dump = dump
        self._wanted = wanted
        self._reader = reader
        self._runner = runner
        self._committed = committed

    def whole(self, partition: Partition, internal: str | None) -> int:
        """Dump a partition up to its present end; return the offset to go on from."""
        start, end, bounds = self._runner.run(self._range(partition))
        self._dump.limit_to(bounds)
        if self._wanted.last is not None:
            of_log = bounds._replace(first_offset=start)  # the first batch may begin with removed records
            start = first_of_last(self._backwards(partition, start, end), self._wanted.last, of_log) or start
            self._dump.limit_to(bounds._replace(first_offset=start))
        what = f"offsets {start} to {end - 1}" if start < end else f"nothing before offset {end}"
        self._dump.items(self._log(partition, internal, what), self._items(partition, start, end))
        return end

    def follow(self, offsets: dict[Partition, int], decode_as: str | None) -> None:
        """Dump what is added to partitions, without end."""
        self._dump.limit_to(self._wanted.bounds)
        to_offset = self._wanted.bounds.end_offset
        wanted = {one: at for one, at in offsets.items() if to_offset is None or at < to_offset} or offsets
        for batches in self._read(wanted, None):
            log = self._log(batches.partition, internal_of(batches.partition.topic, decode_as), "more")
            self._dump.more(log, self._of(batches), 0)

    def _log(self, partition: Partition, internal: str | None, what: str) -> Log:
        where = self._reader.where(partition)
        name = printable_line(f"{_words(partition)} at {where}")
        return Log(name, what, {"broker": where}, *partition, internal, has_positions=False)

    async def _range(self, partition: Partition) -> tuple[int, int, Bounds]:
        """Find the first offset to read, the one to end before, and the bounds of the wanted part."""
        offset = self._reader.offset
        start = await offset(partition, EARLIEST)
        end = await offset(partition, LATEST)
        bounds = self._wanted.at(end)
        # To brokers a time before 1970 has another meaning; nothing is before the first offset.
        if bounds.first_timestamp is not None and bounds.first_timestamp >= 0:
            since = await offset(partition, bounds.first_timestamp)
            start = end if since < 0 else max(start, since)
        if bounds.first_offset is not None:
            start = max(start, bounds.first_offset)
        return start, end if bounds.end_offset is None else min(end, bounds.end_offset), bounds

    def _backwards(self, partition: Partition, start: int, end: int) -> Iterator[Chunk]:
        """Yield chunks between two offsets, from the last to the first, of more and more offsets."""
        size = self._wanted.last or 1
        while start < end:
            begun = [max(start, end - size)]
            yield partial(self._noting_begin, partition, begun[0], end, begun)
            end, size = min(begun), 2 * size

    def _noting_begin(self, partition: Partition, start: int, end: int, begun: list[int]) -> Iterator[Item]:
        """Read the items of a chunk, and note where its first batch begins, which the chunk before must not have."""
        for item in self._items(partition, start, end):
            if isinstance(item, RecordBatch) and len(begun) == 1:
                begun.append(item.base_offset)
            yield item

    def _items(self, partition: Partition, start: int, end: int) -> Iterator[Item]:
        """Read the batches of a partition that begin before an offset, and what is damaged."""
        for batches in self._read({partition: start}, {partition: end}):
            for item in self._of(batches):
                if isinstance(item, RecordBatch) and item.base_offset >= end:
                    return
                yield item

    def _read(self, offsets: dict[Partition, int], ends: dict[Partition, int] | None) -> Iterator[Batches]:
        """Read batches one after the other; what is known is shown before more are waited for."""
        some = self._reader.read(offsets, ends)

        async def following() -> Batches | None:
            return await anext(some, None)

        while True:
            self._dump.out.flush()
            batches = self._runner.run(following())
            if batches is None:
                return
            yield batches

    def _of(self, some: Batches) -> Iterator[Item]:
        """Yield batches that were read, and damage between them."""
        if some.lost:
            self._dump.out.flush()
            print_err((f"{printable_line(_words(some.partition))}: {some.lost}", "yellow"))
        if some.heads:
            yield from self._batches(some)

    def _batches(self, some: Batches) -> Iterator[Item]:
        bounds = self._dump.options.bounds
        file = io.BytesIO(some.data)
        damage: list[Damage] = []

        def batches() -> Iterator[RecordBatch]:
            # The markers of transactions are needed, whatever the bounds.
            of_part = read_part(file, "", grows=True, bounds=None if self._committed else bounds)
            for item in describe_damage(of_part):
                if isinstance(item, RecordBatch):
                    yield item
                elif isinstance(item, Damage):
                    damage.append(_at_offset(item, some.heads))

        found = batches() if some.aborted is None else read_committed(batches(), some.aborted)
        for batch in found:
            yield from damage
            damage.clear()
            head = some.data[batch.position : batch.position + HEAD_BYTES]
            if not self._committed or bounds is None or bounds.may_have(head):
                yield batch
        yield from damage


def _words(partition: Partition) -> str:
    return f"{partition.topic} partition {partition.number}"


def _at_offset(damage: Damage, heads: list[Head]) -> Damage:
    """Name a damage by the offset of its batch, since the position in a response is of no use."""
    offset = next((head.offset for head in heads if head.position == damage.position), None)
    where = "a batch" if offset is None else f"batch at offset {offset}"
    field = f"{damage.path}: " if damage.path else ""
    return Damage(-1, -1, damage.path, f"{where}: {field}{damage.reason}", "")
