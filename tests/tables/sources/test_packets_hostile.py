"""Captured packets that are not Kafka's plaintext, damaged files, and locations in them."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from random import Random
from struct import pack

import pyarrow as pa
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kafka_messages
from kafka_messages.sasl_handshake_request.v0 import SaslHandshakeRequest
from kafka_messages.sasl_handshake_response.v0 import SaslHandshakeResponse
from kipjobs.jobs.extract.command import extract
from kipjobs.jobs.traffic.tables import inspect_frames
from kipspark import commands
from kipwire.tables.errors import JobError, SourceError
from kipwire.tables.sources.capture_files import find_captures
from kipwire.tables.sources.captures import FrameFilter, parts, read_frames
from kipwire.tables.sources.packet_captures import PacketCapture, read_packet_frames
from kipwire.traffic import packet_captures as capture_module
from kipwire.traffic import streams
from kipwire.traffic.captures import CaptureError
from kipwire.traffic.packet_captures import find_frames
from kipwire.traffic.streams import Stream
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

# Traffic that is not Kafka's plaintext.


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
def test_tokens_after_a_handshake_are_not_frames(
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


def test_jobs_count_what_is_not_a_frame(tmp_path: Path) -> None:
    talk = Talk().ask(1).answer(1).ask(2, is_captured=False).ask(3).answer(3)
    (tmp_path / "a.pcap").write_bytes(made.dump(talk.segments))
    batches = rows_of(tmp_path)
    (inspected,) = inspect_frames(batches)
    errors = inspected.column("error").to_pylist()
    at = errors.index(f"{len(request(2))} bytes not captured")
    assert (inspected.column("api")[at].as_py(), inspected.column("frame_bytes")[at].as_py()) == (None, None)


@pytest.mark.parametrize("version", [5, 7])
def test_jobs_read_the_answer_to_a_version_that_the_broker_does_not_know(tmp_path: Path, version: int) -> None:
    refused = bytes.fromhex("00000001 0023 00000001 0012 0000 0004")
    asked = bytearray(request(1))
    asked[6:8] = version.to_bytes(2)
    talk = Talk().say(True, bytes(asked)).say(False, sized(refused))
    (tmp_path / "a.pcap").write_bytes(made.dump(talk.segments))
    (inspected,) = inspect_frames(rows_of(tmp_path))
    (answer,) = [one for one in inspected.to_pylist() if one["direction"] == "response"]
    refusal = {"path": "error_code", "code": 35, "error": "UNSUPPORTED_VERSION", "count": 1}
    assert (answer["error"], answer["error_codes"]) == (None, [refusal])


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
        (b"", "is empty; give a file that tcpdump wrote"),
        (b'{"i":0}', "is neither pcap nor pcapng (it starts with 7b 22 69 22); give a file that tcpdump wrote"),
        (b"\x1f\x8b\x08", "cannot be read: Compressed file ended"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, data: bytes, wrong: str) -> None:
    with pytest.raises(CaptureError, match=re.escape(f"a.pcap: {wrong}")):
        found_in(tmp_path, data)
    with pytest.raises(SourceError, match=re.escape(f"a.pcap: {wrong}")):
        rows_of(tmp_path)


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
        "10 packets that cannot be read: unknown link type 105"
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
    monkeypatch.setattr(capture_module, "MOST_HELD", 100_000)
    monkeypatch.setattr(capture_module, "MOST_CONNECTIONS", 50)
    start = pack(">ihhih", 10**7, 0, 9, 1, -1)
    talks = [Talk(CLIENT + number).say(True, start + bytes(5000)) for number in range(100)]
    found = found_in(tmp_path, made.dump([one for talk in talks for one in talk.segments]))
    given_up = [one for one in found if one.error and "is dropped: too many bytes wait" in one.error]
    assert len(given_up) > 2
    assert len(ids(found)) == 100
    monkeypatch.setattr(streams, "MOST_WAITING", 10)
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
    done = CliRunner().invoke(
        commands.app, ["extract", str(tmp_path / "a.pcap"), "--out", str(tmp_path / "new" / "own")]
    )
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
    (error,) = (tmp_path / "faulty" / "errors.jsonl").read_text().splitlines()
    assert json.loads(error) == {
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
