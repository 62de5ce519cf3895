"""What `kipspark tiered` reports."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from kipspark.jobs import tiered
from kipspark.report.report import Report, Table


def tiered_report(spark: SparkSession, path: str | Path) -> Report:
    """What is in tiered storage, from the log folders of brokers."""
    log = spark.read.format("kafka_log").options(topics=tiered.TOPIC, includeControl="true").load(str(path))
    decoded = tiered.records(log).persist()
    segments = tiered.segments(decoded).persist()
    return Report(
        f"Tiered storage in {path}",
        (
            Table(
                "partitions",
                "Partitions in tiered storage",
                tiered.partitions(segments, decoded),
                (sf.desc("size"), "topic", "topic_id", "partition"),
            ),
            Table(
                "segments",
                "Their segments",
                segments,
                ("topic", "topic_id", "partition", "start_offset", "changed"),
                hidden=("topic_id", "leader_epochs", "custom_metadata", "is_txn_index_empty"),
            ),
        ),
        notes=("Sizes and offsets of partitions are those of segments that are complete.",),
    )
