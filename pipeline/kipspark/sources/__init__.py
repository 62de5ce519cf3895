"""What stands in files, as tables: log segments, snapshots, captured frames. Only the `_source` modules know Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from kipspark.sources.frames_source import KafkaFramesSource
from kipspark.sources.log_source import KafkaLogSource
from kipspark.sources.snapshot_source import KafkaSnapshotSource


def register(spark: SparkSession) -> None:
    """Make the formats `kafka_log`, `kafka_snapshot` and `kafka_frames` known to a session."""
    spark.dataSource.register(KafkaLogSource)
    spark.dataSource.register(KafkaSnapshotSource)
    spark.dataSource.register(KafkaFramesSource)
