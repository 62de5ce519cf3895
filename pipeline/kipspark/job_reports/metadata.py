"""What `kipspark metadata` reports."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipspark.errors import JobError
from kipspark.job_reports.times import DOTS, utc
from kipspark.jobs import metadata
from kipspark.jobs.replicas import without_copies
from kipspark.report import charts
from kipspark.report.report import Chart, Report, Table

_NO_LEADER = -1


def metadata_report(spark: SparkSession, path: str | Path, at: datetime | None) -> Report:
    """The history of a cluster, from the folder of its metadata log or a folder above it.

    Raises:
        JobError: there are no records of it, or none up to that time.
    """
    log_format = spark.read.format("kafka_log").options(topics=metadata.TOPIC, includeControl="true")
    log = without_copies(log_format.load(str(path))).persist()
    snapshot_format = spark.read.format("kafka_snapshot").options(topics=metadata.TOPIC)
    snapshot = metadata.until(snapshot_format.load(str(path)), at).persist()
    origin = _origin(path, at, log, snapshot)
    records = metadata.records(metadata.until(log, at)).persist()
    counting = metadata.with_snapshot(records, snapshot).persist()
    history = metadata.partition_history(counting).persist()
    changes = metadata.changes(records)
    has_no_leader = sf.coalesce("leader", sf.lit(_NO_LEADER)) == _NO_LEADER
    lacks_replicas = sf.size("isr") < sf.size("replicas")
    return Report(
        f"Cluster metadata in {path}" + (f" as of {utc(at)}" if at else ""),
        (
            Table("topics", "Topics", metadata.topics(counting), ("created", "topic")),
            Table(
                "partitions",
                "Partitions",
                metadata.partitions(history),
                (has_no_leader.desc(), lacks_replicas.desc(), "topic", "partition"),
            ),
            Table(
                "configs",
                "Configuration that is set",
                metadata.configs(counting),
                ("resource_type", "resource", "name"),
            ),
            Table("brokers", "Brokers", metadata.brokers(counting), (sf.desc("is_fenced"), "broker_id")),
            Table("partition_history", "The last changes of partitions", history, (sf.desc("offset"),), shown=10),
            Table("changes", "The last records", changes, (sf.desc("offset"),), shown=10),
        ),
        (
            Chart(
                "What changed when",
                changes.select(sf.col("type").alias("name"), "time").orderBy(sf.desc("offset")).limit(DOTS),
                charts.events,
            ),
        ),
        (origin,),
    )


def _origin(path: str | Path, at: datetime | None, log: DataFrame, snapshot: DataFrame) -> str:
    """A note that says what the state of a cluster was computed from."""
    span = (sf.min("offset").alias("first"), sf.max("offset").alias("last"), sf.min("timestamp").alias("since"))
    (whole,) = log.agg(*span).toArrow().to_pylist()
    if whole["first"] is None:
        raise nothing_of(path)
    (used,) = [whole] if at is None else metadata.until(log, at).agg(*span).toArrow().to_pylist()
    if at is not None and used["last"] is None:
        raise JobError(f"{path}: nothing is known as of {utc(at)}: the log begins at {utc(whole['since'])}")
    taken = snapshot.select("snapshot", "end_offset", "timestamp").distinct().toArrow().to_pylist()
    if taken:
        (first,) = taken
        return (
            f"The state comes from the snapshot {Path(first['snapshot']).name}, which covers what was before "
            f"offset {first['end_offset']} ({utc(first['timestamp'])}), and from the log after it to offset "
            f"{used['last']}. Times that the snapshot does not have are blank."
        )
    if whole["first"] == 0:
        return f"The state comes from the log alone, from its first record to offset {used['last']}."
    return (
        f"The state comes from the log alone, from offset {whole['first']} to {used['last']}. Earlier changes are "
        f"missing: the log does not begin at 0, and there is no snapshot{'' if at is None else ' of that time'}."
    )


def nothing_of(path: str | Path) -> JobError:
    """The error of a path without the metadata log."""
    where = f"the folder {metadata.TOPIC}-0 is in the log folder of a controller, or in its metadata.log.dir"
    return JobError(f"{path}: no records of {metadata.TOPIC}; {where}")
