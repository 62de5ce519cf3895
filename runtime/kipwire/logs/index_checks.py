"""Compare the indexes of a segment with the segment, as kafka-dump-log does, and with themselves.

A wrong entry does not hide those after it: entries are looked for by their own numbers, in one pass over the batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from kafka_messages.aborted_txn.v0 import AbortedTxn
from kipwire.logs.partition_files import OffsetIndexEntry, TimeIndexEntry
from kipwire.records.control import control_type
from kipwire.records.heads import NO_TIMESTAMP
from kipwire.records.model import RecordBatch

E = TypeVar("E", OffsetIndexEntry, TimeIndexEntry)


class Misfit(NamedTuple):
    """An entry of an index that does not fit its segment, or the entry before it."""

    number: int
    """Number of the entry, from 0."""
    reason: str
    is_of_old_brokers: bool = False
    """True if brokers before 3.9 write such an entry. Of the batches that a follower or the log cleaner wrote at once,
    an offset index has the position of the first one and the last offset of the last one; the offset of a time index
    may be within a batch."""


def disordered(entries: Iterable[E]) -> Iterator[Misfit]:
    """Find the entries of an offset index or a time index that are not after the entry before them."""
    last: E | None = None
    for number, entry in enumerate(entries):
        if last is not None and not entry.is_after(last):
            yield Misfit(number, f"{entry} is not after {last}")
        last = entry


def offset_misfits(entries: Iterable[OffsetIndexEntry], batches: Iterable[RecordBatch]) -> list[Misfit]:
    """Find the entries of an offset index that are not the position of a batch with its last offset.

    Args:
        entries: of the index.
        batches: all batches of the segment, in its order; they are read as far as the entries need.
    """
    listed = list(entries)
    by_position = sorted(range(len(listed)), key=lambda number: listed[number].position, reverse=True)
    by_offset = sorted(range(len(listed)), key=lambda number: listed[number].offset, reverse=True)
    there: dict[int, tuple[int, int]] = {}  # first and last offset of the batch at the position of an entry
    ends: set[int] = set()  # entries with the last offset of some batch
    for batch in batches:
        while by_position and listed[by_position[-1]].position <= batch.position:
            number = by_position.pop()
            if listed[number].position == batch.position:
                there[number] = (batch.base_offset, batch.last_offset)
        while by_offset and listed[by_offset[-1]].offset <= batch.last_offset:
            number = by_offset.pop()
            if listed[number].offset == batch.last_offset:
                ends.add(number)
        if not by_position and not by_offset:
            break
    misfits = []
    for number, (offset, position) in enumerate(listed):
        where = f"offset {offset} is at position {position}, "
        if number not in there:
            misfits.append(Misfit(number, f"{where}where no batch begins"))
        elif offset != there[number][1]:
            first, last = there[number]
            is_old = number in ends and last < offset
            misfits.append(Misfit(number, f"{where}where the batch of offsets {first} to {last} is", is_old))
    return misfits


def time_misfits(entries: Iterable[TimeIndexEntry], batches: Iterable[RecordBatch]) -> list[Misfit]:
    """Find the entries of a time index whose timestamp is not the highest one up to their offset, or of another batch.

    Args:
        entries: of the index.
        batches: all batches of the segment, in its order; they are read as far as the last entry needs.
    """
    misfits = []
    read = iter(batches)
    batch, there, highest = next(read, None), None, NO_TIMESTAMP
    for number, (timestamp, offset) in sorted(enumerate(entries), key=lambda numbered: numbered[1].offset):
        while batch is not None and batch.base_offset <= offset:
            highest, there = max(highest, batch.max_timestamp), batch
            batch = next(read, None)
        if there is None or offset > there.last_offset:
            misfits.append(Misfit(number, f"offset {offset} is in no batch of the segment"))
        elif timestamp != highest:
            reason = f"{timestamp} is not the highest timestamp up to offset {offset}: {highest} is"
            misfits.append(Misfit(number, reason))
        elif timestamp != there.max_timestamp:
            misfits.append(Misfit(number, f"{timestamp} is of a batch before offset {offset}"))
        elif offset != there.last_offset:
            reason = f"offset {offset} is within the batch of offsets {there.base_offset} to {there.last_offset}"
            misfits.append(Misfit(number, reason, is_of_old_brokers=True))
    return sorted(misfits)


def aborted_misfits(entries: Iterable[AbortedTxn], batches: Iterable[RecordBatch]) -> list[Misfit]:
    """Find the entries of a transaction index that do not end at an ABORT marker of their producer in the segment.

    The log cleaner may have removed the records of a transaction, so only its end is looked for.

    Args:
        entries: of the index.
        batches: all batches of the segment, in its order; they are read as far as the last entry needs.

    Raises:
        DecodeError: a marker is broken.
    """
    misfits = []
    read = iter(batches)
    batch = next(read, None)
    for number, entry in sorted(enumerate(entries), key=lambda numbered: numbered[1].last_offset):
        while batch is not None and batch.last_offset < entry.last_offset:
            batch = next(read, None)
        reason = ""
        if entry.first_offset > entry.last_offset:
            reason = f"first offset {entry.first_offset} is after last offset {entry.last_offset}"
        elif entry.last_stable_offset > entry.last_offset + 1:
            reason = f"last stable offset {entry.last_stable_offset} is after last offset {entry.last_offset}"
        elif batch is None or not _aborts(batch, entry):
            reason = f"offset {entry.last_offset} is no ABORT marker of producer {entry.producer_id}"
        if reason:
            misfits.append(Misfit(number, reason))
    return sorted(misfits)


def _aborts(batch: RecordBatch, entry: AbortedTxn) -> bool:
    is_marker = batch.is_control and batch.producer_id == entry.producer_id and batch.last_offset == entry.last_offset
    return is_marker and bool(batch.records) and control_type(batch.records[0]) == "ABORT"
