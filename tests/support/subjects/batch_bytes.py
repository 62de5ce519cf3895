"""Batches and message sets that tests damage."""

from __future__ import annotations

from typing import Any

from kipwire.records import Record, read_batches, write_batch, write_message_set

RECORDS = [
    Record(offset=i, timestamp=1000 + i, key=b"k", value=b"v" * i, headers=[("h", b"1"), ("n", None)])
    for i in range(20)
]
GOOD = write_batch(RECORDS)
OLD = [Record(offset=5, timestamp=3, value=b"a"), Record(offset=9, value=b"bb")]


def with_bytes(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def read_all(data: bytes, **options: Any) -> list[list[Record]]:
    return [batch.records for batch in read_batches(data, **options)]


INNER = write_message_set(OLD, magic=1)
