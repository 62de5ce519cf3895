"""`kafka_log`: the records or the batches of brokers' log folders as a Spark data source, as a batch or as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kipspark.errors import SourceError
from kipspark.files.access import check_is_here, open_file
from kipspark.files.stores import Storage
from kipspark.sources import batch_rows, log_rows
from kipspark.sources.log_columns import LOG_SCHEMA
from kipspark.sources.options import FAILFAST, MODES, PERMISSIVE, Options
from kipspark.sources.segments import Segment, find_segments
from kipspark.sources.splits import DEFAULT_SPLIT_BYTES, Split, cut, ends_before, position_before
from kipspark.sources.wanted import Wanted
from kipspark.spark.types import struct_type
from kipwire.logs.skimming import batch_heads

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming.datasource import ReadLimit

OPTIONS = (
    "topics",
    "partitions",
    "level",
    "columns",
    "startingOffset",
    "endingOffset",
    "startingTimestamp",
    "endingTimestamp",
    "includeControl",
    "checkCrc",
    "splitBytes",
    "mode",
    "failOnDataLoss",
)


class KafkaLogSource(DataSource):
    """`spark.read.format("kafka_log").load(PATH)`, and `readStream` likewise; docs/spark.md has the options."""

    @classmethod
    def name(cls) -> str:
        """The name to pass to `format`."""
        return "kafka_log"

    def schema(self) -> StructType:
        """The columns of the level, or those of them that are chosen."""
        options = Options("kafka_log", self.options, OPTIONS)
        return struct_type(_chosen(_level(options).schema, options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of what is there at present."""
        return _LogReader(_request(self.options, schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's own name
        """A reader of what is there at present, and then of what is added."""
        return _LogStreamReader(_request(self.options, schema))


class _Level(NamedTuple):
    """What a row is."""

    schema: pa.Schema
    """All columns."""
    read: Callable[[Split, Wanted, pa.Schema], Iterator[pa.RecordBatch]]


_LEVELS = {
    "records": _Level(LOG_SCHEMA, log_rows.read_rows),
    "batches": _Level(batch_rows.BATCH_SCHEMA, batch_rows.read_batch_rows),
}


def _level(options: Options) -> _Level:
    return _LEVELS[options.one_of("level", tuple(_LEVELS), "records")]


def _chosen(whole: pa.Schema, options: Options) -> pa.Schema:
    """The columns that the option names, in its order; all if it is not given."""
    names = options.texts("columns")
    if options.text("columns") is not None and not names:
        raise SourceError(f"kafka_log: option columns is empty; name some of {', '.join(whole.names)}")
    for name in names:
        if name not in whole.names:
            raise SourceError(f"kafka_log: option columns: there is no {name!r}; there are {', '.join(whole.names)}")
        if names.count(name) > 1:
            raise SourceError(f"kafka_log: option columns: {name!r} is there twice; name it once")
    return pa.schema([whole.field(name) for name in names]) if names else whole


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

    path: str
    storage: Storage
    topics: tuple[str, ...]
    partitions: tuple[int, ...]
    wanted: Wanted
    split_bytes: int
    fail_on_data_loss: bool
    level: str
    schema: pa.Schema
    """The columns to make."""

    def segments(self) -> list[Segment]:
        return find_segments(self.path, self.topics, self.partitions, self.storage)


def _request(given: Mapping[str, str], schema: StructType) -> _Request:
    options = Options("kafka_log", given, OPTIONS)
    level = options.one_of("level", tuple(_LEVELS), "records")
    wanted = Wanted(
        first_offset=options.number("startingOffset", 0),
        end_offset=options.number("endingOffset", 0),
        first_timestamp=options.number("startingTimestamp"),
        end_timestamp=options.number("endingTimestamp"),
        control=options.truth("includeControl", default=False),
        check_crcs=options.truth("checkCrc", default=True),
        permissive=options.one_of("mode", MODES, FAILFAST) == PERMISSIVE,
    )
    return _Request(
        path=options.path(),
        storage=options.storage(),
        topics=options.texts("topics"),
        partitions=options.numbers("partitions"),
        wanted=wanted,
        split_bytes=options.number("splitBytes", 1) or DEFAULT_SPLIT_BYTES,
        fail_on_data_loss=options.truth("failOnDataLoss", default=True),
        level=level,
        schema=_known(_LEVELS[level].schema, schema),
    )


Work = tuple[Split, Wanted]


class _Task(InputPartition):
    """What one Spark task reads."""

    def __init__(self, work: list[Work]) -> None:
        super().__init__(None)
        self.work = work


def _tasks(work: list[Work], split_bytes: int) -> list[InputPartition]:
    """Tasks of about `split_bytes` bytes: one task for many small segments costs less than a task for each."""
    tasks: list[InputPartition] = []
    some: list[Work] = []
    size = 0
    for split, wanted in work:
        if some and size + split.end - split.start > split_bytes:
            tasks.append(_Task(some))
            some, size = [], 0
        some.append((split, wanted))
        size += split.end - split.start
    return [*tasks, _Task(some)] if some else tasks


def _read(task: InputPartition, request: _Request) -> Iterator[pa.RecordBatch]:
    if isinstance(task, _Task):  # else it is None: Spark makes a task even if there is nothing to read
        read = _LEVELS[request.level].read
        for split, wanted in task.work:
            yield from read(split, wanted, request.schema)


class _LogReader(DataSourceReader):
    def __init__(self, request: _Request) -> None:
        self.request = request

    def partitions(self) -> Sequence[InputPartition]:
        wanted = self.request.wanted
        work = [
            (split, wanted)
            for _, replica in groupby(self.request.segments(), lambda segment: segment.folder)
            for segment in _between(list(replica), wanted)
            for split in cut(segment, self.request.split_bytes, position_before(segment, wanted.first_offset or 0))
        ]
        return _tasks(work, self.request.split_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition, self.request)


class _LogStreamReader(DataSourceStreamReader):
    """Its offset is the next Kafka offset of each replica's folder, so that compaction may rewrite what was read."""

    def __init__(self, request: _Request) -> None:
        self.request = request
        self.ends: dict[str, _End] = {}
        self.reached: dict[str, int] = {}
        self.target: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  Spark's own name
        check_is_here("kafka_log", self.request.path)  # Spark 4.3 does not show an error that is raised earlier
        return {}

    # Before Spark 4.2 there are no arguments, so what was reached is kept here.
    def latestOffset(  # noqa: N802  Spark's own name
        self, start: dict[str, int] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, int]:
        latest = dict(start or self.reached)
        for folder, offset in (self._there() if self.target is None else self.target).items():
            latest[folder] = max(offset, latest.get(folder, 0))
        self.reached = latest
        return latest

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's own name
        """Fix where this run ends; it may take several batches, such as one that failed before and a new one."""
        self.target = self._there()

    def _there(self) -> dict[str, int]:
        """The end of each replica."""
        for folder, replica in groupby(self.request.segments(), lambda segment: segment.folder):
            self.ends[folder] = _end(list(replica)[-1], self.ends.get(folder))
        return {folder: end.offset for folder, end in self.ends.items()}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        work: list[Work] = []
        for folder, replica in groupby(self.request.segments(), lambda segment: segment.folder):
            segments = list(replica)
            first, end_offset = start.get(folder), end.get(folder, 0)
            if first is not None and first < segments[0].base_offset and self.request.fail_on_data_loss:
                raise SourceError(
                    f"{folder}: records from offset {first} on are gone: the first segment starts at "
                    f"{segments[0].base_offset}; to continue without them, set failOnDataLoss to false"
                )
            wanted = self.request.wanted.between(first or 0, end_offset)
            for segment in _between(segments, wanted):
                position = position_before(segment, wanted.first_offset or 0)
                work += [(split, wanted) for split in cut(segment, self.request.split_bytes, position)]
        return _tasks(work, self.request.split_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition, self.request)


with suppress(ImportError):  # until Spark 4.2 a run with availableNow is one batch, which may be one that failed before
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

    SupportsTriggerAvailableNow.register(_LogStreamReader)


class _End(NamedTuple):
    """How far a replica has been scanned."""

    segment: str
    position: int
    offset: int
    """The offset of the next record."""


def _end(last: Segment, before: _End | None) -> _End:
    """The end of a replica, scanned from where it was before, if the segment is the same."""
    goes_on = before is not None and before.segment == last.path and before.position <= last.size
    position, offset = (before.position, before.offset) if before and goes_on else (0, last.base_offset)
    with open_file(last.path) as file:
        for head in batch_heads(file, position, last.size):
            position, offset = head.position + head.size, head.last_offset + 1
    return _End(last.path, position, offset)


def _between(segments: list[Segment], wanted: Wanted) -> list[Segment]:
    """The segments of a replica that may have wanted records."""
    followers: list[Segment | None] = [*segments[1:], None]
    first, end, time = wanted.first_offset or 0, wanted.end_offset, wanted.first_timestamp
    return [
        segment
        for segment, follower in zip(segments, followers, strict=True)
        if (end is None or segment.base_offset < end)
        # The last segment still grows, and its index of times after it.
        and (follower is None or (follower.base_offset > first and (time is None or not ends_before(segment, time))))
    ]
