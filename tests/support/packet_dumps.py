"""Files as tcpdump writes them, made of the frames of a capture, for tests of their readers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from ipaddress import ip_address
from itertools import groupby
from random import Random
from struct import pack
from typing import Any

from kipwire.tables.sources.captures import FrameFilter, parts, read_frames
from kipwire.traffic.packet_headers import ACK, FIN, SYN
from tests.support.places import ROOT

CAPTURE = ROOT / "examples" / "capture"

IP4, IP6 = ("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")
ETHERNET, VLAN, COOKED, COOKED_2, LOOPBACK, RAW = "ethernet", "vlan", "cooked", "cooked 2", "loopback", "raw"
LINKS = {ETHERNET: 1, VLAN: 1, COOKED: 113, COOKED_2: 276, LOOPBACK: 0, RAW: 101}
"""Numbers of the kinds of links in capture files."""
PORTS = {"tee1": 9092, "tee2": 9093, "ctrl": 9094}
"""Ports that stand for the listeners of the capture."""
FIRST_CLIENT_PORT = 40000
SIZE_BYTES = 4


@dataclass(frozen=True)
class Tcp:
    """A TCP segment between a client and a broker."""

    time: int
    """Time in nanoseconds."""
    client_port: int
    broker_port: int
    from_client: bool
    sequence: int
    data: bytes = b""
    flags: int = ACK
    acknowledged: int = 0


@dataclass(frozen=True)
class Disorder:
    """Disorder of segments on their way into a file."""

    shuffled: bool = False
    repeated: float = 0.0
    """Share of segments that come again, later."""
    overlapping: float = 0.0
    """Share of segments that begin too early, with bytes that came before."""
    lost: float = 0.0
    largest: int = 1460
    """Bytes of a segment."""
    joined: bool = False
    """True if successive frames share segments."""
    opened: bool = True
    """True if the file has the opening of connections."""
    closed: bool = True


@dataclass
class _Flow:
    """One direction while it is cut into segments."""

    sequence: int
    past: bytes = b""
    """The last bytes that were sent."""
    sent: list[Tcp] = field(default_factory=list)


def shipped_frames() -> list[dict[str, Any]]:
    """Return the rows of the example's capture, in its order."""
    (part,) = parts(CAPTURE / "frames.jsonl.gz", 1 << 40)
    return [row for batch in read_frames(part, FrameFilter()) for row in batch.to_pylist()]


def segments(frames: Sequence[dict[str, Any]], random: Random, disorder: Disorder) -> Iterator[Tcp]:
    """Yield the segments that carry frames; runs of frames of one direction of one connection stay in their order."""
    flows: dict[tuple[int, bool], _Flow] = {}
    last: dict[int, tuple[int, int]] = {}
    for (connection, direction), run in groupby(frames, key=lambda row: (row["connection"], row["direction"])):
        rows = list(run)
        from_client = direction == "request"
        ports = FIRST_CLIENT_PORT + connection, PORTS[rows[0]["listener"]]
        if connection not in last:
            yield from _opening(flows, connection, ports, rows[0]["timestamp_ns"], random, disorder.opened)
            last[connection] = ports
        flow = flows[connection, from_client]
        runs = [rows] if disorder.joined else [[row] for row in rows]
        for together in runs:
            time = together[-1]["timestamp_ns"]
            data = b"".join(len(row["frame"]).to_bytes(SIZE_BYTES) + row["frame"] for row in together)
            acknowledged = flows[connection, not from_client].sequence
            yield from _sent(flow, ports, from_client, data, time, acknowledged, random, disorder)
    if disorder.closed:
        end = frames[-1]["timestamp_ns"]
        for connection, ports in last.items():
            for from_client in (True, False):
                mine, other = (flows[connection, side].sequence for side in (from_client, not from_client))
                yield Tcp(end, *ports, from_client, mine, flags=FIN | ACK, acknowledged=other)


def dump(
    tcp: Iterable[Tcp],
    link: str = ETHERNET,
    hosts: tuple[str, str] = IP4,
    snap: int = 262144,
    unit: int = 1,
    order: str = "<",
) -> bytes:
    """Return a pcap file.

    Args:
        tcp: the segments.
        link: one of `LINKS`.
        hosts: of the client and of the broker.
        snap: bytes that are captured of a packet.
        unit: nanoseconds of a fraction of a second: 1 or 1000.
        order: `<` or `>`.
    """
    magic = 0xA1B23C4D if unit == 1 else 0xA1B2C3D4
    parts = [pack(order + "IHHiIII", magic, 2, 4, 0, 0, snap, LINKS[link])]
    for one in tcp:
        data = packet(one, link, hosts)
        seconds, rest = divmod(one.time, 10**9)
        parts.append(pack(order + "IIII", seconds, rest // unit, len(data[:snap]), len(data)) + data[:snap])
    return b"".join(parts)


def dump_ng(
    tcp: Iterable[Tcp], links: Sequence[str] = (ETHERNET,), order: str = "<", random: Random | None = None
) -> bytes:
    """Return a pcapng file with packets on random interfaces, whose times are in nano- and microseconds in turn."""
    random = random or Random(0)
    parts = [_block(order, 0x0A0D0D0A, pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    parts.append(_block(order, 5, b"12345678"))  # statistics, which readers skip
    for number, link in enumerate(links):
        option = pack(order + "HHBxxxHH", 9, 1, 6 if number % 2 else 9, 0, 0)
        parts.append(_block(order, 1, pack(order + "HHI", LINKS[link], 0, 0) + option))
    for one in tcp:
        number = random.randrange(len(links))
        data = packet(one, links[number], IP4)
        time = one.time // (1000 if number % 2 else 1)
        head = pack(order + "IIIII", number, time >> 32, time & 0xFFFFFFFF, len(data), len(data))
        parts.append(_block(order, 6, head + data + bytes(-len(data) % 4)))
    return b"".join(parts)


def packet(one: Tcp, link: str, hosts: tuple[str, str]) -> bytes:
    """Return a segment with its headers."""
    source, target = hosts if one.from_client else hosts[::-1]
    ports = (one.client_port, one.broker_port) if one.from_client else (one.broker_port, one.client_port)
    option = b"\x01\x01\x08\x0a" + bytes(8)  # timestamps, as nearly all packets have
    numbers = pack(">IIBBHHH", one.sequence, one.acknowledged, (20 + len(option)) << 2, one.flags, 512, 0, 0)
    tcp = pack(">HH", *ports) + numbers + option + one.data
    addresses = _packed(source) + _packed(target)
    is_ip4 = len(addresses) == 8
    if is_ip4:
        ip = pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0x4000, 64, 6, 0) + addresses + tcp
    else:
        ip = pack(">IHBB", 0x60000000, len(tcp), 6, 64) + addresses + tcp
    # Ethernet fills short packets up.
    return (_link_header(link, is_ip4) + ip).ljust(60 if link == ETHERNET else 0, b"\0")


@cache
def _packed(host: str) -> bytes:
    return ip_address(host).packed


@cache
def _link_header(link: str, is_ip4: bool) -> bytes:
    kind = 0x0800 if is_ip4 else 0x86DD
    return {
        ETHERNET: bytes(12) + pack(">H", kind),
        VLAN: bytes(12) + pack(">HHHHH", 0x88A8, 7, 0x8100, 8, kind),
        COOKED: bytes(14) + pack(">H", kind),
        COOKED_2: pack(">H", kind) + bytes(18),
        LOOPBACK: pack("<I", 2 if is_ip4 else 30),
        RAW: b"",
    }[link]


def _opening(
    flows: dict[tuple[int, bool], _Flow],
    connection: int,
    ports: tuple[int, int],
    time: int,
    random: Random,
    is_seen: bool,
) -> Iterator[Tcp]:
    # Some start just before their numbers start again.
    first = {
        side: random.choice((random.randrange(2**32), 2**32 - random.randrange(1, 3000))) for side in (True, False)
    }
    for side, sequence in first.items():
        flows[connection, side] = _Flow((sequence + 1) % 2**32)
    if is_seen:
        yield Tcp(time, *ports, True, first[True], flags=SYN)
        yield Tcp(time, *ports, False, first[False], flags=SYN | ACK, acknowledged=flows[connection, True].sequence)


def _sent(
    flow: _Flow,
    ports: tuple[int, int],
    from_client: bool,
    data: bytes,
    time: int,
    acknowledged: int,
    random: Random,
    disorder: Disorder,
) -> Iterator[Tcp]:
    made = []
    at = 0
    while at < len(data):
        size = random.randrange(1, disorder.largest + 1) if random.random() < 0.5 else disorder.largest
        content = data[at : at + size]
        before = random.randrange(1, 40) if random.random() < disorder.overlapping else 0
        before = min(before, at + len(flow.past))
        content = (flow.past + data)[len(flow.past) + at - before :][: before + len(content)]
        made.append(Tcp(time, *ports, from_client, (flow.sequence + at - before) % 2**32, content, ACK, acknowledged))
        at += size
    flow.sequence = (flow.sequence + len(data)) % 2**32
    flow.past = (flow.past + data)[-64:]
    flow.sent = [*flow.sent, *made][-8:]
    if disorder.shuffled:
        random.shuffle(made)
    for one in made:
        if random.random() >= disorder.lost:
            yield one
        if random.random() < disorder.repeated:
            again = random.choice(flow.sent)
            if again not in made or disorder.lost == 0:
                yield replace(again, time=time, acknowledged=acknowledged)


def _block(order: str, kind: int, body: bytes) -> bytes:
    length = len(body) + 12
    return pack(order + "II", kind, length) + body + pack(order + "I", length)
