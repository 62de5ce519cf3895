"""The report of groups at present, from live brokers, and commits as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipjobs.errors import FAILFAST, Mode
from kipjobs.files.roots import Roots
from kipjobs.jobs import offsets
from kipjobs.jobs.offsets import lag
from kipjobs.jobs.offsets.report import (
    STALLED_AFTER,
    STALLED_NOTE,
    commits_table,
    groups_table,
    membership_table,
    metrics_of,
    stalled_table,
    totals_of,
)
from kipjobs.jobs.shared.left_out import left_out, unread_records
from kipjobs.report.report import Report
from kipjobs.sources.options import path_options
from kipspark.jobs.offsets_stream.left_out import observed
from kipspark.spark.live import COMMITTED_ONLY, READER_GROUPS, live, live_ends, live_stream
from kipspark.spark.live_times import live_firsts


def live_offsets_report(
    spark: SparkSession,
    bootstrap_servers: str,
    options: Mapping[str, str],
    stalled_after: int = STALLED_AFTER,
    mode: Mode = FAILFAST,
) -> Report:
    """Report groups at present, from the live `__consumer_offsets`; `stalled_after` is in seconds.

    Raises:
        SourceError: as `live`.
    """
    # Persisted, since reading adds records to this topic: the groups that Spark reads with have members, too.
    of_groups = live(spark, bootstrap_servers, [offsets.TOPIC], {**options, **COMMITTED_ONLY}).persist()
    without = left_out([unread_records(of_groups, "group", offsets.TYPES)], mode)
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
        "Consumer groups",
        (
            stalled_table(
                stalled,
                f"{STALLED_NOTE.format(seconds=stalled_after)} Only log folders say whether records came since.",
            ),
            without.table,
            groups_table(groups),
            membership_table(came_and_went),
            commits_table(commits),
        ),
        notes=(
            "Lag is the present end of the partition minus the committed offset. Lag at the time of each commit is "
            "known only from log folders: kipspark offsets PATH.",
            "Lag seconds is how old the first record is at present that the group has not read; 0 if none is left.",
            *(f"Lag seconds is not known everywhere: {note}" for note in firsts.notes),
            "Commits of aborted transactions do not count. While a transaction is open, commits after its own are "
            "not visible.",
            f"The groups that Spark itself reads with, {READER_GROUPS}-..., are not listed under who came and went.",
        ),
        metrics=(*metrics_of(groups, stalled, ends, as_of), without.metrics),
        where=bootstrap_servers,
        totals=totals_of(groups, stalled),
        left_out=without.line,
        is_damaged=without.damaged > 0,
    )


def commits_of_folders(spark: SparkSession, roots: Roots) -> DataFrame:
    """Return commits as a stream, from the log folders of one broker."""
    return offsets.commits(observed(log_stream(spark, roots, [offsets.TOPIC])))


def commits_of_brokers(spark: SparkSession, bootstrap_servers: str, options: Mapping[str, str]) -> DataFrame:
    """Return commits as a stream, from the live `__consumer_offsets`, without commits of aborted transactions.

    Raises:
        SourceError: as `live`.
    """
    log = live_stream(spark, bootstrap_servers, [offsets.TOPIC], {**options, **COMMITTED_ONLY})
    return offsets.commits(observed(log))


def log_stream(spark: SparkSession, roots: Roots, topics: Iterable[str]) -> DataFrame:
    """Do as `kipjobs.jobs.shared.reading.log`, but as a stream, also of topics that appear later."""
    chosen = {"failOnMissingTopics": "false", "topics": ",".join(topics), **path_options(roots)}
    return spark.readStream.format("kafka_log").options(**chosen).load()
