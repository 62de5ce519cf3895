"""`kafka_log`: the records or the batches of brokers' log folders as a Spark data source, as a batch or as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kipspark.arrow import struct_type
from kipspark.errors import FAILFAST, MODES, PERMISSIVE, SourceError
from kipspark.files.access import check_are_here
from kipspark.files.stores import Storage
from kipspark.sources import batch_rows, log_rows
from kipspark.sources.base import Reader, rows, tasks
from kipspark.sources.batch_heads import Wanted
from kipspark.sources.changing_logs.checkpoints import Reached, document, reached_by
from kipspark.sources.changing_logs.follower import Follower
from kipspark.sources.changing_logs.reading import Level, read_range
from kipspark.sources.log_columns import ALL_LOG_COLUMNS, LOG_SCHEMA
from kipspark.sources.options import CHOSEN_OPTIONS, Chosen, Options, chosen_of
from kipspark.sources.segments import Listing, Segment, list_segments
from kipspark.sources.splits import DEFAULT_SPLIT_BYTES, Split, planned
from kipwire.records import MAX_DECOMPRESSED_SIZE, Bounds

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit

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


class KafkaLogSource(DataSource):
    """`spark.read.format("kafka_log").load(PATH)`, and `readStream` likewise; docs/spark-sources.md has the options."""

    @classmethod
    def name(cls) -> str:
        """The name to pass to `format`."""
        return "kafka_log"

    def schema(self) -> StructType:
        """The columns of the level, or those of them that are chosen."""
        options = Options("kafka_log", self.options, OPTIONS)
        return struct_type(_chosen(_level(options), options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of what is there at present."""
        request = _request(self.options, schema)
        return Reader(partial(_plan, request), partial(_read, request))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's own name
        """A reader of what is there at present, and then of what is added."""
        return _LogStreamReader(_request(self.options, schema))


_LEVELS = {
    "records": Level(ALL_LOG_COLUMNS, LOG_SCHEMA, log_rows.read_rows, "offset"),
    "batches": Level(batch_rows.BATCH_SCHEMA, batch_rows.BATCH_SCHEMA, batch_rows.read_batch_rows, "last_offset"),
}


def _level(options: Options) -> Level:
    return _LEVELS[options.one_of("level", tuple(_LEVELS), "records")]


def _chosen(level: Level, options: Options) -> pa.Schema:
    """The columns that the option names, in its order; the default ones if it is not given."""
    whole, names = level.schema, options.texts("columns")
    if options.text("columns") is not None and not names:
        raise SourceError(f"kafka_log: option columns is empty; name some of {', '.join(whole.names)}")
    for name in names:
        if name not in whole.names:
            raise SourceError(f"kafka_log: option columns: there is no {name!r}; there are {', '.join(whole.names)}")
        if names.count(name) > 1:
            raise SourceError(f"kafka_log: option columns: {name!r} is there twice; name it once")
    return pa.schema([whole.field(name) for name in names]) if names else level.default


def _known(whole: pa.Schema, schema: StructType) -> pa.Schema:
    """The columns of a schema, which may be one that the user has given."""
    for field in schema:
        known = struct_type(whole)[field.name].dataType if field.name in whole.names else None
        if known is None:
            raise SourceError(f"kafka_log: there is no column {field.name!r}; there are {', '.join(whole.names)}")
        if field.dataType != known:
            raise SourceError(
                f"kafka_log: the column {field.name!r} cannot be {field.dataType.simpleString()}; "
                f"it is {known.simpleString()}"
            )
    return pa.schema([whole.field(name) for name in schema.names])


class _Request(NamedTuple):
    """What the options say."""

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

    def checked_segments(self) -> list[Segment]:
        """The segments; what is named must be there.

        Raises:
            SourceError: it is not.
        """
        listing = self.listing()
        self.chosen.check(self.roots, listing.there)
        return listing.segments


def _request(given: Mapping[str, str], schema: StructType) -> _Request:
    options = Options("kafka_log", given, OPTIONS)
    level = options.one_of("level", tuple(_LEVELS), "records")
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
    return _Request(
        roots=options.roots(),
        storage=options.storage(),
        chosen=chosen_of(options),
        wanted=wanted,
        split_bytes=options.number("splitBytes", 1) or DEFAULT_SPLIT_BYTES,
        fail_on_data_loss=options.truth("failOnDataLoss", default=True),
        max_bytes=options.number("maxBytesPerTrigger", 1),
        level=level,
        schema=_known(_LEVELS[level].schema, schema),
    )


Work = tuple[Split, Wanted]


def _plan(request: _Request) -> list[list[Work]]:
    """What is there at present."""
    work = [
        (split, request.wanted)
        for _, replica in groupby(request.checked_segments(), lambda segment: segment.folder)
        for split in planned(list(replica), request.wanted, request.split_bytes)
    ]
    return _grouped(work, request.split_bytes)


def _grouped(work: list[Work], split_bytes: int) -> list[list[Work]]:
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


def _read(request: _Request, work: list[Work]) -> Iterator[pa.RecordBatch]:
    for split, wanted in work:
        yield from read_range(split, wanted, _LEVELS[request.level], request.schema, request.fail_on_data_loss)


class _LogStreamReader(DataSourceStreamReader):
    """Its offset is the next Kafka offset of each replica's folder, so that compaction may rewrite what was read."""

    def __init__(self, request: _Request) -> None:
        self.request = request
        self.follower = Follower(request.segments, request.wanted, request.split_bytes, request.fail_on_data_loss)
        # Before Spark 4.2 `latestOffset` has no arguments, so what was reached is kept here.
        self.reached = document(Reached())

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's own name
        # Spark 4.3 does not show an error that is raised earlier.
        check_are_here("kafka_log", self.request.roots)
        self.request.checked_segments()
        return document(Reached())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's own name
        """From Spark 4.2 on."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

        return ReadAllAvailable() if self.request.max_bytes is None else ReadMaxBytes(self.request.max_bytes)

    def latestOffset(  # noqa: N802  Spark's own name
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        # Spark may ask for all there is, whatever the option says.
        max_bytes = self.request.max_bytes if limit is None else getattr(limit, "max_bytes", None)
        kept = self.reached if start is None else start
        before = reached_by(kept)
        latest = self.follower.latest(before, max_bytes)
        self.reached = kept if latest is before else document(latest)  # the same text means that nothing is new
        return self.reached

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's own name
        """For the progress that Spark reports, from 4.2 on."""
        return document(Reached(self.follower.ends()))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's own name
        """Fix where this run ends; it may take several batches, such as one that failed before and a new one."""
        self.follower.fix_target()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        self.reached = end  # before it asks for the latest offset, Spark passes what the checkpoint has here
        work = self.follower.work(reached_by(start), reached_by(end))
        return tasks(_grouped(work, self.request.split_bytes))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return rows(partition, partial(_read, self.request))


with suppress(ImportError):  # until Spark 4.2 a run with availableNow is one batch, which may be one that failed before
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

    SupportsTriggerAvailableNow.register(_LogStreamReader)
