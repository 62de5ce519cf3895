"""The records of log segments as Arrow batches, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from kipspark.errors import SourceError
from kipspark.sources.splits import Split, batch_head
from kipspark.sources.timestamps import TIMESTAMP, microseconds
from kipwire import DecodeError
from kipwire.garbage import no_garbage_collection
from kipwire.records import RecordBatch, read_segment

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

LOG_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP),
        ("timestamp_type", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", _HEADERS),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("sequence", pa.int32()),
        ("is_transactional", pa.bool_()),
        ("is_control", pa.bool_()),
        ("leader_epoch", pa.int32()),
        ("magic", pa.int8()),
        ("compression", pa.string()),
        ("segment", pa.string()),
        ("batch_position", pa.int64()),
        ("error", pa.string()),
    ]
)
"""The columns of `kafka_log`; docs/spark.md explains them."""

_ROWS = 8192
"""Rows from which an Arrow batch is handed over."""
_BYTES = 16 * 1024 * 1024
"""Bytes of keys and values from which it is, however few its rows are."""


class Wanted(NamedTuple):
    """Which records are asked for, and how they are to be read."""

    first_offset: int | None = None
    end_offset: int | None = None
    """Records from this offset on are left out."""
    first_timestamp: int | None = None
    """In milliseconds since 1970, as are the timestamps of records."""
    end_timestamp: int | None = None
    """Records of this timestamp or a later one are left out."""
    control: bool = False
    """Whether control records are records too."""
    check_crcs: bool = True
    permissive: bool = False
    """Whether a broken batch becomes one row that tells of it, instead of an error."""


def read_rows(split: Split, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """The records of a range of a segment, in its order, as batches of `LOG_SCHEMA`.

    Raises:
        DecodeError: a batch is broken; not if `wanted.permissive`.
        SourceError: the file cannot be read.
    """
    rows = _Rows(split)
    with no_garbage_collection():
        for batch in _batches(split, wanted):
            if isinstance(batch, _Broken):
                rows.add_broken(batch)
            else:
                rows.add(batch, wanted)
            if rows.count >= _ROWS or rows.bytes >= _BYTES:
                yield rows.take()
    if rows.count:
        yield rows.take()


class _Broken(NamedTuple):
    """A batch that cannot be read."""

    position: int
    error: str


def _batches(split: Split, wanted: Wanted) -> Iterator[RecordBatch | _Broken]:
    """The batches of a range that may have wanted records, and are known to be whole."""
    start: int | None = split.start
    while start is not None:
        position = start
        start = None
        try:
            for batch in read_segment(split.segment.path, start=position, check_crcs=wanted.check_crcs):
                if batch.position >= split.end:
                    return
                position = batch.position
                if _may_have(batch, wanted):
                    _ = batch.records  # where they are broken, it is known here
                    yield batch
                position += batch.size
        except DecodeError as error:
            if not wanted.permissive:
                raise
            yield _Broken(position, str(error))
            start = _behind(split, position)
        except OSError as error:
            raise SourceError(f"{split.segment.path}: cannot be read: {error.strerror or error}") from None


def _behind(split: Split, position: int) -> int | None:
    """Where the batch behind a broken one starts; None if nothing tells, or the range ends there."""
    with Path(split.segment.path).open("rb") as file:
        head = batch_head(file, position)
    if head is None or position + head.size >= split.end:
        return None
    return position + head.size


def _may_have(batch: RecordBatch, wanted: Wanted) -> bool:
    """Whether a batch may have wanted records, by its header alone."""
    if batch.is_control and not wanted.control:
        return False
    if wanted.first_offset is not None and batch.last_offset < wanted.first_offset:
        return False
    if wanted.first_timestamp is not None and batch.max_timestamp < wanted.first_timestamp:
        return False
    # Of a compressed entry of magic 0 or 1 only its content tells where it starts.
    return wanted.end_offset is None or batch.records_count is None or batch.base_offset < wanted.end_offset


_OF_BATCH = (
    "timestamp_type",
    "producer_id",
    "producer_epoch",
    "is_transactional",
    "is_control",
    "magic",
    "compression",
)
"""Columns that all records of a batch share and that have its attributes' names."""


def _is_wanted(offset: int, timestamp: int, wanted: Wanted) -> bool:
    return (
        (wanted.first_offset is None or offset >= wanted.first_offset)
        and (wanted.end_offset is None or offset < wanted.end_offset)
        and (wanted.first_timestamp is None or timestamp >= wanted.first_timestamp)
        and (wanted.end_timestamp is None or timestamp < wanted.end_timestamp)
    )


class _Rows:
    """Rows on their way into an Arrow batch, a list for each column."""

    def __init__(self, split: Split) -> None:
        self.of_segment = {
            "topic": split.segment.topic,
            "partition": split.segment.partition,
            "segment": split.segment.path,
        }
        self._clear()

    def add(self, batch: RecordBatch, wanted: Wanted) -> None:
        records = [record for record in batch.records if _is_wanted(record.offset, record.timestamp, wanted)]
        count = len(records)
        columns = self.columns
        columns["offset"].extend([record.offset for record in records])
        columns["timestamp"].extend([microseconds(record.timestamp) for record in records])
        columns["key"].extend([record.key for record in records])
        columns["value"].extend([record.value for record in records])
        columns["headers"].extend([record.headers for record in records])
        columns["sequence"].extend([batch.sequence(record) for record in records])
        for name in _OF_BATCH:
            columns[name].extend(repeat(getattr(batch, name), count))
        columns["leader_epoch"].extend(repeat(batch.partition_leader_epoch, count))
        columns["batch_position"].extend(repeat(batch.position, count))
        columns["error"].extend(repeat(None, count))
        self.count += count
        self.bytes += sum([len(record.key or b"") + len(record.value or b"") for record in records])

    def add_broken(self, broken: _Broken) -> None:
        told = {"batch_position": broken.position, "error": broken.error}
        for name, column in self.columns.items():
            column.append(told.get(name))
        self.count += 1

    def take(self) -> pa.RecordBatch:
        """All rows so far; none are left then."""
        arrays = [
            (
                pa.array(self.columns[field.name], field.type)
                if field.name in self.columns
                else pa.repeat(pa.scalar(self.of_segment[field.name], field.type), self.count)
            )
            for field in LOG_SCHEMA
        ]
        self._clear()
        return pa.RecordBatch.from_arrays(arrays, schema=LOG_SCHEMA)

    def _clear(self) -> None:
        self.count = self.bytes = 0
        self.columns: dict[str, list[Any]] = {name: [] for name in LOG_SCHEMA.names if name not in self.of_segment}
