"""Finds the positions of share groups (KIP-932), from `__share_group_state`: start offsets and later deliveries.

Rows of `kafka_log` in; records that are there more than once, from several replicas, do no harm.
The state of one partition is computed at once, as the share coordinator does: a snapshot is the whole state, and
updates change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from kafka_messages.enums import ShareDeliveryState
from kipjobs.engines import Column, Frame, Functions, functions_of
from kipjobs.jobs.metadata.tables import TOPIC as METADATA
from kipjobs.jobs.metadata.tables import uuid_text
from kipjobs.jobs.shared.reading import record_of
from kipjobs.jobs.shared.totals import known_total, one_row, rows, total

TOPIC = "__share_group_state"
GROUPS = "__consumer_offsets"

STATE_TYPE: tuple[tuple[str, pa.DataType], ...] = (
    ("group", pa.string()),
    ("topic_id", pa.binary()),
    ("partition", pa.int32()),
    ("start_offset", pa.int64()),
    ("state_epoch", pa.int32()),
    ("leader_epoch", pa.int32()),
    ("snapshot_epoch", pa.int32()),
    ("delivery_complete_count", pa.int32()),
    ("written", pa.int64()),
    (
        "batches",
        pa.list_(
            pa.struct(
                [
                    ("first_offset", pa.int64()),
                    ("last_offset", pa.int64()),
                    ("delivery_state", pa.int8()),
                    ("delivery_count", pa.int16()),
                ]
            )
        ),
    ),
)
"""The columns of a state; `written` is in milliseconds since 1970."""

_SNAPSHOT, _UPDATE = "ShareSnapshot", "ShareUpdate"
TYPES_OF_CLUSTER = ("TopicRecord",)
"""The types of the cluster's records that are decoded."""
_TOPICS = "ShareGroupStatePartitionMetadata"
"""The type of the group coordinator's record that has the topics of a share group, with ids and names."""
TYPES_OF_GROUPS = (_TOPICS,)
"""The types of the group coordinator's records that are decoded."""
_UNCHANGED = -1
"""A start offset, or an epoch, that an update does not change."""


def states(log: Frame) -> Frame:
    """Return the last state of each partition of each group, after its last snapshot and all updates of it.

    Columns: group, topic_id (bytes), partition, start_offset, state_epoch, leader_epoch, snapshot_epoch,
    delivery_complete_count (-1 if it is not known), written (time of the last snapshot), batches (a list of
    first_offset, last_offset, delivery_state as a number, delivery_count). A state without its snapshot is
    left out, and so are records that cannot be read, which `shared.left_out` finds.
    """
    sf = functions_of(log)
    record = record_of(log, "share")
    key, value = sf.col("record.key"), sf.col("record.value")
    rows = (
        log.where((sf.col("topic") == TOPIC) & ~sf.col("is_control"))
        .select("offset", record.alias("record"))
        .where(sf.col("record.type").isin(_SNAPSHOT, _UPDATE))
        .select(
            "offset",
            *[
                sf.coalesce(key["share_snapshot"][name], key["share_update"][name]).alias(column)
                for name, column in (("group_id", "group"), ("topic_id", "topic_id"), ("partition", "partition"))
            ],
            value["share_snapshot"].alias("snapshot"),
            value["share_update"].alias("update"),
            (value["share_snapshot"].isNull() & value["share_update"].isNull()).alias("is_removed"),
        )
    )
    found = sf.map_groups(rows, ("group", "topic_id", "partition"), final_state, pa.schema(STATE_TYPE))
    return found.withColumn("written", sf.kafka_time("written"))


def topic_ids(log: Frame, snapshot: Frame) -> Frame:
    """Return all topics in the metadata log: topic_id (bytes) and topic.

    Args:
        log: rows of `__cluster_metadata`.
        snapshot: rows of `kafka_snapshot`, for topics created before the log begins.
    """
    sf = functions_of(log)
    made = sf.col("record.topic_record")
    of_log = log.where((sf.col("topic") == METADATA) & ~sf.col("is_control"))
    of_snapshot = snapshot.where(sf.col("topic") == METADATA)
    records, earlier = (
        rows.select(record_of(rows, "metadata", TYPES_OF_CLUSTER).alias("record")) for rows in (of_log, of_snapshot)
    )
    return (
        records.unionByName(earlier)
        .where(made.isNotNull())
        .select(made["topic_id"].alias("topic_id"), made["name"].alias("topic"))
        .distinct()
    )


def topics_of_groups(log: Frame) -> Frame:
    """Return the topics in the records of the coordinators of share groups: topic_id (bytes) and topic.

    Args:
        log: rows of `__consumer_offsets`.
    """
    sf = functions_of(log)
    record = record_of(log, "group", TYPES_OF_GROUPS)
    value = sf.col("record.value.share_group_state_partition_metadata")
    topics = sf.concat(
        *[
            sf.transform(
                value[name], lambda one: sf.struct(one["topic_id"].alias("topic_id"), one["topic_name"].alias("topic"))
            )
            for name in ("initializing_topics", "initialized_topics")
        ]
    )
    return (
        log.where((sf.col("topic") == GROUPS) & ~sf.col("is_control"))
        .select(record.alias("record"))
        .where((sf.col("record.type") == _TOPICS) & value.isNotNull())
        .select(sf.explode(topics).alias("one"))
        .select("one.topic_id", "one.topic")
        .distinct()
    )


def partitions(found: Frame, topics: Frame, ends: Frame) -> Frame:
    """Return the partitions of share groups.

    Columns: group, topic (null if its name is not known), topic_id, partition, start_offset (null before the first
    delivery), end_offset (null if the partition is not there), lag, batches (their number), epochs and counts as from
    `states`, written. `lag` is the number of records that are not finished, as in Kafka's own tool; it is null without
    start, end or delivery_complete_count.

    Args:
        found: of `states`.
        topics: topic_id and topic, each id once.
        ends: topic, partition and end_offset.
    """
    sf = functions_of(found)
    start = sf.when(sf.col("start_offset") >= 0, sf.col("start_offset"))
    finished = sf.col("delivery_complete_count")
    lag = sf.when(finished >= 0, sf.col("end_offset") - start - finished)
    return (
        found.join(sf.broadcast(topics), "topic_id", "left")
        .join(ends, ["topic", "partition"], "left")
        .select(
            "group",
            "topic",
            uuid_text(sf, "topic_id").alias("topic_id"),
            "partition",
            start.alias("start_offset"),
            "end_offset",
            lag.alias("lag"),
            sf.size("batches").alias("batches"),
            "state_epoch",
            "leader_epoch",
            "snapshot_epoch",
            "delivery_complete_count",
            "written",
        )
    )


def batches(found: Frame, topics: Frame) -> Frame:
    """List the deliveries after start offsets, a row for each range of offsets with the same state.

    Columns: group, topic, topic_id, partition, first_offset, last_offset, state, delivery_count.

    Args:
        found: of `states`.
        topics: as for `partitions`.
    """
    sf = functions_of(found)
    words = [sf.when(sf.col("one.delivery_state") == int(state), state.name) for state in ShareDeliveryState]
    return (
        found.join(sf.broadcast(topics), "topic_id", "left")
        .select("group", "topic", "topic_id", "partition", sf.explode("batches").alias("one"))
        .select(
            "group",
            "topic",
            uuid_text(sf, "topic_id").alias("topic_id"),
            "partition",
            "one.first_offset",
            "one.last_offset",
            sf.coalesce(*words, sf.col("one.delivery_state").cast("string")).alias("state"),
            "one.delivery_count",
        )
    )


def troubled(delivered: Frame) -> Frame:
    """Return the rows of `batches` with records that were delivered more than once, or that the group has given up."""
    return delivered.where(_is_troubled(functions_of(delivered)))


def _is_troubled(sf: Functions) -> Column:
    return (sf.col("delivery_count") > 1) | (sf.col("state") == ShareDeliveryState.ARCHIVED.name)


def totals(placed: Frame, delivered: Frame) -> Frame:
    """Return one row: groups, their partitions, their lag (null if none is known), and records that are `troubled`.

    Args:
        placed: of `partitions`.
        delivered: of `batches`.
    """
    sf = functions_of(placed)
    number = sf.col("last_offset") - sf.col("first_offset") + 1
    return one_row(
        placed.agg(
            sf.count_distinct("group").alias("groups"),
            rows(sf, "partitions"),
            known_total(sf, "lag").alias("lag_records"),
        ),
        troubled(delivered).withColumn("number", number).agg(total(sf, "number", "troubled_records")),
    )


class StateBatch(NamedTuple):
    """A range of offsets with one delivery state."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key of states of an offset: the state after more deliveries holds, or else the higher one."""
        return self.delivery_count, self.delivery_state


def combine_state(before: Sequence[StateBatch], changed: Sequence[StateBatch], start_offset: int) -> list[StateBatch]:
    """Return the state after an update, in the order of offsets.

    Args:
        before: the state before it.
        changed: the batches of the update; where they overlap with others, the state of a higher rank holds.
        start_offset: offsets before it are finished, and left out; -1 if it is not known.
    """
    batches = [
        one._replace(first_offset=max(one.first_offset, start_offset))
        for one in (*before, *changed)
        if one.last_offset >= start_offset
    ]
    edges = sorted({edge for one in batches for edge in (one.first_offset, one.last_offset + 1)})
    found: list[StateBatch] = []
    by_start = sorted(batches)
    active: list[StateBatch] = []
    for first, end in pairwise(edges):
        active = [one for one in active if one.last_offset >= first]
        while by_start and by_start[0].first_offset <= first:
            active.append(by_start.pop(0))
        if not active:
            continue
        best = max(active, key=lambda one: one.rank)
        last = found[-1] if found else None
        if last is not None and last.last_offset + 1 == first and last.rank == best.rank:
            found[-1] = last._replace(last_offset=end - 1)
        else:
            found.append(best._replace(first_offset=first, last_offset=end - 1))
    return found


def final_state(records: pa.Table) -> pa.Table:
    """Return the state of one partition of a group after all its records; no row if it was removed or has no snapshot.

    Args:
        records: with the columns offset, group, topic_id, partition, snapshot and update, of which one is not null
            unless the state was removed.
    """
    rows = sorted(records.to_pylist(), key=lambda row: row["offset"])
    state: dict[str, Any] | None = None
    for row in rows:
        if row["is_removed"]:
            state = None
        elif row["snapshot"] is not None:
            state = _of_snapshot(row)
        elif state is not None:
            state = _update_state(state, row["update"])
    return pa.Table.from_pylist([] if state is None else [state], pa.schema(STATE_TYPE))


def _of_snapshot(row: dict[str, Any]) -> dict[str, Any]:
    snapshot = row["snapshot"]
    return {
        **{name: row[name] for name in ("group", "topic_id", "partition")},
        **{
            name: snapshot[name]
            for name in ("start_offset", "state_epoch", "leader_epoch", "snapshot_epoch", "delivery_complete_count")
        },
        "written": snapshot["write_timestamp"],
        "batches": [one._asdict() for one in _batches(snapshot["state_batches"])],
    }


def _update_state(state: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    start = _change_of(update["start_offset"], state["start_offset"])
    return {
        **state,
        "start_offset": start,
        "leader_epoch": _change_of(update["leader_epoch"], state["leader_epoch"]),
        "delivery_complete_count": update["delivery_complete_count"],
        "batches": [
            one._asdict() for one in combine_state(_batches(state["batches"]), _batches(update["state_batches"]), start)
        ],
    }


def _change_of(new: int, old: int) -> int:
    return old if new == _UNCHANGED else new


def _batches(rows: Iterable[dict[str, int]] | None) -> list[StateBatch]:
    return [StateBatch(*(row[name] for name in StateBatch._fields)) for row in rows or ()]
