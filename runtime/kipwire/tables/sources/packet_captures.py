"""The frames in packet files as Arrow batches, without Spark."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple

import pyarrow as pa

from kipwire.message.registry import Registry
from kipwire.tables.errors import SourceError
from kipwire.tables.files.access import file_at, path_text, size_of
from kipwire.tables.files.stores import HERE, Storage
from kipwire.tables.sources.captures import BYTES, FRAMES_SCHEMA, ROWS, FrameFilter
from kipwire.tools.io import no_garbage_collection
from kipwire.traffic.captures import CaptureError
from kipwire.traffic.conversation import Found
from kipwire.traffic.packet_captures import WHOLE, Share, find_frames, find_share

_NUMBERS = 10_000_000
"""More than the frames that one packet can complete, since at most some MiB wait for it."""

_NO_REQUEST = (None, None, None, None)

BYTES_OF_TASK = 32 * 1024 * 1024
"""Bytes of a capture per task. Each task reads all packets, which takes a tenth of the time of their connections."""


class PacketCapture(NamedTuple):
    """Packet files that are one capture, since a connection may span all of them; or some connections of it."""

    name: str
    """The file, or the folder of the files."""
    files: tuple[str, ...]
    storage: Storage = HERE
    """Options of their store, if their paths are URLs."""
    share: Share = WHOLE


def share_capture(capture: PacketCapture, most: int) -> list[PacketCapture]:
    """Split a capture into at most `most` shares of about equal work, fewer if it is small."""
    if most == 1:
        return [capture]
    size = sum(size_of(file, capture.storage) for file in capture.files)
    count = max(1, min(most, size // BYTES_OF_TASK))
    return [capture._replace(share=Share(number, count)) for number in range(count)] if count > 1 else [capture]


class Numbered(NamedTuple):
    """A find in packets, with its number if it is a frame."""

    number: int | None
    found: Found


def number_frames(
    capture: PacketCapture, ports: Collection[int] = (), registry: Registry | None = None
) -> Iterator[Numbered]:
    """Yield the content of a capture, in order; frames are numbered from 0 on, incomplete ones too.

    A share of a capture cannot count the frames of the other shares. So its numbers have gaps: the number of the packet
    times 10,000,000, plus the number of the frame in it. They still have the order of the whole capture.

    Args:
        capture: the files.
        ports: the brokers' ports; empty if they are not known.
        registry: of the protocol; by default Kafka's.

    Raises:
        SourceError: a file cannot be opened, or is neither pcap nor pcapng.
    """
    files = [file_at(file, capture.storage) for file in capture.files]
    numbers = count()
    try:
        if capture.share == WHOLE:
            for found in find_frames(files, ports, registry):
                yield Numbered(None if found.request is None else next(numbers), found)
            return
        reached = -1
        for place, found in find_share(files, ports, capture.share, registry):
            if place != reached:
                reached, numbers = place, count(place * _NUMBERS)
            yield Numbered(None if found.request is None else next(numbers), found)
    except CaptureError as error:
        raise SourceError(str(error)) from None


def read_packet_frames(
    capture: PacketCapture, ports: Collection[int], chosen: FrameFilter, registry: Registry | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the frames of a capture as batches of `FRAMES_SCHEMA`, and a row with `error` for bytes that are no frame.

    Args:
        capture: the files.
        ports: the brokers' ports; empty if they are not known.
        chosen: the filter of frames. Rows with an error stay, since their bytes might be a wanted frame.
        registry: of the protocol; by default Kafka's.

    Raises:
        SourceError: a file cannot be opened, or is neither pcap nor pcapng.
    """
    frames = number_frames(capture, ports, registry)
    name = path_text(capture.name)
    while True:
        with no_garbage_collection():  # frames do not refer to themselves, and there are very many
            numbers, finds = _take(frames, chosen)
        if not finds:
            return
        yield _batch(name, numbers, finds)


def _take(frames: Iterator[Numbered], chosen: FrameFilter) -> tuple[list[int | None], list[Found]]:
    """Return the finds of the next batch with their numbers; none at the end of the capture."""
    numbers: list[int | None] = []
    finds: list[Found] = []
    size = 0
    for number, found in frames:
        request, direction = found.request, found.direction
        if (
            request is not None
            and direction is not None
            and not chosen.selects(direction, request.api_key, request.client_id)
        ):
            continue
        numbers.append(number)
        finds.append(found)
        size += len(found.frame or b"")
        if len(finds) >= ROWS or size >= BYTES:
            break
    return numbers, finds


def _batch(name: str, numbers: list[int | None], finds: list[Found]) -> pa.RecordBatch:
    """Make rows column by column."""
    keys, versions, ids, clients = zip(*[found.request or _NO_REQUEST for found in finds], strict=True)
    unread = [found.unread for found in finds]
    columns: dict[str, Sequence[Any]] = {
        "number": numbers,
        "timestamp": [found.time // 1000 for found in finds],
        "timestamp_ns": [found.time for found in finds],
        "connection": [found.connection for found in finds],
        "listener": [found.listener for found in finds],
        "direction": [found.direction for found in finds],
        "api_key": keys,
        "api_version": versions,
        "correlation_id": ids,
        "client_id": clients,
        "frame": [found.frame for found in finds],
        "error": [found.error for found in finds],
        "reason": [None if one is None else one[0] for one in unread],
        "unread_bytes": [None if one is None else one[1] for one in unread],
    }
    arrays = {one: pa.array(column, FRAMES_SCHEMA.field(one).type) for one, column in columns.items()}
    arrays["capture"] = pa.repeat(pa.scalar(name, pa.string()), len(finds))
    return pa.RecordBatch.from_arrays([arrays[one] for one in FRAMES_SCHEMA.names], schema=FRAMES_SCHEMA)
