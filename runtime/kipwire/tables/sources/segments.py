"""Find the segment files of log folders, with their topics and partitions."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import NamedTuple

from kipwire.logs.names import SEGMENT, SegmentName, base_offset_of, parse_tiered_name, partition_of
from kipwire.tables.errors import SourceError
from kipwire.tables.files.access import FileVersion, is_that_file
from kipwire.tables.files.roots import Roots, files_of, roots_text
from kipwire.tables.files.stores import HERE, Storage

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
    version: FileVersion | None = None
    """Identity of the file, to notice a replacement; None in stores, whose objects do not change."""
    storage: Storage = HERE
    """Options of its store, if its path is a URL."""

    @property
    def is_swap(self) -> bool:
        """True while a broker replaces older segments by this one; some of them may still be there."""
        return self.path.endswith(_SWAP)

    @property
    def inode(self) -> int:
        """Number of the file; 0 in stores."""
        return 0 if self.version is None else self.version.inode

    def is_replaced_by(self, status: os.stat_result) -> bool:
        """True if the file now at the path, or opened there, may be another one; this one may have grown.

        Raises:
            OSError: the folder is gone.
        """
        return self.version is not None and not is_that_file(self.path, self.version, status)

    @property
    def folder(self) -> str:
        """Folder of the partition, which is one replica of its log."""
        return os.path.dirname(self.path)  # noqa: PTH120  called for many files; a Path costs ten times as much


class Listing(NamedTuple):
    """The segments found at some paths."""

    segments: list[Segment]
    """Wanted segments."""
    there: frozenset[tuple[str, int]]
    """Topic and number of all partitions, wanted or not."""


def find_segments(
    roots: Roots, topics: Collection[str] = (), partitions: Collection[int] = (), storage: Storage = HERE
) -> list[Segment]:
    """Return only the segments of `list_segments`; the arguments and errors are the same."""
    return list_segments(roots, topics, partitions, storage).segments


def list_segments(
    roots: Roots, topics: Collection[str] = (), partitions: Collection[int] = (), storage: Storage = HERE
) -> Listing:
    """Find the segments at some paths, each once; in each folder they are in the order of their offsets.

    Args:
        roots: of each, a broker's log folder, any folder above one, the folder of a partition, or one segment file.
            The folder of a segment must have the name that brokers give it, such as `orders-0`, or the files must be
            named as in tiered storage. A path may be a URL.
        topics: only of these topics; all if empty.
        partitions: only of partitions with these numbers; all if empty.
        storage: how to reach the store, for a URL.

    Raises:
        SourceError: a path does not exist or cannot be listed, or none of them has a segment at all.
    """
    named: dict[str, SegmentName] = {}

    def is_wanted(path: str) -> bool:
        name = _parse_name(path)
        if name is None:
            return False
        named[path] = name
        return (not topics or name.topic in topics) and (not partitions or name.partition in partitions)

    found = [given.file for given in files_of(roots, is_wanted, storage)]
    listed = [file for file in found if file.path in named or is_wanted(file.path)]
    if not named:
        expected = "expected files such as orders-0/00000000000000000000.log, named as brokers name them"
        raise SourceError(f"{roots_text(roots)}: no log segments; {expected}")
    paths = {file.path for file in listed}
    segments = sorted(
        (
            Segment(file.path, *named[file.path], file.size, file.version, storage)
            for file in listed
            # To replace segments, brokers first rename the old ones, then rename `X.log.swap` to `X.log`.
            if not file.path.endswith(_SWAP) or file.path.removesuffix(_SWAP) not in paths
        ),
        key=lambda segment: (segment.folder, segment.base_offset, segment.path),
    )
    return Listing(segments, frozenset((name.topic, name.partition) for name in named.values()))


def sibling(segment: Segment, ending: str) -> str:
    """Return the path of another file of a segment, which ends like this, such as `.index`."""
    return segment.path.removesuffix(SEGMENT) + ending


def _parse_name(path: str) -> SegmentName | None:
    log = path.removesuffix(_SWAP)
    if not log.endswith(SEGMENT):
        return None
    *_, above, folder, name = ["", "", *log.replace(os.sep, "/").split("/")]
    of_partition, base_offset = partition_of(folder), base_offset_of(name)
    if of_partition is not None and base_offset is not None:
        return SegmentName(*of_partition, base_offset)
    return parse_tiered_name(above, folder, name)
