"""Where in a segment the batch with an offset starts, found again quickly as a stream goes on."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from errno import ENOENT
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kipspark.sources.segments import Segment
from kipspark.sources.splits import position_before
from kipwire.records.accounting import Head, batch_heads, head_at, is_whole

_MOST_HEADS = 4096
"""Heads that are read at once."""


class Place(NamedTuple):
    """Where the batch with an offset starts, or the next one."""

    inode: int
    """Of the segment."""
    offset: int
    position: int
    before: Head | None
    """The batch before it, if there is one: where that one is, this place is what it was."""


def position_at(segment: Segment, offset: int, known: Collection[Place] = ()) -> int:
    """Find where the last batch ends that has only offsets below one; what follows it is damage, or the next batch.

    A stream ends a range there and begins the next one there. A higher offset never gives a lower position, whatever
    damaged heads say, so its ranges leave out no byte.

    Args:
        segment: the segment.
        offset: the offset.
        known: where to look first.

    Raises:
        OSError: the segment cannot be read; a FileNotFoundError if it has been removed or replaced.
    """
    for place in known:
        if (place.inode, place.offset) == (segment.inode, offset) and _is_there(segment, place):
            return place.position
    # From a batch that is below the offset, so that no damage between the two is missed.
    position = start = position_before(segment, offset - 1)
    before: Head | None = None
    while heads := heads_at(segment, position, segment.size, _MOST_HEADS):
        following = next((head for head in heads if head.last_offset >= offset), None)
        below = heads if following is None else heads[: heads.index(following)]
        before = below[-1] if below else before
        position = heads[-1].end
        if following is not None:
            break
    if before is None:
        return start
    # A damaged length may take in batches that are not below the offset.
    with Path(segment.path).open("rb") as file:
        return before.end if is_whole(file, before) else before.position


def _is_there(segment: Segment, place: Place) -> bool:
    """Whether the segment was not cut off before a place, and written again in other batches."""
    if place.before is None:
        return place.position == 0
    with _opened(segment) as file:
        return head_at(file, place.before.position) == place.before


def heads_at(segment: Segment, position: int, end: int, count: int) -> list[Head]:
    """At most `count` heads from a position on.

    Raises:
        OSError: the segment cannot be read; a FileNotFoundError if it has been removed or replaced.
    """
    with _opened(segment) as file:
        return list(islice(batch_heads(file, position, end), count))


@contextmanager
def _opened(segment: Segment) -> Iterator[BinaryIO]:
    """Open the file of a segment, if it is still that one."""
    with Path(segment.path).open("rb") as file:
        if segment.is_replaced_by(os.fstat(file.fileno())):
            raise FileNotFoundError(ENOENT, "was replaced", segment.path)
        yield file
