"""Split segments into ranges of bytes, so that several tasks can read one file.

A range starts where a batch starts. The offset index next to the segment says where that is; if it is missing, or does
not fit the segment, the lengths in the batches themselves do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct as Packer
from typing import BinaryIO, NamedTuple

import numpy as np

from kipspark.sources.batch_heads import batch_heads_in
from kipspark.sources.segments import Segment
from kipspark.sources.wanted import Wanted
from kipwire.logs.skimming import batch_head, batch_heads

DEFAULT_SPLIT_BYTES = 32 * 1024 * 1024
"""The default number of bytes of a range; starting a task costs as much as reading a few MiB."""

_INDEX_ENTRY = Packer(">ii")
"""An entry of an offset index: offset from the segment's base offset, position of a batch in the segment."""
_TIME_INDEX_ENTRY = Packer(">qi")
"""An entry of a time index: the highest timestamp so far, and its offset from the segment's base offset."""


class Split(NamedTuple):
    """A range of bytes of a segment."""

    segment: Segment
    start: int
    """Where the first batch starts."""
    end: int
    """Batches that start from here on belong to the next range."""


class _Entry(NamedTuple):
    """An entry of an offset index."""

    offset: int
    """No record of the batch has a higher one."""
    position: int


def cut(segment: Segment, split_bytes: int = DEFAULT_SPLIT_BYTES, start: int = 0) -> list[Split]:
    """The ranges of a segment, each of about `split_bytes` bytes; none for an empty segment.

    Args:
        segment: the segment.
        split_bytes: at least 1; a range is longer where one batch is.
        start: where a batch starts; what comes before is left out.
    """
    if segment.size <= start:
        return []
    if segment.size - start <= split_bytes:
        return [Split(segment, start, segment.size)]
    with Path(segment.path).open("rb") as file:
        chosen = _spaced(_index(segment), split_bytes, start)
        if chosen and all(_fits(file, segment, entry) for entry in chosen):
            positions = [entry.position for entry in chosen]
        else:
            heads = (_Entry(head.offset, head.position) for head in batch_heads(file, start, segment.size))
            positions = [entry.position for entry in _spaced(heads, split_bytes, start)]
    ends = [*positions, segment.size]
    return [Split(segment, first, end) for first, end in zip([start, *positions], ends, strict=True)]


def position_before(segment: Segment, offset: int) -> int:
    """Where to start reading for the records from an offset on: where some batch before them starts, or 0."""
    before = None
    for entry in _index(segment):
        if entry.offset > offset:
            break
        before = entry
    if before is None:
        return 0
    with Path(segment.path).open("rb") as file:
        return before.position if _fits(file, segment, before) else 0


def ends_before(segment: Segment, timestamp: int) -> bool:
    """Whether all records of a segment are older than a timestamp, by the time index of a segment that is complete.

    The last entry of that index has the highest timestamp. It is believed if the batch that it names has it.
    """
    try:
        data = Path(segment.path).with_suffix(".timeindex").read_bytes()
    except OSError:
        return False
    entries = list(_TIME_INDEX_ENTRY.iter_unpack(data)) if data and len(data) % _TIME_INDEX_ENTRY.size == 0 else []
    if not entries or entries != sorted(entries) or entries[-1][0] >= timestamp:
        return False
    highest, delta = entries[-1]
    offset = segment.base_offset + delta
    with Path(segment.path).open("rb") as file:
        for head in batch_heads(file, position_before(segment, offset), segment.size):
            if head.last_offset >= offset:
                (heads,) = batch_heads_in(segment.path, head.position, head.position + 1)
                return bool(heads.base_offset[0] <= offset and heads.max_timestamp[0] == highest)
    return False


def _spaced(entries: Iterable[_Entry], split_bytes: int, start: int) -> list[_Entry]:
    """Those that are at least `split_bytes` bytes after the one before."""
    chosen = []
    for entry in entries:
        if entry.position - start >= split_bytes:
            chosen.append(entry)
            start = entry.position
    return chosen


def _fits(file: BinaryIO, segment: Segment, entry: _Entry) -> bool:
    """Whether a batch is where an index entry says."""
    head = batch_head(file, entry.position)
    return head is not None and segment.base_offset <= head.offset <= entry.offset


def _index(segment: Segment) -> Iterator[_Entry]:
    """The offset index, in ascending order; nothing if there is none."""
    try:
        data = Path(segment.path).with_suffix(".index").read_bytes()
    except OSError:
        return
    before = (-1, -1)
    for offset, position in _INDEX_ENTRY.iter_unpack(data[: len(data) - len(data) % _INDEX_ENTRY.size]):
        if offset <= before[0] or position <= before[1] or position >= segment.size:
            return  # zeros, since a live index is allocated in advance; or an index of something else
        yield _Entry(segment.base_offset + offset, position)
        before = offset, position


def narrowed(split: Split, wanted: Wanted) -> list[Split]:
    """The parts of a range that may have wanted records; what follows a batch that cannot be one is such a part.

    Raises:
        OSError: the file cannot be read.
    """
    if not wanted.is_bounded:
        return [split]
    parts: list[tuple[int, int]] = []
    reached = split.start
    for heads in batch_heads_in(split.segment.path, split.start, split.end):
        # Odd ones are kept: who reads them says what is wrong.
        kept = heads.may_have(wanted) | heads.are_odd()
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
    return [Split(split.segment, start, end) for start, end in joined]
