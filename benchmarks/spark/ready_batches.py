"""The floor of every data source in Python: a source that has its Arrow batches ready."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kipspark.arrow import struct_type


class ReadyBatches(DataSource):
    """A source that gives one Arrow batch from memory again and again."""

    @classmethod
    def name(cls) -> str:
        """Return the name to pass to `format`."""
        return "ready_batches"

    def schema(self) -> StructType:
        """Return the columns of the batch."""
        return struct_type(_batch(self.options["path"]).schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader that makes nothing."""
        return _Reader(self.options["path"], int(self.options["rows"]), int(self.options["tasks"]))


class _Rows(InputPartition):
    """The number of rows of one Spark task."""

    def __init__(self, count: int) -> None:
        super().__init__(None)
        self.count = count


class _Reader(DataSourceReader):
    def __init__(self, path: str, rows: int, tasks: int) -> None:
        self.path = path
        self.rows = rows
        self.tasks = tasks

    def partitions(self) -> list[InputPartition]:
        each, over = divmod(self.rows, self.tasks)
        return [_Rows(each + (number < over)) for number in range(self.tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Rows)
        batch, left = _batch(self.path), partition.count
        while left > 0:
            yield batch.slice(0, left)
            left -= len(batch)


def _batch(path: str) -> pa.RecordBatch:
    with pa.memory_map(path) as file:
        return pa.ipc.open_file(file).get_batch(0)


def ready_frame(spark: SparkSession, batch: pa.RecordBatch, place: Path, rows: int, tasks: int) -> DataFrame:
    """Return a frame of `rows` rows from `tasks` tasks, which repeat a batch, kept in a file at `place`."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with pa.ipc.new_file(place, batch.schema) as file:
        file.write_batch(batch)
    spark.dataSource.register(ReadyBatches)
    return spark.read.format(ReadyBatches.name()).options(path=str(place), rows=rows, tasks=tasks).load()
