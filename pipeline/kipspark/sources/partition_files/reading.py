"""Find the files of one kind in log folders, and read them as Arrow batches, without Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from kipspark.errors import SourceError
from kipspark.files.access import FoundFile
from kipspark.files.roots import Roots, each_root, files_of, fitting
from kipspark.files.stores import HERE, Storage, is_url
from kipspark.sources.partition_files.kinds import Kind, PartitionFile, Row
from kipwire import KipwireError
from kipwire.records.names import HIGHEST_OFFSET, partition_of

_ROWS = 16384
"""The most rows of a batch."""
NOT_IN_STORES = "files beside segments are read in the folders of brokers, not in stores; give a folder of this machine"


class Listing(NamedTuple):
    """What is at some paths."""

    files: list[PartitionFile]
    """Those that are wanted."""
    there: frozenset[tuple[str, int]]
    """Topic and number of all partitions with files, wanted or not."""


def find_files(
    kind: Kind,
    roots: Roots,
    topics: Collection[str] = (),
    partitions: Collection[int] = (),
    storage: Storage = HERE,
) -> list[PartitionFile]:
    """The files of `list_files`, which has the arguments and errors."""
    return list_files(kind, roots, topics, partitions, storage).files


def list_files(
    kind: Kind,
    roots: Roots,
    topics: Collection[str] = (),
    partitions: Collection[int] = (),
    storage: Storage = HERE,
) -> Listing:
    """The files of a kind at some paths, in the order of their paths, each once.

    Args:
        kind: of file.
        roots: of each, a broker's log folder, a folder above one, the folder of a partition, or one such file. Files
            of a whole broker are also found above the folder of a partition.
        topics: only those of these topics; all if empty. Files of a whole broker are all found.
        partitions: only those of partitions with these numbers; all if empty.
        storage: how to reach the store, for a URL.

    Raises:
        SourceError: a path does not exist or cannot be listed, or is a URL and files of this kind are opened.
    """
    for root in each_root(roots):
        if is_url(root) and kind.is_opened:
            raise SourceError(f"{root}: {NOT_IN_STORES}")
    there: set[tuple[str, int]] = set()

    def is_chosen(path: str) -> bool:
        of_folder = partition_of(path.rpartition("/")[0].rpartition("/")[2])
        there.update(() if of_folder is None else [of_folder])
        return kind.is_name_of(path)

    places = [place for root in each_root(roots) for place in _places(kind, root)]
    listed = [given.file for given in files_of(places, is_chosen, storage)]
    found = [file for one in listed if is_chosen(one.path) and (file := _file(kind, one)) is not None]
    chosen = sorted(
        file
        for file in found
        if kind.is_of_broker
        or ((not topics or file.topic in topics) and (not partitions or file.partition in partitions))
    )
    return Listing(chosen, frozenset(there))


def _places(kind: Kind, root: str) -> list[str]:
    """Where to look for files: also above the folder of a partition for those of a whole broker."""
    if not kind.is_of_broker:
        return [root]
    folders = [Path(place).absolute() for place in fitting(root)]
    of_partitions = [folder for folder in folders if partition_of(folder.name) is not None and folder.is_dir()]
    above = {folder.parent / name for folder in of_partitions for name in kind.patterns}
    return [root, *sorted(str(file) for file in above if file.is_file())]


def _file(kind: Kind, found: FoundFile) -> PartitionFile | None:
    _, folder, name = ["", *found.path.rsplit("/", 2)][-3:]
    number = int(name.partition(".")[0]) if kind.number else None
    of_folder = partition_of(folder)
    if (of_folder is None and not kind.is_of_broker) or (number or 0) > HIGHEST_OFFSET:
        return None
    topic, partition = of_folder or (None, None)
    return PartitionFile(found.path, topic, partition, number, found.size)


def read_file(kind: Kind, file: PartitionFile, permissive: bool) -> Iterator[pa.RecordBatch]:
    """The entries of a file as rows of the kind's schema.

    Args:
        kind: of file.
        file: it; if the broker has removed it since, it has no entries.
        permissive: whether what is wrong with the file is a row with the error, after those of the entries before it.

    Raises:
        SourceError: the file cannot be read, or is damaged.
    """
    rows = _rows(kind, file, permissive)
    schema = kind.schema()
    while some := list(islice(rows, _ROWS)):
        columns = zip(*some, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _rows(kind: Kind, file: PartitionFile, permissive: bool) -> Iterator[Row]:
    try:
        for entry in kind.entries(file):
            yield kind.row(file, entry)
    except FileNotFoundError:
        return
    except (OSError, KipwireError, ValueError) as error:
        what = f"cannot be read: {error.strerror or error}" if isinstance(error, OSError) else str(error)
        if not permissive:
            raise SourceError(f"{file.path}: {what}") from None
        yield kind.row(file, None, what)
