"""Split segments into ranges of bytes, so that several tasks can read one file.

A range starts at the start of a batch. The offset index next to the segment has such positions; if it is missing, or
does not fit the segment, they are found from the lengths in the batches themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import SEEK_END
from typing import BinaryIO, NamedTuple, TypeVar

import numpy as np

from kipwire.logs.accounting import batch_heads, head_at
from kipwire.logs.offsets import NONE, Offsets, offsets_of_segment
from kipwire.logs.partition_files import TIME_ENTRY_BYTES, OffsetIndexEntry, offset_index, time_index
from kipwire.model.errors import DecodeError
from kipwire.tables.files.access import open_file, open_to_look
from kipwire.tables.sources.batch_heads import RowFilter, batch_heads_in
from kipwire.tables.sources.segments import Segment, sibling

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
                start = position_before(segment, first)
                found += cut_segment(
                    segment,
                    split_bytes,
                    start,
                    end_offset,
                    before=last_before(segment, start, offsets_in(segment, end_offset)),
                )
        except FileNotFoundError:  # the broker has removed or replaced it; the reader handles that
            found.append(Split(segment, 0, segment.size, segment.base_offset, end_offset))
    return found


def cut_segment(
    segment: Segment,
    split_bytes: int = DEFAULT_SPLIT_BYTES,
    start: int = 0,
    end_offset: int | None = None,
    first_offset: int = 0,
    before: int = NONE,
) -> list[Split]:
    """Cut a segment into ranges of about `split_bytes` bytes each; none for an empty segment.

    Args:
        segment: the segment.
        split_bytes: at least 1; a range is longer where one batch is.
        start: position of a batch; bytes before it are left out.
        end_offset: base offset of the next segment, if there is one.
        first_offset: batches from `start` on end at this offset or after it.
        before: last offset of the batch that ends at `start`; `NONE` if there is none, or it is not known.
    """
    if segment.size <= start:
        return []
    offsets = offsets_in(segment, end_offset)
    offsets = offsets._replace(first=max(offsets.first, first_offset), before=before)
    splits = [Split(segment, start, segment.size, segment.base_offset, end_offset, offsets)]
    if segment.size - start > split_bytes:
        with open_to_look(segment.path, segment.storage) as file:
            chosen = _space_out(_index(segment), split_bytes, start)
            found = [(known, _edge(segment, entry)) for known, entry in chosen if _fits(file, segment, entry)]
            edges = [(known, edge) for known, edge in found if edge is not None]
            if not chosen or len(edges) != len(chosen):
                edges = _space_out(_edges(file, segment, start), split_bytes, start)
            for known, (offset, position) in edges:
                whole, splits[-1] = splits[-1], splits[-1]._replace(end=position, end_offset=offset)
                head = head_at(file, known)  # usually it is the batch before the edge, and its bytes were just read
                if head is not None and head.end == position and not offsets.exclude(head.offset, head.last_offset):
                    before = head.last_offset
                else:
                    before = last_before(segment, position, offsets._replace(before=NONE), known)
                of_it = offsets._replace(before=before)
                splits.append(whole._replace(start=position, first_offset=offset or 0, offsets=of_it))
    return splits


def offsets_in(segment: Segment, end_offset: int | None) -> Offsets:
    """Return the valid offsets of a segment that ends before an offset, if that is known."""
    # A segment that is replacing others may also have the records of its neighbours.
    return Offsets() if segment.is_swap else offsets_of_segment(segment.base_offset, end_offset)


def last_before(segment: Segment, position: int, offsets: Offsets, known: int | None = None) -> int:
    """Return the last offset of the batch that ends at a position; `NONE` if there is none, or it cannot be found.

    Args:
        segment: the segment.
        position: where a batch starts.
        offsets: the valid ones; batches with others are left out.
        known: where a batch before that starts; looked for in the index if None.
    """
    if not position:
        return NONE
    reached = _entry_before(segment, position) if known is None else known
    for heads in batch_heads_in(segment.path, reached, position, segment.storage, position):
        before, _ = heads.compared(offsets)
        offsets = offsets._replace(before=int(before[-1]))
        reached = int(heads.position[-1] + heads.size[-1])
    return offsets.before if reached == position else NONE


def _entry_before(segment: Segment, position: int) -> int:
    """Return the position of the last index entry before a position; 0, where the first batch is, without one."""
    before = 0
    for entry in _index(segment):
        if entry.position >= position:
            break
        before = entry.position
    return before


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


def _space_out(entries: Iterable[_Located], split_bytes: int, start: int) -> list[tuple[int, _Located]]:
    """Choose batches that start at least `split_bytes` bytes after the one chosen before.

    Each comes with the position of a batch before it.
    """
    chosen = []
    known = start
    for entry in entries:
        if entry.position - start >= split_bytes:
            chosen.append((known, entry))
            start = entry.position
        known = max(known, entry.position)
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
    parts: list[tuple[int, int, int]] = []
    reached, offsets = split.start, split.offsets
    for heads in batch_heads_in(split.segment.path, split.start, split.end, split.segment.storage, split.limit):
        # Odd batches are kept, so that the reader reports their errors.
        before, is_odd = heads.compared(offsets)
        kept = heads.may_have(row_filter) | is_odd
        ends = heads.position + heads.size
        edges = np.flatnonzero(np.diff(np.concatenate(([False], kept, [False])).astype(np.int8)))
        first = edges[::2]
        parts += zip(
            heads.position[first].tolist(), ends[edges[1::2] - 1].tolist(), before[first].tolist(), strict=True
        )
        reached, offsets = int(ends[-1]), offsets._replace(before=int(before[-1]))
    if reached < split.end:
        parts.append((reached, split.end, offsets.before))
    joined: list[Split] = []
    for start, end, last in parts:
        if joined and joined[-1].end == start:
            joined[-1] = joined[-1]._replace(end=end)
        else:
            joined.append(split._replace(start=start, end=end, offsets=offsets._replace(before=last)))
    return joined
