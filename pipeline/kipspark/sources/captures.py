"""Captured request and response frames as Arrow batches, without Spark.

A capture is a folder with `frames.bin`, the frames, and `frames.jsonl`, their index; each plain or packed with gzip.
The form is described in examples/capture/README.md.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa

from kipspark.errors import SourceError
from kipspark.packets.conversation import REQUEST, RESPONSE
from kipspark.sources.frame_rows import BYTES, FRAMES_SCHEMA, ROWS, Chosen

INDEX, FRAMES = "frames.jsonl", "frames.bin"

_DIRECTIONS = {"req": REQUEST, "res": RESPONSE}
"""The words of the index, and those of the column."""
_PACKED = ".gz"
_SIZE_BYTES = 4
_INT16 = (-(2**15), 2**15 - 1)
_INT32 = (-(2**31), 2**31 - 1)
_RANGES = {
    "off": (0, 2**62),
    "len": (0, _INT32[1]),
    "ts_ns": (0, 2**63 - 1),
    "conn": (-(2**63), 2**63 - 1),
    "api_key": _INT16,
    "api_version": _INT16,
    "correlation_id": _INT32,
}
"""What the numbers of an index may be."""


class Part(NamedTuple):
    """A range of bytes of an index, which one task reads."""

    index_file: str
    frames_file: str
    start: int
    """Lines that start before are left out; so is one that has started before and ends here."""
    end: int | None
    """Lines that start from here on belong to the next part; None: to the end, as in a packed index."""


def find_indexes(place: Path) -> tuple[Path, ...]:
    """The index files of the captures in a folder, and in the folders below it."""
    return tuple(sorted([*place.rglob(INDEX), *place.rglob(INDEX + _PACKED)]))


def parts(index: Path, split_bytes: int) -> list[Part]:
    """What tasks read of one capture: ranges of its index of about so many bytes; a packed one as a whole.

    Raises:
        SourceError: the frames are missing.
    """
    frames = _frames_beside(index)
    if _PACKED in (index.suffix, frames.suffix):
        return [Part(str(index), str(frames), 0, None)]
    size = index.stat().st_size
    return [
        Part(str(index), str(frames), start, min(start + split_bytes, size)) for start in range(0, size, split_bytes)
    ]


def read_frames(part: Part, chosen: Chosen) -> Iterator[pa.RecordBatch]:
    """The frames of a part of a capture, in its order, as batches of `FRAMES_SCHEMA`.

    Raises:
        SourceError: a file is missing or damaged, or the index does not fit the frames; it tells the line.
    """
    rows: list[dict[str, Any]] = []
    size = 0
    try:
        with _open(part.index_file) as index, _open(part.frames_file) as frames:
            for place, line in _lines(index, part):
                row = _row(part, place, line, chosen, frames)
                if row is None:
                    continue
                rows.append(row)
                size += len(row["frame"])
                if len(rows) >= ROWS or size >= BYTES:
                    yield pa.RecordBatch.from_pylist(rows, FRAMES_SCHEMA)
                    rows, size = [], 0
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{part.index_file}, {part.frames_file}: cannot be read: {error}") from None
    if rows:
        yield pa.RecordBatch.from_pylist(rows, FRAMES_SCHEMA)


def _frames_beside(index: Path) -> Path:
    plain, packed = index.with_name(FRAMES), index.with_name(FRAMES + _PACKED)
    if not plain.exists() and not packed.exists():
        raise SourceError(f"{index.parent}: has {index.name}, but no {FRAMES} or {FRAMES}{_PACKED} beside it")
    return plain if plain.exists() else packed


def _open(path: str) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.endswith(_PACKED) else Path(path).open("rb")


def _lines(index: BinaryIO, part: Part) -> Iterator[tuple[int, bytes]]:
    """The lines of a part, each with the byte where it starts."""
    start = 0
    if part.start:
        index.seek(part.start - 1)
        start = part.start - 1 + len(index.readline())  # to the end of a line that belongs to the part before
    for line in index:
        if part.end is not None and start >= part.end:
            return
        if line.strip():
            yield start, line
        start += len(line)


def _row(part: Part, at: int, line: bytes, chosen: Chosen, frames: BinaryIO) -> dict[str, Any] | None:
    """One frame, or None if it is not asked for."""
    place = f"{part.index_file}: line at byte {at}"
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{place}: not JSON: {error}") from None
    if not isinstance(entry, dict):
        raise SourceError(f"{place}: not a JSON object")
    direction = _DIRECTIONS.get(entry.get("dir", ""))
    if direction is None:
        raise SourceError(f'{place}: "dir" is {entry.get("dir")!r}; it must be "req" or "res"')
    numbers = {name: _number(place, entry, name) for name in _RANGES}
    client_id, listener = _text(place, entry, "client_id"), _text(place, entry, "listener")
    if not chosen.has(direction, numbers["api_key"], client_id):
        return None
    frames.seek(numbers["off"])
    size = frames.read(_SIZE_BYTES)
    # The size is compared before the frame is read, so that no damaged index asks for more than there is.
    frame = frames.read(numbers["len"]) if size == numbers["len"].to_bytes(_SIZE_BYTES, "big") else b""
    if len(frame) != numbers["len"]:
        raise SourceError(
            f"{place}: no frame of {numbers['len']} bytes stands at byte {numbers['off']} of {part.frames_file}"
        )
    return {
        "capture": str(Path(part.index_file).parent),
        "number": entry.get("i") if isinstance(entry.get("i"), int) else None,
        "timestamp": numbers["ts_ns"] // 1000,
        "timestamp_ns": numbers["ts_ns"],
        "connection": numbers["conn"],
        "listener": listener,
        "direction": direction,
        "api_key": numbers["api_key"],
        "api_version": numbers["api_version"],
        "correlation_id": numbers["correlation_id"],
        "client_id": client_id,
        "frame": frame,
        "error": None,
    }


def _number(place: str, entry: dict[str, Any], name: str) -> int:
    value = entry.get(name)
    lowest, highest = _RANGES[name]
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        raise SourceError(f'{place}: "{name}" must be a whole number from {lowest} to {highest}, not {value!r}')
    return value


def _text(place: str, entry: dict[str, Any], name: str) -> str | None:
    value = entry.get(name)
    if value is not None and not isinstance(value, str):
        raise SourceError(f'{place}: "{name}" must be a string or null, not {value!r}')
    return value
