"""Plan the work of `kafka_log` from its options, and read it as Arrow batches, without Spark.

This is `kafka_log` without Spark: `request_of` checks the options, `plan` lists what is there and cuts it, `read` gives
the rows of a piece. Both engines call these three, so an option means the same on each. Everything in a `Request` and
in a piece of work is plain data, since Spark sends it to other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa

from kipwire.records import MAX_DECOMPRESSED_SIZE, Bounds
from kipwire.tables.errors import FAILFAST, MODES, PERMISSIVE
from kipwire.tables.files.stores import Storage
from kipwire.tables.sources import batch_rows, log_rows
from kipwire.tables.sources.batch_heads import RowFilter
from kipwire.tables.sources.changing_logs.reading import Granularity, read_range
from kipwire.tables.sources.decoding import (
    CONTENT_OPTIONS,
    Decoding,
    columns_of,
    content_of,
    decoding_of,
    topics_of,
    with_content,
)
from kipwire.tables.sources.log_columns import ALL_LOG_COLUMNS, DEFAULT_LOG_SCHEMA, LOG_SCHEMA
from kipwire.tables.sources.options import CHOSEN_OPTIONS, Chosen, Options, parse_options
from kipwire.tables.sources.segments import Listing, Segment, list_segments
from kipwire.tables.sources.splits import DEFAULT_SPLIT_BYTES, Split, plan_splits
from kipwire.tables.sources.visibility import (
    ISOLATION_LEVELS,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    LogStarts,
    stable_end,
)

OPTIONS = (
    *CHOSEN_OPTIONS,
    "level",
    "columns",
    *CONTENT_OPTIONS,
    "startingOffset",
    "endingOffset",
    "startingTimestamp",
    "endingTimestamp",
    "fromLogStart",
    "isolationLevel",
    "includeControl",
    "checkCrc",
    "maxDecompressedSize",
    "includeTail",
    "splitBytes",
    "mode",
    "failOnDataLoss",
    "maxBytesPerTrigger",
)

GRANULARITIES = {
    "records": Granularity(ALL_LOG_COLUMNS, DEFAULT_LOG_SCHEMA, LOG_SCHEMA, log_rows.read_rows, "offset"),
    "batches": Granularity(
        batch_rows.BATCH_SCHEMA,
        batch_rows.BATCH_SCHEMA,
        batch_rows.BATCH_SCHEMA,
        batch_rows.read_batch_rows,
        "last_offset",
    ),
}


def schema_of(options: Options) -> pa.Schema:
    """Return the columns that the option names, in its order; if it is not given, the default ones of the options.

    Raises:
        SourceError: there is no such granularity or column.
    """
    granularity, content = GRANULARITIES[options.one_of("level", tuple(GRANULARITIES), "records")], content_of(options)
    if (named := named_columns(options, with_content(granularity.schema, content))) is not None:
        return named
    if content is not None:
        return columns_of(content, _damage_is_rows(options))
    return granularity.with_damage if _damage_is_rows(options) else granularity.default


def named_columns(options: Options, whole: pa.Schema) -> pa.Schema | None:
    """Return the columns that the option names, in its order; None if it is not given.

    Raises:
        SourceError: there is no such column.
    """
    names = options.texts("columns")
    if options.text("columns") is not None and not names:
        raise options.error(f"option columns is empty; name some of {', '.join(whole.names)}")
    for name in names:
        if name not in whole.names:
            others = f"the columns are {', '.join(whole.names)}"
            hint = "it is made by message or decode" if name in ("message", "record") else others
            raise options.error(f"option columns: unknown column {name!r}; {hint}")
        if names.count(name) > 1:
            raise options.error(f"option columns: {name!r} is duplicated; name it once")
    return pa.schema([whole.field(name) for name in names]) if names else None


def _damage_is_rows(options: Options) -> bool:
    return options.one_of("mode", MODES, FAILFAST) == PERMISSIVE or options.truth("includeTail", default=False)


class Request(NamedTuple):
    """Checked options of `kafka_log`."""

    roots: tuple[str, ...]
    storage: Storage
    chosen: Chosen
    row_filter: RowFilter
    split_bytes: int
    fail_on_data_loss: bool
    max_bytes: int | None
    """Limit of a batch of a stream."""
    granularity: str
    schema: pa.Schema
    """The columns to make."""
    from_log_start: bool = False
    """True if records below the log starts of brokers are not wanted."""
    decoding: Decoding | None = None
    """Decodes the records; None if their content is bytes."""

    def listing(self) -> Listing:
        return list_segments(self.roots, self.chosen.topics, self.chosen.partitions, self.storage)

    def segments(self) -> list[Segment]:
        return self.listing().segments

    def check_segments(self) -> list[Segment]:
        """Find the segments, and check that there are some of each named topic and partition.

        Raises:
            SourceError: a named topic or partition is missing.
        """
        listing = self.listing()
        self.chosen.check(self.roots, listing.there)
        return listing.segments


def request_of(given: Mapping[str, str], columns: Callable[[pa.Schema], pa.Schema] | None = None) -> Request:
    """Check options, and return them as a request.

    Args:
        given: the options.
        columns: chooses columns from all columns of the granularity; None: as `schema_of`.

    Raises:
        SourceError: an option is not valid.
    """
    options = Options("kafka_log", given, OPTIONS)
    content = content_of(options)
    granularity = options.one_of("level", tuple(GRANULARITIES), "records")
    row_filter = row_filter_of(options)
    whole = with_content(GRANULARITIES[granularity].schema, content)
    schema = schema_of(options) if columns is None else columns(whole)
    return Request(
        roots=options.roots(),
        storage=options.storage(),
        chosen=topics_of(parse_options(options), content),
        row_filter=row_filter,
        split_bytes=options.number("splitBytes", 1) or DEFAULT_SPLIT_BYTES,
        fail_on_data_loss=options.truth("failOnDataLoss", default=True),
        max_bytes=options.number("maxBytesPerTrigger", 1),
        granularity=granularity,
        schema=schema,
        from_log_start=options.truth("fromLogStart", default=False),
        decoding=decoding_of(options, content, schema, row_filter.control),
    )


def row_filter_of(options: Options) -> RowFilter:
    """Return the conditions for records that options give.

    Raises:
        SourceError: one of them is not valid.
    """
    return RowFilter(
        bounds=Bounds(
            first_offset=options.number("startingOffset", 0),
            end_offset=options.number("endingOffset", 0),
            first_timestamp=options.number("startingTimestamp"),
            end_timestamp=options.number("endingTimestamp"),
        ),
        control=options.truth("includeControl", default=False),
        check_crcs=options.truth("checkCrc", default=True),
        permissive=options.one_of("mode", MODES, FAILFAST) == PERMISSIVE,
        tail=options.truth("includeTail", default=False),
        max_decompressed_size=options.number("maxDecompressedSize", 1) or MAX_DECOMPRESSED_SIZE,
        committed=options.one_of("isolationLevel", ISOLATION_LEVELS, READ_UNCOMMITTED) == READ_COMMITTED,
    )


Work = tuple[Split, RowFilter]


def plan(request: Request) -> list[list[Work]]:
    """List the present segments, and group their ranges into pieces of work."""
    return plan_segments(request, request.check_segments())


def plan_segments(request: Request, segments: Iterable[Segment]) -> list[list[Work]]:
    """Group the ranges of listed segments into pieces of work."""
    starts = LogStarts(request.row_filter.permissive) if request.from_log_start else None
    work: list[Work] = []
    for _, found in groupby(segments, lambda segment: segment.folder):
        replica = list(found)
        row_filter = _shown(request.row_filter, replica[0], starts)
        work += [(split, row_filter) for split in plan_splits(replica, row_filter, request.split_bytes)]
    return group_work(work, request.split_bytes)


def _shown(row_filter: RowFilter, segment: Segment, starts: LogStarts | None) -> RowFilter:
    """Restrict a filter to what a consumer is shown of the log of a segment: its offsets from a start to an end."""
    first = None if starts is None else starts.of(segment)
    end = stable_end(segment, row_filter.permissive) if row_filter.committed else None
    return row_filter.between(first or 0, end) if first or end is not None else row_filter


def group_work(work: list[Work], split_bytes: int) -> list[list[Work]]:
    """Group work into pieces of about `split_bytes` bytes: a task for each small segment would cost more."""
    pieces: list[list[Work]] = []
    some: list[Work] = []
    size = 0
    for split, row_filter in work:
        if some and size + split.end - split.start > split_bytes:
            pieces.append(some)
            some, size = [], 0
        some.append((split, row_filter))
        size += split.end - split.start
    return [*pieces, some] if some else pieces


def read(request: Request, work: list[Work]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece of work."""
    granularity, decoding = GRANULARITIES[request.granularity], request.decoding
    schema = request.schema if decoding is None else decoding.read
    for split, row_filter in work:
        rows = read_range(split, row_filter, granularity, schema, request.fail_on_data_loss)
        yield from rows if decoding is None else map(decoding.finish, rows)


def files_of_work(work: list[Work]) -> Iterator[tuple[str, int]]:
    """Yield the segments of a piece of work, each with the number of its bytes in the piece."""
    for split, _ in work:
        yield split.segment.path, split.end - split.start
