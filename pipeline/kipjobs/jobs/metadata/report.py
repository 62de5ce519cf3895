"""The report of `kipspark metadata`, and functions with which other jobs read the metadata log.

The report computes tables by `tables` and chooses what is shown; no rule about the log is here. The state of a cluster
is the snapshot that the log begins with and the records after it, never the newest snapshot: so times and changes are
known for the whole log. A log that does not begin at 0 and has no snapshot gives a part of the state, and a note says
so. Several replicas of the log are made one first.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from kipjobs.engines import DataFrame, Session, functions_of
from kipjobs.jobs import metadata
from kipjobs.jobs.shared.left_out import (
    damage,
    damage_of_snapshots,
    left_out,
    unread_in_snapshots,
    unread_records,
)
from kipjobs.jobs.shared.reading import OF_DECODED, Place, decoded_log, folder, heads, log, snapshots, without_copies
from kipjobs.jobs.shared.times import is_plausible
from kipjobs.report import charts
from kipjobs.report.charts import DOTS
from kipjobs.report.report import Chart, Report, Table
from kipwire.tables.arrow import python_rows
from kipwire.tables.errors import FAILFAST, JobError, Mode
from kipwire.tables.files.roots import Roots, roots_text
from kipwire.tools.times import date_text


def metadata_report(session: Session, roots: Roots, at: datetime | None, mode: Mode = FAILFAST) -> Report:
    """Report the history of a cluster, from the folder of its metadata log or a folder above it.

    Raises:
        JobError: the metadata log has no records, or none up to that time.
    """
    sf = functions_of(session)
    log = metadata_log(session, roots, mode)
    snapshot = metadata.until(metadata_snapshot(session, roots, mode), at).persist()
    span = _span(session, roots, mode)
    origin = _origin(roots, at, span, log, snapshot)
    if span["replicas"] > 1:
        log = without_copies(log).persist()
    records = metadata.records(metadata.until(log, at)).persist()
    counting = metadata.with_snapshot(records, snapshot).persist()
    history = metadata.partition_history(counting).persist()
    changes = metadata.changes(records)
    without = left_out(
        [
            unread_records(metadata.until(log, at), "metadata"),
            unread_in_snapshots(snapshot),
            *damage(session, roots, mode, [metadata.TOPIC]),
            *damage_of_snapshots(session, roots, mode, [metadata.TOPIC]),
        ],
        mode,
    )
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
            without.table,
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
                changes.where(is_plausible(sf, sf.col("time"), sf.current_timestamp()))
                .orderBy(sf.desc("offset"))
                .limit(DOTS)
                .select(sf.col("type").alias("name"), "time"),
                charts.events,
            ),
        ),
        (origin,),
        where=roots_text(roots),
        totals=metadata.totals(topics, partitions, brokers),
        left_out=without.line,
        is_damaged=without.damaged > 0,
    )


def _span(session: Session, roots: Roots, mode: Mode) -> dict[str, Any]:
    """Return the extent of the log, from its batch headers: first, last and since (null without batches), replicas."""
    sf = functions_of(session)
    batches = heads(session, roots, ("base_offset", "last_offset", "base_timestamp", "segment"), [metadata.TOPIC], mode)
    span: dict[str, Any]
    (span,) = python_rows(
        batches.agg(
            sf.min("base_offset").alias("first"),
            sf.max("last_offset").alias("last"),
            sf.min("base_timestamp").alias("since"),
            sf.count_distinct(folder(sf, "segment")).alias("replicas"),
        ).toArrow()
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
    taken = python_rows(snapshot.select("snapshot", "end_offset", "timestamp").distinct().toArrow())
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


def utc(time: datetime | str | None) -> str:
    """Format a time of `kipwire.tables.arrow.python_rows` for a report."""
    if time is None:
        return "an unknown time"
    return f"{date_text(time, ' ', 'seconds')} UTC" if isinstance(time, datetime) else time


def metadata_snapshot(session: Session, roots: Place, mode: Mode = FAILFAST) -> DataFrame:
    """Return the rows of `kafka_snapshot` of the metadata log.

    It is the snapshot that the log begins with, not the newest one: the state is the same, and times and changes are
    known for the whole log.
    """
    return snapshots(session, roots, [metadata.TOPIC], mode)


def metadata_log(session: Session, roots: Place, mode: Mode = FAILFAST) -> DataFrame:
    """Return the records of all replicas of the metadata log, with the columns that `kipjobs.jobs.metadata` needs.

    Args:
        session: the session.
        roots: of the log folders.
        mode: the reaction to damage.
    """
    return log(session, roots, [metadata.TOPIC], mode, includeControl="true", columns=metadata.OF_RECORDS)


def metadata_records(session: Session, roots: Place, types: Sequence[str], mode: Mode = FAILFAST) -> DataFrame:
    """Return the metadata records of these types, from the snapshot and the log of each replica.

    The columns are as from `kipjobs.jobs.metadata.with_snapshot`.

    Args:
        session: the session.
        roots: of the log folders.
        types: of records.
        mode: the reaction to damage.
    """
    some = (*types, *metadata.MARKERS) if types else ()
    log = decoded_log(session, roots, metadata.TOPIC, mode, columns=OF_DECODED, types=some)
    records = metadata.records(log, types)
    return metadata.with_snapshot(records, metadata_snapshot(session, roots, mode), types)


def left_out_of_metadata(session: Session, roots: Place, types: Sequence[str], mode: Mode) -> list[DataFrame]:
    """Find what `metadata_records` is without, for `left_out`; the arguments are the same."""
    of_log = unread_records(metadata_log(session, roots, mode), "metadata", (*types, *metadata.MARKERS))
    return [
        of_log,
        unread_in_snapshots(metadata_snapshot(session, roots, mode), types),
        *damage(session, roots, mode, [metadata.TOPIC]),
        *damage_of_snapshots(session, roots, mode, [metadata.TOPIC]),
    ]
