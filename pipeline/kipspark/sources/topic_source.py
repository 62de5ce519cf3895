"""`kafka_topic`: the records of topics of brokers as a Spark data source, as a batch or as a stream, without a jar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kipspark.arrow import struct_type, with_spark_maps
from kipspark.sources.base import Reader, StreamSource, chosen_columns, rows, tasks
from kipwire.tables.errors import SourceError
from kipwire.tables.sources.changing_logs.checkpoints import Reached, document, parse_checkpoint
from kipwire.tables.sources.topic_plans import OFFSETS, SOURCE, Asked, Range, plan, read, request_of, schema_of
from kipwire.tables.sources.topic_streams import TopicFollower
from kipwire.tables.sources.topics import END

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit


class KafkaTopicSource(StreamSource):
    """`spark.read.format("kafka_topic").option("brokers", ADDRESS).load()`, and `readStream` likewise."""

    @classmethod
    def name(cls) -> str:
        """Return the name to pass to `format`."""
        return SOURCE

    def schema(self) -> StructType:
        """Return the default columns, or the chosen ones."""
        return struct_type(schema_of(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of what brokers have at present."""
        asked = _asked(self.options, schema)
        return Reader(partial(plan, asked), partial(_read, asked))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's own name
        """Return a reader of what brokers have at present, and then of what is added."""
        return _TopicStreamReader(_asked(self.options, schema))


def _asked(given: Mapping[str, str], schema: StructType) -> Asked:
    return request_of(given, partial(chosen_columns, SOURCE, schema))


def _read(asked: Asked, work: list[Range]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task."""
    return with_spark_maps(read(asked, work))


class _TopicStreamReader(DataSourceStreamReader):
    """A stream, whose offset is the next Kafka offset of each partition, with the ids of topics."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.follower: TopicFollower | None = None
        # Before Spark 4.2 `latestOffset` has no arguments, so the end of the last batch is kept here.
        self.reached = document(Reached())

    def __getstate__(self) -> dict[str, Any]:
        """Leave the connections here: tasks get the request alone."""
        return self.__dict__ | {"follower": None}

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's own name
        # Spark 4.3 does not show an error that is raised when the reader is made.
        self._followed().check()
        return document(Reached())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's own name
        """Return the limit of a batch; called from Spark 4.2 on."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

        return ReadAllAvailable() if self.asked.max_bytes is None else ReadMaxBytes(self.asked.max_bytes)

    def latestOffset(  # noqa: N802  Spark's own name
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        # Spark may request everything, whatever the option is.
        max_bytes = self.asked.max_bytes if limit is None else getattr(limit, "max_bytes", None)
        kept = self.reached if start is None else start
        before = parse_checkpoint(kept, SOURCE)
        latest = self._followed().latest(before, max_bytes)
        self.reached = kept if latest is before else document(latest)  # the same text means that nothing is new
        return self.reached

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's own name
        """Return the latest offset for the progress that Spark reports; called from Spark 4.2 on."""
        return document(Reached(self._followed().ends()))

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's own name
        """Fix the end of this run; it may take several batches, such as one that failed before and a new one."""
        self._followed().fix_target()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        self.reached = end  # Spark passes the offset of the checkpoint here before it calls latestOffset
        return tasks(self._followed().work(parse_checkpoint(start, SOURCE), parse_checkpoint(end, SOURCE)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return rows(partition, partial(_read, self.asked))

    def stop(self) -> None:
        """Close the connections."""
        if self.follower is not None:
            self.follower.close()

    def _followed(self) -> TopicFollower:
        """Return the follower, in whichever call comes first: with availableNow it is not `initialOffset`."""
        if self.asked.topics.ending != END:
            raise SourceError(f"{SOURCE}: option endingOffsets is for a batch; a stream has no end")
        if self.asked.topics.level == OFFSETS:
            raise SourceError(f"{SOURCE}: option level is {OFFSETS}, of which there is no stream")
        if self.follower is None:
            self.follower = TopicFollower(self.asked)
        return self.follower


with suppress(ImportError):  # until Spark 4.2 a run with availableNow is one batch, which may be one that failed before
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

    SupportsTriggerAvailableNow.register(_TopicStreamReader)
