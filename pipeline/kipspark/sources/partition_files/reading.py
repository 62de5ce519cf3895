"""Find the files of one kind in log folders, and read them as Arrow batches, without Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa

from kipspark.errors import SourceError
from kipspark.files.access import FoundFile, files_at
from kipspark.files.stores import is_url
from kipspark.sources.partition_files.kinds import Kind, PartitionFile, Row
from kipwire import KipwireError
from kipwire.records.names import HIGHEST_OFFSET, partition_of

_ROWS = 16384
"""The most rows of a batch."""
NOT_IN_STORES = "files beside segments are read in the folders of brokers, not in stores; give a folder of this machine"


def find_files(
    kind: Kind, root: str, topics: Collection[str] = (), partitions: Collection[int] = ()
) -> list[PartitionFile]:
    """The files of a kind at a path, in the order of their paths.

    Args:
        kind: of file.
        root: a broker's log folder, a folder above one, the folder of a partition, or one such file. Files of a whole
            broker are also found above the folder of a partition.
        topics: only those of these topics; all if empty. Files of a whole broker are all found.
        partitions: only those of partitions with these numbers; all if empty.

    Raises:
        SourceError: the path does not exist, cannot be listed, or is a URL.
    """
    if is_url(root):
        raise SourceError(f"{root}: {NOT_IN_STORES}")
    path = Path(root).absolute()
    if kind.is_of_broker and partition_of(path.name) is not None and path.is_dir():
        roots = [above for name in kind.patterns if (above := path.parent / name).is_file()]
    else:
        roots = [path]
    listed = [one for place in roots for one in files_at(place, kind.is_name_of) if kind.is_name_of(one.path)]
    found = [file for one in listed if (file := _file(kind, one)) is not None]
    return sorted(
        file
        for file in found
        if kind.is_of_broker
        or ((not topics or file.topic in topics) and (not partitions or file.partition in partitions))
    )


def _file(kind: Kind, found: FoundFile) -> PartitionFile | None:
    path = Path(found.path)
    number = int(path.stem) if kind.number else None
    of_folder = partition_of(path.parent.name)
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
