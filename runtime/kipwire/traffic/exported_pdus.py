"""Wireshark's exported PDUs (link type 252): what a protocol carries, such as decrypted TLS, after tags with addresses.

    type (int16), length (int16), content padded to 4 bytes    ... until type 0; then the PDU

The PDUs of a direction follow each other, without sequence numbers, so these are counted here. A PDU that Wireshark
could not dissect as a whole is exported twice: as far as it had come, and again with the rest. The second begins with
the same bytes and has a whole frame, which is a retransmission here. To notice it, the length and a checksum of the
incomplete frame are kept.
What it exports of TCP itself ("OSI layer 4") are the tries of its dissector, with parts more than once: it is counted.

Source: `epan/exported_pdu.h` of Wireshark.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from kipwire.traffic.packet_headers import ACK, Segment, Unreadable

LINK_TYPE = 252
_TAG = Struct(">HH")
_END, _PORT_TYPE, _SOURCE_PORT, _TARGET_PORT, _TCP_INFO = 0, 24, 25, 26, 34
_SOURCES, _TARGETS = (20, 22), (21, 23)
"""Tags of addresses: of IPv4, and of IPv6."""
_PORT_TYPE_TCP = 2
_MOST_DIRECTIONS = 32768
_SIZE_BYTES = 4
_FIRST = 1
"""Sequence number of the first byte of a direction."""


class _Direction:
    """The frames of a direction, as far as needed to find out where one is incomplete."""

    def __init__(self) -> None:
        self.end = _FIRST
        """Sequence number after the last byte."""
        self.pending = 0
        """Bytes of the incomplete frame at the end."""
        self._checksum = 0
        self._head = b""
        self._left = 0
        """Bytes that the frame lacks, if its size is known."""

    def repeats(self, data: bytes) -> bool:
        """True if data begins with the incomplete frame, and has all of it."""
        size = int.from_bytes(data[:_SIZE_BYTES], signed=True)
        is_whole = _SIZE_BYTES <= _SIZE_BYTES + size <= len(data)
        return self.pending > 0 and is_whole and crc32(memoryview(data)[: self.pending]) == self._checksum

    def drop_pending(self) -> None:
        """Forget the incomplete frame, which comes again."""
        self.end -= self.pending
        self._begin()

    def add(self, data: bytes) -> None:
        """Take the next bytes: whole frames, and then perhaps a part of one."""
        at, self.end = 0, self.end + len(data)
        while at < len(data):
            begins = at
            if not self._left:
                self._head += data[at : at + _SIZE_BYTES - len(self._head)]
                at += len(self._head) - self.pending
                if len(self._head) == _SIZE_BYTES:
                    self._left = max(int.from_bytes(self._head, signed=True), 0)
            some = min(self._left, len(data) - at)
            at, self._left = at + some, self._left - some
            if len(self._head) == _SIZE_BYTES and not self._left:
                self._begin()
            else:
                self.pending += at - begins
                self._checksum = crc32(memoryview(data)[begins:at], self._checksum)

    def _begin(self) -> None:
        self.pending = self._checksum = self._left = 0
        self._head = b""


class ExportedPdus:
    """The PDUs of a capture as segments of TCP."""

    def __init__(self) -> None:
        self._directions: OrderedDict[bytes, _Direction] = OrderedDict()

    def segment_of(self, data: bytes) -> Segment | None:
        """Make a segment of a packet; None if its PDU was not in TCP.

        Raises:
            Unreadable: the tags are cut short, or lack addresses.
        """
        try:
            tags, at = _tags(data)
        except struct.error:
            raise Unreadable("cut short", "cut short within its headers") from None
        if _PORT_TYPE in tags and int.from_bytes(tags[_PORT_TYPE]) != _PORT_TYPE_TCP:
            return None
        if _TCP_INFO in tags:
            raise Unreadable("exported TCP", "parts of TCP that Wireshark exported; use the capture, or OSI layer 7")
        ends = _Ends.of(tags)
        if ends is None:
            raise Unreadable("exported PDU", "an exported PDU without addresses and ports")
        content = data[at:]
        sequence = self._place(ends.source + ends.target, content)
        return Segment(ends.source, ends.target, sequence, 0, ACK, content, len(content))

    def _place(self, key: bytes, data: bytes) -> int:
        """Find the sequence number of the next bytes of a direction."""
        direction = self._directions.pop(key, None) or _Direction()
        self._directions[key] = direction
        if len(self._directions) > _MOST_DIRECTIONS:
            self._directions.popitem(last=False)
        if direction.repeats(data):
            direction.drop_pending()
        start = direction.end
        direction.add(data)
        return start & 0xFFFFFFFF


class _Ends(NamedTuple):
    source: bytes
    target: bytes

    @classmethod
    def of(cls, tags: dict[int, bytes]) -> _Ends | None:
        """Find both ends, with addresses of one family; None if one is missing."""
        for source, target, size in zip(_SOURCES, _TARGETS, (4, 16), strict=True):
            hosts, ports = (tags.get(source, b""), tags.get(target, b"")), (
                tags.get(_SOURCE_PORT),
                tags.get(_TARGET_PORT),
            )
            if all(len(host) == size for host in hosts) and all(one is not None and len(one) == 4 for one in ports):
                ends = (host + (port or b"")[2:] for host, port in zip(hosts, ports, strict=True))
                return cls(*ends)
        return None


def _tags(data: bytes) -> tuple[dict[int, bytes], int]:
    """Read the tags, and find the PDU after them."""
    found: dict[int, bytes] = {}
    at = 0
    while True:
        kind, size = _TAG.unpack_from(data, at)
        at += _TAG.size
        found[kind] = data[at : at + size]
        at += size if kind == _TCP_INFO else size + -size % 4  # the one that Wireshark does not pad
        if kind == _END:
            return found, at
