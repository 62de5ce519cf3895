"""The records of topics as Arrow batches, from the brokers of a cluster, with the columns of `kafka_log`.

Brokers are asked by `kipwire.cluster` in an event loop of its own, which a thread runs: so rows can be read where
another loop is running, as in a notebook. The next answer is fetched while the last one is decoded; two are in memory.
What a partition has is fixed first, so reading ends although producers go on. Positions in an answer are of no use, so
damage is named by offset.
"""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pyarrow as pa

from kipwire.cluster import Batches, Cluster, Leaders, Offsets, Partition
from kipwire.columns import ColumnError
from kipwire.logs.accounting import Damage
from kipwire.logs.offsets import Misplaced
from kipwire.logs.segments import read_part
from kipwire.model.errors import DecodeError
from kipwire.records import RecordBatch, read_committed
from kipwire.records.checks import without_number
from kipwire.tables.errors import SourceError
from kipwire.tables.sources.batch_heads import RowFilter
from kipwire.tables.sources.changing_logs.losses import report_loss
from kipwire.tables.sources.log_columns import Broken, Origin
from kipwire.tables.sources.log_rows import LogRows
from kipwire.tables.sources.options import Chosen

if TYPE_CHECKING:
    from uuid import UUID

T = TypeVar("T")


class TopicRequest(NamedTuple):
    """Topics to read."""

    cluster: Cluster
    chosen: Chosen
    """No topics: all that may be described."""
    row_filter: RowFilter
    committed: bool
    """True to leave out transactions that are open or aborted."""
    fails: bool
    """True if it is an error that records were removed before they were read."""
    schema: pa.Schema
    """Columns of `ALL_LOG_COLUMNS`."""


class Present(NamedTuple):
    """The offsets that a partition has now, within the bounds that were asked for."""

    start: int
    """The first offset of the log."""
    first: int
    """The first offset to read."""
    end: int
    """The offset to read up to, which is excluded."""
    topic_id: UUID | None
    """Another one means that the topic was made anew; None from older brokers."""


class Answer(NamedTuple):
    """Rows of a partition."""

    partition: Partition
    next_offset: int
    """All records before it have been read."""
    rows: list[pa.RecordBatch]


def look(request: TopicRequest) -> dict[Partition, Present]:
    """Find the partitions, and what they have.

    Raises:
        NotFound: there is no such topic or partition, or no leader.
        SourceError: a leader does not give an offset.
        KipwireError: no broker answers.
    """
    with _loop() as run:
        return run(_look(request))


async def _look(request: TopicRequest) -> dict[Partition, Present]:
    bounds = request.row_filter.bounds
    async with request.cluster.anew() as cluster:
        leaders = await _chosen(cluster, request.chosen)
        starts, ends = await cluster.ranges(leaders, committed=request.committed)
        since: Mapping[Partition, int] = {}
        if bounds.first_timestamp is not None:
            since = _whole(await cluster.offsets(leaders, max(bounds.first_timestamp, 0)), leaders)
        for offsets in (starts, ends):
            _whole(offsets, leaders)
    found = {}
    for one in sorted(leaders):
        end = ends[one] if bounds.end_offset is None else min(bounds.end_offset, ends[one])
        # No record before the one that a leader finds for a time is as late; -1 means that none is.
        by_time = since.get(one, 0) if since.get(one, 0) >= 0 else end
        first = max(starts[one], bounds.first_offset or 0, by_time)
        log = leaders.logs.get(one)
        found[one] = Present(starts[one], first, end, None if log is None else log.topic_id)
    return found


async def _chosen(cluster: Cluster, chosen: Chosen) -> Leaders:
    """Find the leaders of chosen partitions, as `Chosen` chooses among folders."""
    topics = chosen.topics or tuple(await cluster.topics())
    leaders = await cluster.leaders(*topics)
    there = [topic for topic in topics if chosen.must_exist or not leaders.has_no(topic)]
    partitions = await cluster.expect(leaders, *there)
    for number in chosen.partitions if chosen.must_exist and topics else ():
        if all(one.number != number for one in partitions):
            await cluster.expect(leaders, Partition(topics[0], number))  # which fails
    for one in partitions:
        if chosen.partitions and one.number not in chosen.partitions:
            del leaders[one]
    return leaders


def _whole(offsets: Offsets, wanted: Iterable[Partition]) -> Offsets:
    for one in wanted:
        if one not in offsets:
            raise SourceError("; ".join(map(str, offsets.problems)) or f"{one}: its leader returned no offset")
    return offsets


def read_topics(request: TopicRequest, ranges: Mapping[Partition, tuple[int, int]]) -> Iterator[Answer]:
    """Yield the records of partitions, in no order among partitions.

    Args:
        request: what to read.
        ranges: of each partition the first offset, and the one to end before.

    Raises:
        NotFound: a partition is gone, or has no leader.
        ReadFailedError: a leader refuses to give records.
        SourceError: a batch is damaged, unless `row_filter.permissive`; or records were removed before they were read.
        KipwireError: no broker answers.
    """
    with _loop() as run:
        cluster = request.cluster.anew()
        run.at_end(cluster.close)
        leaders = run(cluster.leaders(*ranges))
        run(cluster.expect(leaders, *ranges))
        reader = cluster.reader(leaders, committed=request.committed)
        starts = {one: first for one, (first, _) in ranges.items()}
        answers = reader.read(starts, {one: end for one, (_, end) in ranges.items()})
        following = run.later(anext(answers, None))
        while (batches := following.result()) is not None:
            following = run.later(anext(answers, None))
            yield Answer(batches.partition, batches.next_offset, [*_rows(request, batches)])


def _rows(request: TopicRequest, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Make the rows of an answer of a leader."""
    partition = batches.partition
    if batches.lost:
        report_loss(f"{partition}: {batches.lost} before they were read", request.fails)
    row_filter = request.row_filter.between(batches.offset, batches.end)
    rows = LogRows(Origin(*partition, None), row_filter, request.schema)
    try:
        for item in _items(batches, row_filter):
            rows.add(item)
            if rows.are_enough():
                yield from rows.take()
    except (DecodeError, ColumnError) as error:
        raise SourceError(f"{partition}: {error}") from None
    yield from rows.take()


def _items(batches: Batches, row_filter: RowFilter) -> Iterator[RecordBatch | Broken]:
    """Yield the batches of an answer that may have wanted records, and the broken ones."""
    file, broken = io.BytesIO(batches.data), list[Broken]()

    def whole() -> Iterator[RecordBatch]:
        part = read_part(
            file,
            str(batches.partition),
            grows=True,
            check_crcs=row_filter.check_crcs,
            max_decompressed_size=row_filter.max_decompressed_size,
        )
        for item in part:
            if isinstance(item, RecordBatch):
                yield item
            elif isinstance(item, (Damage, Misplaced)):
                text = _reason(batches, item)
                if not row_filter.permissive:
                    raise SourceError(text)
                broken.append(Broken(None, text))

    found = whole() if batches.aborted is None else read_committed(whole(), batches.aborted)
    for batch in found:
        yield from broken
        broken.clear()
        if row_filter.control or not batch.is_control:
            yield batch
    yield from broken


def _reason(batches: Batches, item: Damage | Misplaced) -> str:
    """Name a damage by the offset of its batch."""
    if isinstance(item, Misplaced):
        return f"{batches.partition}: the batch at offset {item.batch.base_offset} {item.reason}"
    offset = next((head.offset for head in batches.heads if head.position == item.position), None)
    where = f"after offset {batches.offset}" if offset is None else f"batch at offset {offset}"
    error = without_number(item.error)
    return f"{batches.partition}: {where}: {error.path}: {error.reason}"


class _Loop:
    """An event loop in a thread of its own, which ends with what is open in it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._last: list[Callable[[], Coroutine[Any, Any, object]]] = []
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="kipwire.tables")
        self._thread.start()

    def later(self, work: Awaitable[T]) -> Future[T]:
        """Begin something; the result of what is returned waits for it."""

        async def done() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(done(), self._loop)

    def __call__(self, work: Awaitable[T]) -> T:
        """Wait for something."""
        return self.later(work).result()

    def at_end(self, last: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Do something when the loop ends."""
        self._last.append(last)

    def close(self) -> None:
        """End the loop and its thread."""
        if threading.current_thread() is self._thread:  # a garbage collection there has ended a reader: no thread waits
            self._loop.stop()
            return
        self(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for last in self._last:
            await last()
        await self._loop.shutdown_asyncgens()


@contextmanager
def _loop() -> Iterator[_Loop]:
    loop = _Loop()
    try:
        yield loop
    finally:
        loop.close()
