"""What a conversion of records loses: everything that the other format cannot hold, with its place and its count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from kipwire.records.model import Record, RecordBatch

Lost = Literal[
    "control records",
    "empty batch",
    "headers",
    "headers of a compressed entry",
    "timestamps",
    "timestamp type",
    "max timestamp",
    "offset range",
    "transaction",
    "producer state",
    "leader epoch",
    "delete horizon",
    "unknown attributes",
]
KNOWN_ATTRIBUTES = (0x07, 0x0F, 0x7F)
"""By magic: the bits of the attributes that have a meaning; a test compares them with the specs."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One kind of thing that a batch has lost."""

    what: Lost
    batch: int
    """The number of batches before it in what was converted."""
    first_offset: int
    """The offset that the batch starts at."""
    last_offset: int
    """The offset that the batch ends at."""
    count: int
    """How many: control records, headers, timestamps, records of a transaction, offsets; 1 of what a batch has once."""


def losses(
    batch: RecordBatch, records: Sequence[Record], number: int, magic: int, headers_of_entry: int = 0
) -> list[Loss]:
    """What the batch loses in a format.

    Args:
        batch: of any format.
        records: those of its records that are converted.
        number: how many batches come before it.
        magic: the format that it is converted to, by its number; 2 is Kafka's.
        headers_of_entry: how many headers a compressed entry of KIP-82 has itself, which no other format holds.
    """
    return [
        Loss(what, number, batch.base_offset, batch.last_offset, count)
        for what, count in _counts(batch, records, magic, headers_of_entry)
        if count
    ]


def _counts(
    batch: RecordBatch, records: Sequence[Record], magic: int, headers_of_entry: int
) -> Iterator[tuple[Lost, int]]:
    """How much is lost of everything; 0 where nothing is."""
    if magic < 2:
        if batch.is_control:
            yield "control records", len(records)
            return
        if not batch.records:
            yield "empty batch", 1
            return
        yield "headers", sum(len(record.headers) for record in records)
        yield "offset range", batch.records[0].offset - batch.base_offset + batch.last_offset - batch.records[-1].offset
        yield "transaction", len(records) if batch.is_transactional else 0
        yield "producer state", int(batch.producer_id != -1)
        yield "leader epoch", int(batch.partition_leader_epoch != -1)
        yield "delete horizon", int(batch.delete_horizon is not None)
    if magic == 0:
        yield "timestamps", sum(record.timestamp != -1 for record in records)
        yield "timestamp type", int(batch.timestamp_type == "LogAppendTime")
    elif batch.records and batch.timestamp_type == "CreateTime":
        yield "max timestamp", int(batch.max_timestamp != max(record.timestamp for record in batch.records))
    yield "headers of a compressed entry", headers_of_entry
    yield "unknown attributes", int(bool(batch.attributes & ~KNOWN_ATTRIBUTES[batch.magic]))
