"""`kafka_log`: the records or the batches of brokers' log folders as a Spark data source, as a batch or as a stream."""

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
from kipwire.tables.files.access import check_are_here
from kipwire.tables.sources.changing_logs.checkpoints import Reached, document, parse_checkpoint
from kipwire.tables.sources.changing_logs.follower import Follower
from kipwire.tables.sources.logs import OPTIONS, Request, Work, group_work, plan, read, request_of, schema_of
from kipwire.tables.sources.options import Options

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadLimit


class KafkaLogSource(StreamSource):
    """`spark.read.format("kafka_log").load(PATH)`, and `readStream` likewise; docs/spark-sources.md has the options."""

    @classmethod
    def name(cls) -> str:
        """Return the name to pass to `format`."""
        return "kafka_log"

    def schema(self) -> StructType:
        """Return the columns of the level, or the chosen ones of them."""
        options = Options("kafka_log", self.options, OPTIONS)
        return struct_type(schema_of(options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of the present segments."""
        request = _request(self.options, schema)
        # There is no pushFilters: Spark 4.3 keeps one scan for all uses of a data frame, so that the filter of one use
        # would narrow the others, and rows would be missing without an error.
        return Reader(partial(plan, request), partial(_read, request))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's own name
        """Return a reader of the present segments, and then of the records that are added."""
        return _LogStreamReader(_request(self.options, schema))


def _request(given: Mapping[str, str], schema: StructType) -> Request:
    """Make a request of the options, with the columns of a schema, which the user may have given."""
    return request_of(given, partial(chosen_columns, KafkaLogSource.name(), schema))


def _read(request: Request, work: list[Work]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task."""
    return with_spark_maps(read(request, work))


class _LogStreamReader(DataSourceStreamReader):
    """A stream, whose offset is the next Kafka offset of each replica's folder, so compaction does not disturb it."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.follower = Follower(
            request.segments,
            request.row_filter,
            request.split_bytes,
            request.fail_on_data_loss,
            request.from_log_start,
        )
        # Before Spark 4.2 `latestOffset` has no arguments, so the end of the last batch is kept here.
        self.reached = document(Reached())

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's own name
        # Spark 4.3 does not show an error that is raised when the reader is made.
        self._check_roots()
        self.request.check_segments()
        return document(Reached())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's own name
        """Return the limit of a batch; called from Spark 4.2 on."""
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

        return ReadAllAvailable() if self.request.max_bytes is None else ReadMaxBytes(self.request.max_bytes)

    def latestOffset(  # noqa: N802  Spark's own name
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        self._check_roots()
        # Spark may request everything, whatever the option is.
        max_bytes = self.request.max_bytes if limit is None else getattr(limit, "max_bytes", None)
        kept = self.reached if start is None else start
        before = parse_checkpoint(kept)
        latest = self.follower.latest(before, max_bytes)
        self.reached = kept if latest is before else document(latest)  # the same text means that nothing is new
        return self.reached

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's own name
        """Return the latest offset for the progress that Spark reports; called from Spark 4.2 on."""
        return document(Reached(self.follower.ends()))

    def _check_roots(self) -> None:
        """Refuse URLs, in whichever call comes first: with availableNow it is not `initialOffset`."""
        check_are_here("kafka_log", self.request.roots)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's own name
        """Fix the end of this run; it may take several batches, such as one that failed before and a new one."""
        self._check_roots()
        self.follower.fix_target()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        self.reached = end  # Spark passes the offset of the checkpoint here before it calls latestOffset
        work = self.follower.work(parse_checkpoint(start), parse_checkpoint(end))
        return tasks(group_work(work, self.request.split_bytes))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return rows(partition, partial(_read, self.request))


with suppress(ImportError):  # until Spark 4.2 a run with availableNow is one batch, which may be one that failed before
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

    SupportsTriggerAvailableNow.register(_LogStreamReader)
