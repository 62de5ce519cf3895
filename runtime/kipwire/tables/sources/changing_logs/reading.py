"""Read a range of a segment, also if the broker replaces or deletes the segment after it was listed.

Compaction replaces segments by new files, which may merge several old ones, with batches at other positions. So a
range also has its offsets: once its file is replaced, the unread offsets are searched in the new files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

import pyarrow as pa

from kipwire.tables.arrow import pc
from kipwire.tables.errors import ListingError, SourceError
from kipwire.tables.files.stores import is_url
from kipwire.tables.sources.batch_heads import RowFilter
from kipwire.tables.sources.changing_logs.losses import Present, check_is_there
from kipwire.tables.sources.changing_logs.positions import log_end, settle
from kipwire.tables.sources.segments import Segment, find_segments
from kipwire.tables.sources.splits import Split, plan_splits

_MOST_TIMES = 20
"""Number of times that the segments of a range may be replaced without a record being read in between."""


class Granularity(NamedTuple):
    """Kind of row that `kafka_log` gives, a record or a batch, as the option `level` chooses."""

    schema: pa.Schema
    """All columns."""
    default: pa.Schema
    """Columns that are made unless the option names others."""
    with_damage: pa.Schema
    """These where damage is rows, too, which need a place."""
    read: Callable[[Split, RowFilter, pa.Schema], Iterator[pa.RecordBatch]]
    """Reads a range of a segment that does not change."""
    last: str
    """Name of the column with the last offset of a row."""


def read_range(
    split: Split, row_filter: RowFilter, granularity: Granularity, schema: pa.Schema, fails: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a range, in the order of the log.

    Args:
        split: the range, as it was when its folder was listed.
        row_filter: which records.
        granularity: the kind of row.
        schema: the columns.
        fails: true if it is an error that records were deleted before they were read.

    Raises:
        KipwireError: a batch is broken; not if `row_filter.permissive`.
        SourceError: a file cannot be read, or records were deleted before they were read.
    """
    # The rows give the position of the reader, so they have the column with it until they leave this function.
    whole = schema if granularity.last in schema.names else schema.append(granularity.schema.field(granularity.last))
    if split.segment.is_swap:  # it may also have records of other listed segments, which are read from those
        row_filter = row_filter.between(split.first_offset, split.end_offset)
    todo, replaced = [(split, row_filter)], 0
    while todo:
        one, of_it = todo.pop(0)
        reached = yield from _read(one, of_it, granularity, whole, schema)
        if reached is None:
            continue
        replaced = replaced + 1 if reached == _first(one, of_it) else 0
        if replaced > _MOST_TIMES:
            raise SourceError(f"{one.segment.path}: was replaced {_MOST_TIMES} times while it was read; read it again")
        todo = [*_relocate(one, of_it.between(reached, one.end_offset), fails), *todo]


def _read(
    split: Split, row_filter: RowFilter, granularity: Granularity, whole: pa.Schema, schema: pa.Schema
) -> Generator[pa.RecordBatch, None, int | None]:
    """Yield rows until the file is replaced, then return the next offset; return None at the end of the range."""
    reached = _first(split, row_filter)
    if _is_replaced(split.segment):
        return reached
    rows = granularity.read(split, row_filter, whole)
    while True:
        try:
            some = next(rows, None)
        except ValueError:  # as all errors of kipwire are
            if _is_replaced(split.segment) or _is_gone(split.segment):
                return reached
            raise
        if _is_replaced(split.segment):  # `some` may mix bytes of both files
            return reached
        if some is None:
            return None
        last = pc.max(some.column(granularity.last)).as_py()
        reached = reached if last is None else max(reached, last + 1)
        yield pa.RecordBatch.from_arrays([some.column(name) for name in schema.names], schema=schema)


def _first(split: Split, row_filter: RowFilter) -> int:
    """Return the lowest offset that a wanted record of a range may have."""
    return max(split.first_offset, row_filter.first_offset)


def _is_replaced(segment: Segment) -> bool:
    """True if another file may be at the path now. If no file is there, the open one can still be read."""
    try:
        return segment.is_replaced_by(os.stat(segment.path))  # noqa: PTH116  as in segments.py
    except OSError:
        return False


def _is_gone(segment: Segment) -> bool:
    """True if the file was deleted; never for objects of stores, which do not change."""
    return not is_url(segment.path) and not os.path.exists(segment.path)  # noqa: PTH110  as in segments.py


def _relocate(split: Split, left: RowFilter, fails: bool) -> list[tuple[Split, RowFilter]]:
    """Find the present ranges with the unread records of a range."""
    replica, present = settle(lambda: _present(split.segment.folder))
    check_is_there(split.segment.folder, present, left.first_offset, left.bounds.end_offset, fails)
    return [(one, left) for one in plan_splits(replica, left)]


def _present(folder: str) -> tuple[list[Segment], Present | None]:
    """Return the segments of a folder, and the offsets that they have; None if there are none."""
    try:
        replica = find_segments(folder)
    except ListingError:
        raise
    except SourceError:
        return [], None
    return replica, Present(replica[0].base_offset, log_end(replica[-1], None).offset)
