"""Captures in kipwire's own format as Arrow batches, without Spark; `kipwire.captures` reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from kipspark.errors import SourceError
from kipspark.sources.frame_rows import BYTES, FRAMES_SCHEMA, ROWS, FrameFilter
from kipspark.sources.paths import path_text
from kipwire.captures import INDEX, PACKED, CaptureError, Entry, frames_beside, is_packed, open_frames, read_index
from kipwire.packets.conversation import REQUEST, RESPONSE


class Part(NamedTuple):
    """A range of bytes of an index, which one task reads."""

    index_file: str
    frames_file: str
    start: int
    """Lines that start before it are left out, even if they end after it."""
    end: int | None
    """Lines that start from here on belong to the next part; None: to the end, as in a compressed index."""


def find_indexes(folder: Path) -> tuple[Path, ...]:
    """The index files of the captures in a folder, and in the folders below it."""
    return tuple(sorted([*folder.rglob(INDEX), *folder.rglob(INDEX + PACKED)]))


def parts(index: Path, split_bytes: int) -> list[Part]:
    """The parts of one capture: ranges of its index of about `split_bytes` bytes; all of it if it is compressed.

    Raises:
        SourceError: the frames are missing, or a file cannot be read.
    """
    try:
        frames = frames_beside(index)
        if is_packed(index) or is_packed(frames):
            return [Part(str(index), str(frames), 0, None)]
    except CaptureError as error:
        raise SourceError(str(error)) from None
    size = index.stat().st_size
    return [
        Part(str(index), str(frames), start, min(start + split_bytes, size)) for start in range(0, size, split_bytes)
    ]


def read_frames(part: Part, chosen: FrameFilter) -> Iterator[pa.RecordBatch]:
    """The frames of a part of a capture, in its order, as batches of `FRAMES_SCHEMA`.

    Raises:
        SourceError: a file is missing or damaged, or the index does not fit the frames, in the line that the text
            gives.
    """
    rows: list[dict[str, Any]] = []
    size = 0
    try:
        with open_frames(Path(part.frames_file)) as frames:
            for entry in read_index(Path(part.index_file), part.start, part.end):
                direction = REQUEST if entry.is_request else RESPONSE
                if not chosen.selects(direction, entry.api_key, entry.client_id):
                    continue
                rows.append(_row(entry, direction, frames.read(entry)))
                size += entry.size
                if len(rows) >= ROWS or size >= BYTES:
                    yield pa.RecordBatch.from_pylist(rows, FRAMES_SCHEMA)
                    rows, size = [], 0
    except CaptureError as error:
        raise SourceError(str(error)) from None
    if rows:
        yield pa.RecordBatch.from_pylist(rows, FRAMES_SCHEMA)


def _row(entry: Entry, direction: str, frame: bytes) -> dict[str, Any]:
    return {
        "capture": path_text(entry.file.parent),
        "number": entry.number,
        "timestamp": entry.timestamp_ns // 1000,
        "timestamp_ns": entry.timestamp_ns,
        "connection": entry.connection,
        "listener": entry.listener,
        "direction": direction,
        "api_key": entry.api_key,
        "api_version": entry.api_version,
        "correlation_id": entry.correlation_id,
        "client_id": entry.client_id,
        "frame": frame,
        "error": None,
    }
