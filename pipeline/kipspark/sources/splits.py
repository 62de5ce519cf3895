"""Split segments into ranges of bytes, so that several tasks can read one file.

A range starts where a batch starts. The offset index next to the segment says where that is; if it is missing, or does
not fit the segment, the lengths in the batches themselves do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct as Packer
from typing import BinaryIO, NamedTuple

from kipspark.sources.segments import Segment
from kipwire.logs.skimming import batch_head, batch_heads

DEFAULT_SPLIT_BYTES = 32 * 1024 * 1024
"""The default number of bytes of a range; starting a task costs as much as reading a few MiB."""

_INDEX_ENTRY = Packer(">ii")
"""An entry of an offset index: offset from the segment's base offset, position of a batch in the segment."""


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
