"""The heads of the batches in a file, by their lengths alone: nothing is checked or decoded."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct as Packer
from typing import BinaryIO, NamedTuple

from kipwire.records.heads import FORMATS, HEAD, LAST_OFFSET_DELTA, SIZE_END

_LAST_OFFSET_DELTA = Packer(">i")
_HEAD_BYTES = LAST_OFFSET_DELTA + _LAST_OFFSET_DELTA.size


class Head(NamedTuple):
    """The start of a batch."""

    position: int
    offset: int
    """That of the first record in a batch of magic 2, and of the last one in an entry of magic 0 or 1."""
    last_offset: int
    size: int
    """Bytes of the whole batch."""


def batch_heads(file: BinaryIO, start: int, end: int) -> Iterator[Head]:
    """The whole batches between two positions, as long as their lengths are valid; nothing is checked or decoded.

    Args:
        file: a segment.
        start: where a batch starts.
        end: of the file, or where reading is to end.
    """
    while (head := batch_head(file, start)) is not None and head.position + head.size <= end:
        yield head
        start += head.size


def batch_head(file: BinaryIO, position: int) -> Head | None:
    """The head of the batch that starts there; None if it cannot be a batch."""
    file.seek(position)
    data = file.read(_HEAD_BYTES)
    if len(data) < HEAD.size:
        return None
    offset, size, _, magic = HEAD.unpack_from(data)
    if not 0 <= magic < len(FORMATS) or size < FORMATS[0].smallest or offset < 0:
        return None
    last_offset = offset
    if magic == 2 and len(data) == _HEAD_BYTES:
        last_offset += _LAST_OFFSET_DELTA.unpack_from(data, LAST_OFFSET_DELTA)[0]
    return Head(position, offset, last_offset, size + SIZE_END)
