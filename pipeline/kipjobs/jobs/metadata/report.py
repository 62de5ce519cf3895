"""The report of `kipspark metadata`, and functions with which other jobs read the metadata log.

The report computes tables by `tables` and chooses what is shown; no rule about the log is here. The state of a cluster
is the snapshot that the log begins with and the records after it, never the newest snapshot: so times and changes are
known for the whole log. A log that does not begin at 0 and has no snapshot gives a part of the state, and a note says
so. Several replicas of the log are made one first.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kipjobs.engines import DataFrame, Session, functions_of
from kipjobs.errors import JobError
from kipjobs.files.roots import Roots, roots_text
from kipjobs.jobs import metadata
from kipjobs.jobs.shared.reading import folder, heads, log, snapshots, without_copies
from kipjobs.report import charts
from kipjobs.report.charts import DOTS
from kipjobs.report.report import Chart, Report, Table


def metadata_report(session: Session, roots: Roots, at: datetime | None) -> Report:
    """Report the history of a cluster, from the folder of its metadata log or a folder above it.

    Raises:
        JobError: the metadata log has no records, or none up to that time.
    """
    sf = functions_of(session)
    log = metadata_log(session, roots)
    snapshot = metadata.until(metadata_snapshot(session, roots), at).persist()
    span = _span(session, roots)
    origin = _origin(roots, at, span, log, snapshot)
    if span["replicas"] > 1:
        log = without_copies(log).persist()
    records = metadata.records(metadata.until(log, at)).persist()
    counting = metadata.with_snapshot(records, snapshot).persist()
    history = metadata.partition_history(counting).persist()
    changes = metadata.changes(records)
    topics, partitions = metadata.topics(counting).persist(), metadata.partitions(history).persist()
    brokers = metadata.brokers(counting).persist()
    return Report(
        "Cluster metadata" + (f" as of {utc(at)}" if at else ""),
        (
            Table(
                "troubled",
                "Partitions without a leader, or with replicas that are behind or gone",
                partitions.where(metadata.has_no_leader(sf) | metadata.lacks_replicas(sf)),
                (metadata.has_no_leader(sf).desc(), "topic", "partition"),
                is_wrong=True,
            ),
            Table("topics", "Topics", topics, ("created", "topic")),
            Table(
                "partitions",
                "Partitions",
                partitions,
                (metadata.has_no_leader(sf).desc(), metadata.lacks_replicas(sf).desc(), "topic", "partition"),
            ),
            Table(
                "configs",
                "Configuration that is set",
                metadata.configs(counting),
                ("resource_type", "resource", "name"),
            ),
            Table("brokers", "Brokers", brokers, (sf.desc("is_fenced"), "broker_id")),
            Table("partition_history", "The last changes of partitions", history, (sf.desc("offset"),), shown=10),
            Table("changes", "The last records", changes, (sf.desc("offset"),), shown=10),
        ),
        (
            Chart(
                "What changed when",
                changes.orderBy(sf.desc("offset")).limit(DOTS).select(sf.col("type").alias("name"), "time"),
                charts.events,
            ),
        ),
        (origin,),
        where=roots_text(roots),
        totals=metadata.totals(topics, partitions, brokers),
    )


def _span(session: Session, roots: Roots) -> dict[str, Any]:
    """Return the extent of the log, from its batch headers: first, last and since (null without batches), replicas."""
    sf = functions_of(session)
    batches = heads(session, roots, ("base_offset", "last_offset", "base_timestamp", "segment"), [metadata.TOPIC])
    span: dict[str, Any]
    (span,) = (
        batches.agg(
            sf.min("base_offset").alias("first"),
            sf.max("last_offset").alias("last"),
            sf.min("base_timestamp").alias("since"),
            sf.count_distinct(folder(sf, "segment")).alias("replicas"),
        )
        .toArrow()
        .to_pylist()
    )
    return span


def _origin(roots: Roots, at: datetime | None, span: dict[str, Any], log: DataFrame, snapshot: DataFrame) -> str:
    """Return a note that names the records from which the state of the cluster was computed."""
    sf = functions_of(log)
    first, last = span["first"], span["last"]
    if first is None:
        raise nothing_of(roots)
    if at is not None:
        ((last,),) = metadata.until(log, at).agg(sf.max("offset")).collect()
        if last is None:
            raise JobError(f"{roots_text(roots)}: no state at {utc(at)}: the log begins at {utc(span['since'])}")
    taken = snapshot.select("snapshot", "end_offset", "timestamp").distinct().toArrow().to_pylist()
    if taken:
        (earlier,) = taken
        return (
            f"The state comes from the snapshot {Path(earlier['snapshot']).name}, which covers what was before "
            f"offset {earlier['end_offset']} ({utc(earlier['timestamp'])}), and from the log after it to offset "
            f"{last}. Times that the snapshot does not have are blank."
        )
    if first == 0:
        return f"The state comes from the log alone, from its first record to offset {last}."
    return (
        f"The state comes from the log alone, from offset {first} to {last}. Earlier changes are "
        f"missing: the log does not begin at 0, and there is no snapshot{'' if at is None else ' of that time'}."
    )


def nothing_of(roots: Roots) -> JobError:
    """Return the error for paths without a metadata log."""
    where = f"the folder {metadata.TOPIC}-0 is in the log folder of a controller, or in its metadata.log.dir"
    return JobError(f"{roots_text(roots)}: no records of {metadata.TOPIC}; {where}")


def utc(time: datetime) -> str:
    """Format a time for a report."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def metadata_snapshot(session: Session, roots: Roots) -> DataFrame:
    """Return the rows of `kafka_snapshot` of the metadata log.

    It is the snapshot that the log begins with, not the newest one: the state is the same, and times and changes are
    known for the whole log.
    """
    return snapshots(session, roots, [metadata.TOPIC])


def metadata_log(session: Session, roots: Roots) -> DataFrame:
    """Return the records of all replicas of the metadata log, with the columns that `kipjobs.jobs.metadata` needs.

    Args:
        session: the session.
        roots: of the log folders.
    """
    return log(session, roots, [metadata.TOPIC], includeControl="true", columns=",".join(metadata.OF_RECORDS))


def metadata_records(session: Session, roots: Roots, types: Sequence[str]) -> DataFrame:
    """Return the metadata records of these types, from the snapshot and the log of each replica.

    The columns are as from `kipjobs.jobs.metadata.with_snapshot`.

    Args:
        session: the session.
        roots: of the log folders.
        types: of records.
    """
    records = metadata.records(metadata_log(session, roots), types)
    return metadata.with_snapshot(records, metadata_snapshot(session, roots), types)
