"""kipwire dump of captures: one line for each frame, with its client, API, latency and error."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import kafka_messages
from kafka_messages.api_versions_request.v0 import ApiVersionsRequest
from kafka_messages.api_versions_response.v0 import ApiVersionsResponse
from kafka_messages.enums import ErrorCode
from tests.console.dump.conftest import Dump
from tests.support import packet_dumps as made
from tests.support.packet_dumps import Disorder
from tests.support.places import ROOT
from tests.support.subjects.packet_talks import COUNT, Talk, shipped

Objects = Callable[..., list[dict[str, Any]]]
CAPTURE = ROOT / "examples" / "capture"


def exchanged(*ids: int) -> Talk:
    """Return a conversation of whole requests, each with its response."""
    talk = Talk()
    for number in ids:
        request = kafka_messages.encode_request(ApiVersionsRequest(), number, "me")
        response = kafka_messages.encode_response(ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST), number)
        for from_client, frame in ((True, request), (False, response)):
            talk.say(from_client, len(frame).to_bytes(4, "big") + frame)
    return talk


@pytest.fixture
def packets(tmp_path: Path) -> Path:
    """The shipped capture as packets."""
    file = tmp_path / "a.pcap"
    file.write_bytes(made.dump(made.segments(shipped(), Random(5), Disorder())))
    return file


def test_every_frame_of_a_capture_has_a_line(objects: Objects, packets: Path) -> None:
    own, of_packets = objects(CAPTURE), objects(packets)
    assert len(own) == COUNT
    keys = ("direction", "api_key", "api_version", "correlation_id", "client_id", "size", "api")
    assert sorted(str([one[key] for key in keys]) for one in own) == sorted(
        str([one[key] for key in keys]) for one in of_packets
    )
    for one in own:
        assert one["type"] == "frame"
        assert (one["latency_ns"] is None) == (one["direction"] == "request")
        assert one["error"] is None


def test_error_codes_are_shown_by_name(objects: Objects, dump: Dump) -> None:
    names = {(code["code"], code["error"]) for one in objects(CAPTURE) for code in one["error_codes"]}
    assert names
    assert all(ErrorCode(code).name == name for code, name in names)
    text = dump(CAPTURE).stdout
    assert text.count(" errors=") == sum(bool(one["error_codes"]) for one in objects(CAPTURE))


def test_lines_of_packets_have_addresses_both_ways_and_latencies(dump: Dump, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(made.dump(exchanged(7).segments))
    client, broker = "10.0.0.1:50000", "10.0.0.2:9092"
    assert dump("a.pcap").stdout.splitlines() == [
        f"1970-01-01T00:00:00.000002Z {client} > {broker} ApiVersions v0 request id=7 size=12 client='me' frame=0",
        f"1970-01-01T00:00:00.000003Z {broker} > {client} ApiVersions v0 response id=7 size=10 latency=0.001ms "
        "errors=INVALID_REQUEST frame=1",
    ]


def test_what_is_no_frame_has_a_line_and_is_an_error(dump: Dump, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(made.dump(Talk().ask(1).answer(1).answer(77).ask(2).segments)[:-3])
    done = dump("a.pcap")
    assert done.returncode == 1
    assert "response error='a response of 10 bytes to a request that was not captured'" in done.stdout
    assert "error='a.pcap: the file ends within the packet" in done.stdout
    shown = [json.loads(line) for line in dump("a.pcap", "-f", "json").stdout.splitlines()]
    assert {one["type"] for one in shown if one["error"] is not None and one["api"] is None} == {"error"}


def test_times_and_ports_choose_frames(objects: Objects, packets: Path) -> None:
    every = objects(CAPTURE)
    middle = every[COUNT // 2]["timestamp_ns"] // 10**6
    first = objects(CAPTURE, "--until", middle)
    last = objects(CAPTURE, "--since", middle)
    assert (first + last) == every
    assert first
    assert last
    assert {one["broker"] for one in objects(packets, "--port", 9094)} == {"10.0.0.2:9094"}


@pytest.mark.parametrize("name", ["a.pcap.gz", "a.pcapng", "a.dump"])
def test_captures_are_known_by_their_first_bytes(dump: Dump, tmp_path: Path, name: str) -> None:
    segments = exchanged(1).segments
    data = made.dump_ng(segments) if name.endswith("ng") else made.dump(segments)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert dump(name).stdout.count(" ApiVersions v0 ") == 2


def test_files_of_one_folder_are_one_capture(dump: Dump, tmp_path: Path) -> None:
    segments = exchanged(1, 2).segments
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.pcap0").write_bytes(made.dump(segments[:4]))
    (tmp_path / "in/a.pcap1").write_bytes(made.dump(segments[4:]))
    done = dump("in")
    assert (done.returncode, done.stdout.count(" latency=")) == (0, 2)


def test_a_capture_that_cannot_be_read_says_why(dump: Dump, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(b"\x1f\x8b\x08")
    done = dump("a.pcap")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: a.pcap: cannot be read: Compressed file ended")
    (tmp_path / "own").mkdir()
    (tmp_path / "own/frames.jsonl").write_text("{}\n")
    done = dump("own")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: own: has no frames.bin or frames.bin.gz")


@pytest.mark.parametrize("option", [("-r",), ("-s",), ("-F",), ("--as", "none"), ("--from-offset", "1")])
def test_options_of_logs_are_refused(dump: Dump, option: tuple[str, ...]) -> None:
    done = dump(CAPTURE, *option)
    assert done.returncode == 2
    assert (
        "is a capture; --records, --summary, --follow, --as, --magic-2, --last and offsets are for logs" in done.stderr
    )


def test_damaged_packets_never_give_a_traceback(dump: Dump, packets: Path, tmp_path: Path) -> None:
    chance = Random(11)
    whole = packets.read_bytes()[:60_000]
    for _ in range(12):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 30)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        (tmp_path / "b.pcap").write_bytes(data)
        assert dump("b.pcap").returncode in (0, 1, 2)
