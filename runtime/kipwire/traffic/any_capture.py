"""Captures of any kind: files of packets, standard input, and kipwire's own format, all as numbered frames."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

from kipwire.traffic.captures import INDEX, PACKED, files_in, open_frames, read_index
from kipwire.traffic.conversation import REQUEST, RESPONSE, Found
from kipwire.traffic.packet_captures import find_frames, find_frames_in_stream
from kipwire.traffic.packet_files import is_packets
from kipwire.traffic.requests import Request
from kipwire.traffic.rotation import is_packet_file
from kipwire.traffic.unread import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.registry import Registry


class Capture(NamedTuple):
    """One capture."""

    path: Path
    packets: tuple[Path, ...]
    """The files of packets that it consists of; empty for one in kipwire's own format, and for a stream."""
    stream: BufferedReader[Any] | None = None
    """Packets that arrive, such as standard input, whose path is `-`; they can be read once."""

    @property
    def name(self) -> str:
        """Name of the capture in errors: its path, or standard input."""
        return "standard input" if self.stream is not None and str(self.path) == "-" else str(self.path)


class Numbered(NamedTuple):
    """A frame, or an error instead of one, and its number."""

    number: int | None
    """The number of the whole frames before it in its capture; None where there is no whole frame."""
    found: Found


def capture_at(path: Path) -> Capture | None:
    """Find the capture at a path; None if something else is there, such as a log.

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


def frames_of(capture: Capture, ports: Collection[int], registry: Registry | None = None) -> Iterator[Numbered]:
    """Read the frames of a capture, in order, with errors instead of frames that are missing.

    Args:
        capture: the capture.
        ports: of packets, the brokers' ports; empty if they are not known. They decide which frames there are, and so
            the numbers.
        registry: of the protocol of packets; by default Kafka's.

    Raises:
        CaptureError: a file cannot be read, or is damaged.
    """
    if capture.stream is not None:
        return _number_frames(find_frames_in_stream(capture.stream, capture.name, ports, registry))
    if capture.packets:
        return _number_frames(find_frames(capture.packets, ports, registry))
    return _number_frames(_of_own_format(capture.path))


def counted(frames: Iterable[Numbered], reading: Reading) -> Iterator[Numbered]:
    """Yield the frames of a capture, and count them, with what was not read of it."""
    reading.begin_capture()
    for one in frames:
        found = one.found
        if found.request is not None:
            reading.count(found.connection, len(found.frame or b""), is_request=found.direction == REQUEST)
        if found.unread is not None:
            reading.miss(found.unread)
        yield one


def _number_frames(frames: Iterable[Found]) -> Iterator[Numbered]:
    count = 0
    for found in frames:
        if found.frame is None:
            yield Numbered(None, found)
        else:
            yield Numbered(count, found)
            count += 1


def _of_own_format(folder: Path) -> Iterator[Found]:
    index, frames_file = files_in(folder)
    with open_frames(frames_file) as frames:
        for entry in read_index(index):
            request = Request(entry.api_key, entry.api_version, entry.correlation_id, entry.client_id)
            direction = REQUEST if entry.is_request else RESPONSE
            frame = frames.read(entry)
            yield Found(entry.timestamp_ns, entry.connection, entry.listener, None, direction, request, frame, None)
