"""Captured packets: every frame comes back, no matter what happened to its segments; lost bytes are reported."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pytest

from kipwire.message.frames import LARGEST_FRAME
from kipwire.tables.errors import SourceError
from kipwire.tables.sources.capture_files import find_captures
from kipwire.tables.sources.captures import FRAMES_SCHEMA, FrameFilter
from kipwire.tables.sources.options import Options
from kipwire.tables.sources.packet_captures import read_packet_frames
from kipwire.traffic.packet_captures import find_frames
from kipwire.traffic.packet_headers import RST
from tests.support import packet_dumps as made
from tests.support.packet_dumps import Disorder, Tcp
from tests.support.subjects.packet_talks import (
    BROKER,
    CLIENT,
    COLUMNS,
    COUNT,
    Talk,
    errors_of,
    found_in,
    frames_of,
    ids,
    request,
    shipped,
    sized,
)

ROUGH = Disorder(shuffled=True, repeated=0.3, overlapping=0.3, largest=400)


def shipped_frames() -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in COLUMNS) for row in shipped()]


# Every frame comes back.


@pytest.mark.parametrize("hosts", [made.IP4, made.IP6], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize(
    ("link", "disorder"),
    [
        (made.ETHERNET, Disorder()),
        (made.ETHERNET, Disorder(joined=True, closed=False, largest=65000)),
        *((link, ROUGH) for link in made.LINKS),
    ],
    ids=["as sent", "joined", *made.LINKS],
)
def test_every_frame_comes_back_in_its_order(
    tmp_path: Path, link: str, hosts: tuple[str, str], disorder: Disorder
) -> None:
    data = made.dump(made.segments(shipped(), Random(link), disorder), link, hosts)
    found = found_in(tmp_path, data)
    assert errors_of(found) == []
    assert frames_of(found) == shipped_frames()
    if not disorder.joined:
        assert [one.time for one in found] == [row["timestamp_ns"] for row in shipped()]
    listeners = {(row["connection"], one.connection, one.listener) for row, one in zip(shipped(), found, strict=True)}
    assert len(listeners) == len({row["connection"] for row in shipped()})
    assert len(listeners) == len({number for _, number, _ in listeners})
    broker = hosts[1] if hosts == made.IP4 else f"[{hosts[1]}]"
    assert {listener for *_, listener in listeners} == {f"{broker}:{port}" for port in made.PORTS.values()}


@pytest.mark.parametrize("seed", range(8))
def test_no_disorder_of_segments_changes_a_frame(tmp_path: Path, seed: int) -> None:
    rows = shipped()[:300]
    largest = Random(seed).randrange(10, 3000)
    disorder = Disorder(shuffled=True, repeated=0.5, overlapping=0.5, largest=largest, joined=seed % 2 == 0)
    found = found_in(tmp_path, made.dump(made.segments(rows, Random(seed), disorder)))
    assert (errors_of(found), frames_of(found)) == ([], shipped_frames()[:300])


@pytest.mark.parametrize("unit", [1, 1000])
@pytest.mark.parametrize("order", ["<", ">"])
def test_pcap_of_any_byte_order_and_unit_of_time_is_read(tmp_path: Path, order: str, unit: int) -> None:
    found = found_in(tmp_path, made.dump(made.segments(shipped(), Random(1), Disorder()), unit=unit, order=order))
    assert frames_of(found) == shipped_frames()
    assert [one.time for one in found] == [row["timestamp_ns"] // unit * unit for row in shipped()]


@pytest.mark.parametrize("order", ["<", ">"])
def test_pcapng_with_interfaces_of_several_kinds_is_read(tmp_path: Path, order: str) -> None:
    segments = list(made.segments(shipped(), Random(1), ROUGH))
    found = found_in(tmp_path, made.dump_ng(segments, tuple(made.LINKS), order))
    assert (errors_of(found), frames_of(found)) == ([], shipped_frames())
    late = [one.time - row["timestamp_ns"] for one, row in zip(found, shipped(), strict=True)]
    assert -1000 < min(late) <= max(late) == 0
    # A file may have sections one after the other, each with interfaces and a byte order of its own.
    half = len(segments) // 2
    sections = made.dump_ng(segments[:half], (made.RAW,), "<") + made.dump_ng(segments[half:], (made.COOKED,), ">")
    assert frames_of(found_in(tmp_path, sections)) == shipped_frames()


@pytest.mark.parametrize("packed", [False, True])
def test_files_of_a_rotation_are_one_capture_in_order_of_time(tmp_path: Path, packed: bool) -> None:
    segments = list(made.segments(shipped(), Random(2), Disorder()))
    names = [f"dump.pcap{number or ''}" + (".gz" if packed else "") for number in range(12)]
    # A ring of files (tcpdump -W) starts again with the first name, so names give no order.
    for number, name in enumerate([*names[5:], *names[:5]]):
        data = made.dump(segments[number * len(segments) // 12 : (number + 1) * len(segments) // 12])
        (tmp_path / name).write_bytes(gzip.compress(data, 1) if packed else data)
    (capture,) = find_captures(str(tmp_path)).packets
    assert len(capture.files) == 12
    assert frames_of(find_frames([Path(file) for file in capture.files])) == shipped_frames()


def test_files_of_several_places_at_one_time_are_read_together(tmp_path: Path) -> None:
    segments = list(made.segments(shipped(), Random(2), Disorder()))
    for number in range(3):
        of_broker = [one for one in segments if one.broker_port == 9092 + number]
        (tmp_path / f"broker{number}.pcap").write_bytes(made.dump(of_broker))
    found = find_frames(sorted(tmp_path.iterdir()))
    assert [one.time for one in found] == [row["timestamp_ns"] for row in shipped()]


def test_frames_are_rows_and_can_be_chosen(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(made.dump(made.segments(shipped(), Random(1), Disorder())))
    (capture,) = find_captures(str(tmp_path)).packets
    batches = list(read_packet_frames(capture, (), FrameFilter()))
    assert {batch.schema for batch in batches} == {FRAMES_SCHEMA}
    rows = [row for batch in batches for row in batch.to_pylist()]
    same = (*COLUMNS, "number", "timestamp", "timestamp_ns", "error")
    assert [[row[name] for name in same] for row in rows] == [[row[name] for name in same] for row in shipped()]
    chosen = FrameFilter((3, 18), ("response",), ("kp-admin",))
    numbers = [n for batch in read_packet_frames(capture, (), chosen) for n in batch.column("number").to_pylist()]
    expected = [
        row["number"] for row in shipped() if chosen.selects(row["direction"], row["api_key"], row["client_id"])
    ]
    assert numbers == expected != []


# Lost bytes are reported.


@pytest.mark.parametrize("seed", range(4))
def test_lost_segments_cost_no_frame_but_theirs_and_are_reported(tmp_path: Path, seed: int) -> None:
    segments = list(made.segments(shipped(), Random(seed), Disorder(lost=0.03)))
    found = found_in(tmp_path, made.dump(segments))
    # A response has the client id of its request, which may have been lost.
    whole, expected = (Counter((*one[:4], one[5]) for one in some) for some in (frames_of(found), shipped_frames()))
    assert whole <= expected  # nothing is taken for a frame that is none
    assert whole.total() > 0.9 * COUNT
    kept = Counter((row["connection"], row["direction"]) for row in shipped())
    numbers = connection_numbers(segments)
    reported = Counter((one.connection, one.direction) for one in found if one.frame is not None)
    for (connection, direction), count in kept.items():
        number = numbers[connection]
        if reported[number, direction] < count:
            of_connection = [one for one in found if one.connection == number and one.error]
            assert any(one.direction in (direction, None) for one in of_connection)


def connection_numbers(segments: Sequence[Tcp]) -> dict[int, int]:
    """Return the numbers that connections get when they are read, by their numbers in the example."""
    ports = dict.fromkeys(one.client_port for one in segments)
    return {port - made.FIRST_CLIENT_PORT: number for number, port in enumerate(ports)}


def test_a_frame_that_lacks_bytes_is_reported_with_its_header_and_the_next_one_is_found(tmp_path: Path) -> None:
    frame = request(2) + b""
    talk = Talk().ask(1).answer(1).say(True, sized(frame[4:] + bytes(100))[:30])
    talk.say(True, bytes(50), is_captured=False).say(True, bytes(len(frame) - 4 + 100 + 4 - 80)).answer(2)
    found = found_in(tmp_path, made.dump(talk.ask(3).answer(3).segments))
    assert ids(found) == [(side, number) for number in (1, 2, 3) for side in ("request", "response")]
    assert errors_of(found) == ["50 of the frame's 117 bytes not captured"]
    assert found[2].frame is None


def test_packets_that_the_capture_cut_are_reported_with_the_headers_in_them(tmp_path: Path) -> None:
    found = found_in(tmp_path, made.dump(made.segments(shipped(), Random(1), Disorder()), snap=14 + 20 + 32 + 60))
    whole = frames_of(found)
    assert Counter(whole) <= Counter(shipped_frames())
    assert len(whole) > 200
    requests = [one.request for one in found if one.request and one.direction == "request"]
    # Nearly all requests have their header within their first bytes, so their client and API are known all the same.
    assert len(requests) > 1000
    assert {request.client_id for request in requests} == {row["client_id"] for row in shipped()}
    assert all("bytes not captured" in error for error in errors_of(found) if "whose start" not in error)


def test_a_capture_that_starts_within_connections_finds_the_next_frames(tmp_path: Path) -> None:
    segments = list(made.segments(shipped(), Random(3), Disorder(largest=700)))
    late = segments[len(segments) // 3 :]
    found = found_in(tmp_path, made.dump(late))
    whole = Counter(frames_of(found))
    assert whole <= Counter(shipped_frames())
    assert whole.total() > COUNT / 2
    assert {one.listener for one in found if one.frame} == {f"10.0.0.2:{port}" for port in made.PORTS.values()}
    assert any("bytes of frames whose start was not captured" in error for error in errors_of(found))


def test_which_side_is_the_broker_is_known_from_requests_if_nothing_else_says(tmp_path: Path) -> None:
    talk = Talk(opened=False).answer(6).ask(7).answer(7)
    found = found_in(tmp_path, made.dump(talk.segments))
    assert ids(found) == [("request", 7), ("response", 7)]
    assert {one.listener for one in found} == {"10.0.0.2:9092"}
    assert errors_of(found) == ["14 bytes of frames whose start was not captured"]


def test_ports_identify_the_broker_and_leave_others_out(tmp_path: Path) -> None:
    segments = list(made.segments(shipped(), Random(3), Disorder(opened=False)))
    found = found_in(tmp_path, made.dump(segments), (9094,))
    assert {one.listener for one in found} == {"10.0.0.2:9094"}
    assert frames_of(found) == [
        tuple(row[name] for name in COLUMNS) for row in shipped() if made.PORTS[row["listener"]] == 9094
    ]
    with pytest.raises(SourceError, match="option ports is '70000'; it must be a port from 1 to 65535"):
        Options("kafka_frames", {"ports": "9092,70000"}, ("ports",)).ports("ports")


def test_responses_are_found_again_after_a_hole(tmp_path: Path) -> None:
    talk = Talk().ask(1).ask(2).ask(3).answer(1).answer(2, is_captured=False).answer(3)
    found = found_in(tmp_path, made.dump(talk.segments))
    assert ids(found) == [("request", 1), ("request", 2), ("request", 3), ("response", 1), ("response", 3)]
    assert errors_of(found) == ["14 bytes not captured"]


def test_requests_that_want_no_response_do_not_shift_the_others(tmp_path: Path) -> None:
    talk = Talk().ask(1, key=0).ask(2, key=0).ask(3).answer(3).ask(4).answer(4)
    found = found_in(tmp_path, made.dump(talk.segments))
    assert [one.request.api_key for one in found if one.request] == [0, 0, 18, 18, 18, 18]
    assert errors_of(found) == []


def test_a_request_may_be_captured_after_its_response(tmp_path: Path) -> None:
    segments = Talk().ask(1).answer(1).ask(2).answer(2).segments
    segments[2], segments[3] = segments[3], segments[2]
    found = found_in(tmp_path, made.dump(segments))
    assert ids(found) == [(side, number) for number in (1, 2) for side in ("request", "response")]
    assert errors_of(found) == []


def test_responses_without_a_request_are_reported(tmp_path: Path) -> None:
    talk = Talk().ask(1).answer(1).answer(77).answer(78).ask(2).answer(2)
    found = found_in(tmp_path, made.dump(talk.segments))
    assert errors_of(found) == ["2 responses of 20 bytes to requests that were not captured"]
    assert len(ids(found)) == 4


def test_endpoints_that_are_used_again_are_another_connection(tmp_path: Path) -> None:
    first = Talk().ask(1).answer(1).segments
    more = 10**6
    again = [replace(one, sequence=one.sequence + more, acknowledged=one.acknowledged + more) for one in first]
    reset = Tcp(9, CLIENT, BROKER, True, 1023, flags=RST)
    for between in ([], [reset], [reset, first[2], first[3]]):
        found = found_in(tmp_path, made.dump([*first, *between, *again]))
        assert [one.connection for one in found] == [0, 0, 1, 1]
        assert errors_of(found) == []


@pytest.mark.parametrize("direction", ["request", "response"])
def test_a_direction_that_was_not_captured_at_all_is_reported(tmp_path: Path, direction: str) -> None:
    segments = Talk(opened=False).ask(1).answer(1).ask(2).answer(2).ask(3).segments
    found = found_in(tmp_path, made.dump([one for one in segments if one.from_client == (direction == "request")]))
    if direction == "request":
        assert [one.direction for one in found] == ["request"] * 3 + ["response"]
        assert errors_of(found) == ["28 bytes not captured"]
    else:
        (error,) = errors_of(found)
        assert error.startswith("no Kafka request found; it starts with 00 00 00 0a 00 00 00 01; ")
        assert "28 bytes from 10.0.0.2:9092" in error
        assert "21 bytes from 10.0.0.1:50000" in error


@pytest.mark.parametrize("size", [-1, 7, LARGEST_FRAME + 1])
def test_a_size_that_no_frame_has_is_passed_over(tmp_path: Path, size: int) -> None:
    talk = Talk().ask(1).answer(1).say(True, pack(">i", size) + b"what is this").ask(2).answer(2)
    found = found_in(tmp_path, made.dump(talk.segments))
    assert ids(found) == [(side, number) for number in (1, 2) for side in ("request", "response")]
    assert errors_of(found) == ["16 bytes of frames whose start was not captured"]


def zeros_in_gzip(packets: int, noise: bytes) -> bytes:
    """Return a capture of one frame, and then of packets of 64 KiB that are mostly zeros."""
    talk = made.dump(Talk().ask(1).answer(1).segments)
    packet = pack("<IIII", 2**31 - 1, 0, 1 << 16, 1 << 16)
    return gzip.compress(talk + b"".join(packet + noise + bytes((1 << 16) - len(noise)) for _ in range(packets)), 1)


def test_gzip_that_grows_far_more_than_packets_do_is_not_read_further(tmp_path: Path) -> None:
    file = tmp_path / "a.pcap.gz"
    file.write_bytes(zeros_in_gzip(300, b""))
    found = list(find_frames([file]))
    assert ids(found) == [("request", 1), ("response", 1)]
    *_, error = errors_of(found)
    assert "more than 100 times as many" in error
    assert "decompress it with gunzip" in error
    (tmp_path / "a.pcap").write_bytes(gzip.decompress(file.read_bytes()))
    unpacked = list(find_frames([tmp_path / "a.pcap"]))
    assert ids(unpacked) == ids(found)
    assert not any("gunzip" in error for error in errors_of(unpacked))


def test_gzip_of_very_even_packets_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.pcap.gz"
    file.write_bytes(zeros_in_gzip(300, Random(1).randbytes(700)))
    assert 60 < len(gzip.decompress(file.read_bytes())) / file.stat().st_size < 100
    found = list(find_frames([file]))
    assert ids(found) == [("request", 1), ("response", 1)]
    assert not any("gunzip" in error for error in errors_of(found))
