"""`kafka_log`: the records of brokers' log folders as a Spark data source, as a batch or as a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kipspark.errors import SourceError
from kipspark.sources.log_columns import LOG_SCHEMA
from kipspark.sources.log_rows import Wanted, read_rows
from kipspark.sources.options import FAILFAST, MODES, PERMISSIVE, Options
from kipspark.sources.segments import Segment, find_segments
from kipspark.sources.splits import DEFAULT_SPLIT_BYTES, Split, cut, position_before
from kipspark.spark.types import struct_type
from kipwire.logs.skimming import batch_heads

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit

OPTIONS = (
    "topics",
    "partitions",
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
        """The columns, which are the same for every log."""
        return struct_type(LOG_SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the records at present."""
        return _LogReader(_request(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's own name
        """A reader of the records at present, and then of added ones."""
        return _LogStreamReader(_request(self.options))


class _Request(NamedTuple):
    """What the options say."""

    path: str
    topics: tuple[str, ...]
    partitions: tuple[int, ...]
    wanted: Wanted
    split_bytes: int
    fail_on_data_loss: bool

    def segments(self) -> list[Segment]:
        return find_segments(self.path, self.topics, self.partitions)


def _request(given: Mapping[str, str]) -> _Request:
    options = Options("kafka_log", given, OPTIONS)
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
        topics=options.texts("topics"),
        partitions=options.numbers("partitions"),
        wanted=wanted,
        split_bytes=options.number("splitBytes", 1) or DEFAULT_SPLIT_BYTES,
        fail_on_data_loss=options.truth("failOnDataLoss", default=True),
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


def _read(task: InputPartition) -> Iterator[pa.RecordBatch]:
    if isinstance(task, _Task):  # else it is None: Spark makes a task even if there is nothing to read
        for split, wanted in task.work:
            yield from read_rows(split, wanted)


class _LogReader(DataSourceReader):
    def __init__(self, request: _Request) -> None:
        self.request = request

    def partitions(self) -> Sequence[InputPartition]:
        wanted = self.request.wanted
        work = [
            (split, wanted)
            for _, replica in groupby(self.request.segments(), lambda segment: segment.folder)
            for segment in _between(list(replica), wanted.first_offset or 0, wanted.end_offset)
            for split in cut(segment, self.request.split_bytes, position_before(segment, wanted.first_offset or 0))
        ]
        return _tasks(work, self.request.split_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition)


class _LogStreamReader(DataSourceStreamReader):
    """Its offset is the next Kafka offset of each replica's folder, so that compaction may rewrite what was read."""

    def __init__(self, request: _Request) -> None:
        self.request = request
        self.ends: dict[str, _End] = {}
        self.reached: dict[str, int] = {}
        self.target: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  Spark's own name
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
            wanted = _narrowed(self.request.wanted, first or 0, end_offset)
            for segment in _between(segments, wanted.first_offset or 0, end_offset):
                position = position_before(segment, wanted.first_offset or 0)
                work += [(split, wanted) for split in cut(segment, self.request.split_bytes, position)]
        return _tasks(work, self.request.split_bytes)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(partition)


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
    with Path(last.path).open("rb") as file:
        for head in batch_heads(file, position, last.size):
            position, offset = head.position + head.size, head.last_offset + 1
    return _End(last.path, position, offset)


def _between(segments: list[Segment], first: int, end: int | None) -> list[Segment]:
    """The segments of a replica that may have records from `first` on and before `end`."""
    followers: list[Segment | None] = [*segments[1:], None]
    return [
        segment
        for segment, follower in zip(segments, followers, strict=True)
        if (follower is None or follower.base_offset > first) and (end is None or segment.base_offset < end)
    ]


def _narrowed(wanted: Wanted, first: int, end: int) -> Wanted:
    ends: list[Any] = [wanted.end_offset, end]
    return wanted._replace(
        first_offset=max(wanted.first_offset or 0, first), end_offset=min(one for one in ends if one is not None)
    )
