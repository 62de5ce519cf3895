"""The offsets that a batch can have at its place in a log: the rule, and its words, for all who read files of logs.

No checksum covers the base offset of a batch: brokers set the offset when they append. So only the place of a batch can
show that its offset is damaged. The name of a segment has its lowest offset, the name of the next segment the first
offset beyond it, an index counts offsets from the lowest one in 32 bits, and the offsets of a log ascend. Damage that
remains unseen is an offset a little too high in the last batch.

`Offsets` has the rule, for numbers and for arrays. `OffsetOrder` applies the rule to one batch after the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kipwire.model.errors import DecodeError
from kipwire.records.bounds import HEAD_BYTES, UNKNOWN, Bounds, span_of
from kipwire.records.checks import error_at
from kipwire.records.heads import HEAD, HIGHEST_OFFSET, SIZE_END
from kipwire.records.model import RecordBatch

NONE = -1
"""The last offset before the first batch of a log."""
WITH_BASE = 2
"""Lowest magic with the first offset in the head; before it, the head has the last one."""
_MOST = 2**31
"""Offsets that a segment can have."""


class Offsets(NamedTuple):
    """The valid offsets of batches in a segment, or in a part of one."""

    first: int = 0
    """The lowest valid last offset."""
    end: int | None = None
    """The first offset beyond the valid ones; None if it is not known."""
    base: int = 0
    """The lowest valid base offset: lower than `first` for a part that begins within a batch."""
    before: int = NONE
    """The last offset of the batch before the part; `NONE` if no batch is before it, or its offset is not known."""

    def exclude(self, first: Any, last: Any) -> Any:
        """Decide if batches cannot be there: a bool, or an array of them if the arguments are arrays.

        Args:
            first: the first offset; the last one in magic 0 and 1.
            last: the last offset.
        """
        excluded = (last < self.first) | (last > HIGHEST_OFFSET) | (first < self.base) | (last < first)
        return excluded if self.end is None else excluded | (last >= self.end)

    def fault(self, first: int, last: int) -> str:
        """Return why an excluded batch cannot be there, after the words "the batch". The arguments are the same."""
        if last > HIGHEST_OFFSET:
            return f"ends at offset {last}, which exceeds 64 bits"
        if last < self.first or (self.end is not None and last >= self.end):
            return f"ends at offset {last}; offsets there are {self._range(self.first)}"
        if first < self.base:
            return f"begins at offset {first}; offsets there are {self._range(self.base)}"
        return f"begins at offset {first}, but ends at offset {last}"

    def _range(self, first: int) -> str:
        return f"from {first} on" if self.end is None else f"from {first} to {self.end - 1}"


def offsets_of_segment(base: int, following: int | None) -> Offsets:
    """Return the offsets of a segment by its lowest one, and the lowest of the next segment, if there is one."""
    return Offsets(base, base + _MOST if following is None else following, base)


def goes_back(first: Any, before: Any) -> Any:
    """Decide if batches begin at the last offset before them or below it: a bool, or an array of them."""
    return first <= before


class Misplaced(NamedTuple):
    """A batch whose offsets contradict its place."""

    batch: RecordBatch
    reason: str
    """The contradiction, after the words "the batch"."""
    is_this: bool
    """True if this batch is wrong; false if it may be the one before it."""
    error: DecodeError
    """The same, with the place of the batch."""


class OffsetOrder:
    """The order of the batches of a part: each batch is compared with the batches read before it."""

    __slots__ = ("_end", "_floor", "_name", "_offsets", "before")

    def __init__(self, offsets: Offsets, name: str) -> None:
        """Begin before the first batch of the part; errors have the name of the file."""
        self._offsets = offsets
        self._name = name
        self.before = offsets.before
        """The last offset so far."""
        # Batches between these two need no more comparisons, which saves half of the time.
        self._floor = max(offsets.before, offsets.first - 1, offsets.base - 1)
        self._end = HIGHEST_OFFSET if offsets.end is None else min(offsets.end, HIGHEST_OFFSET)

    def placed(self, batch: RecordBatch, number: int) -> RecordBatch | Misplaced:
        """Return the next batch; `Misplaced` if its offsets contradict its place. Errors have the number of the batch.

        If the offsets of two batches do not ascend, it is not known which batch is wrong. The next batch is compared
        with the second one alone, so that one wrong offset is one contradiction.
        """
        last = batch.last_offset
        first = last if batch.records_count is None else batch.base_offset  # compressed messages have neither
        if self._floor < first <= last < self._end:
            self.before = self._floor = last
            return batch
        is_excluded = self._offsets.exclude(first, last)
        if not is_excluded:
            before, self.before = self.before, last
            self._floor = max(last, self._offsets.first - 1, self._offsets.base - 1)
            if not goes_back(first, before):
                return batch
            reason = f"begins at offset {first}, but the batch before it ends at offset {before}: one of them is wrong"
        else:
            reason = self._offsets.fault(first, last)
        location = number, batch.position, self._name
        return Misplaced(batch, reason, bool(is_excluded), error_at(location, batch.magic, "", 0, reason))

    def passes(self, first: int, last: int) -> bool:
        """Pass over the next batch, unless its offsets contradict its place."""
        if goes_back(first, self.before) or self._offsets.exclude(first, last):
            return False
        self.before = last
        self._floor = max(last, self._offsets.first - 1, self._offsets.base - 1)
        return True


class Passing:
    """The batches to pass over by their heads alone: out of bounds, and not misplaced, so that errors are found."""

    __slots__ = ("_bounds", "_magic_2", "_order")

    def __init__(self, bounds: Bounds, order: OffsetOrder, magic_2: str = "kafka") -> None:
        """Take the order of the reader of all other batches, and the format of those with magic 2."""
        self._magic_2 = magic_2
        self._bounds = bounds
        self._order = order

    def may_have(self, head: bytes) -> bool:
        """Decide as `Bounds` does for a batch that is not passed over.

        A head that is cut off is not passed over: the end of a stream is not known before it is reached.
        """
        _, size, _, _ = HEAD.unpack_from(head)
        if len(head) < min(size + SIZE_END, HEAD_BYTES):
            return True
        span = span_of(head, self._magic_2)
        if self._bounds.allows(span):
            return True
        first = span.last_offset if span.first_offset == UNKNOWN else span.first_offset
        return not self._order.passes(first, span.last_offset)
