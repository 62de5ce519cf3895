"""Lag of consumer groups at a time, what they have not read, and the groups that are stalled.

In logs, times are as of the last known record and not of now, since logs may be read long after they were written.
Timestamps are by the clocks of producers, so one in the future does not count. `with_unread` has only the heads of
batches to go by, and its docstring has the error of that. `kipwire.cluster.lag` has the words and rules, for one look
at a cluster, by the records themselves and without data frames.
"""

from __future__ import annotations

from kipjobs.engines import Column, Frame, Functions, functions_of
from kipjobs.jobs import offsets
from kipjobs.jobs.shared.reading import folder
from kipjobs.jobs.shared.times import is_plausible, seconds_between

OF_BATCHES = (
    *(*offsets.OF_BATCHES, "base_offset", "base_timestamp", "timestamp_type"),
    *("records_count", "producer_id", "is_transactional", "is_control"),
)
"""The columns of batches that these functions need."""

PLACE = ("group", "topic", "partition")
"""Columns that identify a committed offset: a group has one for each partition."""

_HEAD = "struct<base:bigint,time:timestamp>"
_PARTITION = ("topic", "partition")


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


def in_doubt(groups: Frame, batches: Frame) -> Frame:
    """Return the topics with transactions that a group has not read, whose ends decide what is unread: topic.

    Args:
        groups: with topic, partition, offset and lag.
        batches: with `OF_BATCHES`.
    """
    sf = functions_of(groups)
    found = _data(batches).where("is_transactional").join(sf.broadcast(_lowest(groups)), [*_PARTITION])
    return found.where(sf.col("last_offset") >= sf.col("lowest")).select("topic").distinct()


def readable(batches: Frame, committed: Frame | None) -> Frame:
    """Return the batches of which a consumer gets records: no markers, none of aborted transactions, none left empty.

    From the first open transaction of a partition on nothing is decided, so that all its batches of records count.

    Args:
        batches: with `OF_BATCHES`.
        committed: topic, partition and base_offset of the batches that readers of committed records get, of the topics
            of `in_doubt`; None if there are no such topics.
    """
    sf = functions_of(batches)
    data = _data(batches)
    if committed is None:
        return data
    of_producer = [*_PARTITION, "producer_id"]
    markers = batches.where(sf.col("is_control") & sf.col("is_transactional") & _has_records(sf))
    ended = markers.groupBy(*of_producer).agg(sf.max("last_offset").alias("ended"))
    undecided = (
        data.where("is_transactional")
        .join(sf.broadcast(ended), of_producer, "left")
        .where(sf.col("base_offset") > sf.coalesce("ended", sf.lit(-1)))
        .groupBy(*_PARTITION)
        .agg(sf.min("base_offset").alias("undecided"))
    )
    shown = committed.select(*_PARTITION, "base_offset", sf.lit(True).alias("is_shown")).distinct()
    return (
        data.join(shown, [*_PARTITION, "base_offset"], "left")
        .join(sf.broadcast(undecided), [*_PARTITION], "left")
        .where(
            ~sf.col("is_transactional")
            | sf.coalesce("is_shown", sf.lit(False))
            | sf.coalesce(sf.col("base_offset") >= sf.col("undecided"), sf.lit(False))
        )
        .select(*batches.columns)
    )


def with_unread(groups: Frame, batches: Frame, starts: Frame, as_of: Frame) -> Frame:
    """Add `start_offset` to groups, after `offset`, and `unread`, `lag_seconds` and `too_late`, after `lag`.

    `unread` is the number of offsets from the first unread record to the end; 0 if `lag` is 0, or if no batch of
    records is left to read; null if the lag is not known. `lag_seconds` is the age of that record at the last known
    time: 0 if `unread` is 0, null if `unread` or the timestamp is not known, or the timestamp is before 1970 or after
    `as_of`. Producers set timestamps by their own clocks. `too_late` is the number of offsets that were removed before
    the group has read them.

    The first unread record is in the first batch that ends at the committed offset or later, from the start of the log
    on. It is taken to have the later one of these two offsets and the first one of the batch, and the batch's
    `base_timestamp`, or its `max_timestamp` if the broker set that (LogAppendTime) or there is no other. So the age is
    exact if the group has read whole batches. If it has read a part of one, the age is too high by at most the time
    between the records of that batch.

    Args:
        groups: with the columns of `PLACE`, offset, end_offset and lag.
        batches: of `readable`.
        starts: of `starts`.
        as_of: of `last_time`.
    """
    sf = functions_of(groups)
    of_producer = sf.coalesce("base_timestamp", "max_timestamp")
    time = sf.when(sf.col("timestamp_type") == "LogAppendTime", sf.col("max_timestamp")).otherwise(of_producer)
    head = sf.struct(sf.col("base_offset").alias("base"), time.alias("time"))
    lowest = _lowest(groups).join(sf.broadcast(starts), [*_PARTITION], "left")
    unread = (
        batches.join(sf.broadcast(lowest), [*_PARTITION])
        .where(sf.col("last_offset") >= sf.greatest("lowest", "start_offset"))
        .select(*_PARTITION, sf.col("last_offset").alias("offset"), head.alias("head"))
    )
    both = groups.withColumn("head", sf.lit(None).cast(_HEAD)).unionByName(unread, allowMissingColumns=True)
    from_here_on = (
        sf.Window.partitionBy(*_PARTITION)
        # From the end to the start; the batch that ends with the committed offset comes before it, since it is unread.
        .orderBy(sf.desc("offset"), sf.col("head").isNull()).rowsBetween(
            sf.Window.unboundedPreceding, sf.Window.currentRow
        )
    )
    removed = sf.greatest(sf.col("start_offset") - sf.col("offset"), sf.lit(0))
    found = (
        both.withColumn("first", sf.last("head", ignorenulls=True).over(from_here_on))
        .where(sf.col("head").isNull())
        .join(sf.broadcast(starts), [*_PARTITION], "left")
        .crossJoin(sf.broadcast(as_of))
        .withColumn("unread", _unread(sf))
        .withColumn("lag_seconds", _seconds(sf))
        .withColumn("too_late", sf.when(sf.col("start_offset").isNotNull() & sf.col("offset").isNotNull(), removed))
    )
    names = list(groups.columns)
    for before, added in (("offset", ["start_offset"]), ("lag", ["unread", "lag_seconds", "too_late"])):
        at = names.index(before) + 1
        names[at:at] = added
    return found.select(*names)


def starts(segments: Frame, removed: Frame | None) -> Frame:
    """Return the first offsets of partitions: topic, partition, start_offset.

    A broker writes them down where they differ from the first segment. So that one is it elsewhere: of several
    replicas the highest one, since a replica may remove segments later than others.

    Args:
        segments: rows of `kafka_partition_files` of the kind `segment`.
        removed: of `removed_to`; None if it is not known.
    """
    sf = functions_of(segments)
    of_replicas = segments.groupBy(*_PARTITION, folder(sf, "file").alias("folder")).agg(
        sf.min("base_offset").alias("first")
    )
    found = of_replicas.groupBy(*_PARTITION).agg(sf.max("first").alias("start_offset"))
    if removed is None:
        return found
    return found.join(sf.broadcast(removed), [*_PARTITION], "left").select(
        *_PARTITION, sf.coalesce("removed_to", "start_offset").alias("start_offset")
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
    """Return the groups that have not read everything, and have not moved their offset for `seconds` or longer.

    Columns: group, topic, partition, offset, lag, unread, since, stalled_seconds, grown, last_commit. `grown` is the
    number of offsets by which the partition has grown since then: 0 if it is quiet, null if that is not known.

    Args:
        groups: of `with_unread`, with last_commit.
        moved: of `moves`.
        as_of: of `last_time`, or the present time.
        seconds: how long an offset must stand still.
    """
    sf = functions_of(groups)
    stood = seconds_between(sf, "since", "as_of")
    return (
        groups.where(sf.col("unread") > 0)
        .join(moved, list(PLACE))
        .crossJoin(sf.broadcast(as_of))
        .withColumn("stalled_seconds", stood)
        .withColumn("grown", sf.col("end_offset") - sf.col("end_then"))
        .where(sf.col("stalled_seconds") >= seconds)
        .select(*PLACE, "offset", "lag", "unread", "since", "stalled_seconds", "grown", "last_commit")
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


def _has_records(sf: Functions) -> Column:
    """Return True for what compaction has not left empty."""
    return sf.coalesce("records_count", sf.lit(1)) > 0


def _data(batches: Frame) -> Frame:
    sf = functions_of(batches)
    return batches.where(~sf.col("is_control") & _has_records(sf))


def _lowest(groups: Frame) -> Frame:
    """Return the lowest offset of a group that is behind: most are near the end, so that few batches follow it."""
    sf = functions_of(groups)
    return groups.where(sf.col("lag") > 0).groupBy(*_PARTITION).agg(sf.min("offset").alias("lowest"))


def _unread(sf: Functions) -> Column:
    """Return the number of offsets from the first unread batch of records on."""
    first = sf.greatest("offset", "first.base", "start_offset")
    is_left = (sf.col("lag") > 0) & sf.col("first").isNotNull()
    return sf.when(is_left, sf.col("end_offset") - first).when(sf.col("lag").isNotNull(), sf.lit(0))


def _seconds(sf: Functions) -> Column:
    """Return the lag in seconds at `as_of`, by the time of the first unread record, if there is one."""
    time = sf.col("first.time")
    is_known = (sf.unix_micros(time) >= 0) & (time <= sf.col("as_of"))
    return sf.when(sf.col("unread") == 0, sf.lit(0.0)).when(
        (sf.col("unread") > 0) & is_known, seconds_between(sf, time, "as_of")
    )
