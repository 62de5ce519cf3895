"""The Spark data sources of files that are read once, as they are at present: snapshots, partition files, captures.

Each class is one format; `kipwire.tables.sources.formats` has their plans. `base` explains how Spark uses a source, and
`log_source` has the one that may also be a stream.
"""

from __future__ import annotations

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from kipspark.arrow import struct_type
from kipspark.sources.base import Reader
from kipwire.tables.sources.formats import FORMATS


class _FileSource(DataSource):
    """A format, with the name that `format` takes."""

    def schema(self) -> StructType:
        """Return the columns, which may depend on the options."""
        return struct_type(FORMATS[self.name()].schema(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of the present files."""
        plan = FORMATS[self.name()].plan(self.options)
        return Reader(plan.work, plan.read)


class KafkaSnapshotSource(_FileSource):
    """`spark.read.format("kafka_snapshot").load(PATH)`; docs/spark-sources.md has the options."""

    @classmethod
    def name(cls) -> str:
        """Return the name to pass to `format`."""
        return "kafka_snapshot"


class KafkaPartitionFilesSource(_FileSource):
    """`spark.read.format("kafka_partition_files").option("kind", KIND).load(PATH)`; see docs/spark-sources.md."""

    @classmethod
    def name(cls) -> str:
        """Return the name to pass to `format`."""
        return "kafka_partition_files"


class KafkaFramesSource(_FileSource):
    """`spark.read.format("kafka_frames").load(PATH)`; docs/spark-sources.md has the options."""

    @classmethod
    def name(cls) -> str:
        """Return the name to pass to `format`."""
        return "kafka_frames"
