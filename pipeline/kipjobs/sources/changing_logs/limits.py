"""How much of what is unread a batch of a stream takes if it is limited."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from kipjobs.sources.changing_logs.places import End, Place, heads_at, position_at
from kipjobs.sources.segments import Segment
from kipwire.records.accounting import Head

_LEAST_HEADS, _MOST_HEADS = 4, 4096
"""Heads that are read at once: no file stays open in between, since there may be more folders than files to open."""


class Unread:
    """What a stream has not read of one log, batch by batch."""

    def __init__(self, segments: Sequence[Segment], first: int, end: End, until: int, known: Collection[Place]) -> None:
        """Find where it starts.

        Args:
            segments: those of the log, the last one being that of the end.
            first: the next offset to read.
            end: where the log ends.
            until: take no batch from this offset on.
            known: where the first batch may start.
        """
        at = max((number for number, one in enumerate(segments) if one.base_offset <= first), default=0)
        self._segments = segments[at:]
        self._end = end
        self._until = until
        self.offset = first
        self.place: Place | None = None
        self._position = position_at(self._segments[0], first, known)
        self.size = sum(segment.size for segment in self._segments[:-1]) + end.position - self._position
        """Bytes up to the end of the log."""
        self._batches = self._find_batches()
        self._next: list[tuple[int, int, Place | None]] = []

    @property
    def next_size(self) -> int | None:
        """Bytes of the next batch; None if there is none."""
        if not self._next:
            self._next = list(islice(self._batches, 1))
        return self._next[0][1] if self._next else None

    def take(self) -> None:
        """Take the next batch, whose size has been asked for."""
        ((self.offset, size, self.place),) = self._next
        self.size -= size
        self._next = []

    def take_all(self) -> None:
        """Take everything, without a look at each batch."""
        self.offset, self.place = self._until, None

    def _find_batches(self) -> Iterator[tuple[int, int, Place | None]]:
        """The offset after each batch, its size, and where the next one starts."""
        reached, size = self.offset, 0
        for segment, end_offset, heads in self._heads():
            for head, following in _with_next(heads):
                if head.offset >= self._until:
                    break
                if head.last_offset < reached:  # it was read from a segment that is just replacing this one
                    continue
                size += head.size
                if following is not None and not _are_in_order(head, following):
                    continue  # one of the two may be damaged: no batch of the stream ends between them
                reached = min(head.last_offset + 1, end_offset)
                yield reached, size, Place(segment.inode, reached, head.end, head)
                size = 0
        if reached < self._until:
            yield self._until, size, None

    def _heads(self) -> Iterator[tuple[Segment, int, Iterator[Head]]]:
        """The segments, each with the offset at which the next one starts, and with the heads that are unread."""
        position = self._position
        for number, segment in enumerate(self._segments, 1):
            following = self._segments[number] if number < len(self._segments) else None
            end = self._end.position if following is None else segment.size
            end_offset = self._until if following is None or segment.is_swap else following.base_offset
            yield segment, min(end_offset, self._until), _heads_in(segment, position, end)
            position = 0


def _heads_in(segment: Segment, position: int, end: int) -> Iterator[Head]:
    """Yield the heads from a position on; the file is closed in between."""
    count = _LEAST_HEADS
    while heads := heads_at(segment, position, end, count):
        yield from heads
        if len(heads) < count:
            return
        position = heads[-1].end
        count = min(2 * count, _MOST_HEADS)


def _are_in_order(head: Head, following: Head) -> bool:
    """Decide whether a head shows that the last offset of the one before it is right."""
    if head.magic == 2 and following.magic != 2:  # such an entry says its last offset alone
        return False
    return head.last_offset < following.last_offset


def _with_next(heads: Iterator[Head]) -> Iterator[tuple[Head, Head | None]]:
    """Yield each head with the one after it."""
    before = next(heads, None)
    for head in heads:
        if before is not None:
            yield before, head
        before = head
    if before is not None:
        yield before, None


def share_out(unread: Sequence[Unread], limit: int) -> None:
    """Take batches of at most `limit` bytes in total, but at least one batch.

    Each log gets one batch while that fits, in their order; the rest is shared by how much each one has.

    Args:
        unread: logs; those that have waited longest come first.
        limit: in bytes.
    """
    left = limit
    if sum(log.size for log in unread) <= limit:
        for log in unread:
            log.take_all()
        return
    is_first = True
    for log in unread:
        size = log.next_size
        if size is None:
            continue
        if size > left and not is_first:
            break
        log.take()
        left -= size
        is_first = False
    remaining = sum(log.size for log in unread)
    for log in unread:
        share = max(left, 0) * log.size // remaining if remaining else 0
        while log.next_size is not None and log.next_size <= share:
            share -= log.next_size
            log.take()
