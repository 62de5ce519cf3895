"""What reports read of log folders in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, SparkSession

from kipspark.files.roots import Roots
from kipspark.jobs import metadata
from kipspark.sources.options import path_options

_LENIENT = {"failOnMissingTopics": "false"}
"""A cluster, or one of its brokers, need not have each topic that a report looks at."""


def log(spark: SparkSession, roots: Roots, topics: Iterable[str], **options: str) -> DataFrame:
    """Rows of `kafka_log`.

    Args:
        spark: the session.
        roots: of the log folders.
        topics: only those, as far as they are there; all if empty.
        options: of the source.
    """
    chosen = {**_LENIENT, "topics": ",".join(topics), **options, **path_options(roots)}
    return spark.read.format("kafka_log").options(**chosen).load()


def log_stream(spark: SparkSession, roots: Roots, topics: Iterable[str]) -> DataFrame:
    """As `log`, as a stream, also of topics that appear later."""
    chosen = {**_LENIENT, "topics": ",".join(topics), **path_options(roots)}
    return spark.readStream.format("kafka_log").options(**chosen).load()


def files(spark: SparkSession, roots: Roots, kind: str, topics: Iterable[str] = ()) -> DataFrame:
    """Rows of `kafka_partition_files` of a kind.

    Args:
        spark: the session.
        roots: of the log folders.
        kind: of the files.
        topics: only those, as far as they are there; all if empty.
    """
    chosen = {**_LENIENT, "kind": kind, "topics": ",".join(topics), **path_options(roots)}
    return spark.read.format("kafka_partition_files").options(**chosen).load()


def metadata_snapshot(spark: SparkSession, roots: Roots) -> DataFrame:
    """Rows of `kafka_snapshot` of the metadata log."""
    chosen = {**_LENIENT, "topics": metadata.TOPIC, **path_options(roots)}
    return spark.read.format("kafka_snapshot").options(**chosen).load()


def heads(spark: SparkSession, roots: Roots, columns: Iterable[str], topics: Iterable[str] = ()) -> DataFrame:
    """The heads of all batches of these topics, or of all topics, with control batches, since these take offsets too.

    Args:
        spark: the session.
        roots: of the log folders.
        columns: of batches.
        topics: only those, as far as they are there; all if empty.
    """
    return log(spark, roots, topics, level="batches", includeControl="true", columns=",".join(columns))


def metadata_log(spark: SparkSession, roots: Roots) -> DataFrame:
    """The records of the metadata log, of all its replicas, with the columns that `kipspark.jobs.metadata` needs.

    Args:
        spark: the session.
        roots: of the log folders.
    """
    return log(spark, roots, [metadata.TOPIC], includeControl="true", columns=",".join(metadata.OF_RECORDS))


def metadata_records(spark: SparkSession, roots: Roots, types: Sequence[str]) -> DataFrame:
    """The metadata records of these types, of the snapshot and the log, of each replica.

    The columns are those of `kipspark.jobs.metadata.with_snapshot`.

    Args:
        spark: the session.
        roots: of the log folders.
        types: of records.
    """
    records = metadata.records(metadata_log(spark, roots), types)
    return metadata.with_snapshot(records, metadata_snapshot(spark, roots), types)
