"""Batches and message sets that tests damage."""

from __future__ import annotations

from typing import Any

from kafka_records.record_batch.v2 import RecordBatch
from kipwire.records import Record, read_batches, write_batch, write_message_set
from kipwire.records.sections import write_section

RECORDS = [
    Record(offset=i, timestamp=1000 + i, key=b"k", value=b"v" * i, headers=[("h", b"1"), ("n", None)])
    for i in range(20)
]
GOOD = write_batch(RECORDS)
OLD = [Record(offset=5, timestamp=3, value=b"a"), Record(offset=9, value=b"bb")]


def foreign_batch(records: list[Record], **fields: Any) -> bytes:
    """Return a batch of records with any timestamps, as only writers other than Kafka's make it."""
    base, time = records[0].offset, records[0].timestamp
    return RecordBatch(
        base_offset=base,
        last_offset_delta=records[-1].offset - base,
        base_timestamp=time,
        max_timestamp=max(record.timestamp for record in records),
        records_count=len(records),
        records=write_section(records, base, time),
        **fields,
    ).encode()


def with_bytes(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def read_all(data: bytes, **options: Any) -> list[list[Record]]:
    return [batch.records for batch in read_batches(data, **options)]


INNER = write_message_set(OLD, magic=1)
