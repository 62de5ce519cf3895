"""What `kipspark transactions` reports."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipspark.job_reports.log_heads import heads
from kipspark.jobs import open_transactions, transaction_state
from kipspark.jobs.metadata import TOPIC as METADATA
from kipspark.report.report import Report, Table
from kipwire.tools.words import counted


def transactions_report(spark: SparkSession, path: str | Path) -> Report:
    """Transactions of coordinators and of partitions, from the log folders of brokers."""
    topic = spark.read.format("kafka_log").options(topics=transaction_state.TOPIC)
    coordinated = transaction_state.transactions(topic.load(str(path))).persist()
    batches = heads(spark, path, open_transactions.OF_BATCHES)

    def files(kind: str) -> DataFrame:
        return spark.read.format("kafka_partition_files").option("kind", kind).load(str(path))

    segments = files("segment").persist()
    snapshots = files("producer")
    producers = open_transactions.producers(batches, segments, snapshots).persist()
    partitions = open_transactions.partitions(batches, segments, producers).persist()
    coordinators = _coordinators(segments)
    has_all = bool(coordinators) and coordinators == list(range(len(coordinators)))
    opened = open_transactions.open_transactions(producers, partitions, coordinated, has_all).persist()
    is_open = sf.col("state").isin(*transaction_state.OPEN)
    return Report(
        f"Transactions in {path}",
        (
            Table(
                "open",
                "Open transactions of partitions",
                opened,
                (sf.desc("is_hanging"), sf.desc("held_back"), "start_offset", "topic", "partition", "producer_id"),
            ),
            Table(
                "transactions",
                "Transactional ids, as their coordinators know them",
                coordinated,
                (is_open.desc(), "started", "transactional_id"),
            ),
            Table(
                "partitions",
                "Partitions, and where they end for readers of committed data",
                partitions.where(sf.col("topic") != METADATA),
                (sf.desc("held_back"), "topic", "partition"),
            ),
            Table(
                "producers",
                "Producers of partitions",
                producers,
                ("topic", "partition", "producer_id"),
                hidden=("started", "records"),
                shown=10,
            ),
        ),
        notes=(
            "A hanging transaction is open in a partition, but no coordinator has that partition in a transaction of "
            "the producer: only an operator can end it, with kafka-transactions abort.",
            _where_coordinators_are(coordinators, has_all),
        ),
    )


def _coordinators(segments: DataFrame) -> list[int]:
    """The partitions of the coordinators' topic that have a folder."""
    of_topic = segments.where(sf.col("topic") == transaction_state.TOPIC).select("partition").distinct()
    return sorted(row["partition"] for row in of_topic.toArrow().to_pylist())


def _where_coordinators_are(coordinators: list[int], has_all: bool) -> str:
    """A note that says which coordinators' logs were read."""
    topic = transaction_state.TOPIC
    if has_all:
        return f"{topic} was read as a whole: {counted(len(coordinators), 'partition')}."
    there = f"There is no {topic}"
    if coordinators:
        numbers = ", ".join(map(str, coordinators))
        there = f"Only {counted(len(coordinators), 'partition')} of {topic} ({numbers}) could be read"
    return f"{there}, so transactions of unknown producers may or may not be hanging."
