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

from kipwire.aio import AuthenticationFailure, Failure, TlsFailure
from kipwire.cluster import Batches, Cluster, Leaders, Offsets, Partition
from kipwire.columns import ColumnError
from kipwire.logs.accounting import Damage
from kipwire.logs.offsets import Misplaced
from kipwire.logs.segments import read_part
from kipwire.model.errors import DecodeError
from kipwire.records import RecordBatch, read_committed
from kipwire.records.checks import without_number
from kipwire.tables.errors import SourceError
from kipwire.tables.sources.batch_heads import RowFilter, heads_of_bytes
from kipwire.tables.sources.batch_rows import head_rows
from kipwire.tables.sources.changing_logs.losses import report_loss
from kipwire.tables.sources.log_columns import Broken, Origin
from kipwire.tables.sources.log_rows import LogRows
from kipwire.tables.sources.options import Chosen
from kipwire.tools.text import did_you_mean

if TYPE_CHECKING:
    from uuid import UUID

T = TypeVar("T")
_SHOWN = 5
"""Partitions that an error lists."""


EARLIEST, LATEST = -2, -1
"""Offsets for the first one of a log, and for its end, as Spark's own source for Kafka has them in JSON."""


class Positions(NamedTuple):
    """An offset of each partition, which may be `EARLIEST` or `LATEST`."""

    option: str
    """Its name in errors."""
    default: int
    of: Mapping[Partition, int] = {}
    """Offsets of partitions that have another one."""

    def at(self, partition: Partition, start: int, end: int) -> int:
        """Return the offset of a partition whose log has a start and an end."""
        offset = self.of.get(partition, self.default)
        return {EARLIEST: start, LATEST: end}.get(offset, offset)


BEGIN, END = Positions("startingOffsets", EARLIEST), Positions("endingOffsets", LATEST)


class TopicRequest(NamedTuple):
    """Topics to read; it can be pickled."""

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
    starting: Positions = BEGIN
    ending: Positions = END
    level: str = "records"
    """`batches` for rows of heads, with columns of `BATCH_SCHEMA`: brokers send records all the same."""


class Present(NamedTuple):
    """The offsets that a partition has now, within the bounds that were asked for."""

    start: int
    """The first offset of the log."""
    first: int
    """The first offset to read."""
    end: int
    """The offset to read up to, which is excluded."""
    log_end: int
    """The offset that the log ends before for readers, transactions that are open excluded if they are not wanted."""
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
    with running_loop() as run:
        cluster = request.cluster.anew()
        run.at_end(cluster.close)
        return run(find_present(cluster, request))


async def find_present(cluster: Cluster, request: TopicRequest) -> dict[Partition, Present]:
    """Do as `look`, by a cluster of this event loop."""
    bounds = request.row_filter.bounds
    leaders = await _chosen(cluster, request.chosen)
    for positions in (request.starting, request.ending):
        _check_names(positions, leaders)
    starts, ends = await cluster.ranges(leaders, committed=request.committed)
    since: Mapping[Partition, int] = {}
    if bounds.first_timestamp is not None:
        since = _whole(await cluster.offsets(leaders, max(bounds.first_timestamp, 0)), leaders)
    for offsets in (starts, ends):
        _whole(offsets, leaders)
    found = {}
    for one in sorted(leaders):
        start, log_end = starts[one], ends[one]
        begin = _within(request, request.starting, one, start, log_end)
        end = _within(request, request.ending, one, start, log_end)
        if bounds.end_offset is not None:
            end = min(bounds.end_offset, end)
        # No record before the one that a leader finds for a time is as late; -1 means that none is.
        by_time = since.get(one, 0) if since.get(one, 0) >= 0 else end
        first = max(begin, bounds.first_offset or 0, by_time)
        log = leaders.logs.get(one)
        found[one] = Present(start, first, end, log_end, None if log is None else log.topic_id)
    return found


def _check_names(positions: Positions, leaders: Leaders) -> None:
    for one in positions.of:
        if one not in leaders:
            there = [str(other) for other in sorted(leaders)]
            hint = did_you_mean(str(one), there) or f"; they are {', '.join(there[:_SHOWN])}"
            raise SourceError(f"option {positions.option} has {one}, which is not among the partitions to read{hint}")


def _within(request: TopicRequest, positions: Positions, one: Partition, start: int, end: int) -> int:
    """Return the offset of a partition, which its log must have."""
    offset = positions.at(one, start, end)
    if offset > end:
        raise SourceError(f"option {positions.option} has offset {offset} of {one}, which ends at offset {end}")
    if offset < start and positions.option == BEGIN.option:
        report_loss(f"{one}: offsets {offset} to {start - 1} were removed before they were read", request.fails)
    return max(offset, start)


def continued(
    present: Mapping[Partition, Present],
    reached: Mapping[str, int],
    ids: Mapping[str, str],
    fails: bool,
) -> dict[Partition, int]:
    """Find where to go on in partitions that were read before, and report what was lost meanwhile.

    Args:
        present: what there is now.
        reached: the next offsets, by the texts of partitions. What is not in there begins at `Present.first`.
        ids: the ids of their topics; each must be the one of now.
        fails: True if a loss is an error.
    """
    found = {}
    for partition, there in present.items():
        first, before = there.first, reached.get(str(partition))
        if before is not None and is_another(there, ids.get(partition.topic)):
            first = there.start
        elif before is not None:
            first = before
            if there.log_end < before:
                ended = f"{partition}: ends at offset {there.log_end}, before offset {before}, up to which it was read"
                report_loss(f"{ended}: it was cut off", fails)
                first = there.log_end  # what comes next has these offsets again
            if before < there.start:
                lost = f"{partition}: offsets {before} to {there.start - 1} were removed before they were read"
                report_loss(lost, fails)
                first = there.start
        found[partition] = first
    return found


def is_another(there: Present, known: str | None) -> bool:
    """Return True if a topic is not the one with a known id: it was made anew, or is of another cluster."""
    return there.topic_id is not None and known not in (None, str(there.topic_id))


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


def read_topics(
    request: TopicRequest, ranges: Mapping[Partition, tuple[int, int]], ids: Mapping[str, UUID | None] | None = None
) -> Iterator[Answer]:
    """Yield the records of partitions, in no order among partitions.

    Args:
        request: what to read.
        ranges: of each partition the first offset, and the one to end before.
        ids: of topics, as they were when these offsets were found.

    Raises:
        NotFound: a partition is gone, or has no leader.
        ReadFailedError: a leader refuses to give records.
        SourceError: a batch is damaged, unless `row_filter.permissive`; records were removed before they were read, or
            the topic was made anew.
        KipwireError: no broker answers.
    """
    with running_loop() as run:
        cluster = request.cluster.anew()
        run.at_end(cluster.close)
        leaders = run(patiently(cluster, lambda: cluster.leaders(*ranges)))
        run(cluster.expect(leaders, *ranges))
        for one, log in leaders.logs.items():
            if (ids or {}).get(one.topic) not in (None, log.topic_id):
                raise SourceError(f"{one.topic}: was made anew after its offsets were found; read it again")
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
    if request.level == "batches":
        for heads in heads_of_bytes(batches.data):
            chosen = heads.of(heads.may_have(row_filter))
            if len(chosen.position):
                yield head_rows(Origin(*partition, None), chosen, request.schema)
        return
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


async def patiently(cluster: Cluster, ask: Callable[[], Awaitable[T]]) -> T:
    """Ask again as long as no broker can be reached, which may pass, since one could be before.

    Raises:
        Failure: none can, also not after some time; or none believes who asks.
    """
    for pause in cluster.patience.pauses():
        try:
            return await ask()
        except (AuthenticationFailure, TlsFailure):
            raise
        except Failure:
            await asyncio.sleep(pause)
    return await ask()


class Loop:
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
def running_loop() -> Iterator[Loop]:
    """Run an event loop in a thread while the block runs."""
    loop = Loop()
    try:
        yield loop
    finally:
        loop.close()
