"""Batches with other records in them, for who stands between a client and a broker."""

from __future__ import annotations

from typing import Any

from kipwire.records.converting import message_set_of
from kipwire.records.reading import read_batches
from kipwire.records.record_batches import write_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kipwire.records.model import Record, RecordBatch


def change_records(data: bytes, change: Callable[[Record], None]) -> bytes:
    """The batches of a buffer with changed records; offsets, producers, codecs and all else of a batch stay.

    A batch in which nothing has changed is copied byte for byte. So are control batches, and what follows the last
    whole batch, as brokers cut one short. A codec may compress to other bytes than that of the producer.

    Args:
        data: record batches and message sets, as the `records` of messages have them.
        change: called with each record, whose key, value and headers it may change.

    Raises:
        DecodeError: the batches are broken.
        EncodeError: a value does not fit.
    """
    parts: list[bytes] = []
    end = 0
    for batch in read_batches(data):
        start, end = end, batch.position + batch.size
        written = None if batch.is_control else _changed(batch, change)
        parts.append(data[start:end] if written is None else written)
    return b"".join([*parts, data[end:]])


def _changed(batch: RecordBatch, change: Callable[[Record], None]) -> bytes | None:
    """A batch whose records were changed; None where none was."""
    is_changed = False
    for record in batch.records:
        before = _content(record)
        change(record)
        is_changed = is_changed or _content(record) != before
    if not is_changed:
        return None
    if batch.magic != 2:
        return message_set_of(batch, batch.records, 1 if batch.magic else 0)
    return write_batch(
        batch.records,
        compression=batch.compression,
        base_offset=batch.base_offset,
        last_offset_delta=batch.last_offset - batch.base_offset,
        base_timestamp=batch.base_timestamp,
        max_timestamp=batch.max_timestamp,
        timestamp_type="LogAppendTime" if batch.timestamp_type == "LogAppendTime" else "CreateTime",
        delete_horizon=batch.delete_horizon,
        partition_leader_epoch=batch.partition_leader_epoch,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
    )


def _content(record: Record) -> Any:
    return record.key, record.value, tuple(record.headers)
