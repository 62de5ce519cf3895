"""Split segments into ranges of bytes, so that several tasks can read one file.

A range starts at the start of a batch. The offset index next to the segment has such positions; if it is missing, or
does not fit the segment, they are found from the lengths in the batches themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import SEEK_END
from typing import BinaryIO, NamedTuple, TypeVar

import numpy as np

from kipjobs.files.access import open_file, open_to_look
from kipjobs.sources.batch_heads import RowFilter, batch_heads_in
from kipjobs.sources.segments import Segment, sibling
from kipwire.model.errors import DecodeError
from kipwire.records.accounting import batch_heads, head_at
from kipwire.records.offsets import Offsets
from kipwire.records.partition_files import TIME_ENTRY_BYTES, OffsetIndexEntry, offset_index, time_index

DEFAULT_SPLIT_BYTES = 64 * 1024 * 1024
"""Default number of bytes of a range; starting and ending a task costs as much as reading several MiB."""


class Split(NamedTuple):
    """A range of bytes of a segment."""

    segment: Segment
    start: int
    """Position of the first batch."""
    end: int
    """Batches that start from here on belong to the next range."""
    first_offset: int = 0
    """No record of the range has a lower offset."""
    end_offset: int | None = None
    """Records from this offset on belong to the next range; None if there is none as yet."""
    offsets: Offsets = Offsets()
    """Valid offsets of batches in this range. Any other one is damage, which no checksum covers: bounds, or a stream,
    would silently skip such a batch."""

    @property
    def grows(self) -> bool:
        """True for the end of a log: its last batch may be incomplete. Batches fill any other range exactly."""
        return self.end_offset is None and self.end == self.segment.size

    @property
    def limit(self) -> int | None:
        """Position at which the last batch must end; None for the end of the file, which may have grown meanwhile."""
        return None if self.grows else self.end


def plan_splits(
    replica: Sequence[Segment], row_filter: RowFilter, split_bytes: int = DEFAULT_SPLIT_BYTES
) -> list[Split]:
    """Return the ranges of a replica's segments that may have wanted records, in the order of their offsets."""
    first, end, time = row_filter.first_offset, row_filter.bounds.end_offset, row_filter.bounds.first_timestamp
    found: list[Split] = []
    for number, segment in enumerate(replica, 1):
        # The last segment still grows, and its time index is written later.
        end_offset = replica[number].base_offset if number < len(replica) else None
        if end is not None and segment.base_offset >= end:
            break
        try:
            if end_offset is None or (end_offset > first and (time is None or not ends_before(segment, time))):
                found += cut_segment(segment, split_bytes, position_before(segment, first), end_offset)
        except FileNotFoundError:  # the broker has removed or replaced it; the reader handles that
            found.append(Split(segment, 0, segment.size, segment.base_offset, end_offset))
    return found


def cut_segment(
    segment: Segment,
    split_bytes: int = DEFAULT_SPLIT_BYTES,
    start: int = 0,
    end_offset: int | None = None,
    first_offset: int = 0,
) -> list[Split]:
    """Cut a segment into ranges of about `split_bytes` bytes each; none for an empty segment.

    Args:
        segment: the segment.
        split_bytes: at least 1; a range is longer where one batch is.
        start: position of a batch; bytes before it are left out.
        end_offset: base offset of the next segment, if there is one.
        first_offset: batches from `start` on end at this offset or after it.
    """
    if segment.size <= start:
        return []
    edges: list[_Edge] = []
    if segment.size - start > split_bytes:
        with open_to_look(segment.path, segment.storage) as file:
            chosen = _space_out(_index(segment), split_bytes, start)
            found = [_edge(segment, entry) for entry in chosen if _fits(file, segment, entry)]
            edges = [edge for edge in found if edge is not None]
            if not chosen or len(edges) != len(chosen):
                edges = _space_out(_edges(file, segment, start), split_bytes, start)
    edges = [_Edge(segment.base_offset, start), *edges]
    ends = [*edges[1:], _Edge(end_offset, segment.size)]
    # A segment that is replacing others may also have the records of its neighbours.
    base = segment.base_offset
    offsets = Offsets() if segment.is_swap else Offsets(max(base, first_offset), end_offset, base)
    return [
        Split(segment, edge.position, end.position, edge.offset or 0, end.offset, offsets)
        for edge, end in zip(edges, ends, strict=True)
    ]


class _Edge(NamedTuple):
    """The start of a range."""

    offset: int | None
    """Offset that separates the records: all before the position are below it, none after it is."""
    position: int


def _edge(segment: Segment, entry: OffsetIndexEntry) -> _Edge | None:
    """Return the start of the batch of an index entry; None if its head does not have its first offset."""
    for heads in batch_heads_in(segment.path, entry.position, entry.position + 1, segment.storage):
        offset = int(heads.base_offset[0])
        return _Edge(offset, entry.position) if offset >= 0 else None
    return None


def _edges(file: BinaryIO, segment: Segment, start: int) -> Iterator[_Edge]:
    """Yield the starts of all batches from a position on."""
    offset = segment.base_offset
    for head in batch_heads(file, start, segment.size):
        yield _Edge(offset, head.position)
        offset = head.last_offset + 1


def position_before(segment: Segment, offset: int) -> int:
    """Return a position from which to read the records from an offset on: the start of a batch before them, or 0."""
    if offset <= segment.base_offset:  # the usual case: not even the index is opened
        return 0
    before = None
    for entry in _index(segment):
        if entry.offset > offset:
            break
        before = entry
    if before is None:
        return 0
    with open_to_look(segment.path, segment.storage) as file:
        return before.position if _fits(file, segment, before) else 0


def ends_before(segment: Segment, timestamp: int) -> bool:
    """True if all records of a complete segment are older than a timestamp, by its time index.

    The last entry of that index has the highest timestamp. It is trusted only if its batch has that timestamp.
    """
    try:
        with open_file(sibling(segment, ".timeindex"), segment.storage) as file:
            entries = list(time_index(file, segment.base_offset))
            is_complete = file.seek(0, SEEK_END) == len(entries) * TIME_ENTRY_BYTES  # else zeros follow: it grows
    except (OSError, DecodeError):
        return False
    if not entries or not is_complete or entries[-1].timestamp >= timestamp:
        return False
    highest, offset = entries[-1]
    with open_to_look(segment.path, segment.storage) as file:
        for head in batch_heads(file, position_before(segment, offset), segment.size):
            if head.last_offset >= offset:
                (heads,) = batch_heads_in(segment.path, head.position, head.position + 1, segment.storage)
                return bool(heads.base_offset[0] <= offset and heads.max_timestamp[0] == highest)
    return False


_Located = TypeVar("_Located", OffsetIndexEntry, "_Edge")


def _space_out(entries: Iterable[_Located], split_bytes: int, start: int) -> list[_Located]:
    """Choose batches that start at least `split_bytes` bytes after the one chosen before."""
    chosen = []
    for entry in entries:
        if entry.position - start >= split_bytes:
            chosen.append(entry)
            start = entry.position
    return chosen


def _fits(file: BinaryIO, segment: Segment, entry: OffsetIndexEntry) -> bool:
    """True if a batch is at the position of an index entry."""
    head = head_at(file, entry.position)
    return head is not None and segment.base_offset <= head.offset <= entry.offset


def _index(segment: Segment) -> Iterator[OffsetIndexEntry]:
    """Yield the entries of the offset index, as far as they fit the segment; none if there is no index."""
    try:
        with open_file(sibling(segment, ".index"), segment.storage) as file:
            for entry in offset_index(file, segment.base_offset):
                if entry.position >= segment.size:
                    return
                yield entry
    except (OSError, DecodeError):
        return  # positions are then found from the lengths of the batches


def narrow(split: Split, row_filter: RowFilter) -> list[Split]:
    """Return the parts of a range that may have wanted records, and the part after a head that is no valid batch.

    Raises:
        OSError: the file cannot be read.
    """
    if not row_filter.is_bounded:
        return [split]
    parts: list[tuple[int, int]] = []
    reached = split.start
    for heads in batch_heads_in(split.segment.path, split.start, split.end, split.segment.storage, split.limit):
        # Odd batches are kept, so that the reader reports their errors.
        kept = heads.may_have(row_filter) | heads.are_odd(split.offsets)
        ends = heads.position + heads.size
        edges = np.flatnonzero(np.diff(np.concatenate(([False], kept, [False])).astype(np.int8)))
        parts += zip(heads.position[edges[::2]].tolist(), ends[edges[1::2] - 1].tolist(), strict=True)
        reached = int(ends[-1])
    if reached < split.end:
        parts.append((reached, split.end))
    joined: list[tuple[int, int]] = []
    for start, end in parts:
        if joined and joined[-1][1] == start:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return [split._replace(start=start, end=end) for start, end in joined]
