"""The account of a segment's bytes where no whole batch can be read.

A segment is a row of batches without gaps. A reader that comes to bytes which are no whole batch asks `account`. The
answer is one of two things, and there is no third one:

- a `Tail`: the segment still grows, and these bytes up to the end of its file are a batch that is not complete yet, or
  zeros, for which a broker has taken space in advance;
- a `Damage`: bytes up to the place where a batch starts again, with the error that says what is wrong.

Only the last segment of a log grows. So in any other segment, and in a part of a segment that ends where a batch
starts, batches fill the bytes exactly, or there is damage. A tail is believed only if no whole batch lies in it: a
damaged length looks like a batch that is not complete, but the batches after it are still there. A batch is known by
its head and its checksum together, so that bytes within a value are not taken for one by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from kipwire.model.errors import DecodeError
from kipwire.records.checks import error_at
from kipwire.records.heads import FORMATS, HEAD, RECORDS, SIZE, SIZE_END, BatchFormat
from kipwire.records.reading import MAX_BATCH_SIZE, MagicTwo, formats_of
from kipwire.tools.text import count_of

_FIRST_CHUNK, _CHUNK = 1 << 9, 1 << 20
"""Bytes that are read at once: few at first, since damage seldom begins with zeros."""
_OVERLAP = RECORDS - 1
"""Bytes that chunks have in common, so that a head lies within one of them."""
_ALLOWANCE = 1 << 24
"""Bytes of which a search may compute checksums beyond a small multiple of the bytes that it searches."""

# Offset, length, epoch or checksum, magic, and of magic 2 checksum, attributes, delta of the last offset. The bounds
# are wide: 2**56 offsets, 2 GiB. Zeros must not match, or space that was taken in advance would take very long.
_LENGTH = rb"(?:\0\0\0[\x0e-\xff]|\0\0[^\0].|\0[^\0]..|[\x01-\x7f]...)"
_MAGIC_2 = {
    "kafka": rb"\x02.{4}\0.[\0-\x7f]...",
    "kip-82": rb"\x02[\0-\x1f]",
    "kip-98 draft": rb"\x02\0[\0-\x1f][\0-\x7f]...",
}
_HEADS = {
    name: re.compile(rb"\0.{7}" + _LENGTH + rb".{4}(?:" + magic_2 + rb"|[\0\x01][\0-\x1f])", re.DOTALL)
    for name, magic_2 in _MAGIC_2.items()
}


class Tail(NamedTuple):
    """The bytes after the last whole batch of a segment that still grows."""

    position: int
    """Position of the next batch, when it is complete."""
    size: int
    """Bytes that are left, up to the end of the file; 0 if it ends with a batch."""
    is_zeros: bool
    """True for space that was taken in advance; false for a batch that is not complete."""


class Damage(NamedTuple):
    """Bytes of a segment that are not a whole batch."""

    position: int
    """Position where a batch should start."""
    end: int
    """Position of the next batch, or the end of the segment or of the part of it."""
    error: DecodeError
    is_batch: bool
    """True if these bytes are one batch by its own length, which is believed."""

    @property
    def text(self) -> str:
        """The error; also the bytes that are not read because of it, unless these are just one batch."""
        return str(self.error) if self.is_batch else f"{self.error}; {self.lost}"

    @property
    def lost(self) -> str:
        """The bytes that are not read, in words."""
        return f"bytes {self.position} to {self.end - 1} are not read"


class Head(NamedTuple):
    """The start of a batch that its length allows to be one."""

    position: int
    offset: int
    """The first offset of a batch of magic 2; the last one of an entry of magic 0 or 1."""
    last_offset: int
    size: int
    """Bytes of the whole batch."""
    magic: int

    @property
    def end(self) -> int:
        """The position after the batch."""
        return self.position + self.size


def _ascending(before: Head, head: Head, lowest: int) -> tuple[Head, Head]:
    """Make the offsets of two heads ascend by lowering the first or raising the next: no checksum covers base offsets.

    Args:
        before: a head, whose last offset is at least the lowest one.
        head: the next one, which begins at that last offset or before it.
        lowest: the lowest offset that the first head may end with.
    """
    highest = head.offset - 1
    if highest >= lowest:
        return before._replace(offset=min(before.offset, highest), last_offset=highest), head
    least = before.last_offset + 1
    return before, head._replace(offset=max(head.offset, least), last_offset=max(head.last_offset, least))


def head_at(file: BinaryIO, position: int, formats: tuple[BatchFormat, ...] = FORMATS) -> Head | None:
    """Read the head of the batch at a position; None if no batch can be there."""
    file.seek(position)
    return head_of(file.read(RECORDS), position, formats)


def head_of(data: bytes, position: int, formats: tuple[BatchFormat, ...] = FORMATS) -> Head | None:
    """Make the head of the first bytes of a batch, also of too few for a whole head; None if they start no batch."""
    if len(data) < HEAD.size:
        return None
    offset, length, _, magic = HEAD.unpack_from(data)
    if not 0 <= magic < len(formats) or length < formats[magic].smallest or offset < 0:
        return None
    last_offset, delta = offset, formats[magic].delta
    if delta and len(data) >= delta + 4:
        last_offset += int.from_bytes(data[delta : delta + 4], "big", signed=True) - formats[magic].beyond
    return Head(position, offset, last_offset, length + SIZE_END, magic)


def batch_heads(file: BinaryIO, start: int, end: int, magic_2: MagicTwo = "kafka") -> Iterator[Head]:
    """Yield the heads of the whole batches between two positions, by their lengths; few checksums are looked at.

    After bytes that are no batch, reading goes on where a whole batch starts again, so that damage hides nothing after
    it. As for `account`, the length of a batch is right if another batch follows at its end, or else if the checksum is
    right, or no other batch can be found after its start. The offsets of a log ascend: where two heads contradict this,
    the offsets of one head are changed to fit the others.

    Args:
        file: a segment.
        start: where a batch starts.
        end: of the file, or where reading is to end.
        magic_2: as for `read_batches`.

    Raises:
        OSError: the file cannot be read.
    """
    search = Search(file, start, end, magic_2)
    formats = search.formats
    position, head = start, head_at(file, start, formats)
    before: Head | None = None
    lowest = 0
    while position < end:
        found: int | None = None
        if head is not None and (next_position := head.end) <= end:
            following = head_at(file, next_position, formats) if next_position < end else None
            if (following is None or following.end > end) and not search.is_whole(head):
                found = search.next(position + 1)  # its length is not believed, if there is anything else
            if found is None:
                if before is not None:
                    if before.last_offset >= head.offset:
                        before, head = _ascending(before, head, lowest)
                    lowest = before.last_offset + 1
                    yield before
                before, position, head = head, next_position, following
                continue
        elif not _is_zeros(file, position, min(end, position + _CHUNK)):
            found = search.next(position + 1)  # not among zeros, which are many where space is taken in advance
        if found is None:
            break
        position, head = found, head_at(file, found, formats)
    if before is not None:
        yield before


def is_whole(file: BinaryIO, head: Head) -> bool:
    """Compare the checksum of a batch with its bytes.

    Raises:
        OSError: the file cannot be read.
    """
    return Search(file, head.position, head.end).is_whole(head)


def account(
    search: Search, name: str, cursor: tuple[int, int], error: DecodeError | None, *, grows: bool
) -> Tail | Damage:
    """Decide what bytes are from which no batch could be read.

    Args:
        search: the bytes: a file, or a part of it that ends where a batch starts. One for all accounts of these bytes.
        name: the file in errors.
        cursor: where a batch should start, before the limit of the search, and the number of batches before it.
        error: the fault of the batch; None if its length goes beyond the limit.
        grows: true if the limit is the end of a file that more is added to.

    Returns:
        A tail, which reaches to the limit, or damage of at least one byte.

    Raises:
        OSError: the file cannot be read.
    """
    file, limit, formats = search.file, search.limit, search.formats
    position, number = cursor
    location = number, position, name
    if _is_zeros(file, position, limit):
        if grows:
            return Tail(position, limit - position, True)
        reason = f"{count_of(limit - position, 'zero byte')} up to byte {limit}, where a batch should be"
        return Damage(position, limit, error_at(location, 2, formats[2].size_name, SIZE, reason), False)
    head = head_at(file, position, formats)
    if error is not None and head is not None and head.end < limit:
        next_head = head_at(file, head.end, formats)
        if next_head is not None and next_head.end <= limit:
            return Damage(position, head.end, error, True)  # nothing is searched: a file may have many broken batches
    following = search.next(position + 1)
    if error is not None:
        is_batch = following is None and head is not None and head.end == limit
        return Damage(position, following or limit, error, is_batch)
    ends_there = head is not None and search.is_whole(head._replace(size=limit - position))
    if grows and search.is_sure_of_none and not ends_there:
        return Tail(position, limit - position, False)
    what = "the batch" if head is None else f"a batch of {head.size:,} bytes"
    if following is not None:
        why = f"would go beyond byte {limit}, but another batch starts at byte {following}"
    elif ends_there:
        why = f"would go beyond byte {limit}, but its checksum is right for the bytes before that"
    elif grows:
        why = f"would go beyond byte {limit}, but there are whole batches before that"
    else:
        why = f"goes beyond byte {limit}, where it has to end; copy the file again"
    magic = 2 if head is None else head.magic
    return Damage(
        position, following or limit, error_at(location, magic, formats[magic].size_name, SIZE, f"{what} {why}"), False
    )


class Search:
    """Looks for whole batches in some bytes of a segment, as often as damage is found there."""

    def __init__(self, file: BinaryIO, start: int, limit: int, magic_2: MagicTwo = "kafka") -> None:
        """Prepare a search of the bytes from `start` to `limit`, where the last batch may end."""
        self.file = file
        self.formats = formats_of(magic_2)
        self._head = _HEADS[magic_2]
        self.limit = limit
        self.is_sure_of_none = False
        """True if the last search found nothing that might be a whole batch."""
        # Hostile heads could have checksums computed without end, in one search or in many.
        self._left = 4 * (limit - start) + _ALLOWANCE

    def next(self, position: int) -> int | None:
        """Find the first batch from a position on at which reading can go on; None if there is none.

        Such a batch is whole, and its end is the end of the file, or another head follows. So a batch within a value of
        a record is passed over, since the rest of the record follows that batch.
        """
        self.is_sure_of_none = True
        for head in self._heads(position):
            self._left -= head.size
            if self._left < 0:
                self.is_sure_of_none = False
                return None
            if not self.is_whole(head):
                continue
            self.is_sure_of_none = False
            following = head_at(self.file, head.end, self.formats) if head.end < self.limit else None
            if head.end == self.limit or (following is not None and following.offset > head.last_offset):
                return head.position
        return None

    def _heads(self, position: int) -> Iterator[Head]:
        """Find bytes that look like the head of a batch, if the batch ends at the limit or before."""
        while position < self.limit:
            self.file.seek(position)
            chunk = self.file.read(min(_CHUNK + _OVERLAP, self.limit - position))
            if not chunk:
                return
            at = 0 if chunk.strip(b"\0") else len(chunk)  # zeros are many where there are any
            while (found := self._head.search(chunk, at)) is not None:
                start = found.start()
                if start >= _CHUNK:
                    break
                head = head_of(chunk[start : start + RECORDS], position + start, self.formats)
                if head is not None and head.end <= self.limit:
                    yield head
                at = start + 1
            position += _CHUNK

    def is_whole(self, head: Head) -> bool:
        """Compare the checksum of a batch with its bytes."""
        format_ = self.formats[head.magic]
        if not format_.smallest + SIZE_END <= head.size <= MAX_BATCH_SIZE:
            return False
        crc = format_.crc
        self.file.seek(head.position + crc)
        expected = int.from_bytes(self.file.read(4), "big")
        computed, left = 0, head.size - crc - 4
        while left and (chunk := self.file.read(min(left, _CHUNK))):
            computed = format_.checksum(chunk, computed)
            left -= len(chunk)
        return not left and computed == expected


def _is_zeros(file: BinaryIO, start: int, end: int) -> bool:
    """Look whether there is nothing but zeros between two positions."""
    file.seek(start)
    size = _FIRST_CHUNK
    while start < end and (chunk := file.read(min(size, end - start))):
        if chunk.strip(b"\0"):
            return False
        start += len(chunk)
        size = _CHUNK
    return True
