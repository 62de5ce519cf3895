"""Packets in a file of tcpdump or Wireshark: pcap and pcapng, plain or compressed with gzip.

The formats are described by draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng. Only one packet is in memory at a
time.
"""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Any, BinaryIO, NamedTuple, cast

from kipwire.tools.io import ReadableFile
from kipwire.traffic.captures import CaptureError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

LARGEST_PACKET = 1024 * 1024
"""Bytes; tcpdump writes at most 262,144 of a packet, with any options."""

MOST_EXPANSION = 100
"""Bytes that a compressed file may decompress to for each of its own. Captures compress to a third, and to a fiftieth
if nothing but one constant message is in them; gzip itself can do a thousandth."""
EXPANSION_FREE = 16 * 1024 * 1024
"""Bytes that any compressed file may decompress to, however small it is."""

BUFFER = 1024 * 1024
"""Bytes that are read at once where there are as many."""
_GZIP = b"\x1f\x8b"
_NANOSECONDS = 10**9
_LATEST = 2**63 - 1
"""The most nanoseconds since 1970 that 64 bits hold; later times become this one."""

# pcap: the first four bytes give the byte order, and the unit of a packet's fraction of a second.
_PCAP = {
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
}
_PCAP_HEAD_BYTES = 24
_LINK_BITS = 0xFFFF
"""The bits of the link type in the last field of that head; the others are about checksums after packets."""

_SECTION = b"\x0a\x0d\x0d\x0a"
_INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 1, 2, 3, 6
_ORDERS = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
_BLOCK_ENDS = 12
"""The number of bytes of a block around its body: type, length, and the length again."""
_LARGEST_BLOCK = 2 * LARGEST_PACKET
_MOST_INTERFACES = 65536
_RESOLUTION, _OFFSET = 9, 14
"""Options of an interface: units of a second, seconds to add."""


class Packet(NamedTuple):
    """The captured part of one packet."""

    time: int
    """Nanoseconds since 1970-01-01 UTC."""
    link: int
    """The link type, as in IANA's registry of LINKTYPE values: which header comes first."""
    data: bytes
    """May be shorter than the packet was."""


class Damaged(Exception):
    """A file that cannot be read further; the text has the byte and the reason. Packets before it are complete."""


class _Counted(io.RawIOBase):
    """The bytes of a file, which counts them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        count: int = self._file.readinto(buffer)  # type: ignore[attr-defined]  # every binary file has it
        self.count += count
        return count


class _Unpacked(io.RawIOBase):
    """The decompressed content of a file of gzip, up to a limit relative to its size.

    A few bytes of gzip can be millions of empty packets.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._packed = _Counted(file)
        self._file = gzip.GzipFile(fileobj=self._packed)
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        most = max(EXPANSION_FREE, MOST_EXPANSION * self._packed.count)
        if self._count > most:
            raise Damaged(
                f"its first {self._packed.count:,} bytes decompress to more than {MOST_EXPANSION} times as many, which "
                "packets hardly do, so the rest is not read; decompress it with gunzip first to read all of it"
            )
        count = self._file.readinto1(buffer)
        self._count += count
        return count


class _Interface(NamedTuple):
    link: int
    numerator: int
    """A unit of time is numerator / denominator nanoseconds."""
    denominator: int
    offset: int
    """Nanoseconds to add."""
    snap: int
    """Bytes of a packet that are captured at most; 0 for all."""

    def time(self, units: int) -> int:
        return min(max(units * self.numerator // self.denominator + self.offset, 0), _LATEST)


def is_packets(start: bytes) -> bool:
    """True if a file that starts with these bytes, at least four, can be a packet file; any gzip file can be one."""
    return start[:4] in _PCAP or start[:4] == _SECTION or start[:2] == _GZIP


def read_packets(path: ReadableFile) -> Iterator[Packet]:
    """Read the packets of a file, in its order.

    Raises:
        CaptureError: it cannot be opened, or is neither pcap nor pcapng.
        Damaged: it cannot be read to its end.
    """
    try:
        raw = io.BufferedReader(path.open("rb").detach(), BUFFER)
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read: {error.strerror or error}") from None
    return packets_in(raw, str(path))


def packets_in(raw: io.BufferedReader[Any], name: str) -> Iterator[Packet]:
    """Yield the packets in the bytes of a file, each as soon as its bytes are there.

    Args:
        raw: the bytes; it is closed at the end.
        name: what errors call it.

    Raises:
        CaptureError: they are neither pcap nor pcapng.
        Damaged: they cannot be read to their end.
    """
    with raw:
        try:
            packed = raw.peek(2)[:2] == _GZIP
            file = io.BufferedReader(_Unpacked(cast(BinaryIO, raw)), BUFFER) if packed else raw
            magic = file.peek(4)[:4]
        except (OSError, EOFError, zlib.error) as error:
            raise CaptureError(f"{name}: cannot be read: {error}") from None
        if magic in _PCAP:
            packets = _pcap(cast(BinaryIO, file), *_PCAP[magic])
        elif magic == _SECTION:
            packets = _pcapng(cast(BinaryIO, file))
        else:
            found = f"is neither pcap nor pcapng (it starts with {magic.hex(' ')})" if magic else "is empty"
            raise CaptureError(f"{name}: {found}; give a file that tcpdump wrote")
        try:
            yield from packets
        except (OSError, EOFError, zlib.error) as error:
            raise Damaged(f"cannot be read further: {error}") from None


def _pcap(file: BinaryIO, order: str, unit: int) -> Iterator[Packet]:
    head = file.read(_PCAP_HEAD_BYTES)
    if len(head) < _PCAP_HEAD_BYTES:
        raise Damaged(f"the file ends at byte {len(head)}, within its head of {_PCAP_HEAD_BYTES} bytes")
    link = Struct(order + "I").unpack_from(head, _PCAP_HEAD_BYTES - 4)[0] & _LINK_BITS
    packet_head = Struct(order + "IIII")
    at = _PCAP_HEAD_BYTES
    while head := file.read(packet_head.size):
        if len(head) < packet_head.size:
            raise _ends_within(at)
        seconds, fraction, captured, _ = packet_head.unpack(head)
        if captured > LARGEST_PACKET:
            raise Damaged(f"at byte {at}: a packet of {captured:,} bytes is too large, so the rest cannot be read")
        data = file.read(captured)
        if len(data) < captured:
            raise _ends_within(at)
        yield Packet(seconds * _NANOSECONDS + fraction * unit, link, data)
        at += len(head) + captured


def _pcapng(file: BinaryIO) -> Iterator[Packet]:
    interfaces: list[_Interface] = []
    order = ">"
    at = time = 0
    while head := file.read(8):
        if len(head) < 8:
            raise _ends_within(at)
        if head[:4] == _SECTION:
            head += file.read(4)  # which byte order the section has
            order = _ORDERS.get(head[8:], "")
            if not order:
                raise Damaged(f"at byte {at}: a section with an unknown byte order, so the rest cannot be read")
            interfaces = []
        kind, length = Struct(order + "II").unpack_from(head)
        if length % 4 or length < max(_BLOCK_ENDS, len(head) + 4):
            raise Damaged(f"at byte {at}: a block cannot have {length:,} bytes, so the rest cannot be read")
        if kind in (_INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET):
            if length > _LARGEST_BLOCK:
                raise Damaged(f"at byte {at}: a block of {length:,} bytes is too large, so the rest cannot be read")
            body = _body(file, at, length, order)
            try:
                if kind == _INTERFACE:
                    interfaces.append(_interface(body, order))
                    if len(interfaces) > _MOST_INTERFACES:
                        raise IndexError
                else:
                    packet = _packet(kind, body, order, interfaces, time)
                    time = packet.time
                    yield packet
            except (struct.error, IndexError):
                raise Damaged(f"at byte {at}: an invalid block, so the rest cannot be read") from None
        else:
            _skip(file, at, length - len(head))
        at += length


def _body(file: BinaryIO, at: int, length: int, order: str) -> bytes:
    """Read the inner part of a block whose type and length have been read."""
    rest = file.read(length - 8)
    if len(rest) < length - 8:
        raise _ends_within(at)
    if Struct(order + "I").unpack_from(rest, len(rest) - 4)[0] != length:
        raise Damaged(f"at byte {at}: the two lengths of a block differ, so the rest cannot be read")
    return rest[:-4]


def _skip(file: BinaryIO, at: int, count: int) -> None:
    while count:
        read = len(file.read(min(count, BUFFER)))
        if not read:
            raise _ends_within(at)
        count -= read


def _interface(body: bytes, order: str) -> _Interface:
    link, _, snap = Struct(order + "HHI").unpack_from(body)
    option_head = Struct(order + "HH")
    numerator, denominator, offset = 1000, 1, 0
    at = 8
    while at + option_head.size <= len(body):
        code, size = option_head.unpack_from(body, at)
        at += option_head.size
        if code == _RESOLUTION:
            exponent = body[at] & 0x7F
            numerator, denominator = _NANOSECONDS, 2 ** exponent if body[at] & 0x80 else 10**exponent
        elif code == _OFFSET:
            offset = Struct(order + "q").unpack_from(body, at)[0] * _NANOSECONDS
        at += (size + 3) // 4 * 4
    return _Interface(link, numerator, denominator, offset, snap)


def _packet(kind: int, body: bytes, order: str, interfaces: list[_Interface], time_before: int) -> Packet:
    if kind == _SIMPLE_PACKET:  # has no time, and is of the first interface
        interface = interfaces[0]
        (size,) = Struct(order + "I").unpack_from(body)
        return Packet(
            time_before, interface.link, body[4 : 4 + (min(size, interface.snap) if interface.snap else size)]
        )
    numbers = Struct(order + ("IIII" if kind == _PACKET else "HHIII"))
    if kind == _PACKET:
        number, high, low, captured = numbers.unpack_from(body)
    else:
        number, _, high, low, captured = numbers.unpack_from(body)
    start = 20
    if captured > len(body) - start:
        raise IndexError
    interface = interfaces[number]
    return Packet(interface.time(high << 32 | low), interface.link, body[start : start + captured])


def _ends_within(at: int) -> Damaged:
    return Damaged(f"the file ends within the packet or block that starts at byte {at}")
