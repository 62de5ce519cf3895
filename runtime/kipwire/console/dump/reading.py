"""The batches of a log file, what is damaged in it, and what it has as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kipwire.logs import accounting
from kipwire.logs.accounting import Tail
from kipwire.logs.names import segment_after, snapshot_end_of
from kipwire.logs.offsets import Misplaced
from kipwire.logs.segments import offsets_of_file, read_part
from kipwire.logs.stream import StreamBuffer, read_stream
from kipwire.model.errors import DecodeError
from kipwire.records import Bounds, RecordBatch
from kipwire.records.checks import without_number
from kipwire.records.reading import MagicTwo
from kipwire.tools.times import NONE, is_plausible, now

_NAME = ""
"""Name of the log in errors of the reader; the caller adds the real one."""


class Damage(NamedTuple):
    """Something in a log file that cannot be read."""

    position: int
    """Position of the batch."""
    at: int
    """The byte of the file that is wrong."""
    path: str
    """The field of the batch; "" for the batch itself."""
    reason: str
    lost: str
    """The bytes that are not read because of it, in words; "" if they are the batch alone."""
    batch: RecordBatch | None = None
    """The batch, if all of it but its offsets can be read; it is shown before the error."""


def read_file(
    path: Path, start: int, bounds: Bounds | None, magic_2: MagicTwo = "kafka", end: int | None = None
) -> Iterator[RecordBatch | Damage | Tail]:
    """Read the batches of a file between two positions, and what is damaged there; a log's last file has a tail.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        following = segment_after(path)  # after the file is open: a compacted one takes the offsets of removed ones
        grows = end is None and following is None and snapshot_end_of(path.name) is None
        offsets = offsets_of_file(path, following)
        found = read_part(
            file, _NAME, start=start, end=end, grows=grows, bounds=bounds, offsets=offsets, magic_2=magic_2
        )
        yield from describe_damage(found)


def read_input(
    ahead: StreamBuffer, *, grows: bool, bounds: Bounds | None, magic_2: MagicTwo = "kafka"
) -> Iterator[RecordBatch | Damage | Tail]:
    """Read the same of a stream, from its first byte on.

    Raises:
        OSError: as `read_stream`.
    """
    return describe_damage(read_stream(ahead, _NAME, grows=grows, bounds=bounds, magic_2=magic_2))


def describe_damage(
    items: Iterable[RecordBatch | Misplaced | accounting.Damage | Tail],
) -> Iterator[RecordBatch | Damage | Tail]:
    """Yield the items, with damage as it is shown."""
    for item in items:
        if isinstance(item, accounting.Damage):
            yield damage_of(item.error, item.position, "" if item.is_batch else item.lost)
        elif isinstance(item, Misplaced):
            if not item.is_this:
                yield item.batch
            at = item.batch.position
            yield Damage(at, at, "", item.reason, "", item.batch if item.is_this else None)
        else:
            yield item


def damage_of(error: DecodeError, position: int, lost: str = "") -> Damage:
    """Describe the error about a batch, without the number of the batch, which cannot be looked up."""
    return Damage(position, error.offset, without_number(error).path, error.reason, lost)


class Summary:
    """The batches of a file, counted."""

    def __init__(self, size: int, at: int | None = None) -> None:
        """Begin to count.

        Args:
            size: bytes of the file.
            at: the present time, in milliseconds since 1970; by default of this machine.
        """
        self._at = now() if at is None else at
        self.size = size
        """Bytes of the file."""
        self.batches = self.control_batches = self.records = self.errors = 0
        self.first_offset = self.last_offset = -1
        self.first_timestamp = self.last_timestamp = NONE
        """Milliseconds since 1970; -1 if no batch has a timestamp."""
        self.implausible_times = 0
        """Number of batches with a time before 1970, or more than a day after the present."""
        self.implausible_producers: dict[int, None] = {}
        """The ids of producers of such batches, in their order."""
        self.compressions: Counter[str] = Counter()
        """Number of batches by compression."""

    def add(self, batch: RecordBatch, *, has_offsets: bool = True) -> None:
        """Count a batch.

        Args:
            batch: to count.
            has_offsets: False if its offsets are known to be wrong; then they do not count.

        Raises:
            DecodeError: it is compressed, of magic 0 or 1, and broken.
        """
        self.records += len(batch.records) if batch.records_count is None else batch.records_count
        if has_offsets:
            self.first_offset = batch.base_offset if self.first_offset < 0 else self.first_offset
            self.last_offset = batch.last_offset
        self.batches += 1
        self.control_batches += batch.is_control
        self.compressions[batch.compression] += 1
        self._add_times(batch)

    def _add_times(self, batch: RecordBatch) -> None:
        """Count the times of a batch: of its first record, unless something else is in that place, and the highest."""
        highest = first = batch.max_timestamp
        if batch.timestamp_type != "LogAppendTime" and batch.delete_horizon is None:
            first = batch.base_timestamp
        if first == NONE:
            first = highest
        elif highest == NONE:  # brokers store it if all records are before 1970
            highest = first
        if first == NONE:
            return
        if first > highest:
            first, highest = highest, first
        is_first = self.first_timestamp == self.last_timestamp == NONE
        if is_first or first < self.first_timestamp:
            self.first_timestamp = first
        if is_first or highest > self.last_timestamp:
            self.last_timestamp = highest
        if not (is_plausible(first, self._at) and is_plausible(highest, self._at)):
            self.implausible_times += 1
            if batch.producer_id >= 0:
                self.implausible_producers[batch.producer_id] = None

    def plain(self) -> dict[str, Any]:
        """Convert the counts to plain data."""
        counts = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        return counts | {
            "implausible_producers": list(self.implausible_producers),
            "compressions": {**self.compressions},
        }
