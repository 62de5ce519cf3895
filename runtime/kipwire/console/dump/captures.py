"""The frames of captures, of packets and of kipwire's own format alike, each with what is known of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from kipwire.message.registry import KAFKA_PACKAGE, registry_of
from kipwire.model.errors import KipwireError
from kipwire.tools.io import ReadableFile
from kipwire.traffic.captures import INDEX, PACKED, files_in, open_frames, read_index
from kipwire.traffic.conversation import REQUEST, RESPONSE, Found
from kipwire.traffic.frame_facts import api_name, decode_frame, error_name, facts_of
from kipwire.traffic.packet_captures import find_frames
from kipwire.traffic.packet_files import is_packets
from kipwire.traffic.requests import Request
from kipwire.traffic.rotation import is_packet_file

_MOST_OPEN = 65536
"""The most requests whose times are kept for their responses; some have none."""


class Capture(NamedTuple):
    """One capture."""

    path: Path
    packets: tuple[ReadableFile, ...]
    """The files of packets that it consists of; empty for one in kipwire's own format."""


class Row(NamedTuple):
    """A frame with what was found in it."""

    found: Found
    """The frame as it was captured, or an error instead of one."""
    api: str | None
    latency: int | None
    """Nanoseconds from a request to its response."""
    errors: list[tuple[str, int, str | None, int]]
    """Error codes other than 0 in it: path, code, name, and how often."""
    error: str | None
    """Why it cannot be decoded, or why there is no frame."""


def capture_at(path: Path) -> Capture | None:
    """The capture at a path; None if it is something else, such as a log.

    Raises:
        OSError: it cannot be read.
    """
    if path.is_dir():
        if any((path / f"{INDEX}{end}").exists() for end in ("", PACKED)):
            return Capture(path, ())
        files = tuple(sorted(file for file in path.iterdir() if is_packet_file(file)))
        return Capture(path, files) if files else None
    if path.name in (INDEX, INDEX + PACKED):
        return Capture(path.parent, ())
    with path.open("rb") as file:
        return Capture(path, (path,)) if is_packets(file.read(4)) else None


def frames_of(capture: Capture, ports: Collection[int]) -> Iterator[Found]:
    """The frames of a capture, in order, and errors instead of frames that are missing.

    Args:
        capture: it.
        ports: of packets, the brokers' ports; empty if they are not known.

    Raises:
        CaptureError: a file cannot be read, or is damaged.
    """
    if capture.packets:
        yield from find_frames(capture.packets, ports)
        return
    index, frames_file = files_in(capture.path)
    with open_frames(frames_file) as frames:
        for entry in read_index(index):
            request = Request(entry.api_key, entry.api_version, entry.correlation_id, entry.client_id)
            direction = REQUEST if entry.is_request else RESPONSE
            frame = frames.read(entry)
            yield Found(entry.timestamp_ns, entry.connection, entry.listener, None, direction, request, frame, None)


def rows_of(capture: Capture, ports: Collection[int]) -> Iterator[Row]:
    """The frames of a capture with what was found in them.

    Raises:
        CaptureError: as `frames_of`.
    """
    asked: OrderedDict[tuple[int | None, int, int], int] = OrderedDict()
    for found in frames_of(capture, ports):
        request = found.request
        latency = None
        if request is not None:
            key = found.connection, request.api_key, request.correlation_id
            if found.direction == REQUEST:
                asked[key] = found.time
                if len(asked) > _MOST_OPEN:
                    asked.popitem(last=False)
            else:
                started = asked.pop(key, None)
                latency = None if started is None else found.time - started
        yield _row(found, latency)


def _row(found: Found, latency: int | None) -> Row:
    request = found.request
    api = None if request is None else api_name(request.api_key)
    if request is None or found.frame is None or found.direction is None:
        return Row(found, api, latency, [], found.error)
    try:
        body = decode_frame(
            registry_of(KAFKA_PACKAGE), found.direction, request.api_key, request.api_version, found.frame
        )
    except KipwireError as error:
        return Row(found, api, latency, [], str(error))
    codes = facts_of(body).error_codes.items()
    return Row(found, api, latency, [(path, code, error_name(code), count) for (path, code), count in codes], None)
