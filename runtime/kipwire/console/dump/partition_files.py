"""Dump the files beside a partition's segments: one line for each entry, for people or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kafka_messages.aborted_txn.v0 import AbortedTxn
from kipwire.cli.command_line import one_line
from kipwire.cli.output import Output
from kipwire.logs import read_segment
from kipwire.logs.index_checks import Misfit, aborted_misfits, disordered, offset_misfits, time_misfits
from kipwire.logs.names import SEGMENT, place_of
from kipwire.logs.partition_files import (
    OffsetIndexEntry,
    TimeIndexEntry,
    aborted_transactions,
    leader_epochs,
    offset_entries,
    partition_offsets,
    producer_snapshot,
    time_entries,
)
from kipwire.model.errors import DecodeError, KipwireError
from kipwire.model.structs import Struct
from kipwire.tools.text import count_of, print_err, printable_line
from kipwire.tools.times import moment_text

Entry = dict[str, Any]

_TIMES = ("timestamp",)
"""Names of values that people read as a time."""


class Kind(NamedTuple):
    """One kind of file."""

    type: str
    """Type of its entries, in JSON."""
    what: str
    entries: Callable[[Path], Iterator[Entry]]
    """The entries of a file, in its order.

    Raises:
        DecodeError: the file is damaged.
        ValueError: it is another file, by its name or its content.
    """
    misfits: Callable[[Path, Path | None], list[Misfit]] | None = None
    """Compares the entries of an index, the first path, with each other and with its segment, if there is one."""


def kind_of(path: Path) -> Kind | None:
    """Find the kind of a file by its name; None if it is not one of these."""
    return _BY_SUFFIX.get(path.suffix) or _BY_NAME.get(path.name)


def dump_partition_file(path: Path, kind: Kind, out: Output, *, as_json: bool) -> int:
    """Write a line for each entry of a file, and an error for each one that does not fit the segment beside it.

    Returns:
        The number of errors.
    """
    if not as_json:
        out.write(f"{printable_line(str(path))}: {kind.what}, {count_of(path.stat().st_size, 'byte')}\n")
    line = _json_line(path, kind) if as_json else _text_line
    try:
        for entry in kind.entries(path):
            out.write(line(entry))
    except ValueError as error:
        out.flush()
        print_err(("error: ", "red"), f"{one_line(path)}: {_reason(error)}")
        return 1
    errors = 0
    for fault in _faults(path, kind):
        out.flush()
        if isinstance(fault, Misfit) and fault.is_of_old_brokers:
            why = "only brokers before 3.9 write such entries"
            print_err((f"{one_line(path)}: entries[{fault.number}]: {fault.reason}; {why}", "yellow"))
            continue
        errors += 1
        text = f"entries[{fault.number}]: {fault.reason}" if isinstance(fault, Misfit) else fault
        print_err(("error: ", "red"), f"{one_line(path)}: {text}")
    return errors


def _faults(path: Path, kind: Kind) -> Sequence[Misfit | str]:
    """Compare an index with the segment beside it, if there is one."""
    if kind.misfits is None:
        return []
    segment = path.with_suffix(SEGMENT)
    try:
        return kind.misfits(path, segment if segment.is_file() else None)
    except KipwireError as error:
        return [f"cannot be compared with its segment: {error}"]


def _reason(error: ValueError) -> str:
    return f"{error.path} at byte {error.offset}: {error.reason}" if isinstance(error, DecodeError) else str(error)


def _text_line(entry: Entry) -> str:
    texts = (f"{name}={moment_text(value) if name in _TIMES else value}" for name, value in entry.items())
    return f"{' '.join(texts)}\n"


def _json_line(path: Path, kind: Kind) -> Callable[[Entry], str]:
    partition = place_of(path.with_suffix(SEGMENT)).partition
    head: Entry = {"type": kind.type, "file": str(path)}
    if partition is not None:
        head |= {"topic": partition.topic, "partition": partition.number}

    def line(entry: Entry) -> str:
        return json.dumps(head | entry, separators=(",", ":")) + "\n"

    return line


def _base_offset(path: Path) -> int:
    found = place_of(path.with_suffix(SEGMENT)).base_offset
    if found is None:
        raise ValueError(f"the name must be the base offset, as in 00000000000000000612{path.suffix}")
    return found


def _offsets(path: Path) -> Iterator[OffsetIndexEntry]:
    with path.open("rb") as file:
        yield from offset_entries(file, _base_offset(path))


def _times(path: Path) -> Iterator[TimeIndexEntry]:
    with path.open("rb") as file:
        yield from time_entries(file, _base_offset(path))


def _aborted(path: Path) -> Iterator[AbortedTxn]:
    with path.open("rb") as file:
        yield from aborted_transactions(file)


def _offset_misfits(path: Path, segment: Path | None) -> list[Misfit]:
    found = [] if segment is None else offset_misfits(_offsets(path), read_segment(segment, check_crcs=False))
    return _with_disorder(found, disordered(_offsets(path)))


def _time_misfits(path: Path, segment: Path | None) -> list[Misfit]:
    found = [] if segment is None else time_misfits(_times(path), read_segment(segment, check_crcs=False))
    return _with_disorder(found, disordered(_times(path)))


def _with_disorder(misfits: list[Misfit], disorder: Iterable[Misfit]) -> list[Misfit]:
    """Add the entries that are out of order, unless it is known which of two is wrong."""
    wrong = {one.number for one in misfits}
    return sorted([*misfits, *(one for one in disorder if wrong.isdisjoint((one.number - 1, one.number)))])


def _aborted_misfits(path: Path, segment: Path | None) -> list[Misfit]:
    return [] if segment is None else aborted_misfits(_aborted(path), read_segment(segment))


def _producers(path: Path) -> Iterator[Entry]:
    yield from map(_fields, producer_snapshot(path.read_bytes()).producer_entries)


def _fields(struct: Struct) -> Entry:
    return {field.name: getattr(struct, field.name) for field in struct.ATTRIBUTES}


def _rows(entries: Iterable[OffsetIndexEntry | TimeIndexEntry]) -> Iterator[Entry]:
    return (entry._asdict() for entry in entries)


def _leader_epochs(path: Path) -> Iterator[Entry]:
    for entry in leader_epochs(path.read_text("utf-8")):
        yield entry._asdict()


def _partition_offsets(path: Path) -> Iterator[Entry]:
    for entry in partition_offsets(path.read_text("utf-8")):
        yield entry._asdict()


_BY_SUFFIX = {
    ".index": Kind(
        "offset_index",
        "an offset index",
        lambda path: _rows(_offsets(path)),
        _offset_misfits,
    ),
    ".timeindex": Kind(
        "time_index",
        "a time index",
        lambda path: _rows(_times(path)),
        _time_misfits,
    ),
    ".txnindex": Kind(
        "aborted_transaction",
        "an index of aborted transactions",
        lambda path: map(_fields, _aborted(path)),
        _aborted_misfits,
    ),
    ".snapshot": Kind("producer", "a snapshot of the producers", _producers),
}
_BY_NAME = {
    "leader-epoch-checkpoint": Kind("leader_epoch", "a list of leaders", _leader_epochs),
    "recovery-point-offset-checkpoint": Kind(
        "partition_offset", "offsets up to which logs are on disk", _partition_offsets
    ),
    "replication-offset-checkpoint": Kind("partition_offset", "a list of high watermarks", _partition_offsets),
    "log-start-offset-checkpoint": Kind(
        "partition_offset", "a list of offsets at which logs begin", _partition_offsets
    ),
    "cleaner-offset-checkpoint": Kind(
        "partition_offset", "a list of offsets up to which logs are compacted", _partition_offsets
    ),
}
