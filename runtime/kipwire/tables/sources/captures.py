"""Captured frames as Arrow batches, without Spark: the columns of all captures, and reading kipwire's own format.

`kipwire.traffic.captures` reads that format; `packet_captures` has the frames in packet files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from kipwire.tables.arrow import TIMESTAMP
from kipwire.tables.errors import SourceError
from kipwire.tables.files.access import file_at, path_text, size_of
from kipwire.tables.files.stores import HERE, Storage
from kipwire.tools.io import ReadableFile
from kipwire.traffic.captures import (
    FRAMES,
    INDEX,
    PACKED,
    CaptureError,
    Entry,
    frames_beside,
    is_packed,
    open_frames,
    read_index,
)
from kipwire.traffic.conversation import REQUEST, RESPONSE

FRAMES_SCHEMA = pa.schema(
    [
        ("capture", pa.string()),
        ("number", pa.int64()),
        ("timestamp", TIMESTAMP),
        ("timestamp_ns", pa.int64()),
        ("connection", pa.int64()),
        ("listener", pa.string()),
        ("direction", pa.string()),
        ("api_key", pa.int16()),
        ("api_version", pa.int16()),
        ("correlation_id", pa.int32()),
        ("client_id", pa.string()),
        ("frame", pa.binary()),
        ("error", pa.string()),
        ("reason", pa.string()),
        ("unread_bytes", pa.int64()),
    ]
)
"""The columns of `kafka_frames`; docs/spark-sources.md explains them."""

DIRECTIONS = (REQUEST, RESPONSE)
_DIRECTION = {True: REQUEST, False: RESPONSE}
"""By `is_request`."""

ROWS = 8192
"""Number of rows at which an Arrow batch is complete."""
BYTES = 16 * 1024 * 1024
"""Number of bytes of frames at which an Arrow batch is complete, even with fewer rows."""


class FrameFilter(NamedTuple):
    """A filter of frames; an empty tuple means all."""

    api_keys: tuple[int, ...] = ()
    directions: tuple[str, ...] = ()
    client_ids: tuple[str, ...] = ()

    def selects(self, direction: str, api_key: int, client_id: str | None) -> bool:
        """True if the filter lets a frame through."""
        return (
            (not self.api_keys or api_key in self.api_keys)
            and (not self.directions or direction in self.directions)
            and (not self.client_ids or client_id in self.client_ids)
        )


class Part(NamedTuple):
    """A range of bytes of an index, which one task reads."""

    index_file: str
    frames_file: str
    start: int
    """Lines that start before it are left out, even if they end after it."""
    end: int | None
    """Lines that start from here on belong to the next part; None: to the end, as in a compressed index."""
    storage: Storage = HERE
    """Options of their store, if their paths are URLs."""


def is_index_name(name: str) -> bool:
    """True if a name is one of an index of a capture, also a compressed one."""
    return name in (INDEX, INDEX + PACKED)


def is_frames_name(name: str) -> bool:
    """True if a name is one of a capture's file of frames, also a compressed one."""
    return name in (FRAMES, FRAMES + PACKED)


def parts(index: ReadableFile, split_bytes: int, storage: Storage = HERE) -> list[Part]:
    """Split one capture into ranges of its index of about `split_bytes` bytes; a compressed index is one part.

    Raises:
        SourceError: the frames are missing, or a file cannot be read.
    """
    try:
        frames = frames_beside(index)
        if is_packed(index) or is_packed(frames):
            return [Part(str(index), str(frames), 0, None, storage)]
    except CaptureError as error:
        raise SourceError(str(error)) from None
    size = size_of(str(index), storage)
    return [
        Part(str(index), str(frames), start, min(start + split_bytes, size), storage)
        for start in range(0, size, split_bytes)
    ]


def read_frames(part: Part, chosen: FrameFilter) -> Iterator[pa.RecordBatch]:
    """Yield the frames of a part of a capture, in its order, as batches of `FRAMES_SCHEMA`.

    Raises:
        SourceError: a file is missing or damaged, or the index does not fit the frames, in the line that the text
            gives.
    """
    entries: list[Entry] = []
    of_entries: list[bytes] = []
    size = 0
    try:
        with open_frames(file_at(part.frames_file, part.storage)) as frames:
            for entry in read_index(file_at(part.index_file, part.storage), part.start, part.end):
                if not chosen.selects(_DIRECTION[entry.is_request], entry.api_key, entry.client_id):
                    continue
                entries.append(entry)
                of_entries.append(frames.read(entry))
                size += entry.size
                if len(entries) >= ROWS or size >= BYTES:
                    yield _batch(entries, of_entries)
                    entries, of_entries, size = [], [], 0
    except CaptureError as error:
        raise SourceError(str(error)) from None
    if entries:
        yield _batch(entries, of_entries)


def _batch(entries: Sequence[Entry], frames: Sequence[bytes]) -> pa.RecordBatch:
    """Make rows of entries of one index, column by column: the values of a row are in no object of their own."""
    values: dict[str, Sequence[Any]] = dict(zip(Entry._fields, zip(*entries, strict=True), strict=True))
    found = {
        **{name: values[name] for name in FRAMES_SCHEMA.names if name in values},
        "timestamp": [time // 1000 for time in values["timestamp_ns"]],
        "direction": [_DIRECTION[is_request] for is_request in values["is_request"]],
        "frame": frames,
    }
    capture, count = path_text(str(entries[0].file.parent)), len(entries)
    arrays = [
        (
            pa.array(found[field.name], field.type)
            if field.name in found
            else pa.repeat(pa.scalar(capture if field.name == "capture" else None, field.type), count)
        )
        for field in FRAMES_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=FRAMES_SCHEMA)
