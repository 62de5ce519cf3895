"""The reports of `kipspark offsets`, its metrics, and its commits as a stream.

The metrics have the names and labels that dashboards expect: offsets and lag are as kafka_exporter has them, and the
lag in seconds as kafka-lag-exporter has it. What neither has begins with `kipspark`.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipjobs.files.roots import Roots, shown_roots
from kipspark.jobs import offsets
from kipspark.jobs.offsets import lag
from kipspark.jobs.shared.reading import committed, files, heads, last_ends, log, log_stream, without_copies
from kipspark.report import charts
from kipspark.report.charts import DOTS
from kipspark.report.metrics import Gauge, Metrics
from kipspark.report.report import Chart, Report, Table
from kipspark.spark.live import COMMITTED_ONLY, READER_GROUPS, live, live_ends, live_stream
from kipspark.spark.live_times import live_firsts
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
        stalled: of `kipspark.jobs.offsets.lag.stalled`.
        ends: topic, partition and end_offset.
        as_of: one row with the time.
    """
    seconds = as_of.select((sf.unix_micros("as_of") / sf.lit(1_000_000.0)).alias("seconds"))
    return (
        Metrics(groups, _GROUPS),
        Metrics(stalled, (_STALLED,)),
        Metrics(ends, (_ENDS,)),
        Metrics(seconds, (_AS_OF,)),
    )


STALLED_AFTER = 60
"""Seconds that an offset must stand still to be listed: consumers commit every five seconds by default."""

_STALLED_NOTE = "Stalled: records are unread, and the offset has not moved for {seconds} seconds or longer."


def offsets_report(spark: SparkSession, roots: Roots, stalled_after: int = STALLED_AFTER) -> Report:
    """Groups over time, from the log folders of brokers; `stalled_after` is in seconds."""
    # The records of other topics are not read: the heads of their batches say where partitions end.
    batches = heads(spark, roots, lag.OF_BATCHES).persist()
    of_groups = without_copies(log(spark, roots, [offsets.TOPIC], includeControl="true")).persist()
    lagging = offsets.with_lag(offsets.commits(committed(of_groups)), offsets.ends(batches)).persist()
    of_all = last_ends(batches, files(spark, roots, "segment"))
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
            _groups_table(groups),
            _stalled_table(stalled),
            _membership_table(offsets.membership(committed(of_groups))),
            _commits_table(lagging),
        ),
        (Chart("Lag over time", over_time.orderBy(sf.desc("time")).limit(DOTS), charts.lag_over_time),),
        (
            "Lag is the end of the partition, as far as the log goes, minus the committed offset; that of a commit "
            "is the lag at its time.",
            "lag_seconds is how old the first record is that the group has not read, at the time of the last record "
            "in the log.",
            _STALLED_NOTE.format(seconds=stalled_after),
        ),
        metrics_of(groups, stalled, ends, as_of),
    )


def live_offsets_report(
    spark: SparkSession, bootstrap_servers: str, options: Mapping[str, str], stalled_after: int = STALLED_AFTER
) -> Report:
    """Groups at present, from the live `__consumer_offsets`; `stalled_after` is in seconds.

    Raises:
        SourceError: as `live`.
    """
    # Persisted, since reading adds records to this topic: the groups that Spark reads with have members, too.
    of_groups = live(spark, bootstrap_servers, [offsets.TOPIC], {**options, **COMMITTED_ONLY}).persist()
    commits = offsets.commits(of_groups).persist()
    topics = [row["topic"] for row in commits.select("topic").distinct().collect()]
    ends = live_ends(spark, bootstrap_servers, topics, options).persist()
    latest = offsets.latest_with_ends(commits, ends).persist()
    firsts = live_firsts(spark, bootstrap_servers, latest, options)
    as_of = spark.range(1).select(sf.current_timestamp().alias("as_of")).persist()
    groups = lag.with_seconds_since(latest, firsts.frame, as_of).persist()
    stalled = lag.stalled(groups, lag.moves(commits), as_of, stalled_after).persist()
    came_and_went = offsets.membership(of_groups).where(~sf.col("group").startswith(READER_GROUPS))
    return Report(
        f"Consumer groups at {bootstrap_servers}",
        (
            _groups_table(groups),
            _stalled_table(stalled),
            _membership_table(came_and_went),
            _commits_table(commits),
        ),
        notes=(
            "Lag is the present end of the partition minus the committed offset. Lag at the time of each commit is "
            "known only from log folders: kipspark offsets PATH.",
            "lag_seconds is how old the first record is at present that the group has not read; 0 if none is left.",
            *_refused_note(firsts.refused),
            f"{_STALLED_NOTE.format(seconds=stalled_after)} Only log folders say whether records came since then.",
            "Commits of aborted transactions do not count. While a transaction is open, commits after its own are "
            "not visible.",
            f"The groups that Spark itself reads with, {READER_GROUPS}-..., are not listed under who came and went.",
        ),
        metrics=metrics_of(groups, stalled, ends, as_of),
    )


def _refused_note(topics: tuple[str, ...]) -> tuple[str, ...]:
    if not topics:
        return ()
    return (f"lag_seconds is not known of topics that the brokers do not let this client read: {', '.join(topics)}.",)


def _groups_table(groups: DataFrame) -> Table:
    order = (sf.desc("lag"), "group", "topic", "partition")
    return Table("groups", "Offsets and lag of groups", groups, order, hidden=("lag_at_commit",))


def _stalled_table(stalled: DataFrame) -> Table:
    order = (sf.desc("lag"), "since", "group", "topic", "partition")
    return Table("stalled", "Groups that stand still while the topic grows", stalled, order)


def _membership_table(events: DataFrame) -> Table:
    position = ("log_partition", "log_offset")
    return Table("membership", "Who came and went", events, ("time", *position, "event"), hidden=position)


def _commits_table(commits: DataFrame) -> Table:
    return Table(
        "commits",
        "The last commits",
        commits,
        (sf.desc("time"), "group", "topic", "partition"),
        hidden=("leader_epoch", "metadata", "is_deleted", "log_partition", "log_offset"),
        shown=10,
    )


def commits_of_folders(spark: SparkSession, roots: Roots) -> DataFrame:
    """Commits as a stream, from the log folders of one broker."""
    return offsets.commits(log_stream(spark, roots, [offsets.TOPIC]))


def commits_of_brokers(spark: SparkSession, bootstrap_servers: str, options: Mapping[str, str]) -> DataFrame:
    """Commits as a stream, from the live `__consumer_offsets`, without those of aborted transactions.

    Raises:
        SourceError: as `live`.
    """
    return offsets.commits(live_stream(spark, bootstrap_servers, [offsets.TOPIC], {**options, **COMMITTED_ONLY}))
