"""Find the segment files of log folders, with their topics and partitions."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from kipspark.errors import SourceError
from kipwire.logs.names import SEGMENT, base_offset_of, partition_of

_SWAP = ".swap"


class Segment(NamedTuple):
    """One segment of a partition's log."""

    path: str
    topic: str
    partition: int
    base_offset: int
    """No record of the segment has a lower offset."""
    size: int
    """Bytes of the file."""
    inode: int
    """The file's number, by which another file of that name is known."""

    @property
    def is_swap(self) -> bool:
        """Whether a broker is just replacing older segments by this one, which some of them may still be beside."""
        return self.path.endswith(_SWAP)

    @property
    def folder(self) -> str:
        """The folder of the partition: one replica of its log."""
        return os.path.dirname(self.path)  # noqa: PTH120  called for many files; a Path costs ten times as much


def find_segments(
    root: str | os.PathLike[str], topics: Collection[str] = (), partitions: Collection[int] = ()
) -> list[Segment]:
    """The segments at a path, those of one partition in the order of their offsets.

    Args:
        root: a broker's log folder, any folder above one, the folder of a partition, or one segment file. The
            folder of a segment must have the name that brokers give it, such as `orders-0`.
        topics: only of these topics; all if empty.
        partitions: only of partitions with these numbers; all if empty.

    Raises:
        SourceError: the path does not exist, or has no segment at all.
    """
    path = Path(root)
    if not path.exists():
        raise SourceError(f"{path}: there is no such file or folder")
    found = [segment for segment in map(_segment, _files(path)) if segment is not None]
    if not found:
        raise SourceError(
            f"{path}: no log segments; expected files such as orders-0/00000000000000000000.log, named as brokers "
            "name them"
        )
    chosen = [
        segment
        for segment in found
        if (not topics or segment.topic in topics) and (not partitions or segment.partition in partitions)
    ]
    return sorted(chosen, key=lambda segment: (segment.folder, segment.base_offset))


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for folder, _, names in os.walk(path):  # which goes on if a broker removes a folder meanwhile
        present = set(names)
        for name in names:
            # To replace segments, brokers rename the old ones, then rename `X.log.swap` to `X.log`.
            if name.endswith(SEGMENT) or (name.endswith(SEGMENT + _SWAP) and name.removesuffix(_SWAP) not in present):
                yield Path(folder, name)


def _segment(path: Path) -> Segment | None:
    of_folder = partition_of(path.absolute().parent.name)
    base_offset = base_offset_of(path.name.removesuffix(_SWAP))
    if of_folder is None or base_offset is None:
        return None
    try:
        status = path.stat()
    except FileNotFoundError:  # the broker has just removed it
        return None
    if not stat.S_ISREG(status.st_mode):  # such as a pipe, on which a read would block
        return None
    return Segment(str(path.absolute()), *of_folder, base_offset, status.st_size, status.st_ino)
