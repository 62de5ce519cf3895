"""What the options of `kafka_log` ask for, planned as pieces of work and read as Arrow batches, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa

from kipjobs.errors import FAILFAST, MODES, PERMISSIVE, SourceError
from kipjobs.files.stores import Storage
from kipjobs.sources import batch_rows, log_rows
from kipjobs.sources.batch_heads import Wanted
from kipjobs.sources.changing_logs.reading import Level, read_range
from kipjobs.sources.log_columns import ALL_LOG_COLUMNS, LOG_SCHEMA
from kipjobs.sources.options import CHOSEN_OPTIONS, Chosen, Options, parse_options
from kipjobs.sources.segments import Listing, Segment, list_segments
from kipjobs.sources.splits import DEFAULT_SPLIT_BYTES, Split, plan_splits
from kipwire.records import MAX_DECOMPRESSED_SIZE, Bounds

OPTIONS = (
    *CHOSEN_OPTIONS,
    "level",
    "columns",
    "startingOffset",
    "endingOffset",
    "startingTimestamp",
    "endingTimestamp",
    "includeControl",
    "checkCrc",
    "maxDecompressedSize",
    "includeTail",
    "splitBytes",
    "mode",
    "failOnDataLoss",
    "maxBytesPerTrigger",
)

LEVELS = {
    "records": Level(ALL_LOG_COLUMNS, LOG_SCHEMA, log_rows.read_rows, "offset"),
    "batches": Level(batch_rows.BATCH_SCHEMA, batch_rows.BATCH_SCHEMA, batch_rows.read_batch_rows, "last_offset"),
}


def schema_of(options: Options) -> pa.Schema:
    """The columns that the option names, in its order; the default ones of the level if it is not given.

    Raises:
        SourceError: there is no such level or column.
    """
    level = LEVELS[options.one_of("level", tuple(LEVELS), "records")]
    whole, names = level.schema, options.texts("columns")
    if options.text("columns") is not None and not names:
        raise SourceError(f"kafka_log: option columns is empty; name some of {', '.join(whole.names)}")
    for name in names:
        if name not in whole.names:
            raise SourceError(
                f"kafka_log: option columns: unknown column {name!r}; the columns are {', '.join(whole.names)}"
            )
        if names.count(name) > 1:
            raise SourceError(f"kafka_log: option columns: {name!r} is duplicated; name it once")
    return pa.schema([whole.field(name) for name in names]) if names else level.default


class Request(NamedTuple):
    """What options of `kafka_log` ask for."""

    roots: tuple[str, ...]
    storage: Storage
    chosen: Chosen
    wanted: Wanted
    split_bytes: int
    fail_on_data_loss: bool
    max_bytes: int | None
    """Of a batch of a stream."""
    level: str
    schema: pa.Schema
    """The columns to make."""

    def listing(self) -> Listing:
        return list_segments(self.roots, self.chosen.topics, self.chosen.partitions, self.storage)

    def segments(self) -> list[Segment]:
        return self.listing().segments

    def check_segments(self) -> list[Segment]:
        """The segments; what is named must be there.

        Raises:
            SourceError: it is not.
        """
        listing = self.listing()
        self.chosen.check(self.roots, listing.there)
        return listing.segments


def request_of(given: Mapping[str, str], columns: Callable[[pa.Schema], pa.Schema] | None = None) -> Request:
    """What options ask for.

    Args:
        given: the options.
        columns: chooses the columns among all of the level; None: as `schema_of`.

    Raises:
        SourceError: an option is not valid.
    """
    options = Options("kafka_log", given, OPTIONS)
    level = options.one_of("level", tuple(LEVELS), "records")
    wanted = Wanted(
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
    )
    return Request(
        roots=options.roots(),
        storage=options.storage(),
        chosen=parse_options(options),
        wanted=wanted,
        split_bytes=options.number("splitBytes", 1) or DEFAULT_SPLIT_BYTES,
        fail_on_data_loss=options.truth("failOnDataLoss", default=True),
        max_bytes=options.number("maxBytesPerTrigger", 1),
        level=level,
        schema=schema_of(options) if columns is None else columns(LEVELS[level].schema),
    )


Work = tuple[Split, Wanted]


def plan(request: Request) -> list[list[Work]]:
    """What is there at present."""
    work = [
        (split, request.wanted)
        for _, replica in groupby(request.check_segments(), lambda segment: segment.folder)
        for split in plan_splits(list(replica), request.wanted, request.split_bytes)
    ]
    return group_work(work, request.split_bytes)


def group_work(work: list[Work], split_bytes: int) -> list[list[Work]]:
    """Pieces of about `split_bytes` bytes: one task for many small segments costs less than a task for each."""
    pieces: list[list[Work]] = []
    some: list[Work] = []
    size = 0
    for split, wanted in work:
        if some and size + split.end - split.start > split_bytes:
            pieces.append(some)
            some, size = [], 0
        some.append((split, wanted))
        size += split.end - split.start
    return [*pieces, some] if some else pieces


def read(request: Request, work: list[Work]) -> Iterator[pa.RecordBatch]:
    """The rows of a piece of work."""
    for split, wanted in work:
        yield from read_range(split, wanted, LEVELS[request.level], request.schema, request.fail_on_data_loss)


def files_of_work(work: list[Work]) -> Iterator[tuple[str, int]]:
    """The segments of a piece of work, and how many bytes of each are in it."""
    for split, _ in work:
        yield split.segment.path, split.end - split.start
