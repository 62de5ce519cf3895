"""Log segments: the files that brokers keep partitions and snapshots in.

Batches, damage and a tail fill a segment without gaps; `accounting` has the rule. `read_part` gives all of them, for
readers that go on after damage, and says which batches are misplaced, by the rule in `offsets`. `read_segment` gives
the batches and makes an error of damage.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from kipwire.logs.accounting import Damage, Search, Tail, account
from kipwire.logs.names import base_offset_of, segment_after, snapshot_end_of
from kipwire.logs.offsets import Misplaced, OffsetOrder, Offsets, Passing, offsets_of_segment
from kipwire.model.errors import DecodeError
from kipwire.records.bounds import Bounds
from kipwire.records.model import RecordBatch
from kipwire.records.reading import Cursor, batches_in, rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from kipwire.records.reading import SegmentOptions

_CHUNK_OF_BATCHES = 1 << 18
"""Bytes that are read at once; more if a batch has more."""
_CHUNK_OF_HEADS = 1 << 14
"""Bytes that are read at once if batches may be skipped."""
_FIRST_CHUNK = 1 << 9


class SegmentBatches(Iterator[RecordBatch]):
    """The batches of a segment, one by one, and what follows the last of them."""

    def __init__(self, batches: Iterator[RecordBatch | Misplaced | Damage | Tail]) -> None:
        """Take what `read_part` yields."""
        self.tail: Tail | None = None
        """After the last batch of a file that grows: the bytes that are left, perhaps none. None until then."""
        self._batches = self._read(batches)

    def _read(self, batches: Iterator[RecordBatch | Misplaced | Damage | Tail]) -> Iterator[RecordBatch]:
        for batch in batches:
            if isinstance(batch, RecordBatch):
                yield batch
            elif isinstance(batch, Tail):
                self.tail = batch
            else:
                raise batch.error

    def __iter__(self) -> Iterator[RecordBatch]:
        return self._batches  # a loop over the generator itself takes no call of `__next__` here

    def __next__(self) -> RecordBatch:
        return next(self._batches)


def may_grow(path: str | os.PathLike[str]) -> bool:
    """Decide by the names of the files beside it whether a broker may still add to a file.

    A broker adds to the last segment of a log. A segment that another one follows is complete, and so is a snapshot.

    Raises:
        OSError: the folder cannot be listed.
    """
    file = Path(path)
    return snapshot_end_of(file.name) is None and segment_after(file) is None


def read_segment(
    path: str | os.PathLike[str],
    *,
    start: int = 0,
    grows: bool | None = None,
    bounds: Bounds | None = None,
    **options: Unpack[SegmentOptions],
) -> SegmentBatches:
    """Read the batches of a log segment (`.log`) or a snapshot (`.checkpoint`), with one in memory at a time.

    Every byte belongs to a batch, to an error, or to the `tail` of the result: a segment that is still written may end
    with a batch that is not complete, or with zeros, for which space was taken in advance.

    Args:
        path: the file.
        start: where to begin: 0, or where a batch starts, such as `position + size` of the last one that was read.
        grows: True if the file may have a tail; by default the result of `may_grow`.
        bounds: batches that cannot have records within them are passed over by their heads: nothing else of them is
            read or checked. All records of the other batches are there; `bounds.has` filters them.
        options: `magic_2`, `check_crcs`, `max_decompressed_size` and `max_items`, as for `read_batches`, and
            `max_batch_size`: bytes that one batch may have in the file, which are read at once; 100 MiB by default.

    Returns:
        An iterator over the batches. Its `tail` has the position, the number and the kind of the bytes that are left.

    Raises:
        DecodeError: bytes are not a batch; the path says which one, the offset counts from the start of the file,
            and the reason names the file. It is raised while the batches are read, like the others.
        OSError: the file cannot be read.
        ValueError: `start` lies outside the file, or `magic_2` is another text.
    """
    rules_of(**options)  # a wrong option is an error at once

    def batches() -> Iterator[RecordBatch | Misplaced | Damage | Tail]:
        with open(path, "rb") as file:  # noqa: PTH123  a path may be given as a text
            size = os.fstat(file.fileno()).st_size
            if not 0 <= start <= size:
                raise ValueError(f"position {start} is outside {os.fspath(path)}, which has {size} bytes")
            name = Path(path).name
            following = segment_after(Path(path))
            yield from read_part(
                file,
                os.fspath(path),
                start=start,
                grows=snapshot_end_of(name) is None and following is None if grows is None else grows,
                bounds=bounds,
                offsets=offsets_of_file(Path(path), following),
                **options,
            )

    return SegmentBatches(batches())


def offsets_of_file(path: Path, following: Path | None) -> Offsets:
    """Return the offsets that a file can have, by its name and the name of the next segment, if there is one."""
    base = base_offset_of(path.name)
    end = None if following is None else base_offset_of(following.name)
    return Offsets() if base is None else offsets_of_segment(base, end)


def read_part(
    file: BinaryIO,
    name: str,
    *,
    start: int = 0,
    end: int | None = None,
    grows: bool,
    bounds: Bounds | None = None,
    offsets: Offsets = Offsets(),  # noqa: B008  it is immutable
    **options: Unpack[SegmentOptions],
) -> Iterator[RecordBatch | Misplaced | Damage | Tail]:
    """Read a part of an open segment: batches and damage, which fill it exactly; a file that grows ends with a tail.

    Args:
        file: the segment; it may be left at any position.
        name: the file in errors.
        start: where a batch starts.
        end: where the part ends. Unless the file grows, the last batch ends here, too. By default the end of the file.
        grows: true for the last part of a file that may still grow: batches that start before `end` are read as far
            as they are complete.
        bounds: as for `read_segment`.
        offsets: the valid ones.
        options: as for `read_segment`.

    Yields:
        Batches, also misplaced ones, and damage with its error. If the file grows, its tail is the last item, even
        without a byte. A file that was cut off after its size was looked for ends like one that grows.

    Raises:
        OSError: the file cannot be read.
    """
    size = file.seek(0, os.SEEK_END)
    if end is None:
        end = size
    grows = grows or size < end
    limit = size if grows else end
    cursor = Cursor(start)
    rules = rules_of(**options)
    search = Search(file, start, limit, rules.magic_2)
    order = OffsetOrder(offsets, name)
    may_have = None if bounds is None else Passing(bounds, order, rules.magic_2).may_have
    take = _reader(file, _CHUNK_OF_BATCHES if bounds is None else _CHUNK_OF_HEADS)
    while cursor.position < min(end, limit):
        error = None
        batches = batches_in(take, cursor, limit, rules, file=name, may_have=may_have)
        try:
            for batch in batches:
                if batch.position >= end:
                    return
                yield order.placed(batch, cursor.number)
        except DecodeError as caught:
            error = caught
        if cursor.position >= min(end, limit):
            break
        found = account(search, name, (cursor.position, cursor.number), error, grows=grows)
        yield found
        if isinstance(found, Tail):
            return
        cursor = Cursor(found.end, cursor.number + 1)
    if grows and cursor.position >= limit:
        yield Tail(limit, 0, False)


def _reader(file: BinaryIO, largest: int) -> Callable[[int, int], bytes]:
    """Make a function that reads bytes by position and size, and at most `largest` bytes in advance."""
    chunk, chunk_start, chunk_size = b"", 0, _FIRST_CHUNK

    def take(position: int, size: int) -> bytes:
        nonlocal chunk, chunk_start, chunk_size
        at = position - chunk_start
        if at < 0 or at + size > len(chunk):  # slices of what is in memory take a third of the time of reads
            file.seek(position)
            chunk, chunk_start, at = file.read(max(size, chunk_size)), position, 0
            chunk_size = min(2 * chunk_size, largest)  # little is read where reading starts again after each error
        return chunk[at : at + size]

    return take
