"""The report of groups over time, and the tables and metrics of all reports of offsets."""

from __future__ import annotations

from kipjobs.engines import DataFrame, Session, functions_of
from kipjobs.jobs import offsets
from kipjobs.jobs.offsets import lag
from kipjobs.jobs.shared.left_out import damage, damage_of_files, damage_of_heads, left_out, unread_records
from kipjobs.jobs.shared.reading import (
    OF_COMMITTED,
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
from kipwire.tables.errors import FAILFAST, Mode
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
    _gauge(metrics.LAG_SECONDS, "lag_seconds"),
)
_ENDS = _gauge(metrics.END, "end_offset")
_STALLED = _gauge(metrics.STALLED, "stalled_seconds")
_AS_OF = _gauge(metrics.AS_OF, "seconds")


def metrics_of(groups: DataFrame, stalled: DataFrame, ends: DataFrame, as_of: DataFrame) -> tuple[Metrics, ...]:
    """Return the metrics of all groups and partitions.

    Args:
        groups: the present offsets, with lag and lag_seconds.
        stalled: of `kipjobs.jobs.offsets.lag.stalled`.
        ends: topic, partition and end_offset.
        as_of: one row with the time.
    """
    sf = functions_of(groups)
    seconds = as_of.select((sf.unix_micros("as_of") / sf.lit(1_000_000.0)).alias("seconds"))
    return (
        Metrics(groups, _GROUPS),
        Metrics(stalled, (_STALLED,)),
        Metrics(ends, (_ENDS,)),
        Metrics(seconds, (_AS_OF,)),
    )


STALLED_AFTER = 60
"""Seconds that an offset must stand still to be listed: consumers commit every five seconds by default."""

_STALLED_NOTE = "Records are unread, and the offset has not moved for {seconds} seconds or longer."


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
    of_all = last_ends(batches, files(session, roots, "segment"))
    ends = of_all.where(sf.col("topic") != METADATA).persist()  # which no group can read
    as_of = lag.last_time(batches).persist()
    removed = removed_to(files(session, beside, "partition_offset", mode=mode)) if beside else None
    groups = lag.with_seconds(offsets.latest_with_ends(lagging, ends), batches, removed, as_of).persist()
    stalled = lag.stalled(groups, lag.moves(lagging), as_of, stalled_after).persist()
    over_time = lag.over_time(lagging, groups, offsets.ends(batches), as_of)
    return Report(
        "Consumer groups",
        (
            _stalled_table(stalled, _STALLED_NOTE.format(seconds=stalled_after)),
            without.table,
            _groups_table(groups),
            _membership_table(offsets.membership(committed(of_groups))),
            _commits_table(lagging),
        ),
        (Chart("Lag over time", lag.highest(over_time, charts.MOST_LINES).limit(DOTS), charts.lag_over_time),),
        (
            "Lag is the end of the partition, as far as the log goes, minus the committed offset; that of a commit "
            "is the lag at its time.",
            "Lag seconds is how old the first record is that the group has not read, at the time of the last record "
            "in the log. Lines of the chart go on to that time, also where a consumer has not committed any more.",
        ),
        (*metrics_of(groups, stalled, ends, as_of), without.metrics),
        roots_text(roots),
        totals_of(groups, stalled),
        without.line,
        without.damaged > 0,
    )


def totals_of(groups: DataFrame, stalled: DataFrame) -> DataFrame:
    """Return one row: numbers of groups, groups with a lag, stalled groups, unread records, and the longest lag.

    Args:
        groups: the present offsets, with lag and lag_seconds.
        stalled: of `kipjobs.jobs.offsets.lag.stalled`.
    """
    sf = functions_of(groups)
    of_all = groups.agg(
        sf.count_distinct("group").alias("groups"),
        sf.count_distinct(sf.when(sf.col("lag") > 0, sf.col("group"))).alias("behind"),
        total(sf, "lag", "unread_records"),
        sf.max("lag_seconds").alias("longest_lag_seconds"),
    )
    of_stalled = stalled.agg(sf.count_distinct("group").alias("stalled"))
    names = ("groups", "behind", "stalled", "unread_records", "longest_lag_seconds")
    return one_row(of_all, of_stalled).select(*names)


def _groups_table(groups: DataFrame) -> Table:
    """Return the table of present offsets."""
    sf = functions_of(groups)
    order = (sf.desc("lag"), "group", "topic", "partition")
    return Table("groups", "Offsets and lag of groups", groups, order, hidden=("lag_at_commit",))


def _stalled_table(stalled: DataFrame, note: str) -> Table:
    """Return the table of stalled groups, with a note that explains the word."""
    sf = functions_of(stalled)
    order = (sf.desc("lag"), "since", "group", "topic", "partition")
    title = "Groups that stand still"
    return Table("stalled", title, stalled, order, note=note, is_wrong=True)


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
