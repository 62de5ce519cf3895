"""The heads of batches in a segment, many at once: their offsets, times and producers, and a filter on them.

The bytes between heads are not read, so checksums and records are not checked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from struct import calcsize
from typing import Any, NamedTuple

import numpy as np

from kipwire.logs.offsets import WITH_BASE, Offsets, goes_back
from kipwire.records import MAX_DECOMPRESSED_SIZE, Bounds
from kipwire.records.bounds import UNKNOWN, Span
from kipwire.records.heads import (
    BATCH,
    COMPRESSION,
    CONTROL,
    DELETE_HORIZON,
    FORMATS,
    HEAD,
    LOG_APPEND_TIME,
    MAGIC,
    RECORDS,
    SIZE_END,
    TRANSACTIONAL,
)
from kipwire.tables.files.access import ReadAt, ranges_of
from kipwire.tables.files.stores import HERE, Storage

Numbers = np.ndarray[Any, np.dtype[Any]]

COUNT = 16384
"""Number of heads at which an array is complete."""
_LEAST_CHUNK, _MOST_CHUNK = 64, 1 << 18
"""Limits of the bytes that are read at once: few if batches are large, many if they are small."""
_SMALL = 4096
"""Size of a batch up to which reading it is as quick as skipping it."""
_FIELDS = (
    *("offset", "length", "leader_epoch", "magic", "crc", "attributes", "last_offset_delta", "base_timestamp"),
    *("max_timestamp", "producer_id", "producer_epoch", "base_sequence", "records_count"),
)
"""Names of the fields of a head of magic 2, in the order of the struct format `BATCH`."""
_TYPES = {"b": "i1", "h": ">i2", "i": ">i4", "I": ">u4", "q": ">i8"}


def _places() -> Iterator[tuple[str, str, int]]:
    """Yield the fields that are read of a head: name, type and position."""
    position = 0
    for name, code in zip(_FIELDS, BATCH.format[1:], strict=True):
        if name != "crc":
            yield name, _TYPES[code], position
        position += calcsize(f">{code}")
    yield "entry_attributes", "i1", MAGIC + 1  # of magic 0 and 1
    yield "entry_timestamp", ">i8", MAGIC + 2  # of magic 1


_NAMES, _FORMATS, _POSITIONS = zip(*_places(), strict=True)
HEADS: np.dtype[np.void] = np.dtype({"names": _NAMES, "formats": _FORMATS, "offsets": _POSITIONS, "itemsize": RECORDS})
"""Layout of an array of heads."""
_CODECS_OF_ENTRIES, _CODECS = 4, 5
_HIGHEST_OFFSET = 2**63 - 1 - 2**31
"""Highest offset to which any delta can be added without going beyond 64 bits."""


class RowFilter(NamedTuple):
    """Conditions for the records of a log, and options of their reading."""

    bounds: Bounds = Bounds()
    control: bool = False
    """True if control records are records too."""
    check_crcs: bool = True
    permissive: bool = False
    """True if a broken batch is one row with the error, instead of an exception."""
    tail: bool = False
    """True if the bytes after the last whole batch of a log are one row with an error, too."""
    max_decompressed_size: int = MAX_DECOMPRESSED_SIZE
    """Bytes that the records of one batch may decompress to."""
    committed: bool = False
    """True if records of transactions that were aborted, or are open, are not wanted. The bounds end at the last stable
    offset then."""

    @property
    def first_offset(self) -> int:
        """Offset before which no record is wanted."""
        return self.bounds.first_offset or 0

    @property
    def is_bounded(self) -> bool:
        """True if offsets or times are bounded, so that batches may be passed over by their heads."""
        return self.bounds != Bounds()

    def between(self, first: int, end: int | None) -> RowFilter:
        """Restrict this filter to the records from `first` on, and before `end` if it is given."""
        ends = [one for one in (self.bounds.end_offset, end) if one is not None]
        first = max(self.first_offset, first)
        return self._replace(bounds=self.bounds._replace(first_offset=first, end_offset=min(ends, default=None)))


class Heads(NamedTuple):
    """The heads of some batches, one element of each array for a batch. A field that a head does not have is -1."""

    position: Numbers
    size: Numbers
    base_offset: Numbers
    """-1 for a compressed entry of magic 0 or 1, whose first offset is only in its content."""
    last_offset: Numbers
    base_timestamp: Numbers
    max_timestamp: Numbers
    delete_horizon: Numbers
    records_count: Numbers
    """-1 for a compressed entry of magic 0 or 1."""
    codec: Numbers
    """Number of the codec in the attributes, which may be an unknown one."""
    has_append_time: Numbers
    is_transactional: Numbers
    is_control: Numbers
    leader_epoch: Numbers
    producer_id: Numbers
    producer_epoch: Numbers
    base_sequence: Numbers
    magic: Numbers

    def of(self, chosen: Numbers) -> Heads:
        """Return the heads at which the mask is true."""
        return self if chosen.all() else Heads(*(column[chosen] for column in self))

    def between(self, start: int, end: int) -> Heads:
        """Return the heads with indices from `start` on and before `end`."""
        return Heads(*(column[start:end] for column in self))

    def may_have(self, row_filter: RowFilter) -> Numbers:
        """Return a mask of the batches that may have wanted records."""
        lowest = np.where(self.has_append_time, self.max_timestamp, UNKNOWN)
        span = Span(self.base_offset, self.last_offset, lowest, self.max_timestamp)
        may: Numbers = np.full(len(self.position), True) & row_filter.bounds.allows(span)
        return may if row_filter.control else may & ~self.is_control

    def compared(self, offsets: Offsets) -> tuple[Numbers, Numbers]:
        """Compare the batches with their place: return the last offset before each, and a mask of the odd ones.

        The last offset before a batch, and as another element the one before the next batch, leaves out offsets that
        the range excludes. The head of an odd batch is invalid, contradicts its place, or may exceed 64 bits.
        """
        is_batch = self.magic >= WITH_BASE
        first = np.where(is_batch, self.base_offset, self.last_offset)
        excluded: Numbers = offsets.exclude(first, self.last_offset)
        before = np.concatenate(([offsets.before], self.last_offset))
        if excluded.any():
            index = np.where(excluded, 0, np.arange(1, len(before)))
            before = before[np.maximum.accumulate(np.concatenate(([0], index)))]
        is_odd: Numbers = excluded | goes_back(first, before[:-1]) | (self.last_offset > _HIGHEST_OFFSET)
        is_odd |= self.codec >= np.where(is_batch, _CODECS, _CODECS_OF_ENTRIES)
        return before, is_odd | (is_batch & ~self.have_counts())

    def lack_records(self) -> Numbers:
        """Return a mask of the batches of magic 2 that have less records than offsets."""
        return (self.magic >= WITH_BASE) & (self.records_count < self.last_offset - self.base_offset + 1)

    def have_counts(self) -> Numbers:
        """Return a mask of the batches of magic 2 that have as many records as offsets, or less by compaction."""
        offsets = self.last_offset - self.base_offset + 1
        return (self.records_count >= 0) & (self.records_count <= offsets)


def batch_heads_in(
    path: str | os.PathLike[str], start: int, end: int, storage: Storage = HERE, limit: int | None = None
) -> Iterator[Heads]:
    """Read the heads of the whole batches that start in a range of a segment, up to the first that cannot be a batch.

    Args:
        path: the segment.
        start: where a batch starts.
        end: batches that start from here on are left out.
        storage: how to reach the store, if the path is a URL.
        limit: where the last batch has to end at the latest; the end of the file if None.

    Raises:
        OSError: the file cannot be read.
    """
    with ranges_of(path, storage, end - start) as (read_at, size):
        positions: list[int] = []
        heads = bytearray()
        limit = size if limit is None else min(limit, size)
        for position, head in _heads(read_at, start, min(end, limit), limit):
            positions.append(position)
            heads += head
            if len(positions) == COUNT:
                yield _columns(positions, heads)
                positions, heads = [], bytearray()
        if positions:
            yield _columns(positions, heads)


def heads_of_bytes(data: bytes) -> Iterator[Heads]:
    """Read the heads of the whole batches in an answer of a broker, up to the first that is not whole."""
    found = list(_heads(lambda size, at: data[at : at + size], 0, len(data), len(data)))
    if found:
        positions, heads = zip(*found, strict=True)
        yield _columns(list(positions), bytearray().join(heads))


def _heads(read_at: ReadAt, position: int, end: int, limit: int) -> Iterator[tuple[int, bytes]]:
    """Yield the positions and the first bytes of batches that start before `end` and do not go beyond `limit`."""
    unpack, smallest = HEAD.unpack_from, [format_.smallest for format_ in FORMATS]
    chunk, chunk_start, chunk_size, length = b"", 0, _LEAST_CHUNK, _SMALL
    while position < end:
        at = position - chunk_start
        if not 0 <= at <= len(chunk) - RECORDS:
            # Guess from the batch before: copying a small one costs less than another read.
            chunk_size = min(2 * chunk_size, _MOST_CHUNK) if length < _SMALL else max(chunk_size // 4, _LEAST_CHUNK)
            chunk, chunk_start, at = read_at(chunk_size, position), position, 0
            if len(chunk) < HEAD.size:
                return
        _, length, _, magic = unpack(chunk, at)
        if not 0 <= magic <= 2 or length < smallest[magic] or position + length + SIZE_END > limit:
            return
        yield position, chunk[at : at + RECORDS].ljust(RECORDS, b"\0")
        position += length + SIZE_END


def _columns(positions: list[int], heads: bytearray) -> Heads:
    raw = np.frombuffer(heads, HEADS)
    found: dict[str, Numbers] = {name: raw[name].astype(raw[name].dtype.newbyteorder("=")) for name in _NAMES}
    magic = found["magic"]
    is_entry = magic < 2
    attributes = np.where(is_entry, found["entry_attributes"], found["attributes"])
    offset, codec = found["offset"], (attributes & COMPRESSION).astype(np.int8)
    is_compressed_entry = is_entry & (codec != 0)
    has_horizon = ~is_entry & (attributes & DELETE_HORIZON != 0)
    of_entry = np.where(magic == 1, found["entry_timestamp"], -1)

    def of_batch(name: str) -> Numbers:
        return np.where(is_entry, found[name].dtype.type(-1), found[name])

    return Heads(
        position=np.array(positions, np.int64),
        size=found["length"].astype(np.int64) + SIZE_END,
        base_offset=np.where(is_compressed_entry, -1, offset),
        last_offset=np.where(is_entry, offset, offset + found["last_offset_delta"]),
        base_timestamp=np.where(is_entry, of_entry, np.where(has_horizon, -1, found["base_timestamp"])),
        max_timestamp=np.where(is_entry, of_entry, found["max_timestamp"]),
        delete_horizon=np.where(has_horizon, found["base_timestamp"], -1),
        records_count=np.where(is_entry, np.where(is_compressed_entry, -1, 1), found["records_count"]),
        codec=codec,
        has_append_time=(magic > 0) & (attributes & LOG_APPEND_TIME != 0),
        is_transactional=~is_entry & (attributes & TRANSACTIONAL != 0),
        is_control=~is_entry & (attributes & CONTROL != 0),
        leader_epoch=of_batch("leader_epoch"),
        producer_id=of_batch("producer_id"),
        producer_epoch=of_batch("producer_epoch"),
        base_sequence=of_batch("base_sequence"),
        magic=magic,
    )
