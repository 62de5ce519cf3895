"""Files as tables: log segments, snapshots, captured frames, files next to segments. Only the sources use Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from kipspark.sources.file_sources import KafkaFramesSource, KafkaPartitionFilesSource, KafkaSnapshotSource
from kipspark.sources.log_source import KafkaLogSource


def register(spark: SparkSession) -> None:
    """Register the formats `kafka_log`, `kafka_snapshot`, `kafka_partition_files` and `kafka_frames` in a session."""
    spark.dataSource.register(KafkaLogSource)
    spark.dataSource.register(KafkaSnapshotSource)
    spark.dataSource.register(KafkaPartitionFilesSource)
    spark.dataSource.register(KafkaFramesSource)
