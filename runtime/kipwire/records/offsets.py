"""The offsets that a batch can have at its place in a log: the rule, and its words, for all who read files of logs.

No checksum covers the base offset of a batch: brokers set it when they append. So only its place can show that it is
damaged. A segment's name has its lowest offset and the name of the next segment the first one beyond it, and the
offsets of a log ascend. In the last segment nothing bounds them from above.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from kipwire.records.model import RecordBatch
from kipwire.records.names import HIGHEST_OFFSET

_Other = TypeVar("_Other")
_MAGIC = 2
"""Lowest magic with the first offset in the head; before it, the head has the last one."""


class Offsets(NamedTuple):
    """The offsets that the batches of a segment, or of a part of it, can have."""

    first: int = 0
    """The lowest valid last offset."""
    end: int | None = None
    """The first offset beyond them; None if that is not known."""
    base: int = 0
    """The lowest valid base offset: lower than `first` for a part that begins within a batch."""

    def fault(self, batch: RecordBatch) -> str | None:
        """Return the contradiction between the batch and its place, after the words "the batch"; None if it fits."""
        last = batch.last_offset
        if last < self.first or (self.end is not None and last >= self.end):
            return f"ends at offset {last}; offsets there are {self._range(self.first)}"
        if batch.magic >= _MAGIC and batch.base_offset < self.base:
            return f"begins at offset {batch.base_offset}; offsets there are {self._range(self.base)}"
        return None

    def _range(self, first: int) -> str:
        return f"from {first} on" if self.end is None else f"from {first} to {self.end - 1}"


class Misplaced(NamedTuple):
    """A batch whose offsets contradict its place."""

    batch: RecordBatch
    reason: str
    """The contradiction, after the words "the batch"."""
    is_this: bool
    """True if this batch is wrong; false if it may be the one before it."""


def in_place(items: Iterable[RecordBatch | _Other], offsets: Offsets) -> Iterator[RecordBatch | Misplaced | _Other]:
    """Yield the items of a file in order, with `Misplaced` for each batch whose offsets its place contradicts.

    A batch that is not above the one before it is `Misplaced`, too. Which of the two is wrong is not known, and the
    next batch is compared with it alone, so that one wrong offset is one contradiction.
    """
    last: int | None = None
    for item in items:
        if not isinstance(item, RecordBatch):
            yield item
            continue
        fault = offsets.fault(item)
        if fault is None and item.last_offset > HIGHEST_OFFSET:
            fault = f"ends at offset {item.last_offset}, which exceeds 64 bits"
        if fault is not None:
            yield Misplaced(item, fault, True)
            continue
        first = item.base_offset if item.magic >= _MAGIC else item.last_offset
        if last is not None and first <= last:
            reason = f"begins at offset {first}, but the batch before it ends at offset {last}: one of them is wrong"
            yield Misplaced(item, reason, False)
        else:
            yield item
        last = item.last_offset
