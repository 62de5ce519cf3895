"""Counts the dead part of compacted topics: records whose key has a later record, by segment and by partition.

Each replica is compacted by its own broker, so every folder of a partition is looked at on its own. Keys are compared
by two hashes of together 96 bits or more and are not kept, so memory does not depend on their size.
"""

from __future__ import annotations

from kipjobs.engines import Column, Frame, Functions, functions_of
from kipjobs.jobs import metadata
from kipjobs.jobs.shared.reading import folder
from kipjobs.jobs.shared.totals import rows, total
from kipwire.logs.internal_topics import COORDINATORS

OF_RECORDS = ("topic", "partition", "offset", "key", "value", "producer_id", "is_transactional", "segment")
"""Columns of records that `segments` needs."""
INTERNAL = tuple(COORDINATORS)
"""The topics of brokers that are always compacted."""

CLEANABLE = 0.5
"""The dirty ratio at which the log cleaner begins by default (`min.cleanable.dirty.ratio`)."""
_REPLICA = ["topic", "partition", "folder"]
_SEGMENT = [*_REPLICA, "base_offset"]
_CLEANER, _LOG_START = "cleaner-offset-checkpoint", "log-start-offset-checkpoint"
_COMPACT, _MIN_LAG = "compact", "min.compaction.lag.ms"


def compacted_topics(counting: Frame) -> Frame:
    """Return the existing topics whose own configuration has them compacted: topic.

    Args:
        counting: of `metadata.with_snapshot`.
    """
    sf = functions_of(counting)
    policy = metadata.configs(counting).where(
        (sf.col("resource_type") == "topic") & (sf.col("name") == "cleanup.policy")
    )
    return policy.where(sf.col("value").contains(_COMPACT)).select(sf.col("resource").alias("topic")).distinct()


def segments(records: Frame, files: Frame, aborted: Frame, held: Frame) -> Frame:
    """Return the segments of each replica, with the numbers of records and bytes that are dead.

    A record is dead if its key has a later one, if its transaction was aborted, or if it has no key. Records from the
    first open transaction on are undecided: they are not dead, and make no earlier one dead.

    Columns: topic, partition, folder, base_offset, size (of the file), records, bytes (of keys and values, not
    compressed), dead_records, dead_bytes, aborted_records, tombstones (that are not dead).

    Args:
        records: with `OF_RECORDS`, without control records.
        files: rows of `kafka_partition_files` of the kind `segment`.
        aborted: rows of the kind `aborted_transaction`.
        held: of `transactions.partitions`.
    """
    sf = functions_of(records)
    listed = files.select("topic", "partition", folder(sf, "file").alias("folder"), "base_offset", "size", "file")
    by_segment = (
        _keys_of_segments(_evaluate_records(records, listed, aborted, held))
        .withColumn("last_of_key", sf.max("last").over(sf.Window.partitionBy(*_REPLICA, "hash", "other_hash")))
        .withColumn("has_last", sf.col("last") == sf.col("last_of_key"))
        .groupBy(*_SEGMENT)
        .agg(
            sf.sum("records").alias("records"),
            sf.sum("bytes").alias("bytes"),
            sf.sum(sf.col("undecided") + sf.when(sf.col("has_last"), 1).otherwise(0)).alias("live_records"),
            sf.sum(sf.col("undecided_bytes") + sf.when(sf.col("has_last"), sf.col("last_bytes")).otherwise(0)).alias(
                "live_bytes"
            ),
            sf.sum("aborted").alias("aborted"),
            sf.sum(sf.when(sf.col("has_last") & sf.col("last_is_tombstone"), 1).otherwise(0)).alias("tombstones"),
        )
    )
    return listed.join(by_segment, [*_SEGMENT], "left").select(
        *_REPLICA,
        "base_offset",
        "size",
        _or_0(sf, "records"),
        _or_0(sf, "bytes"),
        (_of(sf, "records") - _of(sf, "live_records")).alias("dead_records"),
        (_of(sf, "bytes") - _of(sf, "live_bytes")).alias("dead_bytes"),
        _of(sf, "aborted").alias("aborted_records"),
        _or_0(sf, "tombstones"),
    )


def _evaluate_records(records: Frame, listed: Frame, aborted: Frame, held: Frame) -> Frame:
    """Return the hashes of keys, the bytes, and the state of records: tombstone, aborted, undecided, or with a key.

    What is known of a record by its segment is found once for each segment, since records are many and paths are long.
    """
    sf = functions_of(records)
    one, other = sf.hashes("key")
    transactions = aborted.where(sf.col("producer_id").isNotNull()).select(
        folder(sf, "file").alias("of_folder"),
        sf.col("producer_id").alias("of_producer"),
        sf.col("first_offset").alias("first_aborted"),
        sf.col("last_offset").alias("last_aborted"),
    )
    stable = held.select("topic", "partition", "last_stable_offset")
    places = listed.select(*_SEGMENT, sf.col("file").alias("segment"))
    of_segments = places.join(sf.broadcast(stable), ["topic", "partition"], "left").drop("topic", "partition")
    is_aborted = sf.col("first_aborted").isNotNull()
    return (
        records.join(sf.broadcast(of_segments), ["segment"], "left")
        .join(
            sf.broadcast(transactions.distinct()),
            sf.col("is_transactional")
            & (sf.col("folder") == sf.col("of_folder"))
            & (sf.col("producer_id") == sf.col("of_producer"))
            & sf.col("offset").between(sf.col("first_aborted"), sf.col("last_aborted")),
            "left",
        )
        .select(
            *_SEGMENT,
            "offset",
            one.alias("hash"),
            other.alias("other_hash"),
            (_length(sf, "key") + _length(sf, "value")).alias("bytes"),
            sf.col("value").isNull().alias("is_tombstone"),
            is_aborted.alias("is_aborted"),
            (sf.col("offset") >= sf.col("last_stable_offset")).alias("is_undecided"),
            (sf.col("key").isNotNull() & ~is_aborted).alias("counts"),
        )
    )


def _keys_of_segments(judged: Frame) -> Frame:
    """Return one row for each key of a segment, with its last record that is neither aborted nor undecided."""
    sf = functions_of(judged)
    last = sf.when(sf.col("counts") & ~sf.col("is_undecided"), sf.col("offset"))
    waits = sf.col("counts") & sf.col("is_undecided")
    return judged.groupBy(*_SEGMENT, "hash", "other_hash").agg(
        sf.count("*").alias("records"),
        sf.sum("bytes").alias("bytes"),
        sf.max(last).alias("last"),
        sf.max_by("bytes", last).alias("last_bytes"),
        sf.max_by("is_tombstone", last).alias("last_is_tombstone"),
        sf.sum(waits.cast("bigint")).alias("undecided"),
        sf.sum(sf.when(waits, sf.col("bytes")).otherwise(0)).alias("undecided_bytes"),
        sf.sum(sf.col("is_aborted").cast("bigint")).alias("aborted"),
    )


def min_lags(counting: Frame) -> Frame:
    """Return the topics with a time that records stay as they are: topic, min_lag_ms.

    Args:
        counting: of `metadata.with_snapshot`.
    """
    sf = functions_of(counting)
    chosen = metadata.configs(counting).where((sf.col("resource_type") == "topic") & (sf.col("name") == _MIN_LAG))
    return chosen.select(sf.col("resource").alias("topic"), _number(sf, "value").alias("min_lag_ms"))


def recent_segments(batches: Frame, files: Frame, lags: Frame, at: int) -> Frame:
    """Return the segments that are too new to be cleaned: topic, partition, folder, base_offset.

    Args:
        batches: heads, with `max_timestamp_ms`.
        files: rows of `kafka_partition_files` of the kind `segment`.
        lags: of `min_lags`.
        at: the present time in milliseconds since 1970.
    """
    sf = functions_of(batches)
    listed = files.select("topic", "partition", folder(sf, "file").alias("folder"), "base_offset", "file")
    latest = batches.groupBy(sf.col("segment").alias("file")).agg(sf.max("max_timestamp_ms").alias("latest"))
    of_topics = listed.join(sf.broadcast(lags), ["topic"]).join(latest, ["file"])
    return of_topics.where(sf.col("latest") > sf.lit(at) - sf.col("min_lag_ms")).select(*_SEGMENT)


def partitions(judged_segments: Frame, checkpoints: Frame, held: Frame, recent: Frame | None = None) -> Frame:
    """Return the replicas of compacted partitions, with the numbers of records and bytes that are dead.

    Columns: topic, partition, folder, segments, size, records, bytes, dead_records, dead_bytes, dead_percent (of the
    bytes), aborted_records, tombstones, cleaned_to (the offset up to which the log cleaner has come; null if it never
    ran), dirty_ratio: computed as by the cleaner, which runs if it exceeds `min.cleanable.dirty.ratio`; null if there
    is nothing clean or cleanable. Neither the last segment nor undecided nor recent records are cleanable.

    The last column, waits_for, is why the cleaner does not run, or leaves a part: `open transaction`, where the first
    one is before the last segment, `min.compaction.lag.ms`, `active segment`, where nothing else is dirty, or
    `min.cleanable.dirty.ratio`; null if it should run.

    Args:
        judged_segments: of `segments`.
        checkpoints: rows of `kafka_partition_files` of the kind `partition_offset`.
        held: of `transactions.partitions`.
        recent: of `recent_segments`; None if no topic has such a time.
    """
    sf = functions_of(judged_segments)
    if recent is None:
        marked = judged_segments.withColumn("is_recent", sf.lit(False))
    else:
        there = sf.broadcast(recent.withColumn("is_recent", sf.lit(True)))
        marked = judged_segments.join(there, _SEGMENT, "left")
    of_replicas = checkpoints.groupBy(folder(sf, "file").alias("log_dir"), "topic", "partition").agg(
        sf.max(sf.when(sf.col("checkpoint") == _CLEANER, sf.col("offset"))).alias("cleaned_to"),
        sf.max(sf.when(sf.col("checkpoint") == _LOG_START, sf.col("offset"))).alias("removed_to"),
    )
    totals = ("size", "records", "bytes", "dead_records", "dead_bytes", "aborted_records", "tombstones")
    located = (
        marked.withColumn("log_dir", folder(sf, "folder"))
        .join(sf.broadcast(of_replicas), ["log_dir", "topic", "partition"], "left")
        .join(sf.broadcast(held.select("topic", "partition", "last_stable_offset", "end_offset")), _REPLICA[:2], "left")
    )
    dirty_ratio = sf.when(
        sf.col("clean_bytes") + sf.col("cleanable_bytes") > 0,
        sf.col("cleanable_bytes") / (sf.col("clean_bytes") + sf.col("cleanable_bytes")),
    )
    return (
        _with_cleaning(located)
        .groupBy(*_REPLICA)
        .agg(
            sf.count("*").alias("segments"),
            *[sf.sum(name).alias(name) for name in totals],
            sf.first("cleaned_to").alias("cleaned_to"),
            sf.sum("clean_bytes").alias("clean_bytes"),
            sf.sum("cleanable_bytes").alias("cleanable_bytes"),
            sf.first("bound_by").alias("bound_by"),
        )
        .withColumn("dirty_ratio", dirty_ratio)
        .select(
            *_REPLICA,
            "segments",
            *totals[:5],
            sf.when(sf.col("bytes") > 0, sf.col("dead_bytes") * 100.0 / sf.col("bytes")).alias("dead_percent"),
            *totals[5:],
            "cleaned_to",
            "dirty_ratio",
            sf.coalesce(
                "bound_by",
                sf.when(sf.col("cleanable_bytes") == 0, "active segment").when(
                    sf.col("dirty_ratio") <= CLEANABLE, "min.cleanable.dirty.ratio"
                ),
            ).alias("waits_for"),
        )
    )


def uncleaned(replicas: Frame) -> Frame:
    """Return the rows of `partitions` that are so dirty that the log cleaner should clean them."""
    return replicas.where(functions_of(replicas).col("dirty_ratio") > CLEANABLE)


def bars(replicas: Frame, most: int) -> Frame:
    """Return the replicas with the largest dead part: name, dead_bytes, live_bytes.

    Args:
        replicas: of `partitions`.
        most: the number of rows at most.
    """
    sf = functions_of(replicas)
    first = replicas.orderBy(sf.desc("dead_bytes"), "topic", "partition", "folder").limit(most)
    return first.select(
        sf.concat(sf.col("topic"), sf.lit("-"), sf.col("partition").cast("string")).alias("name"),
        "dead_bytes",
        (sf.col("bytes") - sf.col("dead_bytes")).alias("live_bytes"),
    )


def totals(replicas: Frame) -> Frame:
    """Return one row: numbers of replicas, replicas to clean, bytes on the disk, records, dead records and dead bytes.

    Args:
        replicas: of `partitions`.
    """
    sf = functions_of(replicas)
    return replicas.agg(
        rows(sf, "replicas"),
        rows(sf, "uncleaned", sf.col("dirty_ratio") > CLEANABLE),
        total(sf, "size", "bytes_on_disk"),
        total(sf, "records"),
        total(sf, "dead_records"),
        total(sf, "dead_bytes"),
    )


def _with_cleaning(located: Frame) -> Frame:
    """Add to segments the bytes that the log cleaner counts as clean, and as cleanable.

    It counts whole segments; one in which it has stopped is both.
    """
    sf = functions_of(located)
    of_log = sf.Window.partitionBy(*_REPLICA)
    in_order = of_log.orderBy("base_offset")
    base = sf.col("base_offset")
    is_known = sf.col("cleaned_to").between(sf.col("log_start"), sf.col("end_offset"))
    first_undecided = sf.least("last_stable_offset", "active", "recent_from")
    is_held = (sf.col("last_stable_offset") < sf.col("active")) & (
        sf.col("last_stable_offset") <= sf.coalesce("recent_from", "active")
    )
    may_be_recent = sf.col("is_recent") & (base < sf.col("active"))
    is_dirty = sf.coalesce("next_base", base + 1) > sf.col("first_dirty")
    has_bound = (base <= sf.col("bound")) & (sf.coalesce("next_base", sf.col("bound") + 1) > sf.col("bound"))
    has_start = (base <= sf.col("start")) & (sf.coalesce("next_base", sf.col("start") + 1) > sf.col("start"))
    return (
        located.withColumn("log_start", sf.greatest(sf.min(base).over(of_log), sf.col("removed_to")))
        .withColumn("active", sf.max(base).over(of_log))
        .withColumn("next_base", sf.lead(base).over(in_order))
        .withColumn("first_dirty", sf.when(is_known, sf.col("cleaned_to")).otherwise(sf.col("log_start")))
        .withColumn("recent_from", sf.min(sf.when(may_be_recent & is_dirty, base)).over(of_log))
        .withColumn("bound", sf.greatest("first_dirty", first_undecided))
        .withColumn(
            "bound_by",
            sf.when(is_held, "open transaction").when(sf.col("recent_from").isNotNull(), _MIN_LAG),
        )
        .withColumn("first_uncleanable", sf.max(sf.when(has_bound, base)).over(of_log))
        .withColumn("start", sf.least("first_dirty", "first_uncleanable"))
        .withColumn("first_cleanable", sf.max(sf.when(has_start, base)).over(of_log))
        .withColumn("clean_bytes", sf.when(base < sf.col("first_dirty"), sf.col("size")).otherwise(0))
        .withColumn(
            "cleanable_bytes",
            sf.when(
                (base >= sf.col("first_cleanable")) & (base < sf.col("first_uncleanable")), sf.col("size")
            ).otherwise(0),
        )
    )


def _number(sf: Functions, column: str) -> Column:
    """Return a text as a number; 0 for anything else, which brokers refuse."""
    digits = sf.regexp_replace(column, "[^0-9]|^.{19,}$", "")
    return sf.concat(sf.lit("0"), digits).cast("bigint")


def _length(sf: Functions, column: str) -> Column:
    return sf.coalesce(sf.bytes_of(column), sf.lit(0)).cast("bigint")


def _of(sf: Functions, column: str) -> Column:
    return sf.coalesce(column, sf.lit(0))


def _or_0(sf: Functions, column: str) -> Column:
    return _of(sf, column).alias(column)
