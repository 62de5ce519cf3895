"""The partitions that members of groups have, by the records of coordinators, and those without a committed offset.

The leader of a classic group assigns partitions by name; the coordinator of a group of KIP-848 by ids of topics, whose
names the metadata log has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from kipjobs.engines import Frame, functions_of
from kipjobs.jobs.offsets.tables import CLASSIC, CURRENT, coordinator_rows, rows_of_types
from kipwire.cluster.groups import parse_assignment

_MEMBER = ("member_id", "client_id", "client_host")
_ASSIGNED = pa.schema(
    [
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *[(name, pa.string()) for name in _MEMBER],
    ]
)


def by_name(log: Frame) -> Frame:
    """Return the partitions of members of classic groups: group, topic, partition, member_id, client_id, client_host.

    Args:
        log: of committed records of `__consumer_offsets`, as for `kipjobs.jobs.offsets.commits`.
    """
    sf = functions_of(log)
    record = sf.from_coordinator("key", "value", types=[CLASSIC])
    last = (
        coordinator_rows(rows_of_types(log, [CLASSIC]), record)
        .where(sf.col("record.type") == CLASSIC)
        .groupBy(sf.col("record.key.group_metadata.group").alias("group"))
        .agg(sf.max_by("record.value.group_metadata", "log_offset").alias("last"))
    )
    members = last.where(sf.col("last").isNotNull()).select("group", sf.explode("last.members").alias("member"))
    assignments = members.select("group", *[f"member.{name}" for name in (*_MEMBER, "assignment")])
    return sf.map_batches(assignments, _partitions_of, _ASSIGNED)


def _partitions_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make a row of each partition of an assignment."""
    for batch in batches:
        rows = [
            {**row, "topic": topic, "partition": number}
            for row in batch.to_pylist()
            for topic, number in sorted(parse_assignment(row.pop("assignment") or b""))
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=_ASSIGNED)


def by_topic_id(log: Frame) -> Frame:
    """Return the partitions of members of groups of KIP-848: group, topic_id (bytes), partition, member_id.

    Args:
        log: as for `by_name`.
    """
    sf = functions_of(log)
    record = sf.from_coordinator("key", "value", types=[CURRENT])
    key = sf.col("record.key.consumer_group_current_member_assignment")
    last = (
        coordinator_rows(rows_of_types(log, [CURRENT]), record)
        .where(sf.col("record.type") == CURRENT)
        .groupBy(key["group_id"].alias("group"), key["member_id"].alias("member_id"))
        .agg(sf.max_by("record.value.consumer_group_current_member_assignment", "log_offset").alias("last"))
    )
    topics = last.where(sf.col("last").isNotNull()).select(
        "group", "member_id", sf.explode("last.assigned_partitions").alias("of_topic")
    )
    return topics.select(
        "group",
        sf.col("of_topic.topic_id").alias("topic_id"),
        sf.explode("of_topic.partitions").alias("partition"),
        "member_id",
    )


def with_names(of_ids: Frame, topics: Frame) -> Frame:
    """Return the partitions with topics by name, and the columns of `by_name`; without those that have no name.

    Args:
        of_ids: of `by_topic_id`.
        topics: topic_id and topic.
    """
    sf = functions_of(of_ids)
    unknown = [sf.lit(None).cast("string").alias(name) for name in _MEMBER[1:]]
    return of_ids.join(sf.broadcast(topics), ["topic_id"]).select("group", "topic", "partition", "member_id", *unknown)


def without_offset(assigned: Frame, groups: Frame, starts: Frame, ends: Frame) -> Frame:
    """Return the partitions that a member has, with offsets to commit, and of which none is committed.

    Columns: group, topic, partition, start_offset, end_offset, member_id, client_id, client_host (null if the group is
    one of KIP-848).

    Args:
        assigned: of `by_name` and `with_names`.
        groups: the present offsets, with group, topic and partition.
        starts: topic, partition and start_offset.
        ends: topic, partition and end_offset.
    """
    sf = functions_of(assigned)
    place = ["group", "topic", "partition"]
    known = groups.select(*place, sf.lit(True).alias("is_known"))
    return (
        assigned.join(known, place, "left")
        .where(sf.col("is_known").isNull())
        .join(ends, ["topic", "partition"], "left")
        .join(starts, ["topic", "partition"], "left")
        .where(sf.col("end_offset").isNull() | (sf.col("end_offset") > sf.coalesce("start_offset", sf.lit(0))))
        .select(*place, "start_offset", "end_offset", *_MEMBER)
    )
