"""Split segments into ranges of bytes, so that several tasks can read one file.

A range starts where a batch starts. The offset index next to the segment says where that is; if it is missing, or does
not fit the segment, the lengths in the batches themselves do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import SEEK_END
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from kipspark.sources.batch_heads import batch_heads_in
from kipspark.sources.segments import Segment
from kipspark.sources.wanted import Wanted
from kipwire.errors import DecodeError
from kipwire.logs.partition_files import TIME_ENTRY_BYTES, OffsetIndexEntry, offset_index, time_index
from kipwire.logs.skimming import batch_head, batch_heads

DEFAULT_SPLIT_BYTES = 32 * 1024 * 1024
"""The default number of bytes of a range; starting a task costs as much as reading a few MiB."""


class Split(NamedTuple):
    """A range of bytes of a segment."""

    segment: Segment
    start: int
    """Where the first batch starts."""
    end: int
    """Batches that start from here on belong to the next range."""


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
            heads = batch_heads(file, start, segment.size)
            every = (OffsetIndexEntry(head.last_offset, head.position) for head in heads)
            positions = [entry.position for entry in _spaced(every, split_bytes, start)]
    ends = [*positions, segment.size]
    return [Split(segment, first, end) for first, end in zip([start, *positions], ends, strict=True)]


def position_before(segment: Segment, offset: int) -> int:
    """Where to start reading for the records from an offset on: where some batch before them starts, or 0."""
    if offset <= segment.base_offset:  # the usual case: not even the index is opened
        return 0
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
        with Path(segment.path).with_suffix(".timeindex").open("rb") as file:
            entries = list(time_index(file, segment.base_offset))
            is_complete = file.seek(0, SEEK_END) == len(entries) * TIME_ENTRY_BYTES  # else zeros follow: it grows
    except (OSError, DecodeError):
        return False
    if not entries or not is_complete or entries[-1].timestamp >= timestamp:
        return False
    highest, offset = entries[-1]
    with Path(segment.path).open("rb") as file:
        for head in batch_heads(file, position_before(segment, offset), segment.size):
            if head.last_offset >= offset:
                (heads,) = batch_heads_in(segment.path, head.position, head.position + 1)
                return bool(heads.base_offset[0] <= offset and heads.max_timestamp[0] == highest)
    return False


def _spaced(entries: Iterable[OffsetIndexEntry], split_bytes: int, start: int) -> list[OffsetIndexEntry]:
    """Those that are at least `split_bytes` bytes after the one before."""
    chosen = []
    for entry in entries:
        if entry.position - start >= split_bytes:
            chosen.append(entry)
            start = entry.position
    return chosen


def _fits(file: BinaryIO, segment: Segment, entry: OffsetIndexEntry) -> bool:
    """Whether a batch is where an index entry says."""
    head = batch_head(file, entry.position)
    return head is not None and segment.base_offset <= head.offset <= entry.offset


def _index(segment: Segment) -> Iterator[OffsetIndexEntry]:
    """The offset index, as far as it fits the segment; nothing if there is none."""
    try:
        with Path(segment.path).with_suffix(".index").open("rb") as file:
            for entry in offset_index(file, segment.base_offset):
                if entry.position >= segment.size:
                    return
                yield entry
    except (OSError, DecodeError):
        return  # the lengths of the batches do as well


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
