"""The files of logs that a command line names, and what their names say.

Names are facts: the folder of a file gives topic and partition, its own name the base offset or the end of a snapshot,
and a topic's name decides if its records are decoded. Of the content of a file without a usual suffix, only the first
bytes are looked at, so that another kind of file is refused and not dumped as damage. `within` leaves out segments by
their names alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from kipwire.logs.internal_topics import INTERNAL_TOPICS, METADATA
from kipwire.logs.names import (
    SEGMENT,
    SNAPSHOT,
    SnapshotEnd,
    place_of,
    snapshot_end_of,
)
from kipwire.records import Bounds
from kipwire.tools.io import files_below
from kipwire.tools.text import printable_line
from kipwire.traffic.captures import INDEX, PACKED

_HEAD = Struct(">8xi4xB")
"""Parts of a batch's head that all formats share: the size after the offset, and the number of the format."""
HEAD_BYTES = _HEAD.size
_NEWEST_MAGIC = 2

STANDARD_INPUT = Path("-")
"""The path that means it on a command line."""

RAW = "none"
"""Instead of a topic: records are shown as they are."""


class Log(NamedTuple):
    """A log as its lines name it."""

    name: str
    """Name to print, on one line."""
    what: str
    """Description such as `orders partition 0 from offset 0`."""
    source: dict[str, str]
    """Name and value of its place, for programs."""
    topic: str | None
    partition: int | None
    internal: str | None
    """The internal topic whose records these are, so that they are decoded; None if they are shown as they are."""
    has_positions: bool = True
    """True if batches have a position in something that can be looked at."""


class LogFile(NamedTuple):
    """A segment or a snapshot."""

    path: Path
    topic: str | None
    """Name of the topic, from the folder, like the partition; None if the folder does not belong to a partition."""
    partition: int | None
    base_offset: int | None
    """Offset in the name of a segment."""
    snapshot_end: SnapshotEnd | None
    """End offset and epoch in the name of a snapshot."""
    internal: str | None
    """See `Log.internal`."""

    @property
    def log(self) -> Log:
        """The log in it."""
        name = "standard input" if self.path == STANDARD_INPUT else printable_line(str(self.path))
        return Log(name, self._what, {"file": str(self.path)}, self.topic, self.partition, self.internal)

    @property
    def _what(self) -> str:
        where = "a log" if self.topic is None else f"{self.topic} partition {self.partition}"
        if self.snapshot_end is not None:
            return f"snapshot of {where} before offset {self.snapshot_end.end_offset}, epoch {self.snapshot_end.epoch}"
        return where if self.base_offset is None else f"{where} from offset {self.base_offset}"


def log_file(path: Path, decode_as: str | None) -> LogFile:
    """Collect what is known of a file before it is read.

    Args:
        path: the file.
        decode_as: an internal topic, or `RAW`; None: by the name of the folder.
    """
    partition, base_offset = place_of(path)
    topic, number = partition or (None, None)
    if decode_as is None and topic is None and path.suffix == SNAPSHOT:
        decode_as = METADATA  # only controllers have snapshots, such as bootstrap.checkpoint
    internal = internal_of(topic, decode_as)
    return LogFile(path, topic, number, base_offset, snapshot_end_of(path.name), internal)


def internal_of(topic: str | None, decode_as: str | None) -> str | None:
    """Choose the internal topic that records are decoded as; None if they are shown as they are.

    Args:
        topic: the topic of the records; None if it is unknown.
        decode_as: an internal topic, or `RAW`; None: by the topic.
    """
    internal = topic if decode_as is None else decode_as
    return internal if internal in INTERNAL_TOPICS else None


def find_log_files(path: Path, decode_as: str | None) -> list[LogFile]:
    """Find the log files at a path: that file; or the segments of a folder, or of all partitions in it.

    Raises:
        OSError: a folder cannot be listed.
        ValueError: the folder has no segments, or the file is not a log.
    """
    if path.is_dir():
        files = (log_file(Path(file), decode_as) for file in files_below(str(path)) if file.endswith(SEGMENT))
        segments = [file for file in files if file.base_offset is not None and file.path.is_file()]
        found = sorted(segments, key=lambda file: (file.path.parent, file.base_offset, file.path.name))
        if not found:
            raise ValueError(
                f"{path}: no log segments, packets or {INDEX}; give a file, or a folder with files such as "
                f"00000000000000000000{SEGMENT}, a.pcap, or {INDEX} (plain or {PACKED})"
            )
        return found
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if path.suffix not in (SEGMENT, SNAPSHOT) and not begins_as_a_log(head):
        raise ValueError(
            f"{path} is not a log: neither its first bytes nor its name are those of one; give a log segment, such as "
            f"00000000000000000000{SEGMENT}, a folder of a partition or a capture"
        )
    return [log_file(path, decode_as)]


def begins_as_a_log(head: bytes) -> bool:
    """True if the first `HEAD_BYTES` bytes of a file belong to a batch of any format, or to none yet."""
    if len(head) < HEAD_BYTES:
        return not head.strip(b"\0")
    size, magic = _HEAD.unpack_from(head)
    return bool(size > 0 and magic <= _NEWEST_MAGIC)


def within(files: Iterable[LogFile], bounds: Bounds) -> Iterator[LogFile]:
    """Choose files that may have wanted offsets, by their names: a segment ends where the next of its folder begins."""
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
