"""Logs as brokers leave them, made for tests of jobs, and the tables of reports on them."""

from __future__ import annotations

from pathlib import Path
from struct import pack
from typing import Any

from kafka_messages.end_txn_marker.v0 import EndTxnMarker
from kipjobs.report.report import Report
from kipwire.records import Record, write_batch
from kipwire.records.control import end_marker_key
from tests.support.subjects.spark_tables import rows

NOW = 1_700_000_000_000
"""Milliseconds since 1970."""


def table(report: Report, name: str) -> list[dict[str, Any]]:
    """Return the rows of one table of a report."""
    return rows(next(one.frame for one in report.tables if one.name == name))


def write_log(folder: Path, *batches: bytes, base: int = 0) -> None:
    """Write a segment of a partition."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{base:020}.log").write_bytes(b"".join(batches))


def marker(offset: int, producer: int, coordinator_epoch: int, epoch: int = 0, *, is_empty: bool = False) -> bytes:
    """Return a batch that ends a transaction; compaction may leave no more of it than its head."""
    value = pack(">h", 0) + EndTxnMarker(coordinator_epoch=coordinator_epoch).encode()
    record = Record(offset=offset, timestamp=NOW + offset, key=end_marker_key("COMMIT"), value=value)
    return write_batch(
        [] if is_empty else [record],
        base_offset=offset,
        last_offset_delta=0,
        base_timestamp=NOW + offset,
        max_timestamp=NOW + offset,
        producer_id=producer,
        producer_epoch=epoch,
        is_transactional=True,
        is_control=True,
    )


def numbered(*some: Record) -> bytes:
    """Return a batch of records with the offsets from 0 on."""
    for offset, record in enumerate(some):
        record.offset = offset
    return write_batch(some)
