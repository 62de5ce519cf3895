"""Log segments: the files that brokers keep partitions and snapshots in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BufferedReader

from kipwire.errors import DecodeError
from kipwire.records.bounds import Bounds
from kipwire.records.locations import MAX_DECOMPRESSED_SIZE, MAX_ITEMS
from kipwire.records.model import RecordBatch
from kipwire.records.reading import MAX_BATCH_SIZE, batches_in, rules_of

_CHUNK_OF_BATCHES = 1 << 18
"""Bytes that are read at once; more if a batch has more."""
_CHUNK_OF_HEADS = 1 << 14
"""The same if batches may be passed over."""
_CHUNK = 1 << 20
_FIRST_CHUNK = 1 << 9


def read_segment(
    path: str | os.PathLike[str],
    *,
    start: int = 0,
    check_crcs: bool = True,
    max_decompressed_size: int = MAX_DECOMPRESSED_SIZE,
    max_batch_size: int = MAX_BATCH_SIZE,
    max_items: int = MAX_ITEMS,
    bounds: Bounds | None = None,
) -> Iterator[RecordBatch]:
    """The batches of a log segment (`.log`) or a snapshot (`.checkpoint`), one by one, with one in memory at a time.

    Reading ends before a last batch that is cut short, as in a segment that is being written, and before zeros that go
    on to the end of the file, as in one whose space was taken in advance.

    Args:
        path: the file.
        start: where to begin: 0, or where a batch starts, such as `position + size` of the last one that was read.
        check_crcs: as for `read_batches`.
        max_decompressed_size: as for `read_batches`.
        max_batch_size: bytes that one batch may have in the file; that many are read at once.
        max_items: as for `read_batches`.
        bounds: batches that cannot have records within them are passed over by their heads: nothing else of them is
            read or checked. All records of the other batches are there; `bounds.has` says which are wanted.

    Raises:
        DecodeError: bytes are not a batch; the path says which one, the offset is that in the file,
            and the reason names the file.
        OSError: the file cannot be read.
        ValueError: `start` lies outside the file.
    """
    with open(path, "rb") as file:  # noqa: PTH123  a path may be given as a text
        yield from read_open_segment(
            file,
            os.fspath(path),
            start=start,
            check_crcs=check_crcs,
            max_decompressed_size=max_decompressed_size,
            max_batch_size=max_batch_size,
            max_items=max_items,
            bounds=bounds,
        )


def read_open_segment(
    file: BufferedReader,
    name: str,
    *,
    start: int = 0,
    check_crcs: bool = True,
    max_decompressed_size: int = MAX_DECOMPRESSED_SIZE,
    max_batch_size: int = MAX_BATCH_SIZE,
    max_items: int = MAX_ITEMS,
    bounds: Bounds | None = None,
) -> Iterator[RecordBatch]:
    """The batches of a segment that is open already, such as an object of a store, as `read_segment` has them.

    Args:
        file: the segment; it may be left at any position.
        name: what errors call it.
        start: as for `read_segment`, like all that follow.
        check_crcs: as there.
        max_decompressed_size: as there.
        max_batch_size: as there.
        max_items: as there.
        bounds: as there.

    Raises:
        DecodeError: bytes are not a batch.
        OSError: the file cannot be read.
        ValueError: `start` lies outside the file.
    """
    end = file.seek(0, os.SEEK_END)
    if not 0 <= start <= end:
        raise ValueError(f"position {start} is outside {name}, which has {end} bytes")

    chunk, chunk_start, chunk_size = b"", 0, _FIRST_CHUNK
    largest = _CHUNK_OF_BATCHES if bounds is None else _CHUNK_OF_HEADS

    def take(position: int, size: int) -> bytes:
        nonlocal chunk, chunk_start, chunk_size
        at = position - chunk_start
        if at < 0 or at + size > len(chunk):  # slices of what is in memory take a third of the time of reads
            file.seek(position)
            chunk, chunk_start, at = file.read(max(size, chunk_size)), position, 0
            chunk_size = min(2 * chunk_size, largest)  # little is read by those who read on after each error
        return chunk[at : at + size]

    batches = batches_in(
        take,
        start,
        end,
        rules_of("kafka", max_decompressed_size, max_items),
        check_crcs=check_crcs,
        max_batch_size=max_batch_size,
        file=name,
        bounds=bounds,
    )
    try:
        for batch in batches:
            yield batch
            start = batch.position + batch.size
    except DecodeError:
        if not _is_zeros(file, start):
            raise


def _is_zeros(file: BufferedReader, start: int) -> bool:
    """Whether the file has nothing but zeros from there on."""
    file.seek(start)
    size = _FIRST_CHUNK  # what is broken seldom begins with zeros, and there may be many that are
    while chunk := file.read(size):
        if chunk.strip(b"\0"):
            return False
        size = _CHUNK
    return True
