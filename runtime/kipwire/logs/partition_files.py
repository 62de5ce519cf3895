"""The files that a broker keeps beside the segments of a partition, and its checkpoints.

Indexes (`.index`, `.timeindex`, `.txnindex`) hold entries of a fixed size. A broker takes 10 MiB for each index of a
segment that it still writes; the part that it has not used is zeros, which are not entries. Checkpoints are text.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct as Packer
from typing import BinaryIO, NamedTuple

from kafka_messages.aborted_txn.v0 import AbortedTxn
from kafka_messages.producer_snapshot.v1 import ProducerSnapshot
from kipwire.codec.checksums import crc32c
from kipwire.model.errors import DecodeError
from kipwire.records.checks import wrong_checksum
from kipwire.records.heads import HIGHEST_INT32, HIGHEST_OFFSET
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

    def __str__(self) -> str:
        return f"offset {self.offset} at position {self.position}"

    def is_after(self, other: OffsetIndexEntry) -> bool:
        """Tell whether it may follow another entry."""
        return self.offset > other.offset and self.position > other.position


class TimeIndexEntry(NamedTuple):
    """An entry of `.timeindex`: no record up to this offset has a later timestamp."""

    timestamp: int
    """Milliseconds since 1970."""
    offset: int

    def __str__(self) -> str:
        return f"{self.timestamp} at offset {self.offset}"

    def is_after(self, other: TimeIndexEntry) -> bool:
        """Tell whether it may follow another entry; the last entry of a segment may be there twice."""
        return self.offset >= other.offset and self.timestamp >= other.timestamp


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
    last = OffsetIndexEntry(base_offset - 1, -1)
    for number, entry in enumerate(offset_entries(file, base_offset)):
        if not entry.is_after(last):
            reason = f"{entry} is not after {last if number else 'the start of the segment'}"
            raise DecodeError("offset index", 0, f"entries[{number}]", number * _OFFSET_ENTRY.size, reason)
        yield entry
        last = entry


def offset_entries(file: BinaryIO, base_offset: int) -> Iterator[OffsetIndexEntry]:
    """Decode the entries of an offset index, in any order; with the arguments of `offset_index`.

    Raises:
        DecodeError: the file ends within an entry.
    """
    for number, (relative, position) in enumerate(_entries(file, _OFFSET_ENTRY, "offset index")):
        yield OffsetIndexEntry(_offset("offset index", number, _OFFSET_ENTRY, base_offset, relative), position)


def time_index(file: BinaryIO, base_offset: int) -> Iterator[TimeIndexEntry]:
    """Decode the entries of a time index.

    Args:
        file: a `.timeindex`, open for reading at its start.
        base_offset: of the segment, which is in the file's name.

    Raises:
        DecodeError: the file ends within an entry, or an entry is not after the one before it.
    """
    last = TimeIndexEntry(-1, base_offset)
    for number, entry in enumerate(time_entries(file, base_offset)):
        if not entry.is_after(last):
            reason = f"{entry} is not after {last if number else 'the start of the segment'}"
            raise DecodeError("time index", 0, f"entries[{number}]", number * _TIME_ENTRY.size, reason)
        yield entry
        last = entry


def time_entries(file: BinaryIO, base_offset: int) -> Iterator[TimeIndexEntry]:
    """Decode the entries of a time index, in any order; with the arguments of `time_index`.

    Raises:
        DecodeError: the file ends within an entry.
    """
    for number, (timestamp, relative) in enumerate(_entries(file, _TIME_ENTRY, "time index")):
        yield TimeIndexEntry(timestamp, _offset("time index", number, _TIME_ENTRY, base_offset, relative))


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
