"""Groups over time, from `__consumer_offsets`: commits with their lag, and members that join and leave.

The input is rows of `kafka_log`, each record once (see `without_copies`), and for exact results without the records
of aborted transactions (see `committed`). Or it is what a consumer receives, with `is_control`, which shows the present
state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kipjobs.engines import Column, DataFrame, Frame, Functions, functions_of
from kipwire.logs.internal_topics import INTERNAL_TOPICS
from kipwire.tables.messages.records import types_of

TOPIC = "__consumer_offsets"
OF_BATCHES = ("topic", "partition", "last_offset", "max_timestamp")
"""The columns of batches that `ends` needs."""

COMMIT = "OffsetCommit"
"""The type of record that has a commit."""
CLASSIC = "GroupMetadata"
"""The type of record that has all members of a classic group."""
CURRENT = "ConsumerGroupCurrentMemberAssignment"
"""The type of record that has the partitions of one member of a group of KIP-848."""
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
"""By type of record that has a group's epoch: the kind of group, and the record's column."""
TYPES = (COMMIT, CLASSIC, CURRENT, *_MEMBERS, *_EPOCHS)
"""The types of records that these functions decode."""
_MEMBER = ("member_id", "client_id", "client_host")
_MEMBER_TYPE = f"struct<{','.join(f'{name}:string' for name in _MEMBER)}>"


def commits(log: Frame) -> Frame:
    """Return every commit, on streams too.

    Columns: group, topic, partition, time, offset, leader_epoch, metadata, is_deleted, is_transactional, log_partition,
    log_offset. `offset` is the next one that the group would read; it is null if the commit was deleted.
    `is_transactional` is there if the log has it.
    """
    sf = functions_of(log)
    record = sf.from_coordinator("key", "value", types=[COMMIT])
    key, value = sf.col("record.key.offset_commit"), sf.col("record.value.offset_commit")
    return (
        coordinator_rows(log, record)
        .where(sf.col("record.type") == COMMIT)
        .select(
            key["group"].alias("group"),
            key["topic"].alias("topic"),
            key["partition"].alias("partition"),
            sf.coalesce(sf.kafka_time(value["commit_timestamp"]), sf.col("timestamp")).alias("time"),
            value["offset"].alias("offset"),
            value["leader_epoch"].alias("leader_epoch"),
            value["metadata"].alias("metadata"),
            value.isNull().alias("is_deleted"),
            *_known_columns(log),
            sf.col("log_partition"),
            sf.col("log_offset"),
        )
    )


def ends(batches: Frame) -> Frame:
    """Return the ends of partitions over time, but not of the brokers' own topics: topic, partition, time, end_offset.

    One row per batch. The time is the highest timestamp in it, as its producer or its broker set it.

    Args:
        batches: rows of `kafka_log` with the level `batches`, read with `includeControl`, since control records take
            offsets too.
    """
    sf = functions_of(batches)
    return batches.where(~sf.col("topic").isin(*INTERNAL_TOPICS) & sf.col("max_timestamp").isNotNull()).select(
        "topic", "partition", sf.col("max_timestamp").alias("time"), (sf.col("last_offset") + 1).alias("end_offset")
    )


def with_lag(committed: Frame, grown: Frame) -> Frame:
    """Add to commits their lag: `end_offset` of the partition at that time, and `lag`.

    Both are null if nothing is known of the partition at that time. Clocks of producers and of brokers may differ:
    a commit ahead of the end has a lag of 0.

    Args:
        committed: of `commits`.
        grown: of `ends`.
    """
    sf = functions_of(committed)
    until_now = (
        sf.Window.partitionBy("topic", "partition")
        .orderBy("time", sf.col("group").isNotNull())  # at the same time the batch comes before the commit
        .rowsBetween(sf.Window.unboundedPreceding, sf.Window.currentRow)
    )
    both = committed.withColumn("grown_to", sf.lit(None).cast("bigint")).unionByName(
        grown.withColumnRenamed("end_offset", "grown_to"), allowMissingColumns=True
    )
    return (
        both.withColumn("end_offset", sf.max("grown_to").over(until_now))
        .where(sf.col("group").isNotNull())
        .drop("grown_to")
        .withColumn("lag", _lag(sf))
    )


def latest(lagging: Frame) -> Frame:
    """Return the last commits: group, topic, partition, offset, end_offset, lag, highest_lag, commits, first and last.

    Commits that were deleted since are left out.

    Args:
        lagging: of `with_lag`.
    """
    sf = functions_of(lagging)
    return _last(lagging, _of_last(sf, "end_offset"), _of_last(sf, "lag"), sf.max("lag").alias("highest_lag"))


def latest_with_ends(committed: Frame, ends_now: Frame) -> Frame:
    """Return the last commits with the present ends.

    Columns: group, topic, partition, offset, end_offset, lag, lag_at_commit, highest_lag, commits, first_commit,
    last_commit. `end_offset` and `lag` are null if the topic, or that partition of it, no longer exists.
    `lag_at_commit` is the lag at the last commit, and `highest_lag` is the highest lag at any commit or now; both
    columns are there only if the commits have their lag.

    Args:
        committed: of `commits`, or of `with_lag`.
        ends_now: topic, partition and end_offset.
    """
    sf = functions_of(committed)
    at_commits = (_of_last(sf, "lag").alias("lag_at_commit"), sf.max("lag").alias("highest_lag"))
    known = at_commits if "lag" in committed.columns else ()
    latest_now = (
        _last(committed, *known)
        .join(sf.broadcast(ends_now), ["topic", "partition"], "left")
        .withColumn("lag", _lag(sf))
    )
    if known:
        latest_now = latest_now.withColumn("highest_lag", sf.greatest("highest_lag", "lag"))
    names = ("lag_at_commit", "highest_lag") if known else ()
    return latest_now.select(
        *("group", "topic", "partition", "offset", "end_offset", "lag"),
        *names,
        *("commits", "first_commit", "last_commit"),
    )


def _last(committed: Frame, *more: Column) -> Frame:
    """Return the last commit of each group for each partition, unless it was deleted, and aggregates over all."""
    sf = functions_of(committed)
    return (
        committed.groupBy("group", "topic", "partition")
        .agg(
            _of_last(sf, "offset"),
            *more,
            sf.count("offset").alias("commits"),
            sf.min("time").alias("first_commit"),
            sf.max("time").alias("last_commit"),
            _of_last(sf, "is_deleted"),
        )
        .where(~sf.col("is_deleted"))
        .drop("is_deleted")
    )


def _of_last(sf: Functions, column: str) -> Column:
    return sf.max_by(column, sf.struct("log_offset")).alias(column)


def _lag(sf: Functions) -> Column:
    return sf.when(
        sf.col("end_offset").isNotNull() & sf.col("offset").isNotNull(),
        sf.greatest(sf.col("end_offset") - sf.col("offset"), sf.lit(0)),
    )


def membership(log: Frame) -> Frame:
    """Return the changes of members and epochs of groups.

    Columns: time, group, kind, event, member_id, client_id, client_host, epoch, log_partition, log_offset. `kind` is
    classic, consumer (KIP-848), share or streams. `event` is joined, changed or left, with the member; or epoch, with
    the number of the group's new generation or epoch.
    """
    sf = functions_of(log)
    kinds = {CLASSIC: "classic", **{type_: kind for type_, (kind, _) in {**_MEMBERS, **_EPOCHS}.items()}}
    record = sf.from_coordinator("key", "value", types=kinds)
    of_type = sf.Window.partitionBy("group", "type").orderBy("log_offset")
    of_member = sf.Window.partitionBy("group", "type", "member.member_id").orderBy("log_offset")
    return (
        coordinator_rows(rows_of_types(log, kinds), record)
        .where(sf.col("record.type").isin(*kinds))
        .select(
            sf.col("timestamp").alias("time"),
            "log_partition",
            "log_offset",
            sf.col("record.type").alias("type"),
            _group(sf).alias("group"),
            _members(sf).alias("members"),
            _member(sf).alias("member"),
            _value_of(sf, _MEMBERS, lambda value: value.isNotNull()).alias("is_there"),
            sf.coalesce(
                sf.col("record.value.group_metadata.generation"), _value_of(sf, _EPOCHS, lambda value: value["epoch"])
            ).alias("epoch"),
        )
        .withColumn("members_before", sf.coalesce(sf.lag("members").over(of_type), _nobody(sf)))
        .withColumn("epoch_before", sf.lag("epoch").over(of_type))
        .withColumn("was_there", sf.coalesce(sf.lag("is_there").over(of_member), sf.lit(False)))
        .withColumn("found", sf.explode(sf.concat(_of_classic(sf), _of_member(sf), _of_epoch(sf))))
        .select(
            "time",
            "group",
            _case(sf, sf.col("type"), kinds).alias("kind"),
            "found.event",
            *[f"found.member.{name}" for name in _MEMBER],
            "epoch",
            "log_partition",
            "log_offset",
        )
    )


def rows_of_types(log: Frame, types: Iterable[str]) -> Frame:
    """Return the rows with records of these types, by the first bytes of their keys.

    Most records are commits: to leave them out so is cheaper than to decode them.
    """
    sf, wanted = functions_of(log), set(types)
    numbers = [f"{number:04X}" for number, one in types_of("group").items() if one.name in wanted]
    return log.where(sf.hex(sf.substring("key", 1, 2)).isin(*numbers))


def coordinator_rows(log: Frame, record: Column) -> Frame:
    """Return the records of `__consumer_offsets`, decoded, with their places."""
    sf = functions_of(log)
    return log.where((sf.col("topic") == TOPIC) & ~sf.col("is_control")).select(
        sf.col("partition").alias("log_partition"),
        sf.col("offset").alias("log_offset"),
        "timestamp",
        *_known_columns(log),
        record.alias("record"),
    )


def _known_columns(log: DataFrame) -> list[str]:
    """Return the optional columns that this log has: a consumer is told nothing about transactions."""
    return [name for name in ("is_transactional",) if name in log.columns]


def _case(sf: Functions, what: Column, texts: Mapping[str, str]) -> Column:
    return sf.coalesce(*[sf.when(what == key, text) for key, text in texts.items()])


def _value_of(sf: Functions, types: Mapping[str, tuple[str, str]], take: Callable[[Column], Column]) -> Column:
    """Return a part of the value of records of these types; null for other types."""
    of_type = (
        sf.when(sf.col("record.type") == type_, take(sf.col(f"record.value.{column}")))
        for type_, (_, column) in types.items()
    )
    return sf.coalesce(*of_type)


def _group(sf: Functions) -> Column:
    columns = [column for _, column in (*_MEMBERS.values(), *_EPOCHS.values())]
    return sf.coalesce("record.key.group_metadata.group", *[f"record.key.{column}.group_id" for column in columns])


def _nobody(sf: Functions) -> Column:
    return sf.array().cast(f"array<{_MEMBER_TYPE}>")


def _members(sf: Functions) -> Column:
    """Return all members of a classic group, which each of its records has."""
    members = sf.transform(
        "record.value.group_metadata.members", lambda one: sf.struct(*[one[name] for name in _MEMBER])
    )
    return sf.coalesce(members, _nobody(sf))


def _member(sf: Functions) -> Column:
    """Return the one member in a record of another kind of group; its client is unknown if it has left."""
    columns = [column for _, column in _MEMBERS.values()]
    return sf.struct(
        sf.coalesce(*[f"record.key.{column}.member_id" for column in columns]).alias("member_id"),
        *[sf.coalesce(*[f"record.value.{column}.{name}" for column in columns]).alias(name) for name in _MEMBER[1:]],
    )


def _events(sf: Functions, event: Column, member: Column) -> Column:
    return sf.struct(event.alias("event"), member.cast(_MEMBER_TYPE).alias("member"))


def _none(sf: Functions) -> Column:
    return sf.array().cast(f"array<struct<event:string,member:{_MEMBER_TYPE}>>")


def _of_classic(sf: Functions) -> Column:
    """Return the members of a classic group that are new or gone since its record before, as events."""
    joined = sf.transform(sf.array_except("members", "members_before"), lambda one: _events(sf, sf.lit("joined"), one))
    left = sf.transform(sf.array_except("members_before", "members"), lambda one: _events(sf, sf.lit("left"), one))
    return sf.when(sf.col("type") == CLASSIC, sf.concat(joined, left)).otherwise(_none(sf))


def _of_member(sf: Functions) -> Column:
    """Return the event of the one member; a tombstone means that it has left."""
    event = (
        sf.when(~sf.col("is_there") & sf.col("was_there"), "left")
        .when(sf.col("is_there") & sf.col("was_there"), "changed")
        .when(sf.col("is_there"), "joined")
    )
    return sf.when(event.isNotNull(), sf.array(_events(sf, event, sf.col("member")))).otherwise(_none(sf))


def _of_epoch(sf: Functions) -> Column:
    """Return the event of a new generation, or of a new epoch."""
    is_new = sf.col("epoch").isNotNull() & ~sf.col("epoch").eqNullSafe(sf.col("epoch_before"))
    member = sf.struct(*[sf.lit(None).cast("string").alias(name) for name in _MEMBER])
    return sf.when(is_new, sf.array(_events(sf, sf.lit("epoch"), member))).otherwise(_none(sf))
