"""The part of each log that a command line asks for: bounds, offsets counted from its end, or its last records.

An end has no record of its own: markers of transactions and offsets that compaction has removed may come last. So the
last records are counted backwards, in chunks that are read forwards, until there are enough. Only numbers are kept, and
a chunk is read once more to find the record to begin with, so a million records take no more memory than ten. In a
segment, chunks begin where its index says, if there is one that fits.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from itertools import groupby
from typing import NamedTuple

from kipwire.console.dump.log_files import LogFile, within
from kipwire.console.dump.logs import Item
from kipwire.console.dump.reading import read_file
from kipwire.logs.accounting import Head, batch_heads, head_at
from kipwire.logs.partition_files import offset_index
from kipwire.model.errors import DecodeError, KipwireError
from kipwire.records import Bounds, RecordBatch
from kipwire.records.reading import MagicTwo, formats_of

MOST_PLACES = 1 << 12
"""Places in a file that are kept."""

Chunk = Callable[[], Iterable[Item]]
"""Reads some batches of a log in their order, as often as it is called."""


class Wanted(NamedTuple):
    """A part of each log."""

    bounds: Bounds = Bounds()
    """Offsets below 0 count from the end of the log; then the first one bounds nothing that is added later."""
    last: int | None = None
    """Number of records, the last ones before the upper bounds; None: all of them."""

    @property
    def needs_end(self) -> bool:
        """True if an offset counts from the end of the log."""
        return any(offset is not None and offset < 0 for offset in self.bounds[:2])

    @property
    def goes_back(self) -> bool:
        """True if the end of a log has to be known before its first line."""
        return self.needs_end or self.last is not None

    def at(self, end: int) -> Bounds:
        """Return the bounds in a log with this end."""
        first, last = (
            max(end + offset, 0) if offset is not None and offset < 0 else offset for offset in self.bounds[:2]
        )
        return self.bounds._replace(first_offset=first, end_offset=last)


def logs_of(files: Iterable[LogFile]) -> list[list[LogFile]]:
    """Group files by log: segments of one folder that follow each other are one, any other file is one by itself."""
    return [
        [*some] for _, some in groupby(files, lambda one: one.path.parent if one.base_offset is not None else one.path)
    ]


class Part(NamedTuple):
    """The part of one log that is wanted."""

    bounds: Bounds
    file: LogFile | None = None
    """The file that it begins in, if that is known."""
    position: int = 0
    """Position of a batch in that file; no batch before it is wanted."""

    def start_in(self, file: LogFile) -> int:
        """Return where to begin in a file."""
        return self.position if file == self.file else 0


def part_of(log: Iterable[LogFile], wanted: Wanted, magic_2: MagicTwo) -> Part:
    """Find the wanted part of a log.

    Raises:
        OSError: a file cannot be read.
        MissingExtraError: the library of a codec is not installed, and a batch has to be decoded.
    """
    if not wanted.goes_back:
        return Part(wanted.bounds)
    files = sorted(log, key=lambda one: one.path)
    places_in = lru_cache(partial(_places, magic_2=magic_2))
    bounds = wanted.at(_end_of(files, places_in, magic_2)) if wanted.needs_end else wanted.bounds
    if wanted.last is not None:
        there = reversed([*within(files, bounds)])
        chunks = (chunk for file in there for chunk in _backwards(file, places_in(file), bounds, magic_2))
        bounds = bounds._replace(first_offset=first_of_last(chunks, wanted.last, bounds))
    begins = next(within(files, bounds), None)
    if begins is None or bounds.first_offset is None:
        return Part(bounds)
    return Part(bounds, begins, _position_before(begins, places_in(begins), bounds.first_offset, magic_2))


def first_of_last(chunks: Iterable[Chunk], number: int, bounds: Bounds) -> int | None:
    """Find the offset at which the last records begin that a consumer gets; None if there are fewer.

    Args:
        chunks: of a log, from its end to its start.
        number: of records, at least 1.
        bounds: of the records that count.

    Raises:
        MissingExtraError: as `part_of`.
    """
    missing = number
    for chunk in chunks:
        first, count = None, 0
        for batch in _batches(chunk):
            found = _count(batch, bounds)
            first = batch.base_offset if found and first is None else first
            count += found
        if count >= missing:
            return first if count == missing else _offset_after(chunk, count - missing, bounds)
        missing -= count
    return None


def _batches(chunk: Chunk) -> Iterator[RecordBatch]:
    return (item for item in chunk() if isinstance(item, RecordBatch) and not item.is_control)


def _count(batch: RecordBatch, bounds: Bounds) -> int:
    """Count the records of a batch within bounds, by its head if that is enough; a broken one has none."""
    with suppress(DecodeError):
        if batch.records_count is not None and not _is_cut(batch, bounds):
            return batch.records_count
        return sum(map(bounds.has, batch.records))
    return 0


def _is_cut(batch: RecordBatch, bounds: Bounds) -> bool:
    """Decide if some records of a batch may be out of bounds."""
    return (
        bounds.has_times
        or (bounds.first_offset is not None and batch.base_offset < bounds.first_offset)
        or (bounds.end_offset is not None and batch.last_offset >= bounds.end_offset)
    )


def _offset_after(chunk: Chunk, skipped: int, bounds: Bounds) -> int | None:
    """Find the offset of the record that follows a number of others in a chunk; the last one if it is gone by now."""
    found = None
    for batch in _batches(chunk):
        count = _count(batch, bounds)
        if skipped < count:
            with suppress(KipwireError):  # what shows the batch also says what is wrong with it
                if skipped:
                    return [one.offset for one in batch.records if bounds.has(one)][skipped]
                return batch.base_offset
            return batch.last_offset
        skipped -= count
        found = batch.last_offset
    return found


Places = Sequence[int]
"""Positions in a file at which batches begin, in their order; there may be more batches."""


def _end_of(files: list[LogFile], places_in: Callable[[LogFile], Places], magic_2: MagicTwo) -> int:
    """Find the offset after the last one of a log; 0 if neither batches nor names have any."""
    for file in reversed(files):
        last = deque(_heads(file, magic_2, max(places_in(file), default=0)), maxlen=1)
        if last or file.base_offset is not None:
            return max(file.base_offset or 0, *(head.last_offset + 1 for head in last), 0)
    return 0


def _backwards(file: LogFile, places: Places, bounds: Bounds, magic_2: MagicTwo) -> Iterator[Chunk]:
    """Yield chunks that fill a file, from its end to its start."""
    end = None
    for start in reversed(places):
        yield partial(read_file, file.path, start, bounds, magic_2, end=end)
        end = start


def _position_before(file: LogFile, places: Places, offset: int, magic_2: MagicTwo) -> int:
    """Find a place with no batch before it that has an offset or a later one; the last of them that is known."""
    formats = formats_of(magic_2)
    with file.path.open("rb") as opened:

        def last_offset(place: int) -> int:
            head = head_at(opened, place, formats)
            return -1 if head is None else head.last_offset

        at = bisect_left(places, offset, key=last_offset)
    return places[at - 1] if at else 0


def _places(file: LogFile, magic_2: MagicTwo) -> Places:
    """Find places that are spread over a file: by its index if that fits, else by all heads."""
    with suppress(OSError, DecodeError, ValueError):  # it is missing or damaged, which is no matter here
        return _indexed_places(file, magic_2)
    places: list[int] = []
    distance = 1
    for number, head in enumerate(_heads(file, magic_2)):
        if number % distance == 0:
            places.append(head.position)
        if len(places) > MOST_PLACES:
            del places[1::2]
            distance *= 2
    return places


def _indexed_places(file: LogFile, magic_2: MagicTwo) -> Places:
    """Find the places of an index.

    Raises:
        OSError: there is none.
        DecodeError: it is damaged.
        ValueError: it does not fit the file.
    """
    with file.path.with_suffix(".index").open("rb") as index:
        entries = [*offset_index(index, file.base_offset or 0)]
    size, formats = file.path.stat().st_size, formats_of(magic_2)
    entries = entries[:: len(entries) // MOST_PLACES + 1]
    with file.path.open("rb") as opened:
        for offset, position in entries:
            head = head_at(opened, position, formats)
            if head is None or head.end > size or head.last_offset > offset:
                raise ValueError(f"{position} is not the position of offset {offset}")
    places = [entry.position for entry in entries]
    return places if places[:1] == [0] else [0, *places]


def _heads(file: LogFile, magic_2: MagicTwo, start: int = 0) -> Iterator[Head]:
    """Yield the heads of a file's batches from a place on; none of one that a broker has removed meanwhile."""
    with suppress(FileNotFoundError), file.path.open("rb") as opened:
        yield from batch_heads(opened, start, file.path.stat().st_size, magic_2)
