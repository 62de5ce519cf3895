"""Segments written from batches, in folders of partitions, as a broker has them.

Batches are written in the order of the lines and offsets must ascend, as in a log: lines of two copies of a partition
are an error and not mixed. Segments are cut as the log's own were if the lines have their names, else by size, and
always before an offset that the index of a segment could not hold. A batch whose checksum is the one in its line has
the bytes of the log; the counts say how many have, and why others have not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

from kipwire.console.dump_lines import JsonBatch, LineError
from kipwire.logs.names import SEGMENT, Partition
from kipwire.model.errors import EncodeError
from kipwire.records.heads import HIGHEST_INT32
from kipwire.records.reading import formats_of
from kipwire.records.rebuilding import rebuilt_batch

SEGMENT_BYTES = 2**30
"""Kafka's default for `segment.bytes`."""


@dataclass
class Counts:
    """Counts of what was written."""

    batches: int = 0
    records: int = 0
    same: int = 0
    """Batches with the checksum in the dump: their bytes equal the log's."""
    recompressed: int = 0
    """Other batches that are compressed: their records equal the lines', and their bytes differ."""
    changed: int = 0
    """Other batches that are not: the lines were edited, or the log had bytes that nothing reads."""
    fewer: int = 0
    """Batches with missing records, and entries of message sets that are left out since they have none."""
    segments: int = 0
    size: int = 0
    """Bytes of all segments."""


class _Segment(NamedTuple):
    path: Path
    base_offset: int
    file: str | None
    """The file that its first batch was in."""


@dataclass
class _Log:
    """The log of a partition, as far as it is written."""

    segment: _Segment
    size: int
    """Bytes of that segment."""
    last_offset: int
    place: str
    """The line of the last batch."""


class Writer:
    """Writes batches into a folder."""

    def __init__(self, folder: Path, partition: Partition | None, segment_bytes: int | None, *, fewer: bool) -> None:
        """Make one.

        Args:
            folder: for the folders of partitions.
            partition: for batches whose lines have none.
            segment_bytes: bytes of a segment at most, unless one batch has more; None: the log's own segments, by their
                names, and elsewhere `SEGMENT_BYTES`.
            fewer: True to write batches with missing records.
        """
        self.counts = Counts()
        self._folder = folder
        self._partition = partition
        self._segment_bytes = segment_bytes
        self._takes_fewer = fewer
        self._written: dict[tuple[Partition, str], _Log] = {}
        """Logs by partition and name of a snapshot, which is a separate log."""
        self._open: tuple[Path, BinaryIO] | None = None

    def write(self, batch: JsonBatch) -> None:
        """Write a batch after the others of its partition.

        Raises:
            LineError: the batch does not fit its lines, or earlier batches.
            MissingExtraError: the codec needs a library that is not installed.
            OSError: the segment cannot be written.
        """
        partition = batch.partition or self._partition
        if partition is None:
            raise LineError(
                f'{batch.place}: "topic" is null, since the log was not in the folder of a partition; name one with '
                "--partition, such as --partition orders/0"
            )
        data = self._bytes(batch)
        if data is None:
            return
        head = batch.head
        key = partition, batch.snapshot
        log = self._written.get(key)
        if log is not None and head.base_offset <= log.last_offset:
            raise LineError(
                f'{batch.place}: "base_offset" {head.base_offset} is not above {log.last_offset}, where the batch of '
                f"{log.place} ends; give the lines of one copy of {partition.topic} partition {partition.number}, "
                "in their order"
            )
        if log is None or self._is_full(log, batch, len(data)):
            segment = self._segment(partition, batch, -1 if log is None else log.last_offset)
            log = self._written[key] = _Log(segment, 0, -1, "")
            self.counts.segments += 1
        self._file(log.segment.path).write(data)
        log.size += len(data)
        log.last_offset, log.place = max(head.last_offset, head.base_offset), batch.place
        self._count(batch, data)

    def _bytes(self, batch: JsonBatch) -> bytes | None:
        """Encode a batch; None for an entry of a message set of which nothing is left."""
        count = len(batch.records)
        if batch.count is not None and count != batch.count:
            if not self._takes_fewer:
                raise LineError(
                    f"{batch.place}: the batch declares {batch.count} in records_count, and {count} follow; dump with "
                    "--records and without bounds, or give --allow-fewer"
                )
            self.counts.fewer += 1
        if not count and batch.is_entry:
            self.counts.fewer += batch.count is None
            return None
        try:
            return rebuilt_batch(batch.head, batch.records, batch.magic_2)
        except EncodeError as error:
            raise LineError(f"{batch.place}: {error}") from None

    def _is_full(self, log: _Log, batch: JsonBatch, size: int) -> bool:
        if batch.snapshot:
            return False
        if batch.head.last_offset - log.segment.base_offset > HIGHEST_INT32:
            return True  # an index could not hold it
        if self._segment_bytes is not None:
            return log.size + size > self._segment_bytes
        if batch.segment is not None and log.segment.file is not None:
            return batch.file != log.segment.file
        return log.size + size > SEGMENT_BYTES

    def _segment(self, partition: Partition, batch: JsonBatch, last_offset: int) -> _Segment:
        """Make a new segment, with the first offset of the one that the batch was in, if it can have that."""
        base = batch.head.base_offset
        if base < 0:
            raise LineError(f'{batch.place}: "base_offset" is {base}; a segment begins with 0 or more')
        if batch.segment is not None and self._segment_bytes is None and last_offset < batch.segment <= base:
            is_near = batch.head.last_offset - batch.segment <= HIGHEST_INT32
            base = batch.segment if is_near else base
        folder = self._folder / f"{partition.topic}-{partition.number}"
        folder.mkdir(exist_ok=True)
        return _Segment(folder / (batch.snapshot or f"{base:020}{SEGMENT}"), base, batch.file)

    def _file(self, path: Path) -> BinaryIO:
        """Open the file of a segment; only the one that was written to last is open."""
        if self._open is None or self._open[0] != path:
            self.close()
            self._open = path, path.open("ab")
        return self._open[1]

    def close(self) -> None:
        """Close the file that is open."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    def _count(self, batch: JsonBatch, data: bytes) -> None:
        counts = self.counts
        counts.batches += 1
        counts.records += len(batch.records)
        counts.size += len(data)
        at = formats_of(batch.magic_2)[batch.head.magic].crc
        if int.from_bytes(data[at : at + 4], "big") == batch.crc:
            counts.same += 1
        elif batch.head.codec:
            counts.recompressed += 1
        else:
            counts.changed += 1
