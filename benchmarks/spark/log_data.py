"""Write log folders of any size, with known content."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kafka_messages.offset_commit_key.v0 import OffsetCommitKey
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kipwire.records import Record, with_offsets, write_batch

if TYPE_CHECKING:
    from kipwire.records.compression import Compression

MIB = 1 << 20
SEGMENT_BYTES = 64 * MIB
TOPIC = "events"
COORDINATORS = "__consumer_offsets"
PARTITIONS = 4
RECORDS_OF_A_BATCH = 500
GROUPS = 25
COMMITTED_PARTITIONS = 40
"""Number of partitions of the topic for which a group commits an offset at once."""
STEPS = 20
"""Number of commits of each group until they repeat."""
RECORDS_OF_A_STEP = 1000
_TIME = 1_700_000_000_000


class LogSize(NamedTuple):
    """Numbers of segments, batches and records of a log."""

    segments: int
    """In each partition."""
    batches: int
    """In each segment."""
    batch: bytes
    """The batch that is repeated, each time at other offsets."""
    in_batch: int
    """Records of a batch."""

    @property
    def records(self) -> int:
        """Number of records of a partition, which is also its end offset."""
        return self.segments * self.batches * self.in_batch


def log_size(compression: Compression, of_partition: int) -> LogSize:
    """Compute the size of a log whose partitions have about this many bytes."""
    batch = write_batch(_records(), compression=compression)
    segments = ceil(of_partition / SEGMENT_BYTES)
    return LogSize(segments, max(1, of_partition // segments // len(batch)), batch, RECORDS_OF_A_BATCH)


def write_log(folder: Path, size: LogSize, partitions: int = PARTITIONS) -> None:
    """Write the segments of some partitions."""
    for partition in range(partitions):
        _write_partition(folder / f"{TOPIC}-{partition}", size, [size.batch])


def _write_partition(place: Path, size: LogSize, cycle: list[bytes]) -> None:
    """Write segments with the batches in turn."""
    place.mkdir(parents=True)
    offset = number = 0
    for _ in range(size.segments):
        with (place / f"{offset:020}.log").open("wb") as file:
            for _ in range(size.batches):
                file.write(with_offsets(cycle[number % len(cycle)], offset))
                offset += size.in_batch
                number += 1


def _records() -> list[Record]:
    """Make records of about 110 bytes, a quarter of them with a header; a codec halves the values, about."""
    return [
        Record(
            offset=number,
            timestamp=_TIME + number,
            key=b"user-%08d" % (number * 7919 % 100_000),
            value=b'{"id":%d,"kind":"order","amount":%d,"currency":"EUR","note":"%s"}'
            % (number, number * 31337 % 99_999, b"abcdefgh"[number % 4 :] * 4),
            headers=[("trace", b"%016x" % (number * 2654435761))] if number % 4 == 0 else [],
        )
        for number in range(RECORDS_OF_A_BATCH)
    ]


# Commits.


def group_name(number: int) -> str:
    return f"group-{number:02}"


def last_committed() -> int:
    """Return the offset that each group has committed last."""
    return (STEPS - 1) * RECORDS_OF_A_STEP


def commits_size(of_partition: int) -> LogSize:
    """Compute the size of a partition of commits, in which all commits repeat a whole number of times."""
    batches = list(_commits())
    cycles = max(1, of_partition // sum(map(len, batches)))
    return LogSize(1, cycles * len(batches), b"", COMMITTED_PARTITIONS)


def write_commits(folder: Path, size: LogSize, partitions: int = PARTITIONS) -> None:
    """Write segments of commits."""
    cycle = list(_commits())
    for partition in range(partitions):
        _write_partition(folder / f"{COORDINATORS}-{partition}", size, cycle)


def _commits() -> Iterator[bytes]:
    for step in range(STEPS):
        for group in range(GROUPS):
            yield write_batch([_commit(group, partition, step) for partition in range(COMMITTED_PARTITIONS)])


def _commit(group: int, partition: int, step: int) -> Record:
    time = _TIME + RECORDS_OF_A_BATCH + step
    key = OffsetCommitKey(group=group_name(group), topic=TOPIC, partition=partition)
    value = OffsetCommitValue(offset=step * RECORDS_OF_A_STEP, leader_epoch=3, metadata="", commit_timestamp=time)
    return Record(offset=partition, timestamp=time, key=b"\0\1" + key.encode(), value=b"\0\4" + value.encode())


# More partitions of the same content.


def link_partitions(source: Path, folder: Path, partitions: int) -> int:
    """Fill a log folder with copies of the partitions in `source`, in turn; return the bytes of all segments.

    Files are linked where the file system can do so, else copied.
    """
    size = 0
    for topic in (TOPIC, COORDINATORS):
        for partition in range(partitions):
            place = folder / f"{topic}-{partition}"
            place.mkdir(parents=True)
            for segment in (source / f"{topic}-{partition % PARTITIONS}").glob("*.log"):
                _link(segment, place / segment.name)
                size += segment.stat().st_size
    return size


def _link(source: Path, target: Path) -> None:
    with suppress(OSError):
        os.link(source, target)
        return
    shutil.copyfile(source, target)
