"""The batches of a log file, what is damaged in it, and what it has as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kipwire.model.errors import DecodeError
from kipwire.records import Bounds, RecordBatch, accounting
from kipwire.records.accounting import Tail
from kipwire.records.checks import without_number
from kipwire.records.names import segment_after, snapshot_end_of
from kipwire.records.offsets import Misplaced
from kipwire.records.segments import offsets_of_file, read_part
from kipwire.records.stream import Ahead, read_stream

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


def read_file(path: Path, start: int, bounds: Bounds | None) -> Iterator[RecordBatch | Damage | Tail]:
    """Read the batches of a file from a position on, and what is damaged between them; a log's last file has a tail.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        following = segment_after(path)  # after the file is open: a compacted one takes the offsets of removed ones
        grows = following is None and snapshot_end_of(path.name) is None
        offsets = offsets_of_file(path, following)
        yield from describe_damage(read_part(file, _NAME, start=start, grows=grows, bounds=bounds, offsets=offsets))


def read_input(ahead: Ahead, *, grows: bool, bounds: Bounds | None) -> Iterator[RecordBatch | Damage | Tail]:
    """Read the same of a stream, from its first byte on.

    Raises:
        OSError: as `read_stream`.
    """
    return describe_damage(read_stream(ahead, _NAME, grows=grows, bounds=bounds))


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

    def __init__(self, size: int) -> None:
        self.size = size
        """Bytes of the file."""
        self.batches = self.control_batches = self.records = self.errors = 0
        self.first_offset = self.last_offset = -1
        self.first_timestamp = self.last_timestamp = -1
        """Milliseconds since 1970; -1 if no batch has a timestamp."""
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
        first = batch.max_timestamp if batch.timestamp_type == "LogAppendTime" else batch.base_timestamp
        if first >= 0 and batch.delete_horizon is None:
            self.first_timestamp = first if self.first_timestamp < 0 else min(self.first_timestamp, first)
        self.last_timestamp = max(self.last_timestamp, batch.max_timestamp)
