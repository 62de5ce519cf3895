"""The batches of log segments as rows, from their heads alone, without Spark.

Heads are read many at once into arrays of numpy, and only odd ones are looked at one by one, by the reader of whole
batches, which gives the error and the place where reading goes on. So rows of batches and rows of records (`log_rows`)
find the same damage at the same places, as far as heads show it. Checksums are not compared, since that would read
every byte; except for odd batches, and batches of the last segment that have less records than offsets.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kipwire import KipwireError
from kipwire.columns import ColumnError
from kipwire.logs.offsets import WITH_BASE
from kipwire.records import RecordBatch
from kipwire.records.compression import COMPRESSIONS
from kipwire.tables.arrow import TIMESTAMP, microseconds
from kipwire.tables.files.access import path_text
from kipwire.tables.sources.batch_heads import Heads, Numbers, RowFilter, batch_heads_in
from kipwire.tables.sources.log_columns import Broken, Origin
from kipwire.tables.sources.log_rows import items_of, unreadable
from kipwire.tables.sources.segments import Segment
from kipwire.tables.sources.splits import Split
from kipwire.tables.sources.visibility import Outcomes

BATCH_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("base_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("base_timestamp", TIMESTAMP),
        ("max_timestamp", TIMESTAMP),
        ("timestamp_type", pa.string()),
        ("records_count", pa.int32()),
        ("batch_size", pa.int32()),
        ("compression", pa.string()),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("base_sequence", pa.int32()),
        ("is_transactional", pa.bool_()),
        ("is_control", pa.bool_()),
        ("delete_horizon", TIMESTAMP),
        ("leader_epoch", pa.int32()),
        ("magic", pa.int8()),
        ("segment", pa.string()),
        ("batch_position", pa.int64()),
        ("base_timestamp_ms", pa.int64()),
        ("max_timestamp_ms", pa.int64()),
        ("error", pa.string()),
    ]
)
"""The columns of `kafka_log` with the level `batches`; docs/spark-sources.md explains them."""


def read_batch_rows(split: Split, row_filter: RowFilter, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a range of a segment that may have wanted records, in its order.

    Only heads are read: no checksum and no record.

    Args:
        split: the range.
        row_filter: the filter. If it is permissive, a batch whose head is broken is a row with the error.
        schema: columns of `BATCH_SCHEMA`.

    Raises:
        DecodeError: a head is broken, or bytes are not a whole batch; not if `row_filter.permissive`.
        SourceError: the offsets of a batch contradict its place, unless `row_filter.permissive`; or the file cannot be
            read.
    """
    position, offsets = split.start, split.offsets
    outcomes = Outcomes(split, row_filter) if row_filter.committed else None
    while position < split.end:
        try:
            for heads in batch_heads_in(split.segment.path, position, split.end, split.segment.storage, split.limit):
                position = int(heads.position[-1] + heads.size[-1])
                before, is_odd = heads.compared(offsets)
                if split.grows:  # Compaction leaves the last segment alone: its batches have a record for each offset
                    is_odd = is_odd | heads.lack_records()
                yield from _rows_of(split, heads, (before, is_odd), row_filter, outcomes, schema)
                offsets = offsets._replace(before=int(before[-1]))
        except OSError as error:
            raise unreadable(split.segment, error) from None
        if position >= split.end:
            return
        # Heads end at bytes that cannot be a batch; the reader of whole batches reports them, and goes on after them.
        following = None
        for item in items_of(split, row_filter, position, check_crcs=False):
            if isinstance(item, RecordBatch):
                following = item.position
                break
            yield _broken_row(split.segment, item, schema)
        if following is None:
            return
        position = following


def _fault(split: Split, position: int, row_filter: RowFilter) -> KipwireError | None:
    """Return the error of the whole batch at a position; None if it is valid."""
    try:
        item = next(items_of(split, RowFilter(), position, check_crcs=False), None)
        if not isinstance(item, RecordBatch) or item.magic < WITH_BASE:
            return None
        count, offsets = item.records_count or 0, item.last_offset_delta + 1
        if count != offsets and row_filter.check_crcs:
            next(items_of(split, RowFilter(), position, check_crcs=True), None)
    except KipwireError as error:
        return error
    if not 0 <= count <= offsets:
        return ColumnError(f"batch at byte {position}: it declares {count} records, but has {offsets} offsets")
    return None


def _rows_of(
    split: Split,
    heads: Heads,
    compared: tuple[Numbers, Numbers],
    row_filter: RowFilter,
    outcomes: Outcomes | None,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    """Make the rows of heads; odd ones are checked one by one."""

    def good_rows(start: int, end: int) -> Iterator[pa.RecordBatch]:
        some = heads.between(start, end)
        chosen = some.of(some.may_have(row_filter))
        if outcomes is not None:
            chosen = chosen.of(outcomes.shown(chosen))
        if len(chosen.position):
            yield head_rows(_origin(segment), chosen, schema)

    segment = split.segment
    start = 0
    before, is_odd = compared
    for odd in np.flatnonzero(is_odd).tolist():
        offsets = split.offsets._replace(before=int(before[odd]))
        fault = _fault(split._replace(offsets=offsets), int(heads.position[odd]), row_filter)
        if fault is None:
            continue
        if not row_filter.permissive:
            raise fault
        yield from good_rows(start, odd)
        yield _broken_row(segment, Broken(int(heads.position[odd]), str(fault)), schema)
        start = odd + 1
    yield from good_rows(start, len(heads.position))


def _broken_row(segment: Segment, broken: Broken, schema: pa.Schema) -> pa.RecordBatch:
    values = _origin(segment)._asdict() | {"batch_position": broken.position, "error": path_text(broken.error)}
    return pa.RecordBatch.from_pylist([{name: values.get(name) for name in schema.names}], schema=schema)


def _origin(segment: Segment) -> Origin:
    return Origin(segment.topic, segment.partition, path_text(segment.path))


def head_rows(origin: Origin, heads: Heads, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows of heads, with columns of `BATCH_SCHEMA`."""
    return pa.RecordBatch.from_arrays([_column(origin, heads, field) for field in schema], schema=schema)


def _column(origin: Origin, heads: Heads, field: pa.Field) -> pa.Array:
    name = field.name
    if name in origin._fields:
        return pa.repeat(pa.scalar(getattr(origin, name), field.type), len(heads.position))
    if name == "error" or (name == "batch_position" and origin.segment is None):
        return pa.nulls(len(heads.position), field.type)
    if name == "compression":
        return _words(COMPRESSIONS, heads.codec)
    if name == "timestamp_type":
        types = ("NoTimestampType", "CreateTime", "LogAppendTime")
        return _words(types, np.where(heads.magic == 0, 0, 1 + heads.has_append_time))
    numbers: Numbers = getattr(heads, _ATTRIBUTES.get(str(name), str(name)))
    if field.type == TIMESTAMP:
        return microseconds(pa.array(numbers, pa.int64()))
    if name in _UNKNOWN_IF_NEGATIVE:
        return pa.array(numbers, field.type, mask=numbers < 0)
    return pa.array(numbers, field.type)


_ATTRIBUTES = {
    "batch_size": "size",
    "batch_position": "position",
    "base_timestamp_ms": "base_timestamp",
    "max_timestamp_ms": "max_timestamp",
}
_UNKNOWN_IF_NEGATIVE = ("base_offset", "records_count")


def _words(words: tuple[str, ...], numbers: Numbers) -> pa.Array:
    return pa.array(words, pa.string()).take(pa.array(numbers, pa.int8()))
