"""The batches of a log file, and what is damaged in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kipwire.errors import DecodeError
from kipwire.records import Bounds, RecordBatch, accounting
from kipwire.records.accounting import Tail
from kipwire.records.segments import may_grow, read_part

_BATCH = re.compile(r"batches\[\d+\]\.?")


class Damage(NamedTuple):
    """Something in a log file that cannot be read."""

    position: int
    """Where the batch starts."""
    at: int
    """The byte of the file that is wrong."""
    path: str
    """The field of the batch; "" for the batch itself."""
    reason: str
    lost: str
    """The bytes that are not read because of it, in words; "" if they are the batch alone."""


def read_file(path: Path, start: int, bounds: Bounds | None) -> Iterator[RecordBatch | Damage | Tail]:
    """Read the batches of a file from a position on, and what is damaged between them; a log's last file has a tail.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        for item in read_part(file, str(path), start=start, grows=may_grow(path), bounds=bounds):
            if isinstance(item, accounting.Damage):
                yield damage_of(item.error, path, item.position, "" if item.is_batch else item.lost)
            else:
                yield item


def damage_of(error: DecodeError, path: Path, position: int, lost: str = "") -> Damage:
    """Describe the error about a batch, without the number of the batch, which nobody could look up."""
    reason = error.reason.removesuffix(f" (in {path})")
    return Damage(position, error.offset, _BATCH.sub("", error.path, count=1), reason, lost)
