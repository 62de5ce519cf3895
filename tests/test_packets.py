"""Captured packets: every frame comes back, even if its segments were damaged, and what is missing is reported."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import kafka_messages
import packet_dumps as made
from kafka_messages.sasl_handshake_request.v0 import SaslHandshakeRequest
from kafka_messages.sasl_handshake_response.v0 import SaslHandshakeResponse
from kipspark import cli
from kipspark.errors import JobError, SourceError
from kipspark.jobs.encodings import count_frames
from kipspark.jobs.inspection import inspect_frames
from kipspark.packets import capture as capture_module
from kipspark.packets import streams
from kipspark.packets.capture import find_frames
from kipspark.packets.conversation import Found
from kipspark.packets.headers import ACK, RST, SYN
from kipspark.packets.streams import Stream
from kipspark.sources.capture_files import find_captures
from kipspark.sources.captures import parts, read_frames
from kipspark.sources.extraction import extract
from kipspark.sources.frame_rows import FRAMES_SCHEMA, FrameFilter
from kipspark.sources.options import Options
from kipspark.sources.packet_captures import PacketCapture, read_packet_frames
from kipwire.captures import LARGEST_FRAME
from packet_dumps import Disorder, Tcp

COLUMNS = ("direction", "api_key", "api_version", "correlation_id", "client_id", "frame")
"""Those that a capture of packets has from the packets alone."""
COUNT = 2186
ROUGH = Disorder(shuffled=True, repeated=0.3, overlapping=0.3, largest=400)
CLIENT, BROKER = 50000, 9092


@cache
def shipped() -> tuple[dict[str, Any], ...]:
    return tuple(made.shipped_frames())


def found_in(tmp_path: Path, data: bytes, ports: Sequence[int] = ()) -> list[Found]:
    file = tmp_path / "a.pcap"
    file.write_bytes(data)
    return list(find_frames([file], ports))


def frames_of(found: Iterable[Found]) -> list[tuple[Any, ...]]:
    """The frames that are whole, as `COLUMNS`."""
    return [(one.direction, *one.request, one.frame) for one in found if one.request and one.frame is not None]


def shipped_frames() -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in COLUMNS) for row in shipped()]


def errors_of(found: Iterable[Found]) -> list[str]:
    return [one.error for one in found if one.error is not None]


class Talk:
    """A conversation by hand, segment by segment."""

    def __init__(self, client: int = CLIENT, opened: bool = True) -> None:
        self.segments: list[Tcp] = []
        self._client = client
        self._next = {True: 1000, False: 5000}
        if opened:
            self.segments += [
                Tcp(0, client, BROKER, True, 999, flags=SYN),
                Tcp(0, client, BROKER, False, 4999, flags=SYN | ACK, acknowledged=1000),
            ]

    def say(self, from_client: bool, data: bytes, is_captured: bool = True) -> Talk:
        """Send bytes in one segment."""
        if is_captured:
            time = len(self.segments) * 1000
            numbers = self._next[from_client], self._next[not from_client]
            self.segments.append(Tcp(time, self._client, BROKER, from_client, numbers[0], data, ACK, numbers[1]))
        self._next[from_client] += len(data)
        return self

    def ask(self, correlation_id: int, is_captured: bool = True, key: int = 18) -> Talk:
        """Send a request."""
        return self.say(True, request(correlation_id, key), is_captured)

    def answer(self, correlation_id: int, is_captured: bool = True) -> Talk:
        """Send a response."""
        return self.say(False, sized(pack(">i", correlation_id) + b"answer"), is_captured)


def sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4) + frame


def request(correlation_id: int, key: int = 18) -> bytes:
    return sized(pack(">hhih", key, 3, correlation_id, 2) + b"me" + b"\0body")


def ids(found: Iterable[Found]) -> list[tuple[str | None, int]]:
    return [(one.direction, one.request.correlation_id) for one in found if one.request]


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


# What is missing is reported.


@pytest.mark.parametrize("seed", range(4))
def test_lost_segments_cost_no_frame_but_theirs_and_are_told(tmp_path: Path, seed: int) -> None:
    segments = list(made.segments(shipped(), Random(seed), Disorder(lost=0.03)))
    found = found_in(tmp_path, made.dump(segments))
    # The client id of a response is that of its request, which may have been lost.
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
    """The numbers that connections get when they are read, by those that they have in the example."""
    ports = dict.fromkeys(one.client_port for one in segments)
    return {port - made.FIRST_CLIENT_PORT: number for number, port in enumerate(ports)}


def test_a_frame_that_lacks_bytes_is_told_with_its_header_and_the_next_one_is_found(tmp_path: Path) -> None:
    frame = request(2) + b""
    talk = Talk().ask(1).answer(1).say(True, sized(frame[4:] + bytes(100))[:30])
    talk.say(True, bytes(50), is_captured=False).say(True, bytes(len(frame) - 4 + 100 + 4 - 80)).answer(2)
    found = found_in(tmp_path, made.dump(talk.ask(3).answer(3).segments))
    assert ids(found) == [(side, number) for number in (1, 2, 3) for side in ("request", "response")]
    assert errors_of(found) == ["50 of the frame's 117 bytes not captured"]
    assert found[2].frame is None


def test_packets_that_the_capture_cut_are_told_with_the_headers_in_them(tmp_path: Path) -> None:
    found = found_in(tmp_path, made.dump(made.segments(shipped(), Random(1), Disorder()), snap=14 + 20 + 32 + 60))
    whole = frames_of(found)
    assert Counter(whole) <= Counter(shipped_frames())
    assert len(whole) > 200
    requests = [one.request for one in found if one.request and one.direction == "request"]
    # Nearly all requests have their header within their first bytes, so who asks for what is known all the same.
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


def test_which_side_is_the_broker_is_told_by_requests_where_nothing_else_does(tmp_path: Path) -> None:
    talk = Talk(opened=False).answer(6).ask(7).answer(7)
    found = found_in(tmp_path, made.dump(talk.segments))
    assert ids(found) == [("request", 7), ("response", 7)]
    assert {one.listener for one in found} == {"10.0.0.2:9092"}
    assert errors_of(found) == ["14 bytes of frames whose start was not captured"]


def test_ports_tell_the_broker_and_leave_others_out(tmp_path: Path) -> None:
    segments = list(made.segments(shipped(), Random(3), Disorder(opened=False)))
    found = found_in(tmp_path, made.dump(segments), (9094,))
    assert {one.listener for one in found} == {"10.0.0.2:9094"}
    assert frames_of(found) == [
        tuple(row[name] for name in COLUMNS) for row in shipped() if made.PORTS[row["listener"]] == 9094
    ]
    with pytest.raises(SourceError, match="option ports is '70000'; it must be a port from 1 to 65535"):
        Options("kafka_frames", {"ports": "9092,70000"}, ("ports",)).ports("ports")


def test_responses_are_found_again_behind_a_hole(tmp_path: Path) -> None:
    talk = Talk().ask(1).ask(2).ask(3).answer(1).answer(2, is_captured=False).answer(3)
    found = found_in(tmp_path, made.dump(talk.segments))
    assert ids(found) == [("request", 1), ("request", 2), ("request", 3), ("response", 1), ("response", 3)]
    assert errors_of(found) == ["14 bytes not captured"]


def test_requests_that_want_no_response_do_not_shift_the_others(tmp_path: Path) -> None:
    talk = Talk().ask(1, key=0).ask(2, key=0).ask(3).answer(3).ask(4).answer(4)
    found = found_in(tmp_path, made.dump(talk.segments))
    assert [one.request.api_key for one in found if one.request] == [0, 0, 18, 18, 18, 18]
    assert errors_of(found) == []


def test_a_request_may_be_captured_behind_its_response(tmp_path: Path) -> None:
    segments = Talk().ask(1).answer(1).ask(2).answer(2).segments
    segments[2], segments[3] = segments[3], segments[2]
    found = found_in(tmp_path, made.dump(segments))
    assert ids(found) == [(side, number) for number in (1, 2) for side in ("request", "response")]
    assert errors_of(found) == []


def test_responses_without_a_request_are_told(tmp_path: Path) -> None:
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
def test_a_direction_that_was_not_captured_at_all_is_told(tmp_path: Path, direction: str) -> None:
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


# What is not Kafka's plaintext.


@pytest.mark.parametrize(
    ("hello", "reported"),
    [
        (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
            "TLS, which cannot be read; 30 bytes from 10.0.0.1:50000 and 20 bytes",
        ),
        (b"GET / HTTP/1.1\r\n", "no Kafka request found; it starts with 47 45 54 20 2f 20 48 54 and 6f 6b"),
    ],
)
@pytest.mark.parametrize("opened", [True, False])
def test_other_traffic_is_reported_once_per_connection(
    tmp_path: Path, hello: bytes, reported: str, opened: bool
) -> None:
    talk = Talk(opened=opened).say(True, hello.ljust(25)).say(False, b"ok" * 10).say(True, b"more?")
    kafka = Talk(CLIENT + 1).ask(1).answer(1)
    found = found_in(tmp_path, made.dump([*talk.segments, *kafka.segments]))
    assert len(ids(found)) == 2
    (error,) = errors_of(found)
    assert error.startswith(reported)


def rows_of(tmp_path: Path) -> list[pa.RecordBatch]:
    return list(read_packet_frames(PacketCapture("a", (str(tmp_path / "a.pcap"),)), (), FrameFilter()))


@pytest.mark.parametrize(
    ("from_client", "from_broker"),
    [
        ([b"\0Admin\0secret"], [b""]),  # PLAIN
        ([b"n,,n=Admin,r=fyko", b"c=biws,r=fyko,p=v0X8v3Bz"], [b"r=fyko3rf,s=QSXCR,i=4096", b"v=rmF9pqV8S7"]),  # SCRAM
        ([b"\x60\x82" * 20, b"", b"\x05\x04\0\xff"], [b"\x60" * 9, b"\x05\x04\x01"]),  # GSSAPI: the last has no answer
    ],
)
def test_tokens_behind_a_handshake_are_no_frames(
    tmp_path: Path, from_client: list[bytes], from_broker: list[bytes]
) -> None:
    shake = kafka_messages.encode_request(SaslHandshakeRequest(mechanism="X"), 1, "me")
    shaken = kafka_messages.encode_response(SaslHandshakeResponse(error_code=0, mechanisms=["X"]), 1)
    talk = Talk().say(True, sized(shake)).say(False, sized(shaken))
    for number, token in enumerate(from_client):
        talk.say(True, sized(token))
        if number < len(from_broker):
            talk.say(False, sized(from_broker[number]))
    found = found_in(tmp_path, made.dump(talk.ask(2).answer(2).segments))
    assert ids(found) == [(side, number) for number in (1, 2) for side in ("request", "response")]
    assert sorted((one.direction, one.error) for one in found if one.error) == [
        (direction, f"{what} of {sum(map(len, tokens))} bytes without a header, as after SaslHandshake v0")
        for direction, tokens in (("request", from_client), ("response", from_broker))
        for what in ["a SASL token" if len(tokens) == 1 else f"{len(tokens)} SASL tokens"]
    ]
    assert b"secret" not in b"".join(one.frame or b"" for one in found)


def test_jobs_count_what_is_no_frame(tmp_path: Path) -> None:
    talk = Talk().ask(1).answer(1).ask(2, is_captured=False).ask(3).answer(3)
    (tmp_path / "a.pcap").write_bytes(made.dump(talk.segments))
    batches = rows_of(tmp_path)
    (inspected,) = inspect_frames(batches)
    faults = inspected.column("fault").to_pylist()
    at = faults.index(f"{len(request(2))} bytes not captured")
    assert (inspected.column("api")[at].as_py(), inspected.column("frame_bytes")[at].as_py()) == (None, None)
    (counted,) = count_frames(batches)
    assert {row["message"]: row["not_decoded"] for row in counted.to_pylist()}[""] == 1


# Damaged and hostile files.


@pytest.fixture(scope="module")
def small_dumps() -> list[bytes]:
    segments = list(made.segments(shipped()[:40], Random(9), Disorder(largest=300, lost=0.05)))
    dumps = [made.dump(segments, link) for link in made.LINKS]
    return [*dumps, made.dump(segments, hosts=made.IP6), made.dump_ng(segments, tuple(made.LINKS))]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(random=st.randoms(use_true_random=False), cut=st.booleans(), packed=st.booleans())
def test_a_damaged_file_gives_rows_or_an_error_of_ours(
    tmp_path: Path, small_dumps: list[bytes], random: Random, cut: bool, packed: bool
) -> None:
    data = bytearray(random.choice(small_dumps))
    if packed:
        data = bytearray(gzip.compress(data, 1))
    for _ in range(random.randrange(8)):
        at = random.randrange(min(len(data), random.choice((30, 200, 100_000))))
        data[at] = random.choice((0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)))
    if cut:
        del data[random.randrange(len(data)) :]
    (tmp_path / "a.pcap").write_bytes(data)
    try:
        batches = rows_of(tmp_path)
    except SourceError as error:
        assert "a.pcap" in str(error)
        return
    for batch in batches:
        batch.validate(full=True)
        for row in batch.to_pylist():
            assert (row["frame"] is None) == (row["error"] is not None)


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (b"", "is neither pcap nor pcapng: it starts with nothing"),
        (b'{"i":0}', "is neither pcap nor pcapng: it starts with 7b 22 69 22"),
        (b"\x1f\x8b\x08", "cannot be read: Compressed file ended"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, data: bytes, wrong: str) -> None:
    with pytest.raises(SourceError, match=f"a.pcap: {wrong}"):
        found_in(tmp_path, data)


def test_a_file_that_ends_early_gives_what_is_there(tmp_path: Path) -> None:
    data = made.dump(Talk().ask(1).answer(1).segments)
    assert errors_of(found_in(tmp_path, data[:-3]))[-1].startswith(
        "a.pcap: the file ends within the packet or block that starts at byte "
    )
    packed = gzip.compress(made.dump(made.segments(shipped(), Random(1), Disorder())), 1)
    (tmp_path / "b.pcap").write_bytes(packed[:-100])
    found = list(find_frames([tmp_path / "b.pcap"]))
    assert len(frames_of(found)) > COUNT / 2
    assert "b.pcap: cannot be read further" in errors_of(found)[-1]
    huge = data + pack("<IIII", 0, 0, 2**32 - 1, 9)
    assert errors_of(found_in(tmp_path, huge)) == [
        f"a.pcap: at byte {len(data)}: a packet of 4,294,967,295 bytes is too large, so the rest cannot be read"
    ]


def test_packets_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    fragment = bytearray(made.packet(Talk().ask(1).segments[2], made.ETHERNET, made.IP4))
    fragment[20] |= 0x20
    odd = [bytes(fragment)] * 2 + [b"\x08\x00", bytes(12) + b"\x08\x00\x45"]
    arp, udp = bytes(12) + b"\x08\x06" + bytes(28), bytearray(fragment)
    udp[23] = 17
    data = made.dump(Talk().ask(1).answer(1).segments)
    data += b"".join(pack("<IIII", 0, 0, len(one), len(one)) + one for one in [*odd, arp, bytes(udp)])
    assert errors_of(found_in(tmp_path, data)) == [
        "2 packets that cannot be read: an IP fragment",
        "2 packets that cannot be read: cut short within its headers",
    ]
    assert errors_of(found_in(tmp_path, data[:20] + pack("<I", 105) + data[24:])) == [
        "10 packets that cannot be read: link type 105 is not known"
    ]


def test_missing_bytes_are_not_waited_for_without_end() -> None:
    stream = Stream()
    stream.start(0)
    pieces = []
    for number in range(20_000):
        pieces += stream.add(1 + number * 1000, b"x" * 1000, 1000, number)
        assert stream.held < 9 * 1024 * 1024
    assert [piece.lost for piece in pieces if piece.lost] == [1]
    assert sum(len(piece.data) for piece in pieces) == 20_000_000
    stream = Stream()
    stream.start(0)
    assert stream.add(10, b"abc", 3, 0) == []
    assert stream.acknowledged(13, 1) == []
    assert stream.acknowledged(13, 2 * 10**9) == [(0, b"", 10), (0, b"abc", 0)]


def test_a_stream_that_jumps_back_further_than_any_window_goes_on_there() -> None:
    stream = Stream()
    assert [piece.data for piece in stream.add(2**31, b"ab", 2, 0)] == [b"ab"]
    assert stream.add(5, b"cd", 2, 1) == [(1, b"", 2**31 + 3), (1, b"cd", 0)]
    assert stream.add(2**32 + 5 - 4, b"wxyz", 4, 2) == []


def test_what_is_held_of_all_connections_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_module, "_MOST_HELD", 100_000)
    monkeypatch.setattr(capture_module, "_MOST_CONNECTIONS", 50)
    start = pack(">ihhih", 10**7, 0, 9, 1, -1)
    talks = [Talk(CLIENT + number).say(True, start + bytes(5000)) for number in range(100)]
    found = found_in(tmp_path, made.dump([one for talk in talks for one in talk.segments]))
    given_up = [one for one in found if one.error and "is dropped: too many bytes wait" in one.error]
    assert len(given_up) > 2
    assert len(ids(found)) == 100
    monkeypatch.setattr(streams, "_MOST_WAITING", 10)
    holes = [Tcp(number, CLIENT, BROKER, True, 1010 + 2 * number, b"x") for number in range(1000)]
    assert len(errors_of(found_in(tmp_path, made.dump([*Talk().segments, *holes])))) == 1


# Places, and kipwire's own form.


def test_places_of_captures(tmp_path: Path) -> None:
    for name in ("x/a.pcap", "x/b.pcapng.gz", "x/sub/c.cap", "x/z.pcap17", "x/notes.txt", "own/frames.jsonl"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
    found = find_captures(str(tmp_path))
    assert found.indexes == (tmp_path / "own" / "frames.jsonl",)
    assert {capture.name: [Path(file).name for file in capture.files] for capture in found.packets} == {
        str(tmp_path / "x"): ["a.pcap", "b.pcapng.gz", "z.pcap17"],
        str(tmp_path / "x" / "sub"): ["c.cap"],
    }
    one = str(tmp_path / "x" / "notes.txt")
    assert find_captures(one).packets == (PacketCapture(one, (one,)),)  # a file by its name may have any
    with pytest.raises(SourceError, match="there is no such file or folder"):
        find_captures(str(tmp_path / "none"))


def test_extract_writes_frames_in_the_own_form_and_faults_beside_them(tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(made.dump(made.segments(shipped(), Random(1), Disorder())))
    done = CliRunner().invoke(cli.app, ["extract", str(tmp_path / "a.pcap"), "--out", str(tmp_path / "new" / "own")])
    assert done.exit_code == 0, done.output
    assert "2,186 frames" in done.output
    own = tmp_path / "new" / "own"
    assert sorted(file.name for file in own.iterdir()) == ["frames.bin", "frames.jsonl"]
    rows = [
        row
        for part in parts(own / "frames.jsonl", 20_000)
        for batch in read_frames(part, FrameFilter())
        for row in batch.to_pylist()
    ]
    same = (*COLUMNS, "number", "timestamp_ns", "error")
    assert [[row[name] for name in same] for row in rows] == [[row[name] for name in same] for row in shipped()]
    with pytest.raises(JobError, match="already exists"):
        extract(tmp_path / "a.pcap", own, ())
    (tmp_path / "a.pcap").write_bytes(made.dump(Talk().ask(1).answer(2).segments))
    assert extract(tmp_path / "a.pcap", tmp_path / "faulty", ()) == (1, 1)
    (fault,) = (tmp_path / "faulty" / "faults.jsonl").read_text().splitlines()
    assert json.loads(fault) == {
        "ts_ns": 3000,
        "conn": 0,
        "listener": "10.0.0.2:9092",
        "dir": "res",
        "error": "a response of 10 bytes to a request that was not captured",
    }


def test_extract_leaves_nothing_half_written(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.pcap").write_bytes(b"something else")
    with pytest.raises(SourceError, match="is neither pcap nor pcapng"):
        extract(tmp_path / "in", tmp_path / "out", ())
    assert [file.name for file in tmp_path.iterdir()] == ["in"]
    (tmp_path / "in" / "sub").mkdir()
    (tmp_path / "in" / "sub" / "b.pcap").write_bytes(b"")
    with pytest.raises(JobError, match="has more than one capture; extract them one by one"):
        extract(tmp_path / "in", tmp_path / "out", ())
