"""A topic as a table: the rows of log folders, captures and brokers as one stream of Arrow batches.

A `Query` is what a user asked for, checked; `Query.batches` reads it. pandas, DuckDB and anything that takes Arrow read
what `scan` returns. `lazy_frames` gives polars a query to narrow, and `writing` writes what a query reads.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

import pyarrow as pa

from kipwire.records import Bounds
from kipwire.tables.errors import FAILFAST, PERMISSIVE, JobError, Mode, SourceError
from kipwire.tables.files.roots import Roots, each_root
from kipwire.tables.files.stores import Storage, storage_of
from kipwire.tables.messages.content import Content, message_content, topic_content
from kipwire.tables.messages.decoding import check_mode
from kipwire.tables.messages.selection import KAFKA
from kipwire.tables.processes import PIECE, Read, read_pieces
from kipwire.tables.sources import logs
from kipwire.tables.sources.batch_heads import RowFilter
from kipwire.tables.sources.batch_rows import BATCH_SCHEMA
from kipwire.tables.sources.captures import FRAMES_SCHEMA
from kipwire.tables.sources.decoding import (
    Decoding,
    check_arguments,
    columns_of,
    topics_of,
    with_content,
)
from kipwire.tables.sources.formats import Plan, frames_plan
from kipwire.tables.sources.log_columns import ALL_LOG_COLUMNS
from kipwire.tables.sources.options import Chosen, path_options
from kipwire.tables.sources.segments import Segment
from kipwire.tools.text import did_you_mean
from kipwire.tools.times import EPOCH

if TYPE_CHECKING:
    from kipwire.cluster import Cluster
    from kipwire.tables.sources.topics import TopicRequest

Level = Literal["records", "batches", "frames"]
LEVELS: dict[str, pa.Schema] = {"records": ALL_LOG_COLUMNS, "batches": BATCH_SCHEMA, "frames": FRAMES_SCHEMA}
"""Kinds of rows, with all their columns."""
_SELDOM = {"header_keys", "segment", "batch_position", "error", "base_timestamp_ms", "max_timestamp_ms"}
"""Columns that are there only if they are named; `error` also where errors are rows."""


class Wanted(TypedDict, total=False):
    """The arguments of `scan` and `scan_polars` that have a name: rows to read, and the way to read them."""

    topics: str | Iterable[str]
    """Only these; by default all."""
    partitions: Iterable[int]
    """Only those with these numbers."""
    level: Level
    """A row for each record (the default), each batch, or each frame of captures."""
    columns: Iterable[str]
    """Names of columns, in their order; others are not made."""
    message: str
    """Decode values as this message, such as `OffsetCommitValue`, to the column `message`."""
    version: int
    """Version of that message, where the bytes do not begin with it."""
    fields: Iterable[str]
    """Paths of its fields, such as `topics.name`; by default all."""
    decode: Literal["coordinator", "metadata"]
    """Decode an internal topic to the column `record`: `__consumer_offsets` or another coordinator's, or the log of
    metadata."""
    types: Iterable[str]
    """Types of its records, such as `OffsetCommit`; by default all."""
    package: str
    """The package of the messages; by default `kafka_messages`."""
    from_offset: int
    to_offset: int
    """Excluded."""
    since: datetime | int
    """A time, in UTC if it has no zone, or milliseconds since 1970."""
    until: datetime | int
    """Excluded."""
    from_log_start: bool
    """Without records below the log starts that brokers have noted next to their logs; a cluster has none of them."""
    committed: bool
    """Without open and aborted transactions."""
    control: bool
    """With the control records of transactions, whose decoded content is null."""
    mode: str
    """`FAILFAST` (the default), or `PERMISSIVE`: what is damaged is a row with `error`, and reading goes on."""
    fail_on_data_loss: bool
    """False to go on where records were removed before they were read."""
    storage: Mapping[str, str]
    """Options of the store, for URLs, such as `key`."""
    cores: int
    """Processes that may read files at once, if it takes seconds; by default the number of cores. 1 is this one."""


def scan(source: Roots | Cluster, **wanted: Unpack[Wanted]) -> pa.RecordBatchReader:
    """Read topics, or captures, as rows: in one pass, with some MiB in memory.

    Args:
        source: paths of log folders, partitions, segments or captures, or their URLs; or a cluster, which is read up
            to its present ends.
        wanted: what to read of it; see `Wanted`.

    Returns:
        The rows, in the order of offsets in each partition. Damage is raised as it is reached. Processes that read
        for them end with the rows, or when the reader is dropped: its `close` alone leaves them waiting.

    Raises:
        KipwireError: an argument is wrong, or something is not there.
    """
    return query_of(source, **wanted).reader()


@dataclass(frozen=True)
class Query:
    """Rows to read."""

    source: tuple[str, ...] | Cluster
    level: str
    chosen: Chosen
    row_filter: RowFilter
    schema: pa.Schema
    """The columns, in their order."""
    content: Content | None
    fails: bool
    storage: Storage
    from_log_start: bool = False
    cores: int | None = None

    @property
    def roots(self) -> tuple[str, ...]:
        """The paths; none of a cluster."""
        return self.source if isinstance(self.source, tuple) else ()

    def narrowed(self, columns: Iterable[str], bounds: Bounds, topics: Iterable[str], numbers: Iterable[int]) -> Query:
        """Return the query with fewer columns and rows; empty topics or numbers narrow nothing."""
        ours, theirs = self.row_filter, self.row_filter.bounds
        pairs = list(zip(theirs, bounds, strict=True))
        first, end, since, until = (
            pick((one for one in pair if one is not None), default=None)
            for pick, pair in zip((max, min, max, min), pairs, strict=True)
        )
        chosen = self.chosen._replace(
            topics=tuple(topics) or self.chosen.topics,
            partitions=tuple(numbers) or self.chosen.partitions,
            must_exist=self.chosen.must_exist and not topics and not numbers,
        )
        return replace(
            self,
            schema=pa.schema([self.schema.field(name) for name in columns]),
            chosen=chosen,
            row_filter=ours._replace(bounds=Bounds(first, end, since, until)),
        )

    def reader(self) -> pa.RecordBatchReader:
        """Find what there is, and read it.

        Raises:
            KipwireError: something is not there.
        """
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Find what there is, now, and read it.

        Raises:
            KipwireError: something is not there.
        """
        if not self.roots:
            from kipwire.tables.sources.topics import look, read_topics

            of_topics = self.topic_request()
            ranges = {one: (there.first, there.end) for one, there in look(of_topics).items()}
            return (self.finish(batch) for answer in read_topics(of_topics, ranges) for batch in answer.rows)
        if self.level == "frames":
            plan = frames_plan({**path_options(self.roots), **_storage_options(self.storage)})
        else:
            request = self.log_request()
            segments = request.check_segments()
            check_copies(segments)
            work = partial(logs.plan_segments, request, segments)
            plan = Plan(work, partial(logs.read, request), logs.files_of_work, "segment")
        pieces = [*plan.work()]
        sizes = [sum(size for _, size in plan.files(piece)) for piece in pieces]
        return read_pieces(self.finishing(plan.read), pieces, sizes, self.cores)

    def finishing(self, read: Read) -> Read:
        """Return a function that reads pieces and finishes their rows, also in other processes."""
        return partial(_finished, self, read)

    @property
    def decoding(self) -> Decoding | None:
        """The decoding of its records; None if their content is bytes."""
        if self.content is None:
            return None
        return Decoding(self.content, self.schema, not self.row_filter.permissive, self.row_filter.control)

    @property
    def read_columns(self) -> pa.Schema:
        """The columns that a source makes: those that are wanted, and those that decoding needs."""
        return self.schema if self.decoding is None else self.decoding.read

    def log_request(self) -> logs.Request:
        """Return the query as a request of `kafka_log`."""
        return logs.Request(
            self.roots,
            self.storage,
            self.chosen,
            self.row_filter,
            PIECE,
            self.fails,
            None,
            self.level,
            self.read_columns,
            self.from_log_start,
        )

    def topic_request(self) -> TopicRequest:
        """Return the query as a request of topics."""
        from kipwire.tables.sources.topics import TopicRequest

        assert not isinstance(self.source, tuple)
        committed = self.row_filter.committed
        return TopicRequest(self.source, self.chosen, self.row_filter, committed, self.fails, self.read_columns)

    def finish(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Decode what a source has read, and put the columns in order.

        Raises:
            BrokenMessageError: a record has other content, unless errors are rows.
        """
        if self.decoding is not None:
            return self.decoding.finish(batch)
        return batch.select(self.schema.names) if batch.schema.names != self.schema.names else batch


def _finished(query: Query, read: Read, piece: Any) -> Iterator[pa.RecordBatch]:
    return map(query.finish, read(piece))


def query_of(
    source: Roots | Cluster,
    *,
    topics: str | Iterable[str] = (),
    partitions: Iterable[int] = (),
    level: Level = "records",
    columns: Iterable[str] | None = None,
    message: str | None = None,
    version: int | None = None,
    fields: Iterable[str] | None = None,
    decode: Literal["coordinator", "metadata"] | None = None,
    types: Iterable[str] = (),
    package: str = KAFKA,
    from_offset: int | None = None,
    to_offset: int | None = None,
    since: datetime | int | None = None,
    until: datetime | int | None = None,
    from_log_start: bool = False,
    committed: bool = False,
    control: bool = False,
    mode: str = FAILFAST,
    fail_on_data_loss: bool = True,
    storage: Mapping[str, str] | None = None,
    cores: int | None = None,
) -> Query:
    """Check arguments, which `Wanted` explains, and return them as a query.

    Raises:
        KipwireError: one is wrong; the text says what would be right.
    """
    if level not in LEVELS:
        raise JobError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
    is_cluster = not isinstance(source, (str, os.PathLike, Sequence))
    chosen_topics, checked = _list("topics", topics), check_mode(mode)
    bounds = Bounds(_offset("from_offset", from_offset), _offset("to_offset", to_offset), _time(since), _time(until))
    chosen, is_bounded = Chosen(chosen_topics, tuple(partitions)), bounds != Bounds()
    decodes, of_logs = message is not None or decode is not None, control or committed or from_log_start
    for is_wrong, text in (
        (decodes and level != "records", 'message and decode need level="records"'),
        (is_cluster and level != "records", f"level={level!r} needs paths, not a cluster"),
        (
            level == "frames" and (chosen != Chosen() or is_bounded or of_logs or checked == PERMISSIVE),
            "topics, partitions, bounds, control, committed, from_log_start and PERMISSIVE need logs, not captures",
        ),
        (cores is not None and cores < 1, f"cores is {cores}; it must be a number of processes, 1 or more"),
    ):
        if is_wrong:
            raise JobError(text)
    some_types, content = _list("types", types), None
    check_arguments(message, version, fields, decode, some_types)
    if decode is not None:
        content = topic_content(decode, chosen_topics, some_types, package)
    elif message is not None:
        content = message_content(message, version, fields, package, chosen_topics)
    chosen = topics_of(chosen, content)
    roots = each_root(source) if isinstance(source, (str, os.PathLike, Sequence)) else source
    if not roots:
        raise SourceError("there is no path to read; give a folder of logs, a partition, a segment or a capture")
    return Query(
        source=roots,
        level=level,
        chosen=chosen,
        row_filter=RowFilter(bounds, control=control, permissive=checked == PERMISSIVE, committed=committed),
        schema=_schema(level, columns, content, checked),
        content=content,
        fails=fail_on_data_loss,
        storage=storage_of(storage or {}),
        from_log_start=from_log_start,
        cores=cores,
    )


def _schema(level: str, columns: Iterable[str] | None, content: Content | None, mode: Mode) -> pa.Schema:
    """Return the columns that are asked for, or the default ones."""
    whole = with_content(LEVELS[level], content)
    if columns is None and content is not None:
        return columns_of(content, mode == PERMISSIVE)
    if columns is None:
        names = [name for name in whole.names if name not in _SELDOM]
        return pa.schema([whole.field(name) for name in (*names, *(["error"] if mode == PERMISSIVE else []))])
    names = list(_list("columns", columns))
    if not names:
        raise JobError(f"columns is empty; name some of {', '.join(whole.names)}")
    for name in names:
        if name not in whole.names:
            others = ", ".join(whole.names)
            hint = did_you_mean(name, whole.names)
            decoded = "; it is made by message or decode" if name in ("message", "record") else ""
            raise JobError(f"there is no column {name!r}{decoded or hint or f'; the columns are {others}'}")
        if names.count(name) > 1:
            raise JobError(f"the column {name!r} is named twice")
    return pa.schema([whole.field(name) for name in names])


def check_copies(segments: Iterable[Segment]) -> None:
    """Check that no partition is in two folders, since its rows would be there twice.

    Raises:
        SourceError: one is.
    """
    folders: dict[tuple[str, int], set[str]] = defaultdict(set)
    for segment in segments:
        folders[segment.topic, segment.partition].add(segment.folder)
    for (topic, number), some in folders.items():
        if len(some) > 1:
            first, second, *_ = sorted(some)
            raise SourceError(
                f"{topic}/{number} is in {first} and in {second}, so its rows would be there twice; give one of them"
            )


def _list(name: str, given: str | Iterable[str]) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else tuple(given)
    for one in found:
        if not isinstance(one, str) or not one:
            raise JobError(f"{name} must be texts, not {one!r}")
    return found


def _offset(name: str, number: int | None) -> int | None:
    if number is not None and number < 0:
        raise JobError(f"{name} is {number}; it must be an offset, 0 or more")
    return number


def _time(moment: datetime | int | None) -> int | None:
    if not isinstance(moment, datetime):
        return moment
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return -((EPOCH - moment) // timedelta(milliseconds=1))  # rounded up, since timestamps are whole milliseconds


def _storage_options(storage: Storage) -> dict[str, str]:
    return {f"storage.{name}": text for name, text in storage.options}
