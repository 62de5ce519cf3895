"""The report of groups over time, and the tables and metrics of all reports of offsets.

The metrics have the names and labels that dashboards expect: offsets and lag are as kafka_exporter has them, and the
lag in seconds as kafka-lag-exporter has it. What neither has begins with `kipspark`.
"""

from __future__ import annotations

from kipjobs.engines import DataFrame, Session, functions_of
from kipjobs.files.roots import Roots, shown_roots
from kipjobs.jobs import offsets
from kipjobs.jobs.offsets import lag
from kipjobs.jobs.shared.reading import OF_COMMITTED, committed, files, heads, last_ends, log, without_copies
from kipjobs.report import charts
from kipjobs.report.charts import DOTS
from kipjobs.report.metrics import Gauge, Metrics
from kipjobs.report.report import Chart, Report, Table
from kipwire.records.internal_topics import METADATA

_PARTITION = {"topic": "topic", "partition": "partition"}
_GROUP = {"consumergroup": "group", **_PARTITION}
_GROUPS = (
    Gauge(
        "kafka_consumergroup_current_offset",
        "The offset that a group has committed for a partition, which is the next one it would read.",
        "offset",
        _GROUP,
    ),
    Gauge(
        "kafka_consumergroup_lag",
        "The end of the partition minus the committed offset; 0 if the group is ahead of it.",
        "lag",
        _GROUP,
    ),
    Gauge(
        "kafka_consumergroup_group_lag_seconds",
        "How old the first record is that the group has not read; 0 if there is none.",
        "lag_seconds",
        {"group": "group", **_PARTITION},
    ),
)
_ENDS = Gauge("kafka_topic_partition_current_offset", "The offset of the next record.", "end_offset", _PARTITION)
_STALLED = Gauge(
    "kipspark_consumergroup_stalled_seconds",
    "How long the committed offset has not moved, of groups that stand still while the topic grows.",
    "stalled_seconds",
    _GROUP,
)
_AS_OF = Gauge(
    "kipspark_offsets_as_of_timestamp_seconds",
    "The time that lag and ages are of: that of the last known record, or of reading from brokers.",
    "seconds",
)


def metrics_of(groups: DataFrame, stalled: DataFrame, ends: DataFrame, as_of: DataFrame) -> tuple[Metrics, ...]:
    """The metrics of all groups and partitions.

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

STALLED_NOTE = "Stalled: records are unread, and the offset has not moved for {seconds} seconds or longer."


def offsets_report(session: Session, roots: Roots, stalled_after: int = STALLED_AFTER) -> Report:
    """Groups over time, from the log folders of brokers; `stalled_after` is in seconds."""
    sf = functions_of(session)
    # The records of other topics are not read: the heads of their batches say where partitions end.
    batches = heads(session, roots, lag.OF_BATCHES).persist()
    of_groups = without_copies(
        log(session, roots, [offsets.TOPIC], includeControl="true", columns=",".join(OF_COMMITTED))
    ).persist()
    lagging = offsets.with_lag(offsets.commits(committed(of_groups)), offsets.ends(batches)).persist()
    of_all = last_ends(batches, files(session, roots, "segment"))
    ends = of_all.where(sf.col("topic") != METADATA).persist()  # which no group can read
    as_of = lag.last_time(batches).persist()
    groups = lag.with_seconds(offsets.latest_with_ends(lagging, ends), batches, as_of).persist()
    stalled = lag.stalled(groups, lag.moves(lagging), as_of, stalled_after).persist()
    over_time = lagging.where(sf.col("lag").isNotNull()).select(
        sf.concat_ws(" ", "group", sf.concat("topic", sf.lit("-"), "partition")).alias("name"), "time", "lag"
    )
    return Report(
        f"Consumer groups in {shown_roots(roots)}",
        (
            groups_table(groups),
            stalled_table(stalled),
            membership_table(offsets.membership(committed(of_groups))),
            commits_table(lagging),
        ),
        (Chart("Lag over time", over_time.orderBy(sf.desc("time")).limit(DOTS), charts.lag_over_time),),
        (
            "Lag is the end of the partition, as far as the log goes, minus the committed offset; that of a commit "
            "is the lag at its time.",
            "lag_seconds is how old the first record is that the group has not read, at the time of the last record "
            "in the log.",
            STALLED_NOTE.format(seconds=stalled_after),
        ),
        metrics_of(groups, stalled, ends, as_of),
    )


def groups_table(groups: DataFrame) -> Table:
    """The table of present offsets."""
    sf = functions_of(groups)
    order = (sf.desc("lag"), "group", "topic", "partition")
    return Table("groups", "Offsets and lag of groups", groups, order, hidden=("lag_at_commit",))


def stalled_table(stalled: DataFrame) -> Table:
    """The table of groups that stand still."""
    sf = functions_of(stalled)
    order = (sf.desc("lag"), "since", "group", "topic", "partition")
    return Table("stalled", "Groups that stand still while the topic grows", stalled, order)


def membership_table(events: DataFrame) -> Table:
    """The table of who came and went."""
    position = ("log_partition", "log_offset")
    return Table("membership", "Who came and went", events, ("time", *position, "event"), hidden=position)


def commits_table(commits: DataFrame) -> Table:
    """The table of commits."""
    sf = functions_of(commits)
    return Table(
        "commits",
        "The last commits",
        commits,
        (sf.desc("time"), "group", "topic", "partition"),
        hidden=("leader_epoch", "metadata", "is_deleted", "log_partition", "log_offset"),
        shown=10,
    )
