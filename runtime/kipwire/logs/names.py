"""The names of partitions' folders and of the files in them, as brokers give them, and of copies in tiered storage."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from kipwire.records.heads import HIGHEST_INT32, HIGHEST_OFFSET

SEGMENT, SNAPSHOT = ".log", ".checkpoint"

_FOLDER = re.compile(r"(?P<topic>[a-zA-Z0-9._-]{1,249})-(?P<partition>[0-9]{1,10})")
_SEGMENT = re.compile(r"(?P<base_offset>[0-9]{20})\.log")
_SNAPSHOT = re.compile(r"(?P<end_offset>[0-9]{20})-(?P<epoch>[0-9]{10})\.checkpoint")
_ID = r"[a-zA-Z0-9_-]{22}"
_TIERED_SEGMENT = re.compile(rf"(?P<base_offset>[0-9]{{1,20}})-{_ID}\.log")
_TIERED_PARTITION = re.compile(rf"(?P<topic>[a-zA-Z0-9._-]{{1,249}})-(?P<partition>[0-9]{{1,10}})-{_ID}")
_TIERED_TOPIC = re.compile(rf"(?P<topic>[a-zA-Z0-9._-]{{1,249}})-{_ID}")
_NUMBER = re.compile(r"[0-9]{1,10}")


class Partition(NamedTuple):
    """A partition of a topic; its folder is named by both, as in `orders-0`."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.number}"


class SegmentName(NamedTuple):
    """The parts of a segment's path."""

    topic: str
    partition: int
    base_offset: int


class Place(NamedTuple):
    """The part of a log that a segment, or a file beside it, is of, as far as its path has it."""

    partition: Partition | None
    base_offset: int | None
    """Offset at which the segment starts."""


class SnapshotEnd(NamedTuple):
    """The parts of a snapshot's name."""

    end_offset: int
    """Offset after the last record that the snapshot covers."""
    epoch: int
    """Epoch of the leader that wrote the last covered record."""


def partition_of(folder: str) -> Partition | None:
    """Parse the name of a partition's folder, such as `orders-0`; None if no broker gives such a name."""
    found = _FOLDER.fullmatch(folder)
    if found is None or int(found["partition"]) > HIGHEST_INT32:
        return None
    return Partition(found["topic"], int(found["partition"]))


def base_offset_of(file: str) -> int | None:
    """Parse the offset at which the segment with that file name starts; None if it is not the name of a segment."""
    found = _SEGMENT.fullmatch(file)
    if found is None or int(found["base_offset"]) > HIGHEST_OFFSET:
        return None
    return int(found["base_offset"])


def parse_tiered_name(above: str, folder: str, file: str) -> SegmentName | None:
    """Find the segment of which a file in tiered storage is a copy; None if it does not have the name of one.

    Kafka's LocalTieredStorage makes `orders-0-TOPIC_ID/1234-SEGMENT_ID.log`, and the plugin of Aiven
    `orders-TOPIC_ID/0/00000000000000001234-SEGMENT_ID.log`; both ids have 22 characters.

    Args:
        above: the name of the folder that `folder` is in.
        folder: the name of the folder that the file is in.
        file: its own name.
    """
    segment = _TIERED_SEGMENT.fullmatch(file)
    if segment is None or int(segment["base_offset"]) > HIGHEST_OFFSET:
        return None
    if _NUMBER.fullmatch(folder):
        of_topic, partition = _TIERED_TOPIC.fullmatch(above), folder
    else:
        of_topic = _TIERED_PARTITION.fullmatch(folder)
        partition = of_topic["partition"] if of_topic is not None else ""
    if of_topic is None or int(partition) > HIGHEST_INT32:
        return None
    return SegmentName(of_topic["topic"], int(partition), int(segment["base_offset"]))


def place_of(segment: Path) -> Place:
    """Find the partition and the base offset of a segment by its path, as brokers or tiered storage name it."""
    folder = segment.absolute().parent
    tiered = parse_tiered_name(folder.parent.name, folder.name, segment.name)
    if tiered is not None:
        return Place(Partition(tiered.topic, tiered.partition), tiered.base_offset)
    return Place(partition_of(folder.name), base_offset_of(segment.name))


def snapshot_end_of(file: str) -> SnapshotEnd | None:
    """Read the end of a snapshot from its file name; None if it is not the name of a snapshot."""
    found = _SNAPSHOT.fullmatch(file)
    if found is None or int(found["end_offset"]) > HIGHEST_OFFSET or int(found["epoch"]) > HIGHEST_INT32:
        return None
    return SnapshotEnd(int(found["end_offset"]), int(found["epoch"]))


def segments_of(folder: Path) -> list[Path]:
    """List the segments in the folder of a partition, in the order of their offsets.

    Raises:
        OSError: the folder cannot be read.
    """
    return sorted(file for file in folder.iterdir() if base_offset_of(file.name) is not None and file.is_file())


def segment_after(segment: Path) -> Path | None:
    """Find the next segment of the same log; None if there is none yet, or the file name has no base offset.

    Raises:
        OSError: the folder cannot be listed.
    """
    if base_offset_of(segment.name) is None:
        return None
    # Asked of each segment of a folder: names are compared first, and only a few files are looked at.
    later = sorted(name for name in os.listdir(segment.parent) if name > segment.name)  # noqa: PTH208
    files = (segment.parent / name for name in later if base_offset_of(name) is not None)
    return next((file for file in files if file.is_file()), None)
