"""What stands in files, as tables: log segments and captured frames. Only the `_source` modules know Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from kipspark.sources.frames_source import KafkaFramesSource
from kipspark.sources.log_source import KafkaLogSource


def register(spark: SparkSession) -> None:
    """Make the formats `kafka_log` and `kafka_frames` known to a session."""
    spark.dataSource.register(KafkaLogSource)
    spark.dataSource.register(KafkaFramesSource)
