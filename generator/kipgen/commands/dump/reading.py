"""The batches of a log file, and what is damaged in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kipwire.errors import DecodeError
from kipwire.logs.skimming import Head, batch_heads
from kipwire.records import Bounds, RecordBatch, read_segment

_BATCH = re.compile(r"batches\[\d+\]\.?")
_CHUNK = 1 << 20


class Damage(NamedTuple):
    """Something in a log file that cannot be read."""

    position: int
    """Where the batch starts."""
    at: int
    """The byte of the file that is wrong."""
    path: str
    """The field of the batch; "" for the batch itself."""
    reason: str
    goes_on: bool
    """Whether reading continues after that batch."""


LOST = -1
"""The position of the next batch, if it cannot be found."""


class Rest(NamedTuple):
    """What follows the last whole batch of a file."""

    position: int
    """Where the next batch will start; `LOST` after a batch whose length is wrong."""
    size: int
    """0 if the file ends with a batch."""
    is_zeros: bool
    """Whether the space was only taken in advance."""


def read_file(path: Path, start: int, bounds: Bounds | None) -> Iterator[RecordBatch | Damage]:
    """The batches of a file from a position on; after a damaged one those after it, if its length is right.

    Raises:
        OSError: it cannot be read.
    """
    position: int | None = start
    while position is not None:
        try:
            for batch in read_segment(path, start=position, bounds=bounds):
                yield batch
                position = batch.position + batch.size
            return
        except DecodeError as error:
            broken = _batch_at(path, position, error.offset)
            goes_on = broken is not None
            yield damage_of(error, path, broken.position if broken else _start_of(path, position), goes_on)
            position = broken.position + broken.size if broken else None


def damage_of(error: DecodeError, path: Path, position: int, goes_on: bool) -> Damage:
    """The error about a batch, without its number, which nobody could look up."""
    reason = error.reason.removesuffix(f" (in {path})")
    return Damage(position, error.offset, _BATCH.sub("", error.path, count=1), reason, goes_on)


def rest_of(path: Path, position: int, end: int) -> Rest:
    """What follows the last whole batch; batches that were passed over are batches, too.

    Args:
        path: the file.
        position: where a batch may start.
        end: the size of the file, or what it was.
    """
    with path.open("rb") as file:
        for head in batch_heads(file, position, end):
            position = head.position + head.size
        file.seek(position)
        left = end - position
        is_zeros = True
        while is_zeros and left > 0 and (chunk := file.read(min(_CHUNK, left))):
            is_zeros = not chunk.strip(b"\0")
            left -= len(chunk)
    return Rest(position, end - position, is_zeros)


def _batch_at(path: Path, position: int, at: int) -> Head | None:
    """The batch that has a byte, as far as the lengths of batches say so."""
    with path.open("rb") as file:
        heads = batch_heads(file, position, path.stat().st_size)
        return next((head for head in heads if at < head.position + head.size), None)


def _start_of(path: Path, position: int) -> int:
    """Where the first batch starts whose length is wrong."""
    return rest_of(path, position, path.stat().st_size).position
