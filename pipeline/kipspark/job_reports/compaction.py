"""What `kipspark compaction` reports."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipspark.errors import JobError
from kipspark.job_reports.log_heads import heads, metadata_records
from kipspark.jobs import compaction, metadata, open_transactions
from kipspark.report.report import Report, Table


def compaction_report(spark: SparkSession, path: str | Path, wanted: Sequence[str]) -> Report:
    """How much of compacted topics is dead, from the log folders of brokers.

    Args:
        spark: the session.
        path: of the log folders.
        wanted: these topics; if empty, those that the metadata log says are compacted, and the brokers' own.

    Raises:
        JobError: there is no such topic.
    """

    def files(kind: str, topics: str = "") -> DataFrame:
        return spark.read.format("kafka_partition_files").options(kind=kind, topics=topics).load(str(path))

    listed = files("segment").persist()
    there = {row["topic"] for row in listed.select("topic").distinct().toArrow().to_pylist()}
    check_topics(path, wanted, there)
    configured = _compacted(spark, path) if metadata.TOPIC in there and not wanted else set()
    topics = sorted(set(wanted) or there & {*compaction.INTERNAL, *configured})
    if not topics:
        raise JobError(f"{path}: no topic is known to be compacted; name some with --topics")
    names = ",".join(topics)
    batches = heads(spark, path, open_transactions.OF_BATCHES, topics)
    of_records = spark.read.format("kafka_log").options(topics=names, columns=",".join(compaction.OF_RECORDS))
    segments = listed.where(sf.col("topic").isin(topics))
    snapshots = files("producer", names)
    producers = open_transactions.producers(batches, segments, snapshots).persist()
    held = open_transactions.partitions(batches, segments, producers).persist()
    aborted = files("aborted_transaction", names)
    judged = compaction.segments(of_records.load(str(path)), segments, aborted, held).persist()
    checkpoints = files("partition_offset", names)
    return Report(
        f"Compacted topics in {path}",
        (
            Table(
                "partitions",
                "Replicas of compacted partitions",
                compaction.partitions(judged, checkpoints, held),
                (sf.desc("dead_bytes"), "topic", "partition", "folder"),
                hidden=("folder", "aborted_records"),
            ),
            Table(
                "segments",
                "Their segments",
                judged,
                (sf.desc("dead_bytes"), "topic", "partition", "folder", "base_offset"),
                hidden=("folder", "aborted_records"),
            ),
        ),
        notes=(
            "A record is dead if its key has a later one, if its transaction was aborted, or if it has no key. Bytes "
            "are those of keys and values, not compressed; sizes are those of files.",
            "The log cleaner does not clean the last segment of a partition, nor what is in open transactions.",
        ),
    )


def check_topics(path: str | Path, wanted: Collection[str], there: Collection[str]) -> None:
    """Check that there are the topics that are wanted.

    Raises:
        JobError: one of them is not there.
    """
    for topic in wanted:
        if topic not in there:
            raise JobError(f"--topics: there is no {topic!r} in {path}")


def _compacted(spark: SparkSession, path: str | Path) -> set[str]:
    """The topics that the metadata log says are compacted."""
    # Copies of a record change nothing here. Persisted, since each kind of record is looked for on its own.
    found = compaction.compacted_topics(metadata_records(spark, path, metadata.OF_CONFIGS).persist())
    return {row["topic"] for row in found.toArrow().to_pylist()}
