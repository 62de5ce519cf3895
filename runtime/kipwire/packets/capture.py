"""All connections of a capture: packets in, Kafka's frames out, in the order in which they are complete."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence

from kipwire.packets.connection import Connection
from kipwire.packets.conversation import Found
from kipwire.packets.files import Packet
from kipwire.packets.headers import Segment, Unreadable, port, segment_of
from kipwire.packets.rotation import in_order
from kipwire.tools.readable import ReadableFile

_MOST_CONNECTIONS = 16384
"""The most connections that are followed at once; beyond it, the one silent longest is taken as ended."""
_MOST_HELD = 256 * 1024 * 1024
"""The most bytes of incomplete frames and of segments that wait for others; beyond it, connections are dropped."""


def find_frames(files: Sequence[ReadableFile], ports: Collection[int] = ()) -> Iterator[Found]:
    """The frames in the packet files of one capture, and errors instead of frames that are missing.

    Args:
        files: pcap or pcapng, in any order.
        ports: the brokers' ports; other connections are skipped. Empty: all connections are read.

    Raises:
        CaptureError: a file cannot be opened, or is neither pcap nor pcapng.
    """
    damage: list[str] = []
    capture = _Capture(ports)
    yield from capture.read(in_order(files, damage))
    yield from capture.end(damage)


class _Capture:
    """The connections of one capture."""

    def __init__(self, ports: Collection[int]) -> None:
        self._ports = frozenset(ports)
        self._connections: OrderedDict[bytes, Connection] = OrderedDict()
        """By their endpoints; the one silent longest is the first."""
        self._count = 0
        self._held = 0
        """Bytes that all connections hold."""
        self._time = 0
        self._unreadable: Counter[str] = Counter()
        """The numbers of packets, by why they cannot be read."""

    def read(self, packets: Iterable[Packet]) -> Iterator[Found]:
        """Yield what is found in packets."""
        for time, link, data in packets:
            self._time = time
            try:
                segment = segment_of(link, data)
            except Unreadable as error:
                self._unreadable[str(error)] += 1
                continue
            if segment is not None and self._is_chosen(segment):
                yield from self._add(segment, time)

    def end(self, damage: Iterable[str]) -> Iterator[Found]:
        """Yield all that still waits, and errors for unreadable packets and damaged files."""
        while self._connections:
            yield from self._end_first()
        for reason, count in self._unreadable.items():
            packets = "a packet" if count == 1 else f"{count:,} packets"
            yield self._of_capture(f"{packets} that cannot be read: {reason}")
        for reason in damage:
            yield self._of_capture(reason)

    def _is_chosen(self, segment: Segment) -> bool:
        return not self._ports or port(segment.source) in self._ports or port(segment.target) in self._ports

    def _add(self, segment: Segment, time: int) -> Iterator[Found]:
        source, target = segment.source, segment.target
        key = source + target if source < target else target + source
        connection = self._connections.get(key)
        if connection is not None and not connection.goes_on_with(segment):
            yield from self._end(key)
            connection = None
        if connection is None:
            connection = Connection(self._count, source, target, self._ports)
            self._connections[key] = connection
            self._count += 1
            if len(self._connections) > _MOST_CONNECTIONS:
                yield from self._end_first()
        self._connections.move_to_end(key)
        if connection.is_over:
            return
        before = connection.held
        yield from connection.add(segment, time)
        self._held += connection.held - before
        if self._held > _MOST_HELD:
            yield self._of_capture(f"connection {connection.number} is dropped: too many bytes wait for missing ones")
            yield from self._end(key)

    def _end_first(self) -> Iterator[Found]:
        yield from self._end(next(iter(self._connections)))

    def _end(self, key: bytes) -> Iterator[Found]:
        connection = self._connections.pop(key)
        self._held -= connection.held
        yield from connection.end(self._time)

    def _of_capture(self, text: str) -> Found:
        return Found(self._time, None, None, None, None, None, None, text)
