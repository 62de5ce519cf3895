"""The names that brokers give to the folders of partitions and to the files in them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

SEGMENT, SNAPSHOT = ".log", ".checkpoint"

_FOLDER = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>[0-9]{1,10})")
_SEGMENT = re.compile(r"(?P<base_offset>[0-9]{20})\.log")
_SNAPSHOT = re.compile(r"(?P<end_offset>[0-9]{20})-(?P<epoch>[0-9]{10})\.checkpoint")
_HIGHEST_INT32 = 2**31 - 1
_HIGHEST_INT64 = 2**63 - 1


class Partition(NamedTuple):
    """What the name of a folder says."""

    topic: str
    partition: int


class SnapshotEnd(NamedTuple):
    """What the name of a snapshot says."""

    end_offset: int
    """The snapshot covers all records before this offset."""
    epoch: int
    """The epoch of the leader that wrote the last of them."""


def partition_of(folder: str) -> Partition | None:
    """The partition whose log is in a folder of that name, such as `orders-0`; None if no broker gives such a name."""
    found = _FOLDER.fullmatch(folder)
    if found is None or int(found["partition"]) > _HIGHEST_INT32:
        return None
    return Partition(found["topic"], int(found["partition"]))


def base_offset_of(file: str) -> int | None:
    """The offset at which the segment with that file name starts; None if it is not the name of a segment."""
    found = _SEGMENT.fullmatch(file)
    if found is None or int(found["base_offset"]) > _HIGHEST_INT64:
        return None
    return int(found["base_offset"])


def snapshot_end_of(file: str) -> SnapshotEnd | None:
    """Where the snapshot with that file name ends; None if it is not the name of a snapshot."""
    found = _SNAPSHOT.fullmatch(file)
    if found is None or int(found["end_offset"]) > _HIGHEST_INT64 or int(found["epoch"]) > _HIGHEST_INT32:
        return None
    return SnapshotEnd(int(found["end_offset"]), int(found["epoch"]))


def segments_of(folder: Path) -> list[Path]:
    """The segments in the folder of a partition, in the order of their offsets.

    Raises:
        OSError: the folder cannot be read.
    """
    return sorted(file for file in folder.iterdir() if base_offset_of(file.name) is not None and file.is_file())


def segment_after(segment: Path) -> Path | None:
    """The next segment of the same log; None if there is none yet, or a file has no name that says so."""
    if base_offset_of(segment.name) is None:
        return None
    return next((file for file in segments_of(segment.parent) if file.name > segment.name), None)
