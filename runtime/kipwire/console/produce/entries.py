"""The records to write, from a dump's JSON lines or from plain lines.

The lines of a dump are read twice. The first time nothing is written: damage is found, and which transactions were
aborted, as only their markers say, which come after their records.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from kipwire.console.dump_lines import LONGEST_LINE, JsonBatch, Left, LineError, batches_of
from kipwire.model.errors import DecodeError
from kipwire.records import Record
from kipwire.records.control import control_type
from kipwire.records.heads import CONTROL, TRANSACTIONAL
from kipwire.tools.text import json_words


class Entry(NamedTuple):
    """A record to write."""

    record: Record
    number: int | None
    """The partition that it was in; None if the lines do not say one."""
    offset: int | None
    """The offset that it had; None for a plain line."""
    place: str
    """Place of the line, or of the line of its batch, for errors."""


@dataclass
class Contents:
    """The contents of a dump, as far as they decide what is written."""

    topic: str | None = None
    """The topic that all lines are of."""
    numbers: dict[int | None, str] = field(default_factory=dict)
    """Partitions with records, each with the place of its first batch."""
    records: int = 0
    """Records to write."""
    batches: int = 0
    markers: int = 0
    """Control records, which are left out."""
    aborted: int = 0
    """Records of aborted transactions, which are left out."""
    undecided: int = 0
    """Records of transactions whose end the lines do not have."""
    errors: int = 0
    """Lines that say that something could not be read."""
    ends: dict[tuple[int | None, int], list[tuple[int, bool]]] = field(default_factory=dict)
    """By partition and producer: offsets of the markers of its transactions, each with True if it was aborted."""

    def fate(self, batch: JsonBatch) -> bool | None:
        """Decide if the transaction of a batch was aborted; None if the lines do not have its end."""
        ends = self.ends.get((_number(batch), batch.head.producer_id), [])
        at = bisect_left(ends, (batch.head.base_offset, False))
        return ends[at][1] if at < len(ends) else None


def look_through(stream: BinaryIO, name: str) -> Contents:
    """Read all lines of a dump, and check them.

    Args:
        stream: the lines.
        name: of the file, for errors.

    Raises:
        LineError: a line is wrong, is of another topic than the first one, or of another copy of its partition.
        OSError: the stream cannot be read.
    """
    found, left = Contents(), Left()
    reached: dict[int | None, tuple[int, str]] = {}
    counts: dict[tuple[int | None, int], list[tuple[int, int]]] = {}
    for batch in batches_of(stream, name, left):
        number, head = _number(batch), batch.head
        topic = None if batch.partition is None else batch.partition.topic
        if not found.batches:
            found.topic = topic
        elif topic != found.topic:
            raise LineError(
                f'{batch.place}: "topic" is {json_words(topic)}, and of the lines before {json_words(found.topic)}; '
                "dump and write one topic after the other"
            )
        end, place = reached.get(number, (-1, ""))
        if head.base_offset <= end:
            raise LineError(
                f'{batch.place}: "base_offset" {head.base_offset} is not above {end}, where the batch of {place} ends; '
                "give the lines of one copy of each partition, in their order"
            )
        reached[number] = max(head.last_offset, head.base_offset), batch.place
        found.batches += 1
        if _is_control(batch):
            found.markers += len(batch.records)
            _note_ends(found, batch)
        elif batch.records:
            found.numbers.setdefault(number, batch.place)
            found.records += len(batch.records)
            if _is_transactional(batch):
                counts.setdefault((number, head.producer_id), []).append((head.base_offset, len(batch.records)))
    found.errors = left.errors
    for key, some in counts.items():
        ends = found.ends.get(key, [])
        for offset, count in some:
            at = bisect_left(ends, (offset, False))
            found.undecided += count if at == len(ends) else 0
            found.aborted += count if at < len(ends) and ends[at][1] else 0
    found.records -= found.aborted
    return found


def entries_of_dump(stream: BinaryIO, name: str, contents: Contents) -> Iterator[Entry]:
    """Read the records to write from the lines of a dump, in their order, with one batch in memory.

    Raises:
        LineError: a line is wrong.
        OSError: the stream cannot be read.
    """
    for batch in batches_of(stream, name, Left()):
        if _is_control(batch) or (_is_transactional(batch) and contents.fate(batch)):
            continue
        number, time = _number(batch), batch.head.max_timestamp if batch.head.is_append_time else None
        for record in batch.records:
            if time is not None:
                record.timestamp = time  # the one that consumers have seen
            yield Entry(record, number, record.offset, batch.place)


def entries_of_lines(stream: BinaryIO, name: str) -> Iterator[Entry]:
    """Make a record of each line, without a key, with the present time.

    Raises:
        LineError: a line is too long.
        OSError: the stream cannot be read.
    """
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise LineError(f"{name}:{number}: the line is longer than {LONGEST_LINE:,} bytes, the limit")
        yield Entry(Record(value=line.removesuffix(b"\n")), None, None, f"{name}:{number}")


def _number(batch: JsonBatch) -> int | None:
    return None if batch.partition is None else batch.partition.number


def _is_control(batch: JsonBatch) -> bool:
    return not batch.is_entry and batch.head.attributes & CONTROL != 0


def _is_transactional(batch: JsonBatch) -> bool:
    return not batch.is_entry and batch.head.attributes & TRANSACTIONAL != 0


def _note_ends(found: Contents, batch: JsonBatch) -> None:
    for record in batch.records:
        try:
            type_ = control_type(record)
        except DecodeError as error:
            raise LineError(f"{batch.place}: the control record at offset {record.offset}: {error}") from None
        if type_ in ("ABORT", "COMMIT"):
            ends = found.ends.setdefault((_number(batch), batch.head.producer_id), [])
            ends.append((record.offset, type_ == "ABORT"))
