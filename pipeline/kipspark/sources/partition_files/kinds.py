"""The kinds of files that brokers keep next to segments: which they are, and their entries as rows, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from kipspark.arrow import TIMESTAMP
from kipspark.files.access import path_text
from kipwire.records import partition_files

Row = tuple[Any, ...]

_INDEX = "[0-9]" * 20
_CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
_MILLISECONDS = 1000
"""In microseconds."""
_LAST_TIME = (2**63 - 1) // _MILLISECONDS


class PartitionFile(NamedTuple):
    """One file of a broker."""

    path: str
    topic: str | None
    """Null for a file of the whole broker, as is the partition."""
    partition: int | None
    number: int | None
    """The offset in its name, if it has one."""
    size: int


class Kind(NamedTuple):
    """One kind of file."""

    patterns: tuple[str, ...]
    """Of the names of files."""
    columns: pa.Schema
    """Of an entry; those of the file come before them and after them."""
    entries: Callable[[PartitionFile], Iterator[Row]]
    """Entries of a file.

    Raises:
        OSError: it cannot be read.
        KipwireError, ValueError: it is damaged; entries before the damage have been given.
    """
    number: str | None = None
    """The column for the offset in the file's name."""
    is_of_broker: bool = False
    """Whether it is a file of the whole broker, whose entries have the partitions."""
    is_opened: bool = True
    """Whether files are opened, and not only listed."""

    def is_name_of(self, path: str) -> bool:
        """Whether files of this kind have the name that a path ends with."""
        name = path.rpartition("/")[2]
        return any(fnmatchcase(name, pattern) for pattern in self.patterns)

    def schema(self) -> pa.Schema:
        """All columns of the kind."""
        number = [(self.number, pa.int64())] if self.number else []
        of_folder = [] if self.is_of_broker else [("topic", pa.string()), ("partition", pa.int32())]
        return pa.schema([*of_folder, *number, *self.columns, ("file", pa.string()), ("error", pa.string())])

    def row(self, file: PartitionFile, entry: Row | None, error: str | None = None) -> Row:
        """A row of the schema; without an entry its columns are null."""
        of_folder = () if self.is_of_broker else (file.topic, file.partition)
        number = (file.number,) if self.number else ()
        values = (None,) * len(self.columns) if entry is None else entry
        return (*of_folder, *number, *values, path_text(file.path), error and path_text(error))


def _segment(file: PartitionFile) -> Iterator[Row]:
    yield (file.size,)


def _offset_index(file: PartitionFile) -> Iterator[Row]:
    with _opened(file) as opened:
        yield from partition_files.offset_index(opened, file.number or 0)


def _time_index(file: PartitionFile) -> Iterator[Row]:
    with _opened(file) as opened:
        for timestamp, offset in partition_files.time_index(opened, file.number or 0):
            yield (_time(timestamp), offset)


def _aborted_transactions(file: PartitionFile) -> Iterator[Row]:
    with _opened(file) as opened:
        for one in partition_files.aborted_transactions(opened):
            yield (one.producer_id, one.first_offset, one.last_offset, one.last_stable_offset)


def _producers(file: PartitionFile) -> Iterator[Row]:
    with _opened(file) as opened:
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


def _opened(file: PartitionFile) -> BinaryIO:
    return Path(file.path).open("rb")


def _text(file: PartitionFile) -> str:
    return Path(file.path).read_text(encoding="utf-8", errors="replace")


def _time(milliseconds: int) -> int | None:
    """Microseconds since 1970; null for what is not set, and for what 64 bits cannot hold."""
    return milliseconds * _MILLISECONDS if milliseconds != -1 and abs(milliseconds) <= _LAST_TIME else None


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
"""By the words that `kipwire dump` has for the entries."""
