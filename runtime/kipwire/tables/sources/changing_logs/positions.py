"""Find the end of a log, and the position of an offset in a segment, by the positions that a stream remembers.

A position is only trusted with the head of the batch before it: if that head is still there, the segment was not cut
and written again. A remembered position saves a scan and never changes what is found. A damaged length must not carry a
stream over bytes that are added later, so an end counts only after a batch that is whole; and a higher offset never
gives a lower position, or a range would lack bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from errno import ENOENT
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

from kipwire.logs.accounting import Head, batch_heads, head_at, is_whole
from kipwire.logs.offsets import NONE, goes_back, offsets_of_segment
from kipwire.tables.errors import SourceError
from kipwire.tables.files.access import path_text
from kipwire.tables.sources.segments import Segment
from kipwire.tables.sources.splits import last_before, offsets_in, position_before

_AFTER_ALL = 2**63
_MOST_TIMES = 20
_Found = TypeVar("_Found")


class End(NamedTuple):
    """The end of a log, and the place from which the next scan for it continues."""

    segment: Segment
    position: int
    """Position in the segment at which the next batch will start."""
    offset: int
    """The offset of the next record."""
    last: Head | None
    """The last batch, if there is one."""


def log_end(last: Segment, before: End | None) -> End:
    """Find the end of a log in its last segment.

    Args:
        last: the segment.
        before: an earlier end of the log, if one is known, at which the scan continues.

    Raises:
        OSError: the segment cannot be read; a FileNotFoundError if it has been removed.
    """
    if before is not None and before.segment == last:
        return before
    with Path(last.path).open("rb") as file:
        return (
            _scan_end(file, last, _known_end(file, last, before))
            or _scan_end(file, last, End(last, position_before(last, _AFTER_ALL), last.base_offset, None))
            or _scan_end(file, last, End(last, 0, last.base_offset, None))
            or End(last, 0, last.base_offset, None)
        )


def settle(action: Callable[[], _Found]) -> _Found:
    """Repeat an action on files until it meets none that a broker has removed or replaced, and return its result.

    Raises:
        SourceError: a file cannot be read, or files were still being removed at the last attempt.
    """
    name = ""
    for _ in range(_MOST_TIMES):
        try:
            return action()
        except FileNotFoundError as error:
            name = path_text(error.filename or "")
        except OSError as error:
            raise SourceError(f"{path_text(error.filename or '')}: cannot be read: {error.strerror or error}") from None
    raise SourceError(f"{name}: was removed or replaced {_MOST_TIMES} times just after it was found; read it again")


def _known_end(file: BinaryIO, last: Segment, before: End | None) -> End | None:
    """Return the earlier end, if it is of the same file, and its last batch was not cut off and replaced."""
    if before is None or before.last is None or before.segment.inode != last.inode or before.position > last.size:
        return None
    return before if head_at(file, before.last.position) == before.last else None


def _scan_end(file: BinaryIO, last: Segment, begin: End | None) -> End | None:
    """Scan a segment from a place for its end; None if no batch ends there or after it."""
    if begin is None:
        return None
    before, head = None, begin.last
    for found in batch_heads(file, begin.position, last.size):
        before, head = head, found
    if head is None:
        return None
    # A stream continues at this offset: a damaged one would make it skip the records added next, or read nothing.
    if offsets_of_segment(last.base_offset, None).exclude(head.offset, head.last_offset):
        return None if before is None else _end_before(last, head, before)
    if head == begin.last or is_whole(file, head):
        return End(last, head.end, max(head.last_offset, last.base_offset) + 1, head)
    written = head_at(file, head.position)
    if before is not None and (written is None or goes_back(written.offset, before.last_offset)):
        return _end_before(last, head, before)  # nothing in it is sure
    return End(last, head.end, max(head.offset, last.base_offset) + 1, head)


def _end_before(last: Segment, head: Head, before: Head) -> End:
    """Return the end between the last two batches of a log."""
    return End(last, head.position, max(before.last_offset, last.base_offset) + 1, before)


_MOST_HEADS = 4096
"""Highest number of heads that are read at once."""


class Position(NamedTuple):
    """The position in a segment of the batch with an offset, or of the next batch."""

    inode: int
    """Number of the segment's file."""
    offset: int
    position: int
    before: Head | None
    """Head of the batch before it, if there is one. While it is unchanged, the position is valid."""


class Start(NamedTuple):
    """The start of a range in a segment."""

    position: int
    last_before: int
    """The last offset of the batch that ends there, as it is written; `NONE` if there is none, or it is not known."""


def start_at(segment: Segment, offset: int, known: Collection[Position] = ()) -> Start:
    """Find the end of the last batch with only offsets below the given one; damage, or the next batch, follows it.

    A stream ends a range there and begins the next one there. A higher offset never gives a lower position, whatever
    damaged heads say, so its ranges leave out no byte.

    Args:
        segment: the segment.
        offset: the offset.
        known: positions to try first.

    Raises:
        OSError: the segment cannot be read; a FileNotFoundError if it has been removed or replaced.
    """
    for one in known:
        if (one.inode, one.offset) == (segment.inode, offset) and _is_there(segment, one):
            return Start(one.position, NONE if one.before is None else one.before.last_offset)
    # Start at a batch that is below the offset, so that no damage between the two is missed.
    position = start = position_before(segment, offset - 1)
    below: list[Head] = []
    while heads := heads_at(segment, position, segment.size, _MOST_HEADS):
        following = next((head for head in heads if head.last_offset >= offset), None)
        below = (below + (heads if following is None else heads[: heads.index(following)]))[-2:]
        position = heads[-1].end
        if following is not None:
            break
    if not below:
        return Start(start, last_before(segment, start, offsets_in(segment, None)))
    # A damaged length may span batches that are not below the offset.
    with Path(segment.path).open("rb") as file:
        position = below[-1].end if is_whole(file, below[-1]) else below[-1].position
        written = next((head_at(file, head.position) for head in below if head.end == position), None)
    return Start(position, NONE if written is None else written.last_offset)


def _is_there(segment: Segment, known: Position) -> bool:
    """True if a position is still valid: the segment was not cut off before it and written again with other batches."""
    if known.before is None:
        return known.position == 0
    with _open(segment) as file:
        return head_at(file, known.before.position) == known.before


def heads_at(segment: Segment, position: int, end: int, count: int) -> list[Head]:
    """Read at most `count` heads from a position on.

    Raises:
        OSError: the segment cannot be read; a FileNotFoundError if it has been removed or replaced.
    """
    with _open(segment) as file:
        return list(islice(batch_heads(file, position, end), count))


@contextmanager
def _open(segment: Segment) -> Iterator[BinaryIO]:
    """Open the file of a segment; raise FileNotFoundError if another file has replaced it."""
    with Path(segment.path).open("rb") as file:
        if segment.is_replaced_by(os.fstat(file.fileno())):
            raise FileNotFoundError(ENOENT, "was replaced", segment.path)
        yield file
