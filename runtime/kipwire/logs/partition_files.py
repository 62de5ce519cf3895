"""The files that a broker keeps beside the segments of a partition, and its checkpoints.

Indexes (`.index`, `.timeindex`, `.txnindex`) hold entries of a fixed size. A broker takes 10 MiB for each index of a
segment that it still writes; the part that it has not used is zeros, which are not entries. Checkpoints are text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct as Packer
from typing import BinaryIO, NamedTuple

from kafka_messages.aborted_txn.v0 import AbortedTxn
from kafka_messages.producer_snapshot.v1 import ProducerSnapshot
from kipwire.codec.checksums import crc32c
from kipwire.model.errors import DecodeError
from kipwire.records.checks import wrong_checksum
from kipwire.records.heads import HIGHEST_INT32, HIGHEST_OFFSET, NO_TIMESTAMP
from kipwire.records.model import RecordBatch
from kipwire.tools.text import count_of, only_left

_OFFSET_ENTRY = Packer(">ii")
_TIME_ENTRY = Packer(">qi")
_VERSION = Packer(">h")
_ABORTED_BYTES = _VERSION.size + len(AbortedTxn().encode())
_CHECKSUM_END = _VERSION.size + 4
"""Position in a producer snapshot from which the checksum counts: version and checksum come before it."""
_ENTRIES_AT_ONCE = 4096
_CHECKPOINT_VERSION = 0
_LONGEST = 20
"""Characters of a number of 64 bits."""

TIME_ENTRY_BYTES = _TIME_ENTRY.size
"""The size of an entry of a time index."""


class OffsetIndexEntry(NamedTuple):
    """An entry of `.index`: where in the segment a batch starts."""

    offset: int
    """The last offset of the batch."""
    position: int
    """Position of its first byte."""


class TimeIndexEntry(NamedTuple):
    """An entry of `.timeindex`: no record up to this offset has a later timestamp."""

    timestamp: int
    """Milliseconds since 1970."""
    offset: int


class LeaderEpoch(NamedTuple):
    """A line of `leader-epoch-checkpoint`: a leader, and the first offset that it wrote."""

    epoch: int
    start_offset: int


class PartitionOffset(NamedTuple):
    """A line of one of the checkpoints of a broker, such as `replication-offset-checkpoint`."""

    topic: str
    partition: int
    offset: int


def offset_index(file: BinaryIO, base_offset: int) -> Iterator[OffsetIndexEntry]:
    """Decode the entries of an offset index.

    Args:
        file: an `.index`, open for reading at its start.
        base_offset: of the segment, which is in the file's name.

    Raises:
        DecodeError: the file ends within an entry, or an entry is not after the one before it.
    """
    last_relative = last_position = -1
    for number, (relative, position) in enumerate(_entries(file, _OFFSET_ENTRY, "offset index")):
        if relative <= last_relative or position <= last_position:
            last = f"offset {base_offset + last_relative} at {last_position}" if number else "the start of the segment"
            reason = f"offset {base_offset + relative} at position {position} is not after {last}"
            raise DecodeError("offset index", 0, f"entries[{number}]", number * _OFFSET_ENTRY.size, reason)
        yield OffsetIndexEntry(_offset("offset index", number, _OFFSET_ENTRY, base_offset, relative), position)
        last_relative, last_position = relative, position


def time_index(file: BinaryIO, base_offset: int) -> Iterator[TimeIndexEntry]:
    """Decode the entries of a time index.

    Args:
        file: a `.timeindex`, open for reading at its start.
        base_offset: of the segment, which is in the file's name.

    Raises:
        DecodeError: the file ends within an entry, or an entry is not after the one before it.
    """
    last = TimeIndexEntry(-1, -1)
    for number, (timestamp, relative) in enumerate(_entries(file, _TIME_ENTRY, "time index")):
        entry = TimeIndexEntry(timestamp, _offset("time index", number, _TIME_ENTRY, base_offset, relative))
        if relative < 0 or timestamp < last.timestamp or entry.offset < last.offset:
            reason = f"{timestamp} at offset {entry.offset} is not after {last.timestamp} at offset {last.offset}"
            raise DecodeError("time index", 0, f"entries[{number}]", number * _TIME_ENTRY.size, reason)
        yield entry
        last = entry


class Misfit(NamedTuple):
    """An entry of an index that does not fit its segment."""

    number: int
    """Number of the entry, from 0."""
    reason: str


def offset_misfits(entries: Iterable[OffsetIndexEntry], batches: Iterable[RecordBatch]) -> Iterator[Misfit]:
    """Find the entries of an offset index that lead to no batch, or beyond the batch with their offset.

    The offset of an entry is the last one of the batch at its position, or of a later one: brokers before 3.9 had one
    entry for all batches that a follower or the log cleaner wrote at once.

    Args:
        entries: of the index, in its order.
        batches: all batches of the segment, in its order; they are read as far as the last entry needs.
    """
    read = iter(batches)
    batch = next(read, None)
    for number, (offset, position) in enumerate(entries):
        while batch is not None and batch.position < position:
            batch = next(read, None)
        if batch is None or batch.position != position:
            yield Misfit(number, f"offset {offset} is at position {position}, where no batch begins")
        elif batch.base_offset > offset:
            yield Misfit(number, f"offset {offset} is at position {position}, where offset {batch.base_offset} begins")
        else:
            while batch is not None and batch.last_offset < offset:
                batch = next(read, None)
            if batch is None or batch.last_offset > offset:
                yield Misfit(number, f"offset {offset} is at position {position}, but no batch from there ends with it")


def time_misfits(entries: Iterable[TimeIndexEntry], batches: Iterable[RecordBatch]) -> Iterator[Misfit]:
    """Find the entries of a time index whose timestamp is not the highest one up to their offset.

    Args:
        entries: of the index, in its order.
        batches: all batches of the segment, in its order; they are read as far as the last entry needs.
    """
    read = iter(batches)
    batch, highest = next(read, None), NO_TIMESTAMP
    for number, (timestamp, offset) in enumerate(entries):
        while batch is not None and batch.base_offset <= offset:
            highest = max(highest, batch.max_timestamp)
            batch = next(read, None)
        if timestamp != highest:
            yield Misfit(number, f"{timestamp} is not the highest timestamp up to offset {offset}: {highest} is")


def _offset(name: str, number: int, packer: Packer, base_offset: int, relative: int) -> int:
    """Make the offset of an index entry absolute; the entry has it relative to the segment's.

    Raises:
        DecodeError: the offset has more than 64 bits.
    """
    if base_offset + relative > HIGHEST_OFFSET:
        reason = f"offset {base_offset} + {relative} has more than 64 bits"
        raise DecodeError(name, 0, f"entries[{number}]", number * packer.size, reason)
    return base_offset + relative


def _entries(file: BinaryIO, packer: Packer, name: str) -> Iterator[tuple[int, int]]:
    """Decode the entries of an index up to the zeros at its end; read a few thousand at a time."""
    at = 0
    while data := file.read(packer.size * _ENTRIES_AT_ONCE):
        over = len(data) % packer.size
        for entry in packer.iter_unpack(data[: len(data) - over]):
            if entry == (0, 0):  # space taken in advance: the batch at the start of a segment has no entry
                return
            yield entry
        at += len(data)
        if over:
            number = at // packer.size
            raise DecodeError(name, 0, f"entries[{number}]", at - over, f"need {packer.size} bytes, {only_left(over)}")


def aborted_transactions(file: BinaryIO) -> Iterator[AbortedTxn]:
    """Read the aborted transactions of a segment (KIP-98).

    Args:
        file: a `.txnindex`, open for reading at its start.

    Raises:
        DecodeError: the file ends within an entry, or the version of one is later than Kafka 4.4.
    """
    at = 0
    while data := file.read(_ABORTED_BYTES):
        path = f"entries[{at // _ABORTED_BYTES}]"
        if len(data) < _ABORTED_BYTES:
            reason = f"need {_ABORTED_BYTES} bytes, {only_left(len(data))}"
            raise DecodeError("transaction index", 0, path, at, reason)
        (version,) = _VERSION.unpack_from(data)
        if version != AbortedTxn.VERSION:
            reason = f"is {version}; only {AbortedTxn.VERSION} is known"
            raise DecodeError("transaction index", 0, f"{path}.version", at, reason)
        yield AbortedTxn.decode(data[_VERSION.size :])
        at += _ABORTED_BYTES


def producer_snapshot(data: bytes) -> ProducerSnapshot:
    """Read the producers of a partition, and their last writes before the offset in the file's name (KIP-98).

    Args:
        data: the content of a `.snapshot`.

    Raises:
        DecodeError: the file is damaged, or its version is later than Kafka 4.4.
    """
    name = ProducerSnapshot.NAME
    if len(data) < _CHECKSUM_END:
        raise DecodeError(name, 0, "version", 0, f"need {_CHECKSUM_END} bytes, {only_left(len(data))}")
    (version,) = _VERSION.unpack_from(data)
    if version != ProducerSnapshot.VERSION:
        raise DecodeError(name, 0, "version", 0, f"is {version}; only {ProducerSnapshot.VERSION} is known")
    snapshot = ProducerSnapshot.decode(data[_VERSION.size :])
    computed = crc32c(data[_CHECKSUM_END:])
    if snapshot.crc != computed:
        raise DecodeError(name, version, "crc", _VERSION.size, wrong_checksum(snapshot.crc, computed))
    return snapshot


def leader_epochs(text: str) -> list[LeaderEpoch]:
    """Read the leaders of a partition, the first one first.

    Args:
        text: the content of `leader-epoch-checkpoint`.

    Raises:
        ValueError: the text is not such a file; the error names the line.
    """
    return [LeaderEpoch(*numbers) for _, numbers in _checkpoint(text, "epoch and start offset", 0)]


def partition_offsets(text: str) -> list[PartitionOffset]:
    """Read the offsets of all partitions of a broker.

    Args:
        text: the content of `recovery-point-offset-checkpoint`, `replication-offset-checkpoint` (high watermarks),
            `log-start-offset-checkpoint` or `cleaner-offset-checkpoint`.

    Raises:
        ValueError: the text is not such a file; the error names the line.
    """
    lines = _checkpoint(text, "topic, partition and offset", 1)
    return [PartitionOffset(topic, *numbers) for (topic,), numbers in lines]


def _checkpoint(text: str, what: str, words: int) -> Iterator[tuple[list[str], tuple[int, int]]]:
    """Parse the lines of a checkpoint: some words, then a number of 32 bits and an offset.

    The first line is the version of the file, the second the number of the others.
    """
    if not text:  # as brokers make the file, before they have anything to write into it
        return
    lines = text.splitlines()
    for number, meaning in enumerate(("a version", "a number of lines"), 1):
        if len(lines) < number or not _is_number(lines[number - 1]):
            raise ValueError(f"line {number}: expected {meaning}, found {_line_text(lines, number)}")
    if int(lines[0]) != _CHECKPOINT_VERSION:
        raise ValueError(f"line 1: the version is {lines[0]}; only {_CHECKPOINT_VERSION} is known")
    if int(lines[1]) != len(lines) - 2:
        raise ValueError(f"line 2: expected {count_of(int(lines[1]), 'line')} after it, found {len(lines) - 2:,}")
    for number, line in enumerate(lines[2:], 3):
        found = line.split(" ")
        *before, short, offset = found if len(found) == words + 2 else ("", "")
        if not (_is_number(short, HIGHEST_INT32) and _is_number(offset)):
            raise ValueError(f"line {number}: expected {what}, found {_line_text(lines, number)}")
        yield before, (int(short), int(offset))


def _is_number(text: str, highest: int = HIGHEST_OFFSET) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(text) <= _LONGEST and -highest <= int(text) <= highest


def _line_text(lines: list[str], number: int) -> str:
    return repr(lines[number - 1][:80]) if len(lines) >= number else "the end"
