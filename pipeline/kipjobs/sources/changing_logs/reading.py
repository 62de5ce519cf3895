"""Read a range of a segment, also if the broker replaces or deletes the segment after it was listed.

Compaction replaces segments by new files, in which batches are elsewhere, and which may have the records of several old
ones. So a range is also known by its offsets: if its file is another one now, what is left of it is looked for again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

import pyarrow as pa

from kipjobs.arrow import pc
from kipjobs.errors import ListingError, SourceError
from kipjobs.files.stores import is_url
from kipjobs.sources.batch_heads import RowFilter
from kipjobs.sources.changing_logs.losses import Present, check_is_there
from kipjobs.sources.changing_logs.places import log_end, settle
from kipjobs.sources.segments import Segment, find_segments
from kipjobs.sources.splits import Split, plan_splits

_MOST_TIMES = 20
"""How often the segments of a range may be replaced without a record of it being read in between."""


class Granularity(NamedTuple):
    """What a row is."""

    schema: pa.Schema
    """All columns."""
    default: pa.Schema
    """The columns that are made unless others are named."""
    read: Callable[[Split, RowFilter, pa.Schema], Iterator[pa.RecordBatch]]
    """Reads a range of a segment that does not change."""
    last: str
    """The column with the last offset of a row."""


def read_range(
    split: Split, row_filter: RowFilter, granularity: Granularity, schema: pa.Schema, fails: bool
) -> Iterator[pa.RecordBatch]:
    """The rows of a range, in the order of the log.

    Args:
        split: the range, as it was when its folder was listed.
        row_filter: which records.
        granularity: what a row is.
        schema: which columns.
        fails: whether it is an error if records were deleted before they were read.

    Raises:
        KipwireError: a batch is broken; not if `row_filter.permissive`.
        SourceError: a file cannot be read, or records were deleted before they were read.
    """
    # Where reading has come to is known from the rows, so they have that column while they are here.
    whole = schema if granularity.last in schema.names else schema.append(granularity.schema.field(granularity.last))
    if split.segment.is_swap:  # it may also have the records of other segments of the list, which are read there
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
    """The rows up to where the file was replaced; returns the next offset then, and None at the end of the range."""
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
        if _is_replaced(split.segment):  # `some` may be of both files
            return reached
        if some is None:
            return None
        last = pc.max(some.column(granularity.last)).as_py()
        reached = reached if last is None else max(reached, last + 1)
        yield pa.RecordBatch.from_arrays([some.column(name) for name in schema.names], schema=schema)


def _first(split: Split, row_filter: RowFilter) -> int:
    """No wanted record of a range has a lower offset."""
    return max(split.first_offset, row_filter.first_offset)


def _is_replaced(segment: Segment) -> bool:
    """Whether the path may be that of another file now. A deleted file that is open can still be read."""
    try:
        return segment.is_replaced_by(os.stat(segment.path))  # noqa: PTH116  as in segments.py
    except OSError:
        return False


def _is_gone(segment: Segment) -> bool:
    """Whether the file was deleted; what is in a store is not replaced."""
    return not is_url(segment.path) and not os.path.exists(segment.path)  # noqa: PTH110  as in segments.py


def _relocate(split: Split, left: RowFilter, fails: bool) -> list[tuple[Split, RowFilter]]:
    """Where the records of a range that are left are now."""
    replica, present = settle(lambda: _present(split.segment.folder))
    check_is_there(split.segment.folder, present, left.first_offset, left.bounds.end_offset, fails)
    return [(one, left) for one in plan_splits(replica, left)]


def _present(folder: str) -> tuple[list[Segment], Present | None]:
    """The segments of a folder, and the offsets that they have; None if there are none."""
    try:
        replica = find_segments(folder)
    except ListingError:
        raise
    except SourceError:
        return [], None
    return replica, Present(replica[0].base_offset, log_end(replica[-1], None).offset)
