"""Packets in tunnels have the same segments as packets without, and no kind of them is passed over silently."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from struct import pack

import pytest

from kipwire.traffic.packet_captures import find_frames
from kipwire.traffic.packet_headers import Unreadable, segment_of
from tests.support import packet_dumps as made
from tests.support.packet_dumps import Disorder
from tests.support.places import DATA
from tests.support.subjects.packet_talks import Talk, errors_of, frames_of, shipped

CASES = DATA / "cases" / "captures"
ETHERNET = 1


def ip(protocol: int, content: bytes) -> bytes:
    return (
        pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(content), 1, 0, 64, protocol, 0, b"\xc0\xa8\0\1", b"\xc0\xa8\0\2")
        + content
    )


def ip6(protocol: int, content: bytes) -> bytes:
    return pack(">IHBB", 0x60000000, len(content), protocol, 64) + bytes(32) + content


def ethernet(kind: int, content: bytes) -> bytes:
    return bytes(12) + pack(">H", kind) + content


def udp(port: int, content: bytes) -> bytes:
    return ip(17, pack(">HHHH", 40000, port, 8 + len(content), 0) + content)


def vxlan(frame: bytes, port: int = 4789) -> bytes:
    return ethernet(0x0800, udp(port, b"\x08\0\0\0\0\0\x2a\0" + frame))


Wrap = Callable[[bytes], bytes]
WAYS: dict[str, Wrap] = {  # from a frame of Ethernet with IP in it to another
    "VXLAN": vxlan,
    "VXLAN in VXLAN": lambda frame: vxlan(vxlan(frame)),
    "VXLAN of Linux": lambda frame: vxlan(frame, 8472),
    "Geneve": lambda frame: ethernet(0x0800, udp(6081, b"\x02\0\x65\x58\0\0\x2a\0" + bytes(8) + frame)),
    "Geneve with IP": lambda frame: ethernet(0x0800, udp(6081, b"\0\0" + frame[12:14] + bytes(4) + frame[14:])),
    "GRE": lambda frame: ethernet(0x0800, ip(47, b"\0\0" + frame[12:])),
    "GRE with key": lambda frame: ethernet(0x86DD, ip6(47, b"\xb0\0" + frame[12:14] + bytes(12) + frame[14:])),
    "GRE of Ethernet": lambda frame: ethernet(0x0800, ip(47, b"\0\0\x65\x58" + frame)),
    "ERSPAN I": lambda frame: ethernet(0x0800, ip(47, b"\0\0\x88\xbe" + frame)),
    "ERSPAN II": lambda frame: ethernet(0x0800, ip(47, b"\x10\0\x88\xbe" + bytes(4) + bytes(8) + frame)),
    "ERSPAN III": lambda frame: ethernet(0x0800, ip(47, b"\x10\0\x22\xeb" + bytes(4) + bytes(12) + frame)),
    "ERSPAN III with more": lambda frame: ethernet(
        0x0800, ip(47, b"\x10\0\x22\xeb" + bytes(4) + bytes(11) + b"\1" + bytes(8) + frame)
    ),
    "IP in IP": lambda frame: ethernet(0x0800, ip(4 if frame[12] == 8 else 41, frame[14:])),
    "IP in IPv6": lambda frame: ethernet(0x86DD, ip6(4 if frame[12] == 8 else 41, frame[14:])),
    "MPLS": lambda frame: ethernet(0x8847, pack(">II", 0x00010040, 0x00010140) + frame[14:]),
    "MPLS of Ethernet": lambda frame: ethernet(0x8847, pack(">II", 0x00010140, 0) + frame),
    "PPPoE": lambda frame: ethernet(
        0x8864, pack(">BBHHH", 0x11, 0, 1, len(frame) - 12, 0x0021 if frame[12] == 8 else 0x0057) + frame[14:]
    ),
}


@pytest.mark.parametrize("hosts", [made.IP4, made.IP6], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("way", WAYS)
def test_a_segment_in_a_tunnel_is_that_of_the_packet_in_it(way: str, hosts: tuple[str, str]) -> None:
    random = Random(way)
    segments = list(made.segments(shipped()[:40], random, Disorder(largest=500)))
    for one in segments:
        packet = made.packet(one, made.ETHERNET, hosts)
        assert segment_of(ETHERNET, WAYS[way](packet)) == segment_of(ETHERNET, packet)


@pytest.mark.parametrize("way", WAYS)
def test_a_damaged_tunnel_gives_a_segment_or_a_reason(way: str) -> None:
    random = Random(way)
    packet = WAYS[way](made.packet(Talk().ask(1).segments[-1], made.ETHERNET, made.IP4))
    for _ in range(150):
        data = bytearray(packet)
        for _ in range(random.randrange(1, 4)):
            data[random.randrange(min(len(data), 110))] = random.choice(
                (0, 1, 4, 6, 0x45, 0x60, 255, random.randrange(256))
            )
        try:
            segment_of(ETHERNET, bytes(data[: random.choice((len(data), random.randrange(len(data))))]))
        except Unreadable as error:
            assert str(error)
            assert error.kind


@pytest.mark.parametrize("name", ["vxlan", "mpls", "pktap258", "null_af23"])
def test_captures_of_other_tools_are_read(name: str) -> None:
    found = list(find_frames([CASES / f"{name}.pcap"]))
    assert [one[:4] for one in frames_of(found)] == [("request", 3, 12, 7), ("response", 3, 12, 7)]
    assert errors_of(found) == []


@pytest.mark.parametrize(
    ("link", "data", "kind", "reason"),
    [
        (147, b"", "link type 147", "unknown link type 147"),
        (149, bytes(200), "link type 149", "unknown link type 149"),
        (0, b"\x63\0\0\0" + bytes(60), "loopback of family 99", "loopback of family 99"),
        (1, ethernet(0x0800, ip(50, bytes(40))), "IPsec", "IPsec, which is encrypted"),
        (1, ethernet(0x0800, ip(47, b"\x30\x01\x88\x0b" + bytes(40))), "GRE", "GRE with routing, or "),
        (1, ethernet(0x0800, ip(47, b"\0\0\x12\x34" + bytes(40))), "GRE", "GRE with content of type 0x1234"),
        (1, ethernet(0x8847, pack(">I", 0x140) + b"\xff" * 40), "MPLS", "MPLS without IP in it"),
        (1, ethernet(0x0800, ip(4, b"") * 12), "tunnels", "more than 8 tunnels in each other"),
        (1, ethernet(0x8847, bytes(40)), "cut short", "cut short within its headers"),
    ],
)  # fmt: skip
def test_packets_that_are_not_read_are_counted_by_kind(
    tmp_path: Path, link: int, data: bytes, kind: str, reason: str
) -> None:
    with pytest.raises(Unreadable, match=reason) as error:
        segment_of(link, data)
    assert error.value.kind == kind
    head = pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    (tmp_path / "a.pcap").write_bytes(head + (pack("<IIII", 0, 0, len(data), len(data)) + data) * 3)
    (found,) = find_frames([tmp_path / "a.pcap"])
    assert found.unread == (kind, 3 * len(data), 3)
    assert found.error is not None
    assert found.error.startswith(f"3 packets that cannot be read: {reason}")


def test_other_packets_have_no_segment() -> None:
    for data in (ethernet(0x0806, bytes(28)), ethernet(0x0800, udp(53, bytes(20))), ethernet(0x0800, ip(1, bytes(8)))):
        assert segment_of(ETHERNET, data) is None
