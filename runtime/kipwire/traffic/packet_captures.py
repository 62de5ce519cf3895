"""All connections of a capture: packets in, Kafka's frames out, in the order in which they are complete.

A capture is any number of connections with gaps, and it may be read while it grows. Memory is bounded by two limits, of
connections and of bytes that wait; a connection that holds too much is dropped with an error in its place. A `Share`
lets several processes read the same files: each reads all packets and keeps the connections that a hash of their
endpoints gives to it, and `Placed` has the order in which the shares are merged again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from io import BufferedReader
from typing import Any, NamedTuple
from zlib import crc32

from kipwire.tools.io import ReadableFile
from kipwire.traffic.connection import Connection
from kipwire.traffic.conversation import Found
from kipwire.traffic.exported_pdus import LINK_TYPE, ExportedPdus
from kipwire.traffic.packet_files import Packet, packets_in
from kipwire.traffic.packet_headers import ACK, SYN, Segment, Unreadable, port, segment_of
from kipwire.traffic.rotation import in_order, readable_packets
from kipwire.traffic.unread import Reason, Unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.registry import Registry

MOST_CONNECTIONS = 16384
"""The most connections that are followed at once; beyond it, the one silent longest is taken as ended."""
MOST_HELD = 256 * 1024 * 1024
"""The most bytes of incomplete frames and of segments that wait for others; beyond it, connections are dropped."""


class Share(NamedTuple):
    """Some of a capture's connections, so that several processes can share them."""

    number: int
    """Number of the share, from 0 on. The first share also has the errors that belong to no connection."""
    of: int
    """Number of shares."""

    def has(self, key: bytes) -> bool:
        """True if it has the connections between two endpoints."""
        return crc32(key) % self.of == self.number


WHOLE = Share(0, 1)
"""All connections."""


class Placed(NamedTuple):
    """A find, and its place."""

    place: int
    """The number of the packet with which it was found, from 0 on. What is found after the last packet has higher
    places, in the order in which its connections fell silent."""
    found: Found


def find_frames(
    files: Sequence[ReadableFile], ports: Collection[int] = (), registry: Registry | None = None
) -> Iterator[Found]:
    """Find the frames in the packet files of one capture; give errors instead of frames that are missing.

    Args:
        files: pcap or pcapng, in any order.
        ports: the brokers' ports; other connections are skipped. Empty: all connections are read.
        registry: of the protocol; by default Kafka's.

    Raises:
        CaptureError: a file cannot be opened, or is neither pcap nor pcapng.
    """
    return _Capture(ports, WHOLE, registry).read_files(files)


def find_frames_in_stream(
    stream: BufferedReader[Any], name: str, ports: Collection[int] = (), registry: Registry | None = None
) -> Iterator[Found]:
    """Find frames as `find_frames` does, but in packets that arrive, each frame as soon as its last byte is there.

    Args:
        stream: pcap or pcapng; it is closed at its end.
        name: what errors call it.
        ports: as for `find_frames`.
        registry: of the protocol; by default Kafka's.

    Raises:
        CaptureError: it is neither pcap nor pcapng.
    """
    return _Capture(ports, WHOLE, registry).read_packets(partial(readable_packets, packets_in(stream, name), name))


def find_share(
    files: Sequence[ReadableFile], ports: Collection[int], share: Share, registry: Registry | None = None
) -> Iterator[Placed]:
    """Find the frames of some connections; all shares together have the same content as `find_frames`.

    The number of a connection is the number of its first packet, since a share cannot count the connections of others.

    Args:
        files: see `find_frames`.
        ports: see `find_frames`.
        share: the connections to find.
        registry: see `find_frames`.

    Raises:
        CaptureError: a file cannot be opened, or is neither pcap nor pcapng.
    """
    capture = _Capture(ports, share, registry)
    for found in capture.read_files(files):
        yield Placed(capture.place, found)


class _Capture:
    """The connections of one capture, or some of them."""

    def __init__(self, ports: Collection[int], share: Share, registry: Registry | None) -> None:
        self.place = -1
        """Place of the last find; see `Placed`."""
        self._share = share
        self._is_whole = share == WHOLE
        self._ports, self._registry = frozenset(ports), registry
        self._connections: OrderedDict[bytes, Connection] = OrderedDict()
        """Connections by their endpoints; the one silent longest is the first."""
        self._listeners: OrderedDict[bytes, None] = OrderedDict()
        """The endpoints that accepted connections, of all shares; the one that did so longest ago is the first."""
        self._silent_since: dict[bytes, int] = {}
        """Number of the last packet of each connection, by its endpoints, if this is a share."""
        self._count = 0
        self._held = 0
        """Bytes that all connections hold."""
        self._time = 0
        self._exported = ExportedPdus()
        self._unreadable: dict[tuple[str, str], Unread] = {}
        """Amounts of packets, by their kind and why they cannot be read."""

    def read_files(self, files: Sequence[ReadableFile]) -> Iterator[Found]:
        """Yield what is found in the files of the capture."""
        return self.read_packets(partial(in_order, files))

    def read_packets(self, packets: Callable[[list[str]], Iterator[Packet]]) -> Iterator[Found]:
        """Yield what is found in the packets that a function gives, which gets a list for what is damaged."""
        damage: list[str] = []
        yield from self._read(packets(damage))
        yield from self._end_all(damage)

    def _read(self, packets: Iterable[Packet]) -> Iterator[Found]:
        for time, link, data in packets:
            self.place += 1
            self._time = time
            try:
                segment = segment_of(link, data) if link != LINK_TYPE else self._exported.segment_of(data)
            except Unreadable as error:
                self._note_unreadable(error, len(data))
                continue
            if segment is not None and (not self._ports or self._is_chosen(segment)):
                found = self._add(segment, time)
                if found:
                    yield from found

    def _end_all(self, damage: Iterable[str]) -> Iterator[Found]:
        """Yield all that still waits, and errors for unreadable packets and damaged files."""
        packets = self.place + 1
        while self._connections:
            self.place = packets + self._silent_since.get(next(iter(self._connections)), 0)
            yield from self._end_first()
        if self._share.number:
            return
        self.place = 2 * packets
        for (_, why), unread in self._unreadable.items():
            amount = "a packet" if unread.times == 1 else f"{unread.times:,} packets"
            yield self._of_capture(f"{amount} that cannot be read: {why}", unread)
        for why in damage:
            yield self._of_capture(why, Unread(Reason.DAMAGED, 0))

    def _note_unreadable(self, error: Unreadable, size: int) -> None:
        key = error.kind, str(error)
        before = self._unreadable.get(key, Unread(error.kind, 0, 0))
        self._unreadable[key] = Unread(error.kind, before.bytes + size, before.times + 1)

    def _is_chosen(self, segment: Segment) -> bool:
        return port(segment.source) in self._ports or port(segment.target) in self._ports

    def _add(self, segment: Segment, time: int) -> list[Found]:
        found: list[Found] = []
        source, target = segment.source, segment.target
        key = source + target if source < target else target + source
        opens = segment.flags & SYN
        if opens and segment.flags & ACK:
            self._note_listener(source)
        if not self._is_whole and not self._share.has(key):
            return found
        connection = self._connections.get(key)
        may_be_another = opens or (connection is not None and connection.is_over)
        if may_be_another and connection is not None and not connection.goes_on_with(segment):
            found += self._end(key)
            connection = None
        if connection is None:
            connection = Connection(self._number(), source, target, self._ports, self._listeners, self._registry)
            self._connections[key] = connection
            if len(self._connections) > MOST_CONNECTIONS:
                found += self._end_first()
        self._connections.move_to_end(key)
        if not self._is_whole:
            self._silent_since[key] = self.place
        if connection.is_over:
            return found
        found += connection.add(segment, time)
        held = connection.held
        self._held += held - connection.counted
        connection.counted = held
        if self._held > MOST_HELD:
            text = f"connection {connection.number} is dropped: too many bytes wait for missing ones"
            found.append(self._of_capture(text, Unread(Reason.DROPPED, held)))
            found += self._end(key)
        return found

    def _note_listener(self, endpoint: bytes) -> None:
        self._listeners[endpoint] = None
        self._listeners.move_to_end(endpoint)
        if len(self._listeners) > MOST_CONNECTIONS:
            self._listeners.popitem(last=False)

    def _number(self) -> int:
        """Return the number of a new connection."""
        self._count += 1
        return self._count - 1 if self._is_whole else self.place

    def _end_first(self) -> list[Found]:
        return self._end(next(iter(self._connections)))

    def _end(self, key: bytes) -> list[Found]:
        connection = self._connections.pop(key)
        self._silent_since.pop(key, None)
        self._held -= connection.counted
        return connection.end(self._time)

    def _of_capture(self, text: str, unread: Unread) -> Found:
        return Found(self._time, None, None, None, None, None, None, text, unread)
