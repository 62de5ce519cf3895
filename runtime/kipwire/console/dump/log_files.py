"""The files of logs that a command line names, and what their names say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from kipwire.records import Bounds
from kipwire.records.internal_topics import INTERNAL_TOPICS, METADATA
from kipwire.records.names import (
    SEGMENT,
    SNAPSHOT,
    SnapshotEnd,
    base_offset_of,
    partition_of,
    segments_of,
    snapshot_end_of,
)
from kipwire.tools.io import files_below
from kipwire.traffic.captures import INDEX, PACKED

_HEAD = Struct(">8xi4xB")
"""Of a batch of each format: its size after the offset, and after what differs the number of the format."""
_NEWEST_MAGIC = 2

RAW = "none"
"""Instead of a topic: records are shown as they are."""


class LogFile(NamedTuple):
    """A segment or a snapshot."""

    path: Path
    topic: str | None
    """By the name of the folder, as is the partition; None if it is not that of a partition."""
    partition: int | None
    base_offset: int | None
    """By the name of a segment."""
    snapshot_end: SnapshotEnd | None
    """By the name of a snapshot."""
    internal: str | None
    """The internal topic whose records these are, so that they are decoded; None if they are shown as they are."""


def log_file(path: Path, decode_as: str | None) -> LogFile:
    """What is known of a file before it is read.

    Args:
        path: the file.
        decode_as: an internal topic, or `RAW`; None: by the name of the folder.
    """
    partition = partition_of(path.absolute().parent.name)
    topic, number = partition or (None, None)
    internal = topic if decode_as is None else None if decode_as == RAW else decode_as
    if decode_as is None and topic is None and path.suffix == SNAPSHOT:
        internal = METADATA  # only controllers have snapshots, such as bootstrap.checkpoint
    if internal not in INTERNAL_TOPICS:
        internal = None
    return LogFile(path, topic, number, base_offset_of(path.name), snapshot_end_of(path.name), internal)


def find_log_files(path: Path, decode_as: str | None) -> list[LogFile]:
    """The log files at a path: that file; or the segments of a folder, or of all partitions in it.

    Raises:
        OSError: a folder cannot be listed.
        ValueError: the folder has no segments, or the file is no log.
    """
    if path.is_dir():
        files = (Path(file) for file in files_below(str(path)) if file.endswith(SEGMENT))
        folders = sorted({file.parent for file in files if base_offset_of(file.name) is not None})
        found = [log_file(file, decode_as) for folder in folders for file in segments_of(folder)]
        if not found:
            raise ValueError(
                f"{path}: no log segments, packets or {INDEX}; give a file, or a folder with files such as "
                f"00000000000000000000{SEGMENT}, a.pcap, or {INDEX} (plain or {PACKED})"
            )
        return found
    if path.suffix not in (SEGMENT, SNAPSHOT) and not _begins_as_a_log(path):
        raise ValueError(
            f"{path} is no log: it does not begin with a batch, and its name says nothing; give a log segment, such as "
            f"00000000000000000000{SEGMENT}, a folder of a partition or a capture"
        )
    return [log_file(path, decode_as)]


def _begins_as_a_log(path: Path) -> bool:
    """Whether the first bytes of a file are those of a batch of any format, or of none yet."""
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return not head.strip(b"\0")
    size, magic = _HEAD.unpack(head)
    return bool(size > 0 and magic <= _NEWEST_MAGIC)


def within(files: Iterable[LogFile], bounds: Bounds) -> Iterator[LogFile]:
    """The files that may have wanted offsets, by their names: a segment ends where the next of its folder begins."""
    listed = list(files)
    for file, following in zip(listed, [*listed[1:], None], strict=True):
        base = file.base_offset
        if base is None:
            yield file
            continue
        end = following.base_offset if following is not None and following.path.parent == file.path.parent else None
        if bounds.end_offset is not None and base >= bounds.end_offset:
            continue
        if bounds.first_offset is not None and end is not None and base < end <= bounds.first_offset:
            continue
        yield file
