"""Lag of consumer groups at a time, in records and in seconds, and the groups that are stalled.

In logs, times are as of the last known record and not of now, since logs may be read long after they were written.
Timestamps are by the clocks of producers, so one in the future does not count. `with_seconds` has only the heads of
batches to go by, and its docstring has the error of that. `kipwire.cluster.lag` has the same rules for one look at a
cluster, by the records themselves and without data frames.
"""

from __future__ import annotations

from kipjobs.engines import Column, Frame, Functions, functions_of
from kipjobs.jobs import offsets
from kipjobs.jobs.shared.times import is_plausible, seconds_between

OF_BATCHES = (*offsets.OF_BATCHES, "base_timestamp", "timestamp_type", "is_control")
"""The columns of batches that these functions need."""

PLACE = ("group", "topic", "partition")
"""Columns that identify a committed offset: a group has one for each partition."""

_TIME = "struct<time:timestamp>"


def last_time(batches: Frame) -> Frame:
    """Return the time of the last known record, as one row: as_of.

    It is the highest timestamp of all batches of all topics. Timestamps in the future, which producers with wrong
    clocks give, do not count, unless there are no others.

    Args:
        batches: rows of `kafka_log` with the level `batches`.
    """
    sf = functions_of(batches)
    time = sf.col("max_timestamp")
    past = sf.max(sf.when(time <= sf.current_timestamp(), time))
    return batches.agg(sf.coalesce(past, sf.max(time)).alias("as_of"))


def with_seconds(groups: Frame, batches: Frame, removed: Frame | None, as_of: Frame) -> Frame:
    """Add `lag_seconds` to groups: the age of the first record that a group has not read, at the last known time.

    The timestamp is from the first batch with records from the committed offset on: its `base_timestamp`, or its
    `max_timestamp` if the broker set that (LogAppendTime) or there is no other. So the age is exact if the group has
    read whole batches. If it has read a part of one, the age is too high by at most the time between the
    records of that batch.

    It is 0 if `lag` is 0, or if no batch is left to read, since the records with these offsets are removed, or only
    markers of transactions have them. It is null if the lag or the timestamp is not known, or the timestamp is before
    1970 or after `as_of`. Producers set timestamps by their own clocks.

    Args:
        groups: with the columns of `PLACE`, offset and lag.
        batches: as for `last_ends`.
        removed: of `removed_to`; None if it is not known.
        as_of: of `last_time`.
    """
    sf = functions_of(groups)
    of_producer = sf.coalesce("base_timestamp", "max_timestamp")
    time = sf.when(sf.col("timestamp_type") == "LogAppendTime", sf.col("max_timestamp")).otherwise(of_producer)
    # Most groups are near the end, so that few batches are left to sort.
    behind = groups.where(sf.col("lag") > 0).groupBy("topic", "partition").agg(sf.min("offset").alias("lowest"))
    if removed is not None:
        behind = behind.join(sf.broadcast(removed), ["topic", "partition"], "left").withColumn(
            "lowest", sf.greatest("lowest", "removed_to")
        )
    unread = (
        batches.join(sf.broadcast(behind), ["topic", "partition"])
        .where(~sf.col("is_control") & (sf.col("last_offset") >= sf.col("lowest")))
        .select(
            "topic", "partition", sf.col("last_offset").alias("offset"), sf.struct(time.alias("time")).alias("head")
        )
    )
    both = groups.withColumn("head", sf.lit(None).cast(_TIME)).unionByName(unread, allowMissingColumns=True)
    from_here_on = (
        sf.Window.partitionBy("topic", "partition")
        # From the end to the start; the batch that ends with the committed offset comes before it, since it is unread.
        .orderBy(sf.desc("offset"), sf.col("head").isNull()).rowsBetween(
            sf.Window.unboundedPreceding, sf.Window.currentRow
        )
    )
    return (
        both.withColumn("first", sf.last("head", ignorenulls=True).over(from_here_on))
        .where(sf.col("head").isNull())
        .crossJoin(sf.broadcast(as_of))
        .withColumn("lag_seconds", _seconds(sf))
        .select(*_with_after(groups.columns, "lag", "lag_seconds"))
    )


def moves(commits: Frame) -> Frame:
    """Find the last move of the offset of each group for each partition: the columns of `PLACE`, since, end_then.

    `since` is the time of the first known commit of the present offset. Brokers compact the log of commits, so that
    the offset may stand still for longer. `end_then` is the end of the partition at that time.

    Args:
        commits: of `kipjobs.jobs.offsets.with_lag`; or of `commits`, then `end_then` is null.
    """
    sf = functions_of(commits)
    end = sf.col("end_offset") if "end_offset" in commits.columns else sf.lit(None).cast("bigint")
    in_order = sf.Window.partitionBy(*PLACE).orderBy("log_offset")
    moved = ~sf.col("offset").eqNullSafe(sf.lag("offset").over(in_order))
    at = sf.col("log_offset")
    last = commits.withColumn("end_then", end).withColumn("moved", moved).where("moved").groupBy(*PLACE)
    return last.agg(sf.max_by("time", at).alias("since"), sf.max_by("end_then", at).alias("end_then"))


def stalled(groups: Frame, moved: Frame, as_of: Frame, seconds: int) -> Frame:
    """Return the groups whose offset does not move, unless nothing is unread or the topic is known to be quiet.

    Columns: group, topic, partition, offset, lag, since, stalled_seconds, records_since, last_commit. These groups
    have unread records, have not moved their offset for `seconds` or longer, and the partition has grown since then.
    `records_since` is by how many offsets. It is null if that is not known, and then the group is listed too.

    Args:
        groups: of `with_seconds`, with end_offset and last_commit. With a lag but without seconds, only markers of
            transactions or removed records follow the offset.
        moved: of `moves`.
        as_of: of `last_time`, or the present time.
        seconds: how long an offset must stand still.
    """
    sf = functions_of(groups)
    stood = seconds_between(sf, "since", "as_of")
    return (
        groups.where((sf.col("lag") > 0) & sf.coalesce(sf.col("lag_seconds") > 0, sf.lit(True)))
        .join(moved, list(PLACE))
        .crossJoin(sf.broadcast(as_of))
        .withColumn("stalled_seconds", stood)
        .withColumn("records_since", sf.col("end_offset") - sf.col("end_then"))
        .where((sf.col("stalled_seconds") >= seconds) & sf.coalesce(sf.col("records_since") > 0, sf.lit(True)))
        .select(*PLACE, "offset", "lag", "since", "stalled_seconds", "records_since", "last_commit")
    )


STEPS = 40
"""Number of steps between the last commit and the end of the log; a line has at most one point for each."""


def over_time(lagging: Frame, groups: Frame, grown: Frame, as_of: Frame) -> Frame:
    """Return the lag of each group for each partition over time: name, time, lag.

    It is the lag at each commit. From the last one on it is what the partition has grown by since then, up to `as_of`,
    since a consumer that has died commits no more, and its lag grows. Commits at times that are not plausible are left
    out.

    Args:
        lagging: of `kipjobs.jobs.offsets.with_lag`.
        groups: the last commits, with end_offset and lag at the end of the log, such as of `latest_with_ends`.
        grown: of `kipjobs.jobs.offsets.ends`.
        as_of: of `last_time`.
    """
    sf = functions_of(lagging)
    last = groups.where(sf.col("lag").isNotNull()).select(*PLACE, "offset", "lag", "last_commit").crossJoin(as_of)
    after, whole = seconds_between(sf, "last_commit", "time"), seconds_between(sf, "last_commit", "as_of")
    since = (
        grown.join(sf.broadcast(last.drop("lag")), ["topic", "partition"])
        .where((sf.col("time") > sf.col("last_commit")) & (sf.col("time") <= sf.col("as_of")))
        .withColumn("step", sf.round(after * sf.lit(float(STEPS)) / whole))
        .groupBy(*PLACE, "step")
        .agg(sf.max("time").alias("time"), sf.max("end_offset").alias("end"), sf.max("offset").alias("offset"))
        .select(*PLACE, "time", sf.greatest(sf.col("end") - sf.col("offset"), sf.lit(0)).alias("lag"))
    )
    # One commit of a wrong clock would leave the others no room on the axis.
    at_commits = (
        lagging.where(sf.col("lag").isNotNull())
        .crossJoin(as_of)
        .where(is_plausible(sf, sf.col("time"), sf.col("as_of")))
        .select(*PLACE, "time", "lag")
    )
    at_end = last.where(sf.col("as_of") > sf.col("last_commit")).select(*PLACE, sf.col("as_of").alias("time"), "lag")
    name = sf.concat_ws(" ", "group", sf.concat("topic", sf.lit("-"), "partition"))
    return at_commits.unionByName(since).unionByName(at_end).select(name.alias("name"), "time", "lag")


def highest(lines: Frame, most: int) -> Frame:
    """Return the rows of the lines with the highest lag, newest rows first; lines that never lagged are left out.

    Args:
        lines: of `over_time`.
        most: how many lines at most.
    """
    sf = functions_of(lines)
    behind = lines.groupBy("name").agg(sf.max("lag").alias("highest")).where(sf.col("highest") > 0)
    chosen = behind.orderBy(sf.desc("highest"), "name").limit(most).select("name")
    return lines.join(sf.broadcast(chosen), ["name"]).orderBy(sf.desc("time"))


def _seconds(sf: Functions) -> Column:
    """Return the lag in seconds at `as_of`, by the time of the first unread record, if there is one."""
    time = sf.col("first.time")
    is_known = (sf.unix_micros(time) >= 0) & (time <= sf.col("as_of"))
    is_read = (sf.col("lag") == 0) | ((sf.col("lag") > 0) & sf.col("first").isNull())
    return sf.when(is_read, sf.lit(0.0)).when((sf.col("lag") > 0) & is_known, seconds_between(sf, time, "as_of"))


def _with_after(names: list[str], before: str, name: str) -> list[str | Column]:
    """Return the names, with another one after one of them."""
    at = names.index(before) + 1
    return [*names[:at], name, *names[at:]]
