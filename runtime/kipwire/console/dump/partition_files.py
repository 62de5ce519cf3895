"""Dump the files beside a partition's segments: one line for each entry, for people or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kipwire.cli.command_line import one_line
from kipwire.cli.output import Output
from kipwire.logs import read_segment
from kipwire.logs.names import SEGMENT, base_offset_of, partition_of
from kipwire.logs.partition_files import (
    Misfit,
    aborted_transactions,
    leader_epochs,
    offset_index,
    offset_misfits,
    partition_offsets,
    producer_snapshot,
    time_index,
    time_misfits,
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
    misfits: Callable[[Path, Path], Iterator[Misfit]] | None = None
    """Compares the entries of an index, the first path, with its segment."""


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
    faults = _faults(path, kind)
    out.flush()
    for fault in faults:
        print_err(("error: ", "red"), f"{one_line(path)}: {fault}")
    return len(faults)


def _faults(path: Path, kind: Kind) -> list[str]:
    """Compare an index with the segment beside it, if there is one."""
    segment = path.with_suffix(SEGMENT)
    if kind.misfits is None or not segment.is_file():
        return []
    try:
        return [f"entries[{number}]: {reason}" for number, reason in kind.misfits(path, segment)]
    except KipwireError as error:
        return [f"cannot be compared with its segment: {error}"]


def _reason(error: ValueError) -> str:
    return f"{error.path} at byte {error.offset}: {error.reason}" if isinstance(error, DecodeError) else str(error)


def _text_line(entry: Entry) -> str:
    texts = (f"{name}={moment_text(value) if name in _TIMES else value}" for name, value in entry.items())
    return f"{' '.join(texts)}\n"


def _json_line(path: Path, kind: Kind) -> Callable[[Entry], str]:
    topic, partition = partition_of(path.absolute().parent.name) or (None, None)
    head = {"type": kind.type, "file": str(path)}
    if partition is not None:
        head |= {"topic": topic, "partition": partition}  # type: ignore[dict-item]

    def line(entry: Entry) -> str:
        return json.dumps(head | entry, separators=(",", ":")) + "\n"

    return line


def _base_offset(path: Path) -> int:
    found = base_offset_of(path.with_suffix(SEGMENT).name)
    if found is None:
        raise ValueError(f"the name must be the base offset, as in 00000000000000000612{path.suffix}")
    return found


def _offset_index(path: Path) -> Iterator[Entry]:
    with path.open("rb") as file:
        for entry in offset_index(file, _base_offset(path)):
            yield entry._asdict()


def _time_index(path: Path) -> Iterator[Entry]:
    with path.open("rb") as file:
        for entry in time_index(file, _base_offset(path)):
            yield entry._asdict()


def _offset_misfits(path: Path, segment: Path) -> Iterator[Misfit]:
    with path.open("rb") as file:
        yield from offset_misfits(offset_index(file, _base_offset(path)), read_segment(segment, check_crcs=False))


def _time_misfits(path: Path, segment: Path) -> Iterator[Misfit]:
    with path.open("rb") as file:
        yield from time_misfits(time_index(file, _base_offset(path)), read_segment(segment, check_crcs=False))


def _aborted_entries(path: Path) -> Iterator[Entry]:
    with path.open("rb") as file:
        yield from map(_fields, aborted_transactions(file))


def _producers(path: Path) -> Iterator[Entry]:
    yield from map(_fields, producer_snapshot(path.read_bytes()).producer_entries)


def _fields(struct: Struct) -> Entry:
    return {field.name: getattr(struct, field.name) for field in struct.ATTRIBUTES}


def _leader_epochs(path: Path) -> Iterator[Entry]:
    for entry in leader_epochs(path.read_text("utf-8")):
        yield entry._asdict()


def _partition_offsets(path: Path) -> Iterator[Entry]:
    for entry in partition_offsets(path.read_text("utf-8")):
        yield entry._asdict()


_BY_SUFFIX = {
    ".index": Kind("offset_index", "an offset index", _offset_index, _offset_misfits),
    ".timeindex": Kind("time_index", "a time index", _time_index, _time_misfits),
    ".txnindex": Kind("aborted_transaction", "an index of aborted transactions", _aborted_entries),
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
