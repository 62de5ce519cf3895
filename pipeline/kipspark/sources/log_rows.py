"""The records of log segments as Arrow batches, without Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kipspark.errors import SourceError
from kipspark.files.access import open_file, open_to_look, size_of
from kipspark.sources.log_columns import LOG_SCHEMA, Broken, OfBatch, Repeated, broken_rows, of_batch, record_rows
from kipspark.sources.segments import Segment
from kipspark.sources.splits import Split, narrowed
from kipspark.sources.wanted import Wanted
from kipspark.spark.compute import pc
from kipwire import DecodeError, KipwireError
from kipwire.columns import ColumnError, RecordColumns
from kipwire.logs.skimming import batch_head
from kipwire.records import RecordBatch
from kipwire.records.heads import HEAD
from kipwire.records.segments import read_open_segment

_ROWS = 16384
"""The number of rows, or batches, at which an Arrow batch is complete."""
_BYTES = 16 * 1024 * 1024
"""The number of bytes of keys, values and headers at which it is complete, even with fewer rows."""
_INT64 = range(-(2**63), 2**63)


class CutShortError(SourceError):
    """A segment that ends within a batch, although a later segment follows it."""


def read_rows(split: Split, wanted: Wanted, schema: pa.Schema = LOG_SCHEMA) -> Iterator[pa.RecordBatch]:
    """The records of a range of a segment, in its order.

    Args:
        split: the range.
        wanted: which records.
        schema: columns of `LOG_SCHEMA`.

    Raises:
        DecodeError: a batch is broken; not if `wanted.permissive`.
        ColumnError: a number of a record has more than 64 bits; not if `wanted.permissive`.
        CutShortError: the segment ends within a batch, and a later one follows; not if `wanted.permissive`.
        SourceError: the file cannot be read.
    """
    rows = _Rows(split.segment, wanted, schema)
    try:
        parts = narrowed(split, wanted)
    except OSError as error:
        raise unreadable(split.segment, error) from None
    for part in parts:
        for batch in _batches(part, wanted):
            rows.add(batch)
            if rows.are_enough():
                yield from rows.take()
    yield from rows.take()


def _batches(split: Split, wanted: Wanted) -> Iterator[RecordBatch | Broken]:
    """The batches of a range that may have wanted records.

    A range that the broker has cut off from the file since it was listed has none.
    """
    start: int | None = split.start
    while start is not None:
        position = start
        start = None
        try:
            for batch in batches_from(split.segment, position, wanted.check_crcs):
                if batch.position >= split.end:
                    return
                position = batch.position
                if _may_have(batch, wanted):
                    yield batch
                position += batch.size
                if position >= split.end:  # the batch after it may be one that is not to be read
                    return
            check_is_whole(split, position)
        except (DecodeError, CutShortError) as error:
            if not wanted.permissive:
                raise
            yield Broken(position, str(error))
            start = next_position(split, position)
        except OSError as error:
            raise unreadable(split.segment, error) from None
        except ValueError as error:
            if isinstance(error, KipwireError) or not _is_shorter(split, position):
                raise


def batches_from(segment: Segment, position: int, check_crcs: bool) -> Iterator[RecordBatch]:
    """The batches of a segment from a position on, as `read_segment` has them."""
    with open_file(segment.path, segment.storage) as file:
        yield from read_open_segment(file, segment.path, start=position, check_crcs=check_crcs)


def check_is_whole(split: Split, position: int) -> None:
    """Check that a segment does not end within a batch. The last one of a log may: more is added to it.

    Args:
        split: a range of the segment; only the last one is looked at.
        position: where its whole batches end.

    Raises:
        CutShortError: it does. Zeros are not a batch; brokers may take space in advance.
        OSError: the file cannot be read.
    """
    is_last = split.end == split.segment.size
    if not is_last or split.end_offset is None or position >= split.end:
        return
    with open_to_look(split.segment.path, split.segment.storage) as file:
        file.seek(position)
        if file.read(HEAD.size).strip(b"\0"):
            raise CutShortError(
                f"{split.segment.path}: ends within the batch at byte {position}, but a later segment follows; "
                "copy the file again"
            )


def _is_shorter(split: Split, position: int) -> bool:
    return size_of(split.segment.path, split.segment.storage) < position


def unreadable(segment: Segment, error: OSError) -> SourceError:
    return SourceError(f"{segment.path}: cannot be read: {error.strerror or error}")


def next_position(split: Split, position: int) -> int | None:
    """Where the batch after a broken one starts; None if that is not known, or the range ends there."""
    try:
        with open_to_look(split.segment.path, split.segment.storage) as file:
            head = batch_head(file, position)
    except OSError as error:
        raise unreadable(split.segment, error) from None
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
    # Where a compressed entry of magic 0 or 1 starts is known only from its content.
    return wanted.end_offset is None or batch.records_count is None or batch.base_offset < wanted.end_offset


class _Rows:
    """Records to be made into an Arrow batch, and what their batches have in common."""

    def __init__(self, segment: Segment, wanted: Wanted, schema: pa.Schema) -> None:
        self.segment = segment
        self.wanted = wanted
        self.schema = schema
        self.repeated = Repeated()
        self.records = RecordColumns()
        self.batches: list[OfBatch] = []
        self.broken: list[Broken] = []
        self.before_broken: list[int] = []
        """For each of those, how many good batches come before it."""

    def add(self, batch: RecordBatch | Broken) -> None:
        """Add the records of a batch, or the error of a broken one if that is permitted."""
        broken = batch if isinstance(batch, Broken) else self._add(batch)
        if broken is not None:
            self.broken.append(broken)
            self.before_broken.append(len(self.batches))

    def _add(self, batch: RecordBatch) -> Broken | None:
        try:
            self.records.add(batch)
        except (DecodeError, ColumnError) as error:
            if not self.wanted.permissive:
                raise
            return Broken(batch.position, str(error))
        self.batches.append(of_batch(batch))
        return None

    def are_enough(self) -> bool:
        count = max(self.records.rows, len(self.batches), len(self.broken))
        return count >= _ROWS or self.records.size >= _BYTES

    def take(self) -> Iterator[pa.RecordBatch]:
        """All wanted rows so far, if there are any; then none are left."""
        records, batches = _chosen(self.records.take(), self.wanted), self.batches
        broken, before = self.broken, self.before_broken
        self.batches, self.broken, self.before_broken = [], [], []
        if not broken:
            if len(records):
                yield record_rows(self.segment, records, batches, self.schema, self.repeated)
            return
        if not len(records):
            yield broken_rows(self.segment, broken, self.schema, self.repeated)
            return
        bad = broken_rows(self.segment, broken, self.schema, self.repeated)
        rows = pa.concat_batches([bad, record_rows(self.segment, records, batches, self.schema, self.repeated)])
        # A broken batch comes before the good one whose number it has.
        numbers = pa.concat_arrays([pa.array(before, pa.int64()), records.column("batch").cast(pa.int64())])
        yield rows.take(pc.sort_indices(numbers))


def _chosen(records: pa.RecordBatch, wanted: Wanted) -> pa.RecordBatch:
    """The wanted records."""
    for name, first, end in (
        ("offset", wanted.first_offset, wanted.end_offset),
        ("timestamp", wanted.first_timestamp, wanted.end_timestamp),
    ):
        if first is not None:
            records = _filtered(records, _reach(records.column(name), first))
        if end is not None:
            records = _filtered(records, pc.invert(_reach(records.column(name), end)))
    return records


def _reach(numbers: pa.Int64Array, bound: int) -> pa.BooleanArray:
    """Whether each number is at least the bound, which may have any number of bits."""
    if bound not in _INT64:
        return pa.repeat(bound < 0, len(numbers))
    return pc.greater_equal(numbers, bound)


def _filtered(records: pa.RecordBatch, mask: pa.BooleanArray) -> pa.RecordBatch:
    return records.filter(mask) if mask.false_count else records  # mostly all are wanted, which needs no copy
