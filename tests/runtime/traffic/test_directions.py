"""The direction of connections whose opening was not captured: no response is read as a request, and none is missed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kipwire.traffic.conversation import REQUEST, Found
from kipwire.traffic.packet_captures import find_frames
from kipwire.traffic.packet_files import read_packets
from kipwire.traffic.packet_headers import SYN, port, segment_of
from tests.support import packet_dumps as made
from tests.support.packet_dumps import Disorder, Tcp
from tests.support.places import DATA
from tests.support.subjects.packet_talks import shipped

CLIENTS = sorted((DATA / "clients").glob("*.pcap.gz"))
WINDOW = 120
"""Packets that are read from each start on."""


@cache
def conversation(name: str) -> tuple[Tcp, ...]:
    """Return the packets of a shipped conversation."""
    if name == "examples":
        return tuple(made.segments(shipped(), Random(1), Disorder(largest=1460)))
    if name == "split":
        return tuple(made.segments(shipped()[:500], Random(2), Disorder(largest=200, repeated=0.1, overlapping=0.1)))
    if name == "joined":
        return tuple(made.segments(shipped()[:1000], Random(3), Disorder(largest=65000, joined=True)))
    packets = list(read_packets(DATA / "clients" / name))
    found = [(one.time, segment) for one in packets if (segment := segment_of(one.link, one.data)) is not None]
    listeners = {one.target for _, one in found if one.flags & 0x12 == SYN}
    return tuple(
        (
            Tcp(time, port(one.target), port(one.source), False, one.sequence, one.data, one.flags, one.acknowledged)
            if one.source in listeners
            else Tcp(
                time, port(one.source), port(one.target), True, one.sequence, one.data, one.flags, one.acknowledged
            )
        )
        for time, one in found
    )


NAMES = ("examples", "split", "joined", *(file.name for file in CLIENTS))


def hidden(packets: Sequence[Tcp], random: Random) -> tuple[list[Tcp], set[int]]:
    """Give all ends other ports; the packets, and the ports of brokers."""
    ports = sorted({one.client_port for one in packets} | {one.broker_port for one in packets})
    others = dict(zip(ports, random.sample(range(10_000, 60_000), len(ports)), strict=True))
    named = [replace(one, client_port=others[one.client_port], broker_port=others[one.broker_port]) for one in packets]
    return named, {one.broker_port for one in named}


def by_connection(found: Sequence[Found]) -> dict[tuple[str | None, str | None], list[Any]]:
    """Return the whole frames of each connection."""
    frames = defaultdict(list)
    for one in found:
        if one.request is not None:
            frames[one.client, one.listener].append((one.direction, one.request, one.frame, one.time))
    return dict(frames)


def check(folder: Path, name: str, start: int, random: Random) -> int:
    """Compare what is read without ports with what is read with them; the number of frames."""
    packets, ports = hidden(conversation(name)[start : start + WINDOW], random)
    file = folder / "a.pcap"
    file.write_bytes(made.dump(packets, made.RAW))
    told, seen = (by_connection(list(find_frames([file], given))) for given in (ports, ()))
    decided = {ends: frames for ends, frames in told.items() if ends in seen or any(one[2] for one in frames)}
    assert seen == decided, (name, start)  # the beginning of a single request says too little
    return sum(map(len, told.values()))


def whole_requests(start: int) -> list[tuple[int, bytes]]:
    """Return the time and the frame of each request of which the window has all packets."""
    all_of = Counter((one.client_port, one.time) for one in conversation("examples") if one.from_client and one.data)
    window = conversation("examples")[start : start + WINDOW]
    there = Counter((one.client_port, one.time) for one in window if one.from_client and one.data)
    return [
        (row["timestamp_ns"], row["frame"])
        for row in shipped()
        if row["direction"] == "request"
        and (end := (made.FIRST_CLIENT_PORT + row["connection"], row["timestamp_ns"])) in there
        and there[end] == all_of[end]
    ]


def check_all(folder: Path, start: int, random: Random) -> int:
    """Compare the requests that are found with those whose packets are all there; the number of these."""
    packets, _ = hidden(conversation("examples")[start : start + WINDOW], random)
    file = folder / "a.pcap"
    file.write_bytes(made.dump(packets, made.RAW))
    found = [(one.time, one.frame) for one in find_frames([file]) if one.direction == REQUEST and one.frame]
    assert Counter(found) == Counter(whole_requests(start)), start
    return len(found)


def test_every_request_after_the_first_packet_is_found_and_no_other(tmp_path: Path) -> None:
    random = Random(20)
    starts = random.sample(range(len(conversation("examples")) - WINDOW), 20)
    assert sum(check_all(tmp_path, start, random) for start in starts) > 500


@pytest.mark.night
def test_every_request_is_found_from_every_start(tmp_path: Path) -> None:
    last = len(conversation("examples")) - WINDOW
    assert sum(check_all(tmp_path, start, Random(start)) for start in range(last)) > 50_000


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_may_begin_with_any_packet(tmp_path: Path, name: str) -> None:
    random = Random(name)
    starts = random.sample(range(len(conversation(name))), 4)
    assert sum(check(tmp_path, name, start, random) for start in starts) > 0


@pytest.mark.night
@pytest.mark.parametrize("name", NAMES)
def test_every_start_of_every_conversation_gives_the_direction(tmp_path: Path, name: str) -> None:
    for start in range(len(conversation(name))):
        check(tmp_path, name, start, Random(start))
