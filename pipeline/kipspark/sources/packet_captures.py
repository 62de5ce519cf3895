"""The frames in packet files as Arrow batches, without Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple

import pyarrow as pa

from kipspark.errors import SourceError
from kipspark.files.access import file_at
from kipspark.files.stores import HERE, Storage
from kipspark.sources.frame_rows import BYTES, FRAMES_SCHEMA, ROWS, FrameFilter
from kipspark.sources.paths import path_text
from kipwire.captures import CaptureError
from kipwire.packets.capture import find_frames
from kipwire.packets.conversation import Found


class PacketCapture(NamedTuple):
    """Packet files that are one capture; one task reads them, since a connection may span all of them."""

    name: str
    """The file, or the folder of the files."""
    files: tuple[str, ...]
    storage: Storage = HERE
    """How to reach the store that they are in, if their paths are URLs."""


class Numbered(NamedTuple):
    """What was found, with its number if it is a frame."""

    number: int | None
    found: Found


def numbered_frames(capture: PacketCapture, ports: Collection[int] = ()) -> Iterator[Numbered]:
    """The content of a capture, in order; frames are numbered from 0 on, incomplete ones too.

    Args:
        capture: the files.
        ports: the brokers' ports; empty if they are not known.

    Raises:
        SourceError: a file cannot be opened, or is neither pcap nor pcapng.
    """
    numbers = count()
    try:
        for found in find_frames([file_at(file, capture.storage) for file in capture.files], ports):
            yield Numbered(None if found.request is None else next(numbers), found)
    except CaptureError as error:
        raise SourceError(str(error)) from None


def read_packet_frames(capture: PacketCapture, ports: Collection[int], chosen: FrameFilter) -> Iterator[pa.RecordBatch]:
    """The frames of a capture as batches of `FRAMES_SCHEMA`, and a row with `error` for what is not a frame.

    Args:
        capture: the files.
        ports: the brokers' ports; empty if they are not known.
        chosen: the wanted frames. What is not a frame stays, since it might be one of them.

    Raises:
        SourceError: a file cannot be opened, or is neither pcap nor pcapng.
    """
    rows: list[tuple[Any, ...]] = []
    size = 0
    for number, found in numbered_frames(capture, ports):
        request, direction = found.request, found.direction
        if (
            request is not None
            and direction is not None
            and not chosen.selects(direction, request.api_key, request.client_id)
        ):
            continue
        rows.append(
            (
                path_text(capture.name),
                number,
                found.time // 1000,
                found.time,
                found.connection,
                found.listener,
                direction,
                *(request or (None, None, None, None)),
                found.frame,
                found.error,
            )
        )
        size += len(found.frame or b"")
        if len(rows) >= ROWS or size >= BYTES:
            yield _batch(rows)
            rows, size = [], 0
    if rows:
        yield _batch(rows)


def _batch(rows: Iterable[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, FRAMES_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=FRAMES_SCHEMA)
