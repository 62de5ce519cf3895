"""Log folders and captures as several jobs read them, and the first steps on their rows."""

from __future__ import annotations

from collections.abc import Iterable

from kipjobs.engines import Column, DataFrame, Functions, Session, engine_of, functions_of
from kipjobs.files.roots import Roots
from kipjobs.sources.options import path_options

_COMMIT = "0001"
"""The type of a control record that commits, in hexadecimal; it follows the version, in the key."""
OF_COMMITTED = (
    *("topic", "partition", "offset", "timestamp", "key", "value"),
    *("producer_id", "is_transactional", "is_control"),
)
"""Columns of records that `committed` and `without_copies` need, and the columns of their content."""
OF_COORDINATORS = ("topic", "partition", "offset", "timestamp", "key", "value", "is_control")
"""The columns of records of the brokers' own topics that jobs need."""
_LOG_START = "log-start-offset-checkpoint"
_LENIENT = {"failOnMissingTopics": "false"}
"""Options for reports, since a cluster, or one of its brokers, need not have each topic of a report."""


def log(session: Session, roots: Roots, topics: Iterable[str], **options: str) -> DataFrame:
    """Return rows of `kafka_log`.

    Args:
        session: the session.
        roots: of the log folders.
        topics: only those, as far as they are there; all if empty.
        options: of the source.
    """
    chosen = {**_LENIENT, "topics": ",".join(topics), **options, **path_options(roots)}
    return session.read.format("kafka_log").options(**chosen).load()


def files(session: Session, roots: Roots, kind: str, topics: Iterable[str] = ()) -> DataFrame:
    """Return rows of `kafka_partition_files` of a kind.

    Args:
        session: the session.
        roots: of the log folders.
        kind: of the files.
        topics: only those, as far as they are there; all if empty.
    """
    chosen = {**_LENIENT, "kind": kind, "topics": ",".join(topics), **path_options(roots)}
    return session.read.format("kafka_partition_files").options(**chosen).load()


def snapshots(session: Session, roots: Roots, topics: Iterable[str]) -> DataFrame:
    """Return rows of `kafka_snapshot` of these topics, none for a missing one."""
    chosen = {**_LENIENT, "topics": ",".join(topics), **path_options(roots)}
    return session.read.format("kafka_snapshot").options(**chosen).load()


def heads(session: Session, roots: Roots, columns: Iterable[str], topics: Iterable[str] = ()) -> DataFrame:
    """Return the heads of all batches of these topics, or of all topics; with control batches, which take offsets too.

    Args:
        session: the session.
        roots: of the log folders.
        columns: of batches.
        topics: only those, as far as they are there; all if empty.
    """
    return log(session, roots, topics, level="batches", includeControl="true", columns=",".join(columns))


def without_copies(log: DataFrame) -> DataFrame:
    """Return the rows of `kafka_log` with each record once, if the folders of several replicas were read."""
    return log.dropDuplicates(["topic", "partition", "offset"])


def committed(log: DataFrame) -> DataFrame:
    """Return the committed records, without control records; transactions that were aborted or are open are left out.

    Args:
        log: rows of `kafka_log`, read with `includeControl`, with each record once.
    """
    sf = functions_of(log)
    ending = sf.when(sf.col("is_control"), sf.hex(sf.substring("key", 3, 2)))
    # From the end of the log, since Spark evaluates a window that starts at the current row anew for each row.
    later = (
        sf.Window.partitionBy("topic", "partition", "producer_id")
        .orderBy(sf.desc("offset"))
        .rowsBetween(sf.Window.unboundedPreceding, -1)
    )
    in_transactions = (
        log.where(sf.col("is_transactional"))
        .withColumn("ending", sf.last(ending, ignorenulls=True).over(later))
        .where(sf.col("ending") == _COMMIT)
        .drop("ending")
    )
    return log.where(~sf.col("is_transactional")).unionByName(in_transactions).where(~sf.col("is_control"))


def last_ends(batches: DataFrame, segments: DataFrame) -> DataFrame:
    """Return the last ends of partitions: topic, partition, end_offset, which is the offset of the next record.

    It is after the last batch, and not before the base offset of the last segment: retention leaves an empty segment.

    Args:
        batches: rows of `heads`, with control batches, since control records take offsets too.
        segments: rows of `kafka_partition_files` of the kind `segment`.
    """
    sf = functions_of(batches)
    after = batches.select("topic", "partition", (sf.col("last_offset") + 1).alias("end"))
    ends = after.unionByName(segments.select("topic", "partition", sf.col("base_offset").alias("end")))
    return ends.groupBy("topic", "partition").agg(sf.max("end").alias("end_offset"))


def removed_to(checkpoints: DataFrame) -> DataFrame:
    """Return the offset up to which the records of a partition are removed: topic, partition, removed_to.

    Records below it may still be in a segment, and no consumer gets them (DeleteRecords, retention). It is the highest
    one of all replicas, since a log never starts earlier again.

    Args:
        checkpoints: rows of `kafka_partition_files` of the kind `partition_offset`.
    """
    sf = functions_of(checkpoints)
    starts = checkpoints.where(sf.col("checkpoint") == _LOG_START)
    return starts.groupBy("topic", "partition").agg(sf.max("offset").alias("removed_to"))


def folder(sf: Functions, column: str) -> Column:
    """Return the folder of a file, or of a folder."""
    return sf.regexp_replace(column, "/[^/]*$", "")


def frames(session: Session, roots: Roots, ports: str) -> DataFrame:
    """Return rows of `kafka_frames`; in packets, only connections to the given ports are read, if any are given."""
    chosen = {"ports": ports, "packetTasks": str(engine_of(session).tasks_at_once(session)), **path_options(roots)}
    return session.read.format("kafka_frames").options(**chosen).load()
