"""The TCP segment in a packet: past the headers of link and IP.

Link types: Ethernet with any number of VLAN tags, Linux cooked (SLL, SLL2), loopback of BSD, and IP alone. Tunnels are
not read, and IP fragments are not put together: TCP avoids them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from ipaddress import ip_address
from struct import Struct
from typing import NamedTuple

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10

_SHORT = Struct(">H")
_NUMBERS = Struct(">II")
_TCP = 6
_PLAIN = Struct(">BxH2xHxB2x4s4s2s2sIIBB")
"""An IPv4 header without options and the start of a TCP header: version and length, total length, fragment, protocol,
addresses, ports, numbers, length, flags."""
_NO_OPTIONS = 0x45
_IP4, _IP6 = 0x0800, 0x86DD
_TAGS = (0x8100, 0x88A8, 0x9100)
"""Types of Ethernet that a VLAN tag follows, and then another type."""
_TAG_BYTES = 4
_FAMILIES = {2: _IP4, 10: _IP6, 24: _IP6, 28: _IP6, 30: _IP6}
"""AF_INET and AF_INET6, which is another number on each system."""
_EXTENSIONS = (0, 43, 60)
"""Headers of IPv6 that may come before TCP: hop by hop, routing, destination options."""
_FRAGMENT = 44
_MOST_EXTENSIONS = 8
_PORT_BYTES = 2


class Segment(NamedTuple):
    """One TCP segment."""

    source: bytes
    """Address and port, as in the headers."""
    target: bytes
    sequence: int
    acknowledged: int
    flags: int
    data: bytes
    """The captured part of its content."""
    size: int
    """Bytes of its content; more than `data` has if the capture cut the packet."""


class Unreadable(Exception):
    """A packet whose segment, if it has one, cannot be read; the text is the reason."""


def segment_of(link: int, data: bytes) -> Segment | None:
    """Find the segment in a packet; None if there is no TCP in it.

    Raises:
        Unreadable: the headers are cut short, damaged, or of an unknown kind.
    """
    find = _LINKS.get(link)
    if find is None:
        raise Unreadable(f"unknown link type {link}")
    try:
        kind, at = find(data)
        if kind == _IP4:
            return _in_ip4(data, at)
        return _in_ip6(data, at) if kind == _IP6 else None
    except (struct.error, IndexError):
        raise Unreadable("cut short within its headers") from None


def port(endpoint: bytes) -> int:
    """Return the port of a `source` or a `target`."""
    return int.from_bytes(endpoint[-_PORT_BYTES:])


def address(endpoint: bytes) -> str:
    """Format a `source` or a `target`, such as `127.0.0.1:9092` or `[::1]:9092`."""
    host = ip_address(endpoint[:-_PORT_BYTES])
    return f"{host}:{port(endpoint)}" if host.version == 4 else f"[{host}]:{port(endpoint)}"


def _in_ip4(data: bytes, at: int) -> Segment | None:
    if len(data) >= at + _PLAIN.size:  # nearly all packets are like this
        (
            first,
            total,
            fragment,
            protocol,
            source,
            target,
            source_port,
            target_port,
            sequence,
            acknowledged,
            head,
            flags,
        ) = _PLAIN.unpack_from(data, at)
        start, end = at + 20 + (head >> 4) * 4, at + total
        if first == _NO_OPTIONS and protocol == _TCP and not fragment & 0x3FFF and at + 40 <= start <= end:
            content = data[start:end]
            return Segment(
                source + source_port, target + target_port, sequence, acknowledged, flags, content, end - start
            )
    first = data[at]
    if first >> 4 != 4:
        raise Unreadable("there is no IP header, but the link type says so")
    if data[at + 9] != _TCP:
        return None
    if _SHORT.unpack_from(data, at + 6)[0] & 0x3FFF:
        raise Unreadable("an IP fragment")
    total = _SHORT.unpack_from(data, at + 2)[0]
    # The kernel writes 0 into packets that the network card will split.
    end = at + total if total else len(data)
    return _tcp(data, at + (first & 15) * 4, end, data[at + 12 : at + 16], data[at + 16 : at + 20])


def _in_ip6(data: bytes, at: int) -> Segment | None:
    if data[at] >> 4 != 6:
        raise Unreadable("there is no IP header, but the link type says so")
    total = _SHORT.unpack_from(data, at + 4)[0]
    kind, start = data[at + 6], at + 40
    for _ in range(_MOST_EXTENSIONS):
        if kind == _FRAGMENT:
            if _SHORT.unpack_from(data, start + 2)[0] & 0xFFF9:
                raise Unreadable("an IP fragment")
            kind, start = data[start], start + 8
        elif kind in _EXTENSIONS:
            kind, start = data[start], start + 8 * (data[start + 1] + 1)
        else:
            break
    if kind != _TCP:
        return None
    end = at + 40 + total if total else len(data)
    return _tcp(data, start, end, data[at + 8 : at + 24], data[at + 24 : at + 40])


def _tcp(data: bytes, at: int, end: int, source: bytes, target: bytes) -> Segment:
    sequence, acknowledged = _NUMBERS.unpack_from(data, at + 4)
    start = at + (data[at + 12] >> 4) * 4
    size = end - start
    if size < 0 or start < at + 20:
        raise Unreadable("its headers are inconsistent")
    return Segment(
        source + data[at : at + 2],
        target + data[at + 2 : at + 4],
        sequence,
        acknowledged,
        data[at + 13],
        data[start:end],
        size,
    )


def _after_tags(data: bytes, at: int) -> tuple[int, int]:
    """Read the type at a byte, or the one after the VLAN tags there, and find the start of its content."""
    kind = _SHORT.unpack_from(data, at)[0]
    while kind in _TAGS:
        at += _TAG_BYTES
        kind = _SHORT.unpack_from(data, at)[0]
    return kind, at + 2


def _ethernet(data: bytes) -> tuple[int, int]:
    return _after_tags(data, 12)


def _cooked_header(data: bytes) -> tuple[int, int]:
    return _after_tags(data, 14)


def _cooked_2_header(data: bytes) -> tuple[int, int]:
    kind = _SHORT.unpack_from(data, 0)[0]
    return _after_tags(data, 22) if kind in _TAGS else (kind, 20)


def _loopback(data: bytes) -> tuple[int, int]:
    # In the byte order of the machine that captured: family numbers are small, so only one reading makes sense.
    family = int.from_bytes(data[:4]) if data[0] == 0 and data[1] == 0 else int.from_bytes(data[:4], "little")
    return _FAMILIES.get(family, 0), 4


def _raw(data: bytes) -> tuple[int, int]:
    return (_IP6 if data[0] >> 4 == 6 else _IP4), 0


_LINKS: dict[int, Callable[[bytes], tuple[int, int]]] = {
    0: _loopback,
    1: _ethernet,
    12: _raw,
    14: _raw,
    101: _raw,
    108: _loopback,
    113: _cooked_header,
    228: _raw,
    229: _raw,
    276: _cooked_2_header,
}
"""Functions that return the type and the position of the content, by link type."""
