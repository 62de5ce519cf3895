"""What reports read of logs in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from kipspark.jobs import metadata


def heads(spark: SparkSession, path: str | Path, columns: Iterable[str], topics: Iterable[str] = ()) -> DataFrame:
    """The heads of all batches of these topics, or of all topics, with control batches, since these take offsets too.

    Args:
        spark: the session.
        path: of the log folders.
        columns: of batches.
        topics: only those; all if empty.
    """
    options = {"level": "batches", "includeControl": "true", "columns": ",".join(columns), "topics": ",".join(topics)}
    return spark.read.format("kafka_log").options(**options).load(str(path))


def metadata_log(spark: SparkSession, path: str | Path) -> DataFrame:
    """The records of the metadata log, of all its replicas, with the columns that `kipspark.jobs.metadata` needs.

    Args:
        spark: the session.
        path: of the log folders.
    """
    options = {"topics": metadata.TOPIC, "includeControl": "true", "columns": ",".join(metadata.OF_RECORDS)}
    return spark.read.format("kafka_log").options(**options).load(str(path))


def metadata_records(spark: SparkSession, path: str | Path, types: Sequence[str]) -> DataFrame:
    """The metadata records of these types, of the snapshot and the log, of each replica.

    The columns are those of `kipspark.jobs.metadata.with_snapshot`.

    Args:
        spark: the session.
        path: of the log folders.
        types: of records.
    """
    snapshot = spark.read.format("kafka_snapshot").options(topics=metadata.TOPIC).load(str(path))
    return metadata.with_snapshot(metadata.records(metadata_log(spark, path), types), snapshot, types)
