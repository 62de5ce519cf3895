"""`kafka_snapshot`: the snapshots that logs begin with as a Spark data source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kipspark.arrow import struct_type
from kipspark.files.stores import Storage
from kipspark.sources.chosen import CHOSEN_OPTIONS, Chosen, chosen_of
from kipspark.sources.options import Options
from kipspark.sources.segments import list_segments
from kipspark.sources.snapshots import SNAPSHOT_SCHEMA, Snapshot, read_snapshot, snapshots_of


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
        options = Options(self.name(), self.options, CHOSEN_OPTIONS)
        return _SnapshotReader(_Request(options.roots(), chosen_of(options), options.storage()))


class _Request(NamedTuple):
    """What the options say."""

    roots: tuple[str, ...]
    chosen: Chosen
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
        roots, wanted, storage = self.request
        segments, there = list_segments(roots, wanted.topics, wanted.partitions, storage)
        wanted.check(roots, there)
        return [_Task(snapshot) for snapshot in snapshots_of(segments)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if isinstance(partition, _Task):
            yield read_snapshot(partition.snapshot)  # else it is None: there is no snapshot
