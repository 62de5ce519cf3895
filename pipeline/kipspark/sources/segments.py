"""Find the segment files of log folders, with their topics and partitions."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from kipspark.errors import SourceError
from kipwire.logs.names import base_offset_of, partition_of


class Segment(NamedTuple):
    """One segment of a partition's log."""

    path: str
    topic: str
    partition: int
    base_offset: int
    """No record of the segment has a lower offset."""
    size: int
    """Bytes of the file."""

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
    chosen: list[Segment] = []
    is_any = False
    for folder, named in _files(path):
        of_folder = partition_of(os.path.basename(folder))  # noqa: PTH119  called for many; see Segment.folder
        if of_folder is None:
            continue
        is_wanted = (not topics or of_folder[0] in topics) and (not partitions or of_folder[1] in partitions)
        if is_any and not is_wanted:
            continue
        for base_offset, file in named:
            size = _size(file)
            if size is not None:
                is_any = True
                if is_wanted:
                    chosen.append(Segment(file, *of_folder, base_offset, size))
    if not is_any:
        raise SourceError(
            f"{path}: no log segments; expected files such as orders-0/00000000000000000000.log, named as brokers "
            "name them"
        )
    return sorted(chosen, key=lambda segment: (segment.folder, segment.base_offset))


def _files(path: Path) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Each folder at a path, and the files in it that are named like segments, with their base offsets.

    Links to folders are not followed, so that no folder is read twice; folders that may not be read are left out.
    """
    root = str(path.absolute())
    if path.is_file():
        base_offset = base_offset_of(path.name)
        yield os.path.dirname(root), [] if base_offset is None else [(base_offset, root)]  # noqa: PTH120
        return
    for folder, _, names in os.walk(root):
        named = [(base_offset_of(name), name) for name in names if name.endswith(".log")]
        yield folder, [(base, os.path.join(folder, name)) for base, name in named if base is not None]  # noqa: PTH118


def _size(file: str) -> int | None:
    """The bytes of a segment; None if it is not a file."""
    try:
        status = os.stat(file)  # noqa: PTH116
    except FileNotFoundError:  # the broker has just removed it
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None  # on a pipe a read would block
