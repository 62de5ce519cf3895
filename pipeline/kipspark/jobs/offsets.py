"""Groups over time, from `__consumer_offsets`: what was committed, how far behind that was, who came and went.

Rows of `kafka_log` in, with each record once (see `replicas`), and for exact results without those of transactions
that were aborted (see `transactions`).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from kipspark.functions import from_coordinator

TOPIC = "__consumer_offsets"

_COMMIT = "OffsetCommit"
_CLASSIC = "GroupMetadata"
_MEMBERS = {
    "ConsumerGroupMemberMetadata": ("consumer", "consumer_group_member_metadata"),
    "ShareGroupMemberMetadata": ("share", "share_group_member_metadata"),
    "StreamsGroupMemberMetadata": ("streams", "streams_group_member_metadata"),
}
"""By type of record: the kind of group, and the record's column."""
_EPOCHS = {
    "ConsumerGroupMetadata": ("consumer", "consumer_group_metadata"),
    "ShareGroupMetadata": ("share", "share_group_metadata"),
    "StreamsGroupMetadata": ("streams", "streams_group_metadata"),
}
"""Likewise, of the records that tell a group's epoch."""
_MEMBER = ("member_id", "client_id", "client_host")


def commits(log: DataFrame) -> DataFrame:
    """Every commit, on streams too.

    Columns: group, topic, partition, time, offset, leader_epoch, metadata, is_deleted, is_transactional, log_partition,
    log_offset. `offset` is the next one that the group would read; it is null where the commit was deleted.
    """
    record = from_coordinator("key", "value", types=[_COMMIT])
    key, value = sf.col("record.key.offset_commit"), sf.col("record.value.offset_commit")
    return (
        _coordinator_rows(log, record)
        .where(sf.col("record.type") == _COMMIT)
        .select(
            key["group"].alias("group"),
            key["topic"].alias("topic"),
            key["partition"].alias("partition"),
            sf.coalesce(sf.timestamp_millis(value["commit_timestamp"]), sf.col("timestamp")).alias("time"),
            value["offset"].alias("offset"),
            value["leader_epoch"].alias("leader_epoch"),
            value["metadata"].alias("metadata"),
            value.isNull().alias("is_deleted"),
            "is_transactional",
            sf.col("log_partition"),
            sf.col("log_offset"),
        )
    )


def ends(log: DataFrame) -> DataFrame:
    """How far the partitions of other topics had grown at what time: topic, partition, time, end_offset.

    One row a batch. The time is the highest timestamp in it, as its producer or its broker set it.

    Args:
        log: rows of `kafka_log`, read with `includeControl`, since control records take offsets too.
    """
    return (
        log.where(~sf.col("topic").startswith("__") & sf.col("timestamp").isNotNull())
        .groupBy("topic", "partition", "segment", "batch_position")
        .agg(sf.max("timestamp").alias("time"), (sf.max("offset") + 1).alias("end_offset"))
        .select("topic", "partition", "time", "end_offset")
    )


def with_lag(committed: DataFrame, grown: DataFrame) -> DataFrame:
    """Commits with how far behind they were: `end_offset` of the partition at that time, and `lag`.

    Both are null where nothing is known of the partition at that time. Clocks of producers and of brokers may differ:
    a commit ahead of the end has a lag of 0.

    Args:
        committed: of `commits`.
        grown: of `ends`.
    """
    until_now = (
        Window.partitionBy("topic", "partition")
        .orderBy("time", sf.col("group").isNotNull())  # at the same time the batch comes before the commit
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    both = committed.withColumn("grown_to", sf.lit(None).cast("bigint")).unionByName(
        grown.withColumnRenamed("end_offset", "grown_to"), allowMissingColumns=True
    )
    lag = sf.when(
        sf.col("end_offset").isNotNull() & sf.col("offset").isNotNull(),
        sf.greatest(sf.col("end_offset") - sf.col("offset"), sf.lit(0)),
    )
    return (
        both.withColumn("end_offset", sf.max("grown_to").over(until_now))
        .where(sf.col("group").isNotNull())
        .drop("grown_to")
        .withColumn("lag", lag)
    )


def latest(lagging: DataFrame) -> DataFrame:
    """Where each group stands: group, topic, partition, offset, end_offset, lag, highest_lag, commits, first and last.

    Commits that were deleted since are left out.

    Args:
        lagging: of `with_lag`.
    """
    order = sf.struct("log_offset")
    return (
        lagging.groupBy("group", "topic", "partition")
        .agg(
            sf.max_by("offset", order).alias("offset"),
            sf.max_by("end_offset", order).alias("end_offset"),
            sf.max_by("lag", order).alias("lag"),
            sf.max("lag").alias("highest_lag"),
            sf.count("offset").alias("commits"),
            sf.min("time").alias("first_commit"),
            sf.max("time").alias("last_commit"),
            sf.max_by("is_deleted", order).alias("is_deleted"),
        )
        .where(~sf.col("is_deleted"))
        .drop("is_deleted")
    )


def membership(log: DataFrame) -> DataFrame:
    """Who came and went: time, group, kind, event, member_id, client_id, client_host, epoch, log_partition, log_offset.

    `kind` is classic, consumer (KIP-848), share or streams. `event` is joined, changed or left, with the member; or
    epoch, with the number of the group's new generation or epoch.
    """
    types = [_CLASSIC, *_MEMBERS, *_EPOCHS]
    rows = _coordinator_rows(log, from_coordinator("key", "value", types=types))
    events = _classic_events(rows)
    for type_, (kind, column) in _MEMBERS.items():
        events = events.unionByName(_member_events(rows.where(sf.col("record.type") == type_), kind, column))
    for type_, (kind, column) in _EPOCHS.items():
        events = events.unionByName(_epoch_events(rows.where(sf.col("record.type") == type_), kind, column))
    return events


def _coordinator_rows(log: DataFrame, record: Column) -> DataFrame:
    return log.where((sf.col("topic") == TOPIC) & ~sf.col("is_control")).select(
        sf.col("partition").alias("log_partition"),
        sf.col("offset").alias("log_offset"),
        "timestamp",
        "is_transactional",
        record.alias("record"),
    )


def _classic_events(rows: DataFrame) -> DataFrame:
    """Each record has all members of the group; what is new and what is missing is told by the one before."""
    key, value = sf.col("record.key.group_metadata"), sf.col("record.value.group_metadata")
    nobody = sf.array().cast(f"array<struct<{','.join(f'{name}:string' for name in _MEMBER)}>>")
    members = sf.transform(value["members"], lambda one: sf.struct(*[one[name] for name in _MEMBER]))
    of_group = Window.partitionBy("group").orderBy("log_offset")
    states = (
        rows.where(sf.col("record.type") == _CLASSIC)
        .select(
            sf.col("timestamp").alias("time"),
            "log_partition",
            "log_offset",
            key["group"].alias("group"),
            value["generation"].alias("epoch"),
            sf.transform(members, lambda one: sf.struct(one["member_id"], one["client_id"], one["client_host"])).alias(
                "members"
            ),
        )
        .withColumn("before", sf.coalesce(sf.lag("members").over(of_group), nobody))
        .withColumn("epoch_before", sf.lag("epoch").over(of_group))
    )
    new_epoch = sf.col("epoch").isNotNull() & ~sf.col("epoch").eqNullSafe(sf.col("epoch_before"))
    no_member = sf.struct(*[sf.lit(None).cast("string").alias(name) for name in _MEMBER])
    found = sf.concat(
        sf.transform(
            sf.array_except("members", "before"), lambda one: sf.struct(sf.lit("joined").alias("event"), one.alias("m"))
        ),
        sf.transform(
            sf.array_except("before", "members"), lambda one: sf.struct(sf.lit("left").alias("event"), one.alias("m"))
        ),
        sf.when(new_epoch, sf.array(sf.struct(sf.lit("epoch").alias("event"), no_member.alias("m")))).otherwise(
            sf.array()
        ),
    )
    return states.withColumn("found", sf.explode(found)).select(
        "time",
        "group",
        sf.lit("classic").alias("kind"),
        sf.col("found.event").alias("event"),
        *[sf.col(f"found.m.{name}").alias(name) for name in _MEMBER],
        "epoch",
        "log_partition",
        "log_offset",
    )


def _member_events(rows: DataFrame, kind: str, column: str) -> DataFrame:
    """Each record has one member; a tombstone says that it has left."""
    key, value = sf.col(f"record.key.{column}"), sf.col(f"record.value.{column}")
    of_member = Window.partitionBy("group", "member_id").orderBy("log_offset")
    states = rows.select(
        sf.col("timestamp").alias("time"),
        key["group_id"].alias("group"),
        key["member_id"].alias("member_id"),
        value["client_id"].alias("client_id"),
        value["client_host"].alias("client_host"),
        value.isNotNull().alias("is_there"),
        "log_partition",
        "log_offset",
    ).withColumn("was_there", sf.coalesce(sf.lag("is_there").over(of_member), sf.lit(False)))
    event = (
        sf.when(~sf.col("is_there") & sf.col("was_there"), "left")
        .when(sf.col("is_there") & sf.col("was_there"), "changed")
        .when(sf.col("is_there"), "joined")
    )
    return (
        states.withColumn("event", event)
        .where(sf.col("event").isNotNull())
        .withColumn("kind", sf.lit(kind))
        .withColumn("epoch", sf.lit(None).cast("int"))
        .drop("is_there", "was_there")
    )


def _epoch_events(rows: DataFrame, kind: str, column: str) -> DataFrame:
    """Each record has the group's epoch, which rises whenever its members or their topics change."""
    key, value = sf.col(f"record.key.{column}"), sf.col(f"record.value.{column}")
    return rows.where(value.isNotNull()).select(
        sf.col("timestamp").alias("time"),
        key["group_id"].alias("group"),
        sf.lit(kind).alias("kind"),
        sf.lit("epoch").alias("event"),
        *[sf.lit(None).cast("string").alias(name) for name in _MEMBER],
        value["epoch"].alias("epoch"),
        "log_partition",
        "log_offset",
    )
