"""The report of groups over time, and the tables and metrics of all reports of offsets."""

from __future__ import annotations

from kipjobs.engines import Column, DataFrame, Session, functions_of
from kipjobs.jobs import offsets
from kipjobs.jobs.metadata.report import metadata_snapshot
from kipjobs.jobs.offsets import assigned, lag
from kipjobs.jobs.share.tables import topic_ids
from kipjobs.jobs.shared.left_out import damage, damage_of_files, damage_of_heads, left_out, unread_records
from kipjobs.jobs.shared.reading import (
    OF_COMMITTED,
    OF_COORDINATORS,
    OF_HEADS,
    committed,
    files,
    heads,
    last_ends,
    log,
    removed_to,
    without_copies,
)
from kipjobs.jobs.shared.totals import one_row, total
from kipjobs.report import charts
from kipjobs.report.charts import DOTS
from kipjobs.report.metrics import Gauge, Metrics
from kipjobs.report.report import Chart, Report, Table
from kipwire.cluster import metrics
from kipwire.logs.internal_topics import METADATA
from kipwire.tables.arrow import python_rows
from kipwire.tables.errors import FAILFAST, PERMISSIVE, Mode
from kipwire.tables.files.roots import Roots, each_root, roots_text
from kipwire.tables.files.stores import is_url

_COLUMNS = {"consumergroup": "group"}
"""Columns of labels with another name."""


def _gauge(one: metrics.Gauge, column: str) -> Gauge:
    """Return the metric of a column, equal to the one of `kipwire offsets --brokers`."""
    return Gauge(one.name, one.about, column, {label: _COLUMNS.get(label, label) for label in one.labels})


_GROUPS = (
    _gauge(metrics.OFFSET, "offset"),
    _gauge(metrics.LAG, "lag"),
    _gauge(metrics.UNREAD, "unread"),
    _gauge(metrics.LAG_SECONDS, "lag_seconds"),
)
_ENDS = _gauge(metrics.END, "end_offset")
_STALLED = _gauge(metrics.STALLED, "stalled_seconds")
_TOO_LATE = _gauge(metrics.TOO_LATE, "too_late")
_WITHOUT_OFFSET = _gauge(metrics.WITHOUT_OFFSET, "count")
_AS_OF = _gauge(metrics.AS_OF, "seconds")


def metrics_of(
    groups: DataFrame, stalled: DataFrame, without_offset: DataFrame, ends: DataFrame, as_of: DataFrame
) -> tuple[Metrics, ...]:
    """Return the metrics of all groups and partitions.

    Args:
        groups: the present offsets, of `kipjobs.jobs.offsets.lag.with_unread`.
        stalled: of `kipjobs.jobs.offsets.lag.stalled`.
        without_offset: of `kipjobs.jobs.offsets.assigned.without_offset`.
        ends: topic, partition and end_offset.
        as_of: one row with the time.
    """
    sf = functions_of(groups)
    seconds = as_of.select((sf.unix_micros("as_of") / sf.lit(1_000_000.0)).alias("seconds"))
    return (
        Metrics(groups, _GROUPS),
        Metrics(stalled, (_STALLED,)),
        Metrics(_too_late(groups), (_TOO_LATE,)),
        Metrics(without_offset.withColumn("count", sf.lit(1)), (_WITHOUT_OFFSET,)),
        Metrics(ends, (_ENDS,)),
        Metrics(seconds, (_AS_OF,)),
    )


STALLED_AFTER = 60
"""Seconds that an offset must stand still to be listed: consumers commit every five seconds by default."""

_STALLED_NOTE = (
    "Records are unread, and the offset has not moved for {seconds} seconds or longer. Where grown is 0, the topic is "
    "quiet."
)


def offsets_report(session: Session, roots: Roots, stalled_after: int = STALLED_AFTER, mode: Mode = FAILFAST) -> Report:
    """Report groups over time, from the log folders of brokers; `stalled_after` is in seconds."""
    sf = functions_of(session)
    beside = [root for root in each_root(roots) if not is_url(root)]  # a store has no files of brokers
    # The records of other topics are not read: the heads of their batches have the ends of partitions.
    batches = heads(session, roots, lag.OF_BATCHES, mode=mode).persist()
    of_groups = without_copies(
        log(session, roots, [offsets.TOPIC], mode, includeControl="true", columns=OF_COMMITTED)
    ).persist()
    without = left_out(
        [
            unread_records(of_groups, "group", offsets.TYPES),
            *damage(session, roots, mode, [offsets.TOPIC]),
            *damage_of_heads(session, roots, mode, but=[offsets.TOPIC]),
            *(damage_of_files(session, beside, mode, ["partition_offset"]) if beside else ()),
        ],
        mode,
    )
    lagging = offsets.with_lag(offsets.commits(committed(of_groups)), offsets.ends(batches)).persist()
    segments = files(session, roots, "segment").persist()
    of_all = last_ends(batches, segments)
    ends = of_all.where(sf.col("topic") != METADATA).persist()  # which no group can read
    as_of = lag.last_time(batches).persist()
    removed = removed_to(files(session, beside, "partition_offset", mode=mode)) if beside else None
    starts = lag.starts(segments, removed).persist()
    present = offsets.latest_with_ends(lagging, ends).persist()
    readable = lag.readable(batches, _committed_batches(session, roots, lag.in_doubt(present, batches), mode))
    groups = lag.with_unread(present, readable, starts, as_of).persist()
    stalled = lag.stalled(groups, lag.moves(lagging), as_of, stalled_after).persist()
    without_offset = assigned.without_offset(_assigned(session, roots, of_groups), present, starts, ends).persist()
    over_time = lag.over_time(lagging, groups, offsets.ends(batches), as_of)
    return Report(
        "Consumer groups",
        (
            _stalled_table(stalled, _STALLED_NOTE.format(seconds=stalled_after)),
            _without_offset_table(without_offset),
            _too_late_table(groups),
            without.table,
            _groups_table(groups),
            _membership_table(offsets.membership(committed(of_groups))),
            _commits_table(lagging),
        ),
        (Chart("Lag over time", lag.highest(over_time, charts.MOST_LINES).limit(DOTS), charts.lag_over_time),),
        (
            "Lag is the end of the partition, as far as the log goes, minus the committed offset; that of a commit "
            "is the lag at its time. Unread is what a consumer may still get: 0 if only markers of transactions, "
            "aborted or removed records are left.",
            "Lag seconds is how old the first record is that the group has not read, at the time of the last record "
            "in the log. Lines of the chart go on to that time, also where a consumer has not committed any more.",
        ),
        (*metrics_of(groups, stalled, without_offset, ends, as_of), without.metrics),
        roots_text(roots),
        totals_of(groups, stalled, without_offset),
        without.line,
        without.damaged > 0,
    )


def _committed_batches(session: Session, roots: Roots, in_doubt: DataFrame, mode: Mode) -> DataFrame | None:
    """Return the batches that readers of committed records get, of these topics; None if there are no topics."""
    topics = [row["topic"] for row in python_rows(in_doubt.toArrow())]
    if not topics:
        return None
    columns = ("topic", "partition", "base_offset")
    return log(session, roots, topics, mode, columns=columns, isolationLevel="read_committed", **OF_HEADS)


def _assigned(session: Session, roots: Roots, of_groups: DataFrame) -> DataFrame:
    """Return the partitions that members of groups have; the metadata log, which names topics, is read if need be."""
    rows = committed(of_groups)
    of_ids = assigned.by_topic_id(rows).persist()
    if of_ids.isEmpty():
        return assigned.by_name(rows)
    # What is damaged there costs names of topics alone.
    records = log(session, roots, [METADATA], PERMISSIVE, columns=OF_COORDINATORS)
    names = topic_ids(records, metadata_snapshot(session, roots, PERMISSIVE))
    return assigned.by_name(rows).unionByName(assigned.with_names(of_ids, names))


def totals_of(groups: DataFrame, stalled: DataFrame, without_offset: DataFrame) -> DataFrame:
    """Return one row: numbers of groups, of all and of those in which something is wrong, and sums.

    Args:
        groups: the present offsets, of `kipjobs.jobs.offsets.lag.with_unread`.
        stalled: of `kipjobs.jobs.offsets.lag.stalled`.
        without_offset: of `kipjobs.jobs.offsets.assigned.without_offset`.
    """
    sf = functions_of(groups)

    def those(condition: Column, name: str) -> Column:
        return sf.count_distinct(sf.when(condition, sf.col("group"))).alias(name)

    of_all = groups.agg(
        sf.count_distinct("group").alias("groups"),
        those(sf.col("lag") > 0, "behind"),
        those(sf.col("too_late") > 0, "too_late"),
        those(sf.col("offset") > sf.col("end_offset"), "ahead"),
        total(sf, "lag"),
        total(sf, "unread"),
        sf.max("lag_seconds").alias("lag_seconds"),
    )
    of_stalled = stalled.agg(sf.count_distinct("group").alias("stalled"))
    without = without_offset.agg(sf.count_distinct("group").alias("without_offset"))
    names = ("groups", "behind", "stalled", "without_offset", "too_late", "ahead", "lag", "unread", "lag_seconds")
    return one_row(of_all, of_stalled, without).select(*names)


def _too_late(groups: DataFrame) -> DataFrame:
    sf = functions_of(groups)
    return groups.where(sf.col("too_late") > 0).select(*lag.PLACE, "offset", "start_offset", "too_late", "last_commit")


def _groups_table(groups: DataFrame) -> Table:
    """Return the table of present offsets."""
    sf = functions_of(groups)
    order = (sf.desc("lag"), "group", "topic", "partition")
    return Table(
        "groups", "Offsets and lag of groups", groups, order, hidden=("start_offset", "too_late", "lag_at_commit")
    )


def _stalled_table(stalled: DataFrame, note: str) -> Table:
    """Return the table of stalled groups, with a note that explains the word."""
    sf = functions_of(stalled)
    order = (sf.desc("lag"), "since", "group", "topic", "partition")
    title = "Groups that stand still"
    return Table("stalled", title, stalled, order, note=note, is_wrong=True)


def _without_offset_table(without_offset: DataFrame) -> Table:
    """Return the table of partitions that members have, and of which no offset is committed."""
    title = "Partitions without an offset"
    note = "A member reads them, and the group has committed nothing."
    return Table("without_offset", title, without_offset, lag.PLACE, note=note, is_wrong=True)


def _too_late_table(groups: DataFrame) -> Table:
    """Return the table of groups that have not read what was removed."""
    sf = functions_of(groups)
    order = (sf.desc("too_late"), *lag.PLACE)
    note = "The next records were removed before the group has read them."
    return Table("too_late", "Groups that came too late", _too_late(groups), order, note=note, is_wrong=True)


def _membership_table(events: DataFrame) -> Table:
    """Return the table of members that joined and left."""
    position = ("log_partition", "log_offset")
    return Table("membership", "Who came and went", events, ("time", *position, "event"), hidden=position)


def _commits_table(commits: DataFrame) -> Table:
    """Return the table of commits."""
    sf = functions_of(commits)
    return Table(
        "commits",
        "The last commits",
        commits,
        (sf.desc("time"), "group", "topic", "partition"),
        hidden=("leader_epoch", "metadata", "is_deleted", "log_partition", "log_offset"),
        shown=10,
    )
