"""Share a size limit of a stream's batch among the logs with unread records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from kipwire.logs.accounting import Head
from kipwire.tables.sources.changing_logs.positions import End, Position, heads_at, start_at
from kipwire.tables.sources.segments import Segment

_LEAST_HEADS, _MOST_HEADS = 4, 4096
"""Heads that are read at once. The file is closed in between, since folders may outnumber the allowed open files."""


class Unread:
    """The unread part of one log, taken batch by batch."""

    def __init__(
        self, segments: Sequence[Segment], first: int, end: End, until: int, known: Collection[Position]
    ) -> None:
        """Find the start of the unread part.

        Args:
            segments: of the log; the end is in the last one.
            first: the next offset to read.
            end: of the log.
            until: take no batch from this offset on.
            known: positions that may be the start of the first batch.
        """
        at = max((number for number, one in enumerate(segments) if one.base_offset <= first), default=0)
        self._segments = segments[at:]
        self._end = end
        self._until = until
        self.offset = first
        self.position_of_next: Position | None = None
        self._position = start_at(self._segments[0], first, known).position
        self.size = sum(segment.size for segment in self._segments[:-1]) + end.position - self._position
        """Bytes up to the end of the log."""
        self._batches = self._find_batches()
        self._next: list[tuple[int, int, Position | None]] = []

    @property
    def next_size(self) -> int | None:
        """Return the bytes of the next batch; None if there is none."""
        if not self._next:
            self._next = list(islice(self._batches, 1))
        return self._next[0][1] if self._next else None

    def take(self) -> None:
        """Take the next batch, after a call of `next_size`."""
        ((self.offset, size, self.position_of_next),) = self._next
        self.size -= size
        self._next = []

    def take_all(self) -> None:
        """Take everything, without reading the head of each batch."""
        self.offset, self.position_of_next = self._until, None

    def _find_batches(self) -> Iterator[tuple[int, int, Position | None]]:
        """Yield the offset after each batch, its size, and the position at which the next one starts."""
        reached, size = self.offset, 0
        for segment, end_offset, heads in self._heads():
            for head, following in _with_next(heads):
                if head.offset >= self._until:
                    break
                if head.last_offset < reached:  # already read, from a segment that is replacing this one
                    continue
                size += head.size
                if following is not None and not _are_in_order(head, following):
                    continue  # one of the two may be damaged: no batch of the stream ends between them
                reached = min(head.last_offset + 1, end_offset)
                yield reached, size, Position(segment.inode, reached, head.end, head)
                size = 0
        if reached < self._until:
            yield self._until, size, None

    def _heads(self) -> Iterator[tuple[Segment, int, Iterator[Head]]]:
        """Yield the segments, each with the offset at which the next one starts, and with its unread heads."""
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
    """True if a head confirms the last offset of the head before it."""
    if head.magic == 2 and following.magic != 2:  # the head of magic 0 or 1 has only its last offset
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

    Each log gets one batch while that fits, in their order; the rest is shared in proportion to the unread bytes.

    Args:
        unread: logs; the ones that have waited longest come first.
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
