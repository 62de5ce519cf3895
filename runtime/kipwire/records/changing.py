"""Batches with changed records, for a proxy between a client and a broker."""

from __future__ import annotations

from typing import Any

from kipwire.records.reading import read_batches
from kipwire.records.rebuilding import BatchHead, rebuilt_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kipwire.records.model import Record, RecordBatch


def change_records(data: bytes, change: Callable[[Record], None]) -> bytes:
    """Change the records of the batches in a buffer; offsets, producers, codecs and all else of a batch stay.

    A batch in which nothing has changed is copied byte for byte. So are control batches, and what follows the last
    whole batch, as brokers cut one short. A codec may compress to other bytes than the producer's.

    Args:
        data: record batches and message sets, as the `records` of messages have them.
        change: called with each record, whose key, value and headers it may change.

    Raises:
        DecodeError: the batches are broken.
        EncodeError: a changed value does not fit its field.
    """
    parts: list[bytes] = []
    end = 0
    for batch in read_batches(data):
        start, end = end, batch.position + batch.size
        written = None if batch.is_control else _change_batch(batch, change)
        parts.append(data[start:end] if written is None else written)
    return b"".join([*parts, data[end:]])


def _change_batch(batch: RecordBatch, change: Callable[[Record], None]) -> bytes | None:
    """Write a batch again whose records were changed; return None if none was."""
    is_changed = False
    for record in batch.records:
        before = _content(record)
        change(record)
        is_changed = is_changed or _content(record) != before
    if not is_changed:
        return None
    head = BatchHead(*(getattr(batch, name) for name in BatchHead._fields))
    return rebuilt_batch(head, batch.records)


def _content(record: Record) -> Any:
    return record.key, record.value, tuple(record.headers)
