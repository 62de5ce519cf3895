"""The TCP segment in a packet: past the headers of link, tunnels and IP.

Link types: Ethernet with any number of VLAN tags, Linux cooked (SLL, SLL2), loopback of BSD, PKTAP of macOS, and IP
alone. Tunnels: VXLAN, Geneve, GRE, ERSPAN, IP in IP, MPLS and PPPoE, also one in another. IP fragments are not put
together: TCP avoids them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from ipaddress import ip_address
from struct import Struct
from typing import NamedTuple

from kipwire.codec.wire import unpack_H

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10

_NUMBERS = Struct(">II")
_TCP, _UDP = 6, 17
_IP_IN_IP, _IP6_IN_IP, _GRE, _ESP = 4, 41, 47, 50
_PLAIN = Struct(">BxH2xHxB2x4s4s2s2sIIBB")
"""An IPv4 header without options and the start of a TCP header: version and length, total length, fragment, protocol,
addresses, ports, numbers, length, flags."""
_NO_OPTIONS = 0x45
_IP4, _IP6 = 0x0800, 0x86DD
_MPLS = (0x8847, 0x8848)
_PPPOE = 0x8864
_PPP = {0x0021: _IP4, 0x0057: _IP6}
_BRIDGED, _ERSPAN_2, _ERSPAN_3 = 0x6558, 0x88BE, 0x22EB
"""Types of Ethernet in GRE: Ethernet itself, and its two forms with a header more."""
_VXLAN_PORTS, _GENEVE_PORT = (4789, 8472), 6081
_MOST_TUNNELS = 8
"""The most tunnels in each other."""
_TAGS = (0x8100, 0x88A8, 0x9100)
"""Types of Ethernet that a VLAN tag follows, and then another type."""
_TAG_BYTES = 4
_FAMILIES = {2: _IP4, 10: _IP6, 23: _IP6, 24: _IP6, 28: _IP6, 30: _IP6}
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

    def __init__(self, kind: str, reason: str = "") -> None:
        """Make one for a kind of packets, which is also the reason without another."""
        super().__init__(reason or kind)
        self.kind = kind


def segment_of(link: int, data: bytes) -> Segment | None:
    """Find the segment in a packet; None if there is no TCP in it.

    Raises:
        Unreadable: the headers are cut short, damaged, or of an unknown kind.
    """
    find = _LINKS.get(link)
    try:
        if find is None:
            return _in_unknown(link, data)
        kind, at = find(data)
        if kind == _IP4:
            return _in_ip4(data, at, 0)
        return _content(kind, data, at, 0)
    except (struct.error, IndexError):
        raise Unreadable("cut short", "cut short within its headers") from None


def port(endpoint: bytes) -> int:
    """Return the port of a `source` or a `target`."""
    return int.from_bytes(endpoint[-_PORT_BYTES:])


def address(endpoint: bytes) -> str:
    """Format a `source` or a `target`, such as `127.0.0.1:9092` or `[::1]:9092`."""
    host = ip_address(endpoint[:-_PORT_BYTES])
    return f"{host}:{port(endpoint)}" if host.version == 4 else f"[{host}]:{port(endpoint)}"


def _in_unknown(link: int, data: bytes) -> Segment | None:
    """Find the segment after the header that macOS writes for `-i any`, which has the link type of the packet."""
    if link in _PKTAPS:
        length, has_packet, inner = _PKTAP.unpack_from(data)
        if length >= _PKTAP.size and has_packet == 1 and inner not in _PKTAPS:
            return segment_of(inner, data[length:])
    raise Unreadable(f"link type {link}", f"unknown link type {link}")


def _content(kind: int, data: bytes, at: int, depth: int) -> Segment | None:
    """Find the segment in content of a type of Ethernet; `depth` is the number of tunnels around it."""
    if depth > _MOST_TUNNELS:
        raise Unreadable("tunnels", f"more than {_MOST_TUNNELS} tunnels in each other")
    if kind == _IP4:
        return _in_ip4(data, at, depth)
    if kind == _IP6:
        return _in_ip6(data, at, depth)
    if kind in _MPLS:
        return _in_mpls(data, at, depth)
    if kind == _PPPOE:
        inner = _PPP.get(unpack_H(data, at + 6)[0])
        return None if inner is None else _content(inner, data, at + 8, depth + 1)
    return None


def _in_ethernet(data: bytes, at: int, depth: int) -> Segment | None:
    kind, at = _after_tags(data, at + 12)
    return _content(kind, data, at, depth + 1)


def _in_mpls(data: bytes, at: int, depth: int) -> Segment | None:
    """Find the segment after a stack of labels, which do not say what follows; its first four bits do."""
    while not data[at + 2] & 1:
        at += 4
    at += 4
    version = data[at] >> 4
    if version in (4, 6):
        return _content(_IP4 if version == 4 else _IP6, data, at, depth + 1)
    if version == 0:  # a control word, and then Ethernet
        return _in_ethernet(data, at + 4, depth)
    raise Unreadable("MPLS", "MPLS without IP in it")


def _in_protocol(protocol: int, data: bytes, at: int, depth: int, *, is_fragment: bool) -> Segment | None:
    """Find the segment in a tunnel over IP; None if the protocol is none, or not TCP's."""
    if protocol == _UDP:
        return None if is_fragment else _in_udp(data, at, depth)
    if protocol in (_IP_IN_IP, _IP6_IN_IP, _GRE) and is_fragment:
        raise _fragment()
    if protocol == _IP_IN_IP:
        return _content(_IP4, data, at, depth + 1)
    if protocol == _IP6_IN_IP:
        return _content(_IP6, data, at, depth + 1)
    if protocol == _ESP:
        raise Unreadable("IPsec", "IPsec, which is encrypted")
    return _in_gre(data, at, depth) if protocol == _GRE else None


def _in_udp(data: bytes, at: int, depth: int) -> Segment | None:
    (target,) = unpack_H(data, at + 2)
    at += 8
    if target in _VXLAN_PORTS and data[at] == 0x08:
        return _in_ethernet(data, at + 8, depth)
    if target == _GENEVE_PORT and data[at] >> 6 == 0:
        (kind,) = unpack_H(data, at + 2)
        at += 8 + 4 * (data[at] & 0x3F)
        return _in_ethernet(data, at, depth) if kind == _BRIDGED else _content(kind, data, at, depth + 1)
    return None


def _in_gre(data: bytes, at: int, depth: int) -> Segment | None:
    flags, kind = unpack_H(data, at)[0], unpack_H(data, at + 2)[0]
    if flags & 0x4007:
        raise Unreadable("GRE", "GRE with routing, or of another version than 0")
    at += 4 + sum(4 for bit in (0x8000, 0x2000, 0x1000) if flags & bit)  # checksum, key, sequence number
    if kind == _ERSPAN_2:
        return _in_ethernet(data, at + (8 if flags & 0x1000 else 0), depth)  # type I has no header
    if kind == _ERSPAN_3:
        return _in_ethernet(data, at + (20 if data[at + 11] & 1 else 12), depth)
    if kind == _BRIDGED:
        return _in_ethernet(data, at, depth)
    if kind in (_IP4, _IP6, *_MPLS):
        return _content(kind, data, at, depth + 1)
    raise Unreadable("GRE", f"GRE with content of type 0x{kind:04x}")


def _fragment() -> Unreadable:
    return Unreadable("IP fragment", "an IP fragment")


def _no_ip() -> Unreadable:
    return Unreadable("damaged headers", "there is no IP header, but the link type says so")


def _in_ip4(data: bytes, at: int, depth: int) -> Segment | None:
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
        raise _no_ip()
    is_fragment = bool(unpack_H(data, at + 6)[0] & 0x3FFF)
    if data[at + 9] != _TCP:
        return _in_protocol(data[at + 9], data, at + (first & 15) * 4, depth, is_fragment=is_fragment)
    if is_fragment:
        raise _fragment()
    total = unpack_H(data, at + 2)[0]
    # The kernel writes 0 into packets that the network card will split.
    end = at + total if total else len(data)
    return _tcp(data, at + (first & 15) * 4, end, data[at + 12 : at + 16], data[at + 16 : at + 20])


def _in_ip6(data: bytes, at: int, depth: int) -> Segment | None:
    if data[at] >> 4 != 6:
        raise _no_ip()
    total = unpack_H(data, at + 4)[0]
    kind, start = data[at + 6], at + 40
    for _ in range(_MOST_EXTENSIONS):
        if kind == _FRAGMENT:
            if unpack_H(data, start + 2)[0] & 0xFFF9:
                raise _fragment()
            kind, start = data[start], start + 8
        elif kind in _EXTENSIONS:
            kind, start = data[start], start + 8 * (data[start + 1] + 1)
        else:
            break
    if kind != _TCP:
        return _in_protocol(kind, data, start, depth, is_fragment=False)
    end = at + 40 + total if total else len(data)
    return _tcp(data, start, end, data[at + 8 : at + 24], data[at + 24 : at + 40])


def _tcp(data: bytes, at: int, end: int, source: bytes, target: bytes) -> Segment:
    sequence, acknowledged = _NUMBERS.unpack_from(data, at + 4)
    start = at + (data[at + 12] >> 4) * 4
    size = end - start
    if size < 0 or start < at + 20:
        raise Unreadable("damaged headers", "its headers are inconsistent")
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
    kind = unpack_H(data, at)[0]
    while kind in _TAGS:
        at += _TAG_BYTES
        kind = unpack_H(data, at)[0]
    return kind, at + 2


def _ethernet(data: bytes) -> tuple[int, int]:
    return _after_tags(data, 12)


def _cooked_header(data: bytes) -> tuple[int, int]:
    return _after_tags(data, 14)


def _cooked_2_header(data: bytes) -> tuple[int, int]:
    kind = unpack_H(data, 0)[0]
    return _after_tags(data, 22) if kind in _TAGS else (kind, 20)


def _loopback(data: bytes) -> tuple[int, int]:
    # In the byte order of the machine that captured: family numbers are small, so only one reading makes sense.
    family = int.from_bytes(data[:4]) if data[0] == 0 and data[1] == 0 else int.from_bytes(data[:4], "little")
    if family not in _FAMILIES:
        raise Unreadable(f"loopback of family {family}")
    return _FAMILIES[family], 4


def _raw(data: bytes) -> tuple[int, int]:
    return (_IP6 if data[0] >> 4 == 6 else _IP4), 0


_PKTAPS = (149, 258)
_PKTAP = Struct("<III")
"""The start of the header of PKTAP: its length, 1 if a packet follows, and the link type of that."""
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
