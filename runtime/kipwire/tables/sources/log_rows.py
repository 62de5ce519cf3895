"""The records of log segments as Arrow batches, without Spark.

Every byte of a range is a record, an error, or the tail of a log: `items_of` is the only place where items of
`kipwire.logs.segments` become rows or errors, also for `batch_rows`. A batch whose offsets contradict its place is
damage that no checksum covers. With `mode` PERMISSIVE an error is a row between the records around it, and reading goes
on; otherwise it is raised.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kipwire import DecodeError
from kipwire.columns import ColumnError, RecordColumns
from kipwire.logs.accounting import Tail
from kipwire.logs.offsets import Misplaced
from kipwire.logs.segments import read_part
from kipwire.records import Bounds, RecordBatch
from kipwire.records.checks import without_number
from kipwire.records.heads import NO_TIMESTAMP
from kipwire.tables.arrow import pc
from kipwire.tables.errors import SourceError
from kipwire.tables.files.access import open_file, path_text
from kipwire.tables.sources.batch_heads import RowFilter
from kipwire.tables.sources.log_columns import (
    HEADER_KEYS,
    LOG_SCHEMA,
    Broken,
    OfBatch,
    Origin,
    Repeated,
    broken_rows,
    of_batch,
    record_rows,
)
from kipwire.tables.sources.segments import Segment
from kipwire.tables.sources.splits import Split, narrow
from kipwire.tables.sources.visibility import Outcomes
from kipwire.tools.text import count_of

ROWS = 16384
"""Number of rows, or batches, at which an Arrow batch is complete."""
_BYTES = 16 * 1024 * 1024
"""Number of bytes of keys, values and headers at which an Arrow batch is complete, even with fewer rows."""
_INT64 = range(-(2**63), 2**63)


def read_rows(split: Split, row_filter: RowFilter, schema: pa.Schema = LOG_SCHEMA) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range of a segment, in its order.

    Args:
        split: the range.
        row_filter: which records.
        schema: columns of `ALL_LOG_COLUMNS`.

    Raises:
        DecodeError: bytes are not a whole batch, or a batch is broken; not if `row_filter.permissive`.
        ColumnError: a number of a record has more than 64 bits; not if `row_filter.permissive`.
        SourceError: the offsets of a batch contradict its place, unless `row_filter.permissive`; or the file cannot be
            read.
    """
    segment = split.segment
    rows = LogRows(Origin(segment.topic, segment.partition, path_text(segment.path)), row_filter, schema)
    try:
        parts = narrow(split, row_filter)
    except OSError as error:
        raise unreadable(split.segment, error) from None
    outcomes = Outcomes(split, row_filter) if row_filter.committed else None
    for part in parts:
        for batch in _batches(part, row_filter, outcomes):
            rows.add(batch)
            if rows.are_enough():
                yield from rows.take()
    yield from rows.take()


def _batches(split: Split, row_filter: RowFilter, outcomes: Outcomes | None) -> Iterator[RecordBatch | Broken]:
    """Yield the batches of a range that may have wanted records, and the broken ones.

    Nothing is left of a range that the broker has cut off from the file since it was listed.
    """
    for item in items_of(split, row_filter, split.start, check_crcs=row_filter.check_crcs):
        if isinstance(item, RecordBatch):
            if item.is_control and not row_filter.control:
                continue
            if outcomes is not None and not outcomes.shows(item):
                continue
        yield item


def items_of(split: Split, row_filter: RowFilter, start: int, *, check_crcs: bool) -> Iterator[RecordBatch | Broken]:
    """Yield the content of a range from a position on: each byte is in a batch or broken, except for an unwanted tail.

    Args:
        split: the range.
        row_filter: the filter, which also decides if broken batches are errors or rows.
        start: where a batch starts.
        check_crcs: true if a wrong checksum is an error.

    Raises:
        DecodeError: bytes are not a whole batch; not if `row_filter.permissive`.
        SourceError: as `read_rows`.
    """
    segment = split.segment
    try:
        with open_file(segment.path, segment.storage) as file:
            for item in read_part(
                file,
                segment.path,
                start=start,
                end=split.end,
                grows=split.grows,
                check_crcs=check_crcs,
                max_decompressed_size=row_filter.max_decompressed_size,
                offsets=split.offsets,
            ):
                if isinstance(item, RecordBatch):
                    yield item
                elif isinstance(item, Misplaced):
                    position = item.batch.position
                    text = f"{segment.path}: the batch at byte {position} {item.reason}"
                    if not row_filter.permissive:
                        raise SourceError(text)
                    yield Broken(position, text)
                elif isinstance(item, Tail):
                    if row_filter.tail and item.size:
                        yield Broken(item.position, _words_of(item))
                else:
                    damage = item._replace(error=without_number(item.error))
                    if not row_filter.permissive:
                        raise damage.error
                    yield Broken(damage.position, damage.text)
    except OSError as error:
        raise unreadable(segment, error) from None


def _with_option(error: DecodeError) -> DecodeError:
    """Name a limit by the option of `kafka_log`, in place of the argument of `kipwire.records`."""
    reason = error.reason.replace("(max_decompressed_size)", "(option maxDecompressedSize)")
    return DecodeError(error.message, error.version, error.path, error.offset, reason)


def _words_of(tail: Tail) -> str:
    what = "space taken in advance" if tail.is_zeros else "a batch that is not complete"
    return f"{count_of(tail.size, 'byte')} from byte {tail.position} on: {what}"


def unreadable(segment: Segment, error: OSError) -> SourceError:
    return SourceError(f"{segment.path}: cannot be read: {error.strerror or error}")


class LogRows:
    """Collects records for an Arrow batch, with the shared values of their batches."""

    def __init__(self, origin: Origin, row_filter: RowFilter, schema: pa.Schema) -> None:
        self.origin = origin
        self.is_in_file = origin.segment is not None
        self.row_filter = row_filter
        self.schema = schema
        self.repeated = Repeated()
        self.records = RecordColumns(header_keys=HEADER_KEYS in schema.names)
        self.batches: list[OfBatch] = []
        self.broken: list[Broken] = []
        self.before_broken: list[int] = []
        """Number of good batches before each broken one."""

    def add(self, batch: RecordBatch | Broken) -> None:
        """Add the records of a batch, or the error of a broken one if broken batches are rows."""
        broken = batch if isinstance(batch, Broken) else self._add(batch)
        if broken is not None:
            self.broken.append(broken)
            self.before_broken.append(len(self.batches))

    def _add(self, batch: RecordBatch) -> Broken | None:
        try:
            self.records.add(batch)
        except (DecodeError, ColumnError) as error:
            shown = _with_option(without_number(error)) if isinstance(error, DecodeError) else error
            if not self.row_filter.permissive:
                raise shown from None
            return Broken(batch.position if self.is_in_file else None, str(shown))
        self.batches.append(of_batch(batch, self.is_in_file))
        return None

    def are_enough(self) -> bool:
        count = max(self.records.rows, len(self.batches), len(self.broken))
        return count >= ROWS or self.records.size >= _BYTES

    def take(self) -> Iterator[pa.RecordBatch]:
        """Yield the wanted rows so far, if there are any, and forget them."""
        records, batches = _choose(self.records.take(), self.row_filter.bounds), self.batches
        broken, before = self.broken, self.before_broken
        self.batches, self.broken, self.before_broken = [], [], []
        if not broken:
            if len(records):
                yield record_rows(self.origin, records, batches, self.schema, self.repeated)
            return
        if not len(records):
            yield broken_rows(self.origin, broken, self.schema, self.repeated)
            return
        bad = broken_rows(self.origin, broken, self.schema, self.repeated)
        rows = pa.concat_batches([bad, record_rows(self.origin, records, batches, self.schema, self.repeated)])
        # A broken batch has the number of the good one that follows it.
        numbers = pa.concat_arrays([pa.array(before, pa.int64()), records.column("batch").cast(pa.int64())])
        yield rows.take(pc.sort_indices(numbers))


def _choose(records: pa.RecordBatch, bounds: Bounds) -> pa.RecordBatch:
    """Leave out the records that are not wanted, as `Bounds.has` decides."""
    if bounds.has_times:
        records = _filter(records, pc.not_equal(records.column("timestamp"), NO_TIMESTAMP))
    for name, first, end in (
        ("offset", bounds.first_offset, bounds.end_offset),
        ("timestamp", bounds.first_timestamp, bounds.end_timestamp),
    ):
        if first is not None:
            records = _filter(records, _reach(records.column(name), first))
        if end is not None:
            records = _filter(records, pc.invert(_reach(records.column(name), end)))
    return records


def _reach(numbers: pa.Int64Array, bound: int) -> pa.BooleanArray:
    """Return a mask: true for numbers that are at least the bound, which may have any number of bits."""
    if bound not in _INT64:
        return pa.repeat(bound < 0, len(numbers))
    return pc.greater_equal(numbers, bound)


def _filter(records: pa.RecordBatch, mask: pa.BooleanArray) -> pa.RecordBatch:
    return records.filter(mask) if mask.false_count else records  # usually all records are wanted, which needs no copy
