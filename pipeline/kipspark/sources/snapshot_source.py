"""`kafka_snapshot`: the snapshots that logs begin with as a Spark data source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kipspark.files.stores import Storage
from kipspark.sources.options import Options
from kipspark.sources.snapshots import SNAPSHOT_SCHEMA, Snapshot, first_snapshots, read_snapshot
from kipspark.spark.types import struct_type

OPTIONS = ("topics", "partitions")


class KafkaSnapshotSource(DataSource):
    """`spark.read.format("kafka_snapshot").load(PATH)`; docs/spark-sources.md has the options."""

    @classmethod
    def name(cls) -> str:
        """The name to pass to `format`."""
        return "kafka_snapshot"

    def schema(self) -> StructType:
        """The columns, which are the same for every snapshot."""
        return struct_type(SNAPSHOT_SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the snapshot that each log begins with."""
        options = Options(self.name(), self.options, OPTIONS)
        return _SnapshotReader(
            _Request(options.path(), options.texts("topics"), options.numbers("partitions"), options.storage())
        )


class _Request(NamedTuple):
    """What the options say."""

    path: str
    topics: tuple[str, ...]
    partitions: tuple[int, ...]
    storage: Storage


class _Task(InputPartition):
    """What one Spark task reads."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(None)
        self.snapshot = snapshot


class _SnapshotReader(DataSourceReader):
    def __init__(self, request: _Request) -> None:
        self.request = request

    def partitions(self) -> Sequence[InputPartition]:
        return [_Task(snapshot) for snapshot in first_snapshots(*self.request)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, _Task):
            yield read_snapshot(partition.snapshot)  # else it is None: there is no snapshot
