"""Lists the contents of tiered storage (KIP-405), from `__remote_log_metadata`, of Kafka's own metadata manager.

Rows of `kafka_log` in, which its source has decoded; records that are there more than once, from several replicas, do
no harm.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum

from kafka_messages.enums import RemoteLogSegmentState, RemotePartitionDeleteState
from kipjobs.engines import Column, Frame, Functions, functions_of
from kipjobs.jobs.metadata.tables import uuid_text
from kipjobs.jobs.shared.totals import one_row, rows, total

TOPIC = "__remote_log_metadata"

_SEGMENT, _UPDATE, _DELETE = "segment", "update", "delete"
_COLUMNS = {
    _SEGMENT: "remote_log_segment_metadata_record",
    _UPDATE: "remote_log_segment_metadata_update_record",
    _DELETE: "remote_partition_delete_metadata_record",
}
"""The columns of records by type."""
_OF_SEGMENTS = (
    *("start_offset", "end_offset", "segment_size_in_bytes", "max_timestamp_ms", "segment_leader_epochs"),
    "txn_index_empty",
)


def records(log: Frame) -> Frame:
    """Return decoded records: log_partition, log_offset, segment, update, delete; one of the last three is not null.

    A record that cannot be read, such as one of a type or version of a later Kafka, has none of them.

    Args:
        log: of `kipjobs.jobs.shared.reading.decoded_log`.
    """
    sf = functions_of(log)
    return log.where((sf.col("topic") == TOPIC) & ~sf.col("is_control")).select(
        sf.col("partition").alias("log_partition"),
        sf.col("offset").alias("log_offset"),
        *[sf.col("record")[column].alias(name) for name, column in _COLUMNS.items()],
    )


def segments(decoded: Frame) -> Frame:
    """Return the segments in tiered storage, in their last state.

    Columns: topic, topic_id, partition, start_offset, last_offset, size, segment_id, state, broker_id, changed,
    max_timestamp, leader_epochs (a list of epoch and start_offset), custom_metadata, is_txn_index_empty.

    Args:
        decoded: of `records`.
    """
    sf = functions_of(decoded)
    added = decoded.where(sf.col(_SEGMENT).isNotNull()).select(
        *_place(sf, _SEGMENT), *_fields(sf, _SEGMENT), *_last(sf, _SEGMENT)
    )
    changes = decoded.where(sf.col(_UPDATE).isNotNull()).select(*_place(sf, _UPDATE), *_last(sf, _UPDATE))
    last = (
        added.select("segment_id", "last")
        .unionByName(changes.select("segment_id", "last"))
        .groupBy("segment_id")
        .agg(sf.max("last").alias("last"))
    )
    whole = added.drop("last").dropDuplicates(["segment_id"])
    epochs = sf.transform(
        "segment_leader_epochs",
        lambda one: sf.struct(one["leader_epoch"].alias("epoch"), one["offset"].alias("start_offset")),
    )
    return whole.join(last, "segment_id").select(
        "topic",
        uuid_text(sf, "topic_id").alias("topic_id"),
        "partition",
        "start_offset",
        sf.col("end_offset").alias("last_offset"),  # Kafka's name; elsewhere an end is the offset after the last one
        sf.col("segment_size_in_bytes").alias("size"),
        uuid_text(sf, "segment_id").alias("segment_id"),
        _word(sf, sf.col("last.state"), RemoteLogSegmentState).alias("state"),
        sf.col("last.broker_id").alias("broker_id"),
        sf.kafka_time("last.time").alias("changed"),
        sf.kafka_time("max_timestamp_ms").alias("max_timestamp"),
        epochs.alias("leader_epochs"),
        sf.col("last.custom_metadata").alias("custom_metadata"),
        sf.col("txn_index_empty").alias("is_txn_index_empty"),
    )


def partitions(remote: Frame, decoded: Frame) -> Frame:
    """Return the partitions in tiered storage.

    Columns: topic, topic_id, partition, segments, size, start_offset, last_offset, deletion. Only segments that can be
    read count. `deletion` is the state of the removal of a deleted partition, else null.

    Args:
        remote: of `segments`.
        decoded: of `records`.
    """
    sf = functions_of(remote)
    key = ["topic", "topic_id", "partition"]
    can_be_read = sf.col("state") == RemoteLogSegmentState.COPY_SEGMENT_FINISHED.name
    counted = remote.groupBy(*key).agg(
        sf.count(sf.when(can_be_read, 1)).alias("segments"),
        sf.coalesce(sf.sum(sf.when(can_be_read, sf.col("size"))), sf.lit(0)).alias("size"),
        sf.min(sf.when(can_be_read, sf.col("start_offset"))).alias("start_offset"),
        sf.max(sf.when(can_be_read, sf.col("last_offset"))).alias("last_offset"),
    )
    of = sf.col(f"{_DELETE}.topic_id_partition")
    deleted = (
        decoded.where(sf.col(_DELETE).isNotNull())
        .select(
            of["name"].alias("topic"),
            of["id"].alias("id"),
            of["partition"].alias("partition"),
            "log_offset",
            sf.col(f"{_DELETE}.remote_partition_delete_state").alias("state"),
        )
        .groupBy("topic", uuid_text(sf, "id").alias("topic_id"), "partition")
        .agg(sf.max_by("state", "log_offset").alias("state"))
        .select(*key, _word(sf, sf.col("state"), RemotePartitionDeleteState).alias("deletion"))
    )
    return counted.join(deleted, key, "full").select(
        *key,
        sf.coalesce("segments", sf.lit(0)).alias("segments"),
        sf.coalesce("size", sf.lit(0)).alias("size"),
        "start_offset",
        "last_offset",
        "deletion",
    )


def unfinished(remote: Frame) -> Frame:
    """Return the rows of `segments` whose copying or removal has begun and not ended."""
    sf = functions_of(remote)
    states = (RemoteLogSegmentState.COPY_SEGMENT_STARTED, RemoteLogSegmentState.DELETE_SEGMENT_STARTED)
    return remote.where(sf.col("state").isin(*[state.name for state in states]))


def totals(tiered: Frame, remote: Frame) -> Frame:
    """Return one row: partitions, segments that can be read, their bytes, and segments that are `unfinished`.

    Args:
        tiered: of `partitions`.
        remote: of `segments`.
    """
    sf = functions_of(tiered)
    return one_row(
        tiered.agg(rows(sf, "partitions"), total(sf, "segments"), total(sf, "size", "bytes")),
        unfinished(remote).agg(rows(sf, "unfinished_segments")),
    )


def _place(sf: Functions, name: str) -> list[Column]:
    """Select the identity of a record's segment."""
    of = sf.col(f"{name}.remote_log_segment_id")
    partition = of["topic_id_partition"]
    return [
        of["id"].alias("segment_id"),
        partition["name"].alias("topic"),
        partition["id"].alias("topic_id"),
        partition["partition"].alias("partition"),
    ]


def _fields(sf: Functions, name: str) -> list[Column]:
    """Select the fields of a segment that never change."""
    of = sf.col(name)
    return [of[field].alias(field) for field in _OF_SEGMENTS]


def _last(sf: Functions, name: str) -> list[Column]:
    """Select the state in a record, with its offset first: all records of a partition are in one log."""
    return [
        sf.struct(
            "log_offset",
            sf.col(f"{name}.remote_log_segment_state").alias("state"),
            sf.col(f"{name}.broker_id").alias("broker_id"),
            sf.col(f"{name}.event_timestamp_ms").alias("time"),
            sf.col(f"{name}.custom_metadata").alias("custom_metadata"),
        ).alias("last")
    ]


def _word(sf: Functions, number: Column, words: Iterable[IntEnum]) -> Column:
    """Return Kafka's name for a number; an unknown number as text."""
    return sf.coalesce(*[sf.when(number == int(one), one.name) for one in words], number.cast("string"))
