"""`kafka_snapshot`: the snapshots that logs begin with as a Spark data source."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from kipspark.arrow import struct_type
from kipspark.files.stores import Storage
from kipspark.sources.base import Reader
from kipspark.sources.options import CHOSEN_OPTIONS, Chosen, Options, chosen_of
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
        return Reader(partial(_plan, options.roots(), chosen_of(options), options.storage()), _read)


def _plan(roots: tuple[str, ...], chosen: Chosen, storage: Storage) -> list[Snapshot]:
    """The snapshots; a task reads one."""
    segments, there = list_segments(roots, chosen.topics, chosen.partitions, storage)
    chosen.check(roots, there)
    return snapshots_of(segments)


def _read(snapshot: Snapshot) -> Iterator[pa.RecordBatch]:
    yield read_snapshot(snapshot)
