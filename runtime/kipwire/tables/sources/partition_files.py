"""The files that brokers keep next to segments: find them by kind, and read them as Arrow batches, without Spark.

A kind of file is a `Kind`: its names, its columns, and a function that reads entries; `kipwire.logs.partition_files`
has the formats. A broker writes and removes these files while they are read: one that is gone has no entries, and a
damaged one gives its entries up to the damage and then an error, or a row with it. Files of a whole broker lie above
the folders of partitions, so they are looked for there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from kipwire import KipwireError
from kipwire.logs import partition_files
from kipwire.logs.names import partition_of
from kipwire.records.heads import HIGHEST_OFFSET
from kipwire.tables.arrow import HIGHEST_MILLISECOND, TIMESTAMP
from kipwire.tables.errors import SourceError
from kipwire.tables.files.access import FoundFile, path_text
from kipwire.tables.files.roots import Roots, each_root, files_of, fitting
from kipwire.tables.files.stores import HERE, Storage, is_url

Row = tuple[Any, ...]

_INDEX = "[0-9]" * 20
_CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
_MILLISECONDS = 1000
"""Microseconds in a millisecond."""


class PartitionFile(NamedTuple):
    """One file of a broker."""

    path: str
    topic: str | None
    """Null for a file of the whole broker, as is the partition."""
    partition: int | None
    number: int | None
    """Offset in its name, if it has one."""
    size: int


class Kind(NamedTuple):
    """One kind of file."""

    patterns: tuple[str, ...]
    """Patterns of the names of its files."""
    columns: pa.Schema
    """Columns of an entry; `schema` adds the columns of the file before and after them."""
    entries: Callable[[PartitionFile], Iterator[Row]]
    """Yields the entries of a file.

    Raises:
        OSError: it cannot be read.
        KipwireError, ValueError: it is damaged; entries before the damage have been yielded.
    """
    number: str | None = None
    """Name of the column for the offset in the file's name."""
    is_of_broker: bool = False
    """True if the file is one of the whole broker, whose entries have the partitions."""
    is_opened: bool = True
    """True if files are opened, and not only listed."""

    def is_name_of(self, path: str) -> bool:
        """True if a path ends with the name of a file of this kind."""
        name = path.rpartition("/")[2]
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def schema(self) -> pa.Schema:
        """Return all columns of the kind."""
        number = [(self.number, pa.int64())] if self.number else []
        of_folder = [] if self.is_of_broker else [("topic", pa.string()), ("partition", pa.int32())]
        return pa.schema([*of_folder, *number, *self.columns, ("file", pa.string()), ("error", pa.string())])

    def row(self, file: PartitionFile, entry: Row | None, error: str | None = None) -> Row:
        """Return a row of the schema; without an entry its columns are null."""
        of_folder = () if self.is_of_broker else (file.topic, file.partition)
        number = (file.number,) if self.number else ()
        values = (None,) * len(self.columns) if entry is None else entry
        return (*of_folder, *number, *values, path_text(file.path), error and path_text(error))


def _segment(file: PartitionFile) -> Iterator[Row]:
    yield (file.size,)


def _offset_index(file: PartitionFile) -> Iterator[Row]:
    with _open(file) as opened:
        yield from partition_files.offset_index(opened, file.number or 0)


def _time_index(file: PartitionFile) -> Iterator[Row]:
    with _open(file) as opened:
        for timestamp, offset in partition_files.time_index(opened, file.number or 0):
            yield (_time(timestamp), offset)


def _aborted_transactions(file: PartitionFile) -> Iterator[Row]:
    with _open(file) as opened:
        for one in partition_files.aborted_transactions(opened):
            yield (one.producer_id, one.first_offset, one.last_offset, one.last_stable_offset)


def _producers(file: PartitionFile) -> Iterator[Row]:
    with _open(file) as opened:
        data = opened.read()
    for one in partition_files.producer_snapshot(data).producer_entries:
        yield (
            one.producer_id,
            one.epoch,
            one.last_sequence,
            one.last_offset,
            one.offset_delta,
            _time(one.timestamp),
            one.coordinator_epoch,
            one.current_txn_first_offset,
        )


def _leader_epochs(file: PartitionFile) -> Iterator[Row]:
    yield from partition_files.leader_epochs(_text(file))


def _partition_offsets(file: PartitionFile) -> Iterator[Row]:
    name = Path(file.path).name
    for entry in partition_files.partition_offsets(_text(file)):
        yield (name, *entry)


def _open(file: PartitionFile) -> BinaryIO:
    return Path(file.path).open("rb")


def _text(file: PartitionFile) -> str:
    return Path(file.path).read_text(encoding="utf-8", errors="replace")


def _time(milliseconds: int) -> int | None:
    """Return microseconds since 1970; null for a time that is not set, or that 64 bits cannot hold."""
    return milliseconds * _MILLISECONDS if milliseconds != -1 and abs(milliseconds) <= HIGHEST_MILLISECOND else None


KINDS = {
    "segment": Kind((f"{_INDEX}.log",), pa.schema([("size", pa.int64())]), _segment, "base_offset", is_opened=False),
    "offset_index": Kind(
        (f"{_INDEX}.index",),
        pa.schema([("offset", pa.int64()), ("position", pa.int32())]),
        _offset_index,
        "base_offset",
    ),
    "time_index": Kind(
        (f"{_INDEX}.timeindex",),
        pa.schema([("timestamp", TIMESTAMP), ("offset", pa.int64())]),
        _time_index,
        "base_offset",
    ),
    "aborted_transaction": Kind(
        (f"{_INDEX}.txnindex",),
        pa.schema(
            [
                ("producer_id", pa.int64()),
                ("first_offset", pa.int64()),
                ("last_offset", pa.int64()),
                ("last_stable_offset", pa.int64()),
            ]
        ),
        _aborted_transactions,
        "base_offset",
    ),
    "producer": Kind(
        (f"{_INDEX}.snapshot",),
        pa.schema(
            [
                ("producer_id", pa.int64()),
                ("producer_epoch", pa.int16()),
                ("last_sequence", pa.int32()),
                ("last_offset", pa.int64()),
                ("offset_delta", pa.int32()),
                ("last_timestamp", TIMESTAMP),
                ("coordinator_epoch", pa.int32()),
                ("current_txn_first_offset", pa.int64()),
            ]
        ),
        _producers,
        "snapshot_offset",
    ),
    "leader_epoch": Kind(
        ("leader-epoch-checkpoint",),
        pa.schema([("epoch", pa.int32()), ("start_offset", pa.int64())]),
        _leader_epochs,
    ),
    "partition_offset": Kind(
        _CHECKPOINTS,
        pa.schema(
            [
                ("checkpoint", pa.string()),
                ("topic", pa.string()),
                ("partition", pa.int32()),
                ("offset", pa.int64()),
            ]
        ),
        _partition_offsets,
        is_of_broker=True,
    ),
}
"""All kinds, by the words of `kipwire dump` for their entries."""


_ROWS = 16384
"""Highest number of rows of a batch."""
NOT_IN_STORES = "files beside segments are read in the folders of brokers, not in stores; give a folder of this machine"


class Listing(NamedTuple):
    """The files found at some paths."""

    files: list[PartitionFile]
    """Wanted files."""
    there: frozenset[tuple[str, int]]
    """Topic and number of all partitions with files, wanted or not."""


def find_files(
    kind: Kind,
    roots: Roots,
    topics: Collection[str] = (),
    partitions: Collection[int] = (),
    storage: Storage = HERE,
) -> list[PartitionFile]:
    """Return only the files of `list_files`; the arguments and errors are the same."""
    return list_files(kind, roots, topics, partitions, storage).files


def list_files(
    kind: Kind,
    roots: Roots,
    topics: Collection[str] = (),
    partitions: Collection[int] = (),
    storage: Storage = HERE,
) -> Listing:
    """Find the files of a kind at some paths, in the order of their paths, each once.

    Args:
        kind: of file.
        roots: of each, a broker's log folder, a folder above one, the folder of a partition, or one such file. Files
            of a whole broker are also found above the folder of a partition.
        topics: finds only files of these topics, all if empty; files of a whole broker are always found.
        partitions: finds only files of partitions with these numbers, all if empty.
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
    """Return the paths to search: files of a whole broker may also be above the folder of a partition."""
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
    """Yield the entries of a file as rows of the kind's schema.

    Args:
        kind: of file.
        file: the file; if the broker has removed it since, it has no entries.
        permissive: true if damage is a row with the error, after the rows of the entries before it.

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
