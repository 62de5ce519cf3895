"""What `kipspark share` reports."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipspark.job_reports.log_heads import heads
from kipspark.jobs import metadata, share
from kipspark.jobs.lag import last_ends
from kipspark.report.report import Report, Table

_OF_ENDS = ("topic", "partition", "last_offset")


def share_report(spark: SparkSession, path: str | Path) -> Report:
    """Where share groups are, from the log folders of brokers."""

    def log(topic: str) -> DataFrame:
        return spark.read.format("kafka_log").options(topics=topic, includeControl="true").load(str(path))

    ends = last_ends(heads(spark, path, _OF_ENDS))
    snapshot = spark.read.format("kafka_snapshot").options(topics=metadata.TOPIC).load(str(path))
    topics = _names(share.topic_ids(log(metadata.TOPIC), snapshot), share.topics_of_groups(log(share.GROUPS))).persist()
    states = share.states(log(share.TOPIC)).persist()
    return Report(
        f"Share groups in {path}",
        (
            Table(
                "partitions",
                "Start offsets and lag of share groups",
                share.partitions(states, topics, ends),
                (sf.desc("lag"), "group", "topic", "topic_id", "partition"),
                hidden=("state_epoch", "leader_epoch", "snapshot_epoch", "delivery_complete_count"),
            ),
            Table(
                "batches",
                "What was delivered after the start offsets",
                share.batches(states, topics),
                ("group", "topic", "topic_id", "partition", "first_offset"),
            ),
        ),
        notes=(
            "Lag is the number of records after the start offset whose delivery is not finished. Names of topics are "
            "from the metadata log, or else from the group coordinators' log.",
        ),
    )


def _names(of_cluster: DataFrame, of_groups: DataFrame) -> DataFrame:
    """The names of topics, each id once: those of the metadata log, or else those of group coordinators."""
    both = of_cluster.withColumn("rank", sf.lit(0)).unionByName(of_groups.withColumn("rank", sf.lit(1)))
    return both.groupBy("topic_id").agg(sf.min_by("topic", "rank").alias("topic"))
