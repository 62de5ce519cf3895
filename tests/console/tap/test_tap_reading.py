"""Statements about a capture as a whole: on what they stand, what was not read, and which exit status they have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from struct import pack
from typing import Any

import pytest

import kafka_messages
from kafka_messages.api_versions_request.v0 import ApiVersionsRequest
from kafka_messages.api_versions_response.v0 import ApiVersionsResponse
from kafka_messages.sasl_handshake_request.v0 import SaslHandshakeRequest
from kafka_messages.sasl_handshake_response.v0 import SaslHandshakeResponse
from tests.console.tap.conftest import Tap
from tests.support import command_line
from tests.support import packet_dumps as made
from tests.support.places import DATA
from tests.support.subjects.packet_talks import Talk, sized

Objects = Callable[..., list[dict[str, Any]]]
CASES = DATA / "cases" / "captures"
UPGRADE = ("--upgrade-to", "4.4")


def written(folder: Path, talk: Talk) -> Path:
    file = folder / "a.pcap"
    file.write_bytes(made.dump(talk.segments))
    return file


def asked(*ids: int, talk: Talk | None = None) -> Talk:
    """Return a conversation of valid requests with their responses."""
    talk = talk or Talk()
    for number in ids:
        talk.say(True, sized(kafka_messages.encode_request(ApiVersionsRequest(), number, "me")))
        talk.say(False, sized(kafka_messages.encode_response(ApiVersionsResponse(), number)))
    return talk


@pytest.mark.parametrize("port", [9092, 31337])
def test_responses_of_a_young_connection_break_no_client(tap: Tap, objects: Objects, port: int) -> None:
    file = CASES / f"young-{port}.pcap"
    done = tap(file, *UPGRADE)
    assert done.stdout.splitlines() == [
        "Kafka 4.4 serves all 4 requests that were read, of 1 client",
        "not read: 1 piece of 21 bytes (before the first frame)",
    ]
    assert done.returncode == 0
    *exchanges, _ = [one for one in objects(file) if one["type"] != "error"]
    assert {one["broker"] for one in exchanges} == {f"10.0.0.7:{port}"}
    assert [(one["api"], one["client_id"], one["correlation_id"]) for one in exchanges] == [
        ("Fetch", "shop", number) for number in (21, 22, 23, 24)
    ]


@pytest.mark.parametrize(
    ("name", "unread"),
    [("empty.pcap", ""), ("exported-tcp.pcapng", "not read: 2 packets of 713 bytes (exported TCP)\n")],
)
def test_without_requests_nothing_is_said_of_an_upgrade(tap: Tap, objects: Objects, name: str, unread: str) -> None:
    done = tap(CASES / name, *UPGRADE)
    said = f"No request was read, so nothing is known of an upgrade to Kafka 4.4\n{unread}"
    assert (done.returncode, done.stdout) == (2, said)
    (found,) = objects(CASES / name, *UPGRADE)
    assert (found["requests"], found["clients"], found["unserved"]) == (0, 0, [])
    assert [(one["times"], one["bytes"]) for one in found["unread"]] == ([(2, 713)] if unread else [])
    assert tap(CASES / name).stdout.endswith(f"read: no request\n{unread}")
    assert tap(CASES / name, "--summary").stdout.endswith(
        f"read: no request\n{unread or 'not read: nothing' + chr(10)}"
    )
    dumped = tap(CASES / name, "-f", "json").stdout.splitlines()
    assert json.loads(dumped[-1])["requests"] == 0


def test_requests_of_other_systems_alone_are_no_evidence(tap: Tap, tmp_path: Path) -> None:
    talk = Talk()
    for number in (1, 2):
        talk.say(True, sized(pack(">hhih", 501, 0, number, 2) + b"me" + bytes(3))).answer(number)
    done = tap(written(tmp_path, talk), *UPGRADE)
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        "No request of a known API was read, so nothing is known of an upgrade to Kafka 4.4",
        "not known to any release: 2 requests of API 501 v0 by 'me'",
        "not read: 4 frames of 50 bytes (unknown API or version)",
    ]


def test_a_newer_first_request_is_named_and_the_later_ones_are_read(tap: Tap, objects: Objects) -> None:
    file = CASES / "newer_version_first.pcap"
    for options in ((), ("--port", "9092")):
        first, second, end = objects(file, *options)
        assert (first["api"], first["api_version"], first["client_id"]) == ("Produce", 30, "newer")
        assert "unknown version 30 of ProduceRequest" in first["error"]
        assert (second["api"], second["response_size"], second["error"]) == ("Metadata", 30, None)
        assert end["unread"] == [{"reason": "unknown API or version", "times": 2, "bytes": 62}]
    done = tap(file, *UPGRADE)
    assert done.returncode == 1
    assert "2 requests of 1 client were read\nnot read: 2 frames of 62 bytes (unknown API or version)" in done.stdout


def test_what_a_capture_of_a_running_system_always_has_is_no_damage(tap: Tap, objects: Objects, tmp_path: Path) -> None:
    shake = kafka_messages.encode_request(SaslHandshakeRequest(mechanism="X"), 7, "me")
    shaken = kafka_messages.encode_response(SaslHandshakeResponse(error_code=0, mechanisms=["X"]), 7)
    talk = Talk(opened=False).say(True, b"the end of a frame").say(False, b"and of another")
    talk.say(True, sized(shake)).say(False, sized(shaken)).say(True, sized(b"\0me\0secret"))
    asked(8, 9, talk=talk).say(True, sized(kafka_messages.encode_request(ApiVersionsRequest(), 10, "me"))[:-3])
    file = written(tmp_path, talk)
    for options in ((), ("--summary",), UPGRADE):
        assert tap(file, *options).returncode == 0
    (summary,) = objects(file, "--summary")
    assert summary["read"] == {"connections": 1, "requests": 4, "responses": 3, "bytes": 72}
    assert {one["reason"]: (one["times"], one["bytes"]) for one in summary["unread"]} == {
        "before the first frame": (2, 32),
        "SASL": (1, 10),
        "capture ended within it": (1, 12),
    }
    lost = Talk().ask(1, is_captured=False)
    assert tap(written(tmp_path, asked(2, talk=lost))).returncode == 1  # it is missing amid the connection
    assert tap(written(tmp_path, asked(2, talk=lost)), *UPGRADE).returncode == 0


def test_surplus_bytes_of_old_librdkafka_are_a_note(tap: Tap, objects: Objects, tmp_path: Path) -> None:
    frame = kafka_messages.encode_request(ApiVersionsRequest(), 1, "rdkafka") + bytes(4)
    talk = Talk().say(True, sized(frame)).say(False, sized(kafka_messages.encode_response(ApiVersionsResponse(), 1)))
    file = written(tmp_path, talk)
    done = tap(file)
    assert done.returncode == 0
    assert "note='4 bytes too many, as old librdkafka sends and Kafka takes'" in done.stdout
    (one,) = objects(file, "--bodies")
    assert (one["error"], one["request"]) == (None, {})
    for wrong in (frame + b"\0", frame[:-1] + b"\1", frame[:3] + b"\3" + frame[4:]):
        assert tap(written(tmp_path, Talk().say(True, sized(wrong)))).returncode == 1


def test_dump_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def dump(*arguments: object) -> command_line.Done:
        return command_line.call("dump", *arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    done = dump(CASES / "young-9092.pcap")
    assert done.returncode == 0
    assert done.stdout.endswith(
        "read: 4 requests and 4 responses of 1 connection, 244 bytes\n"
        "not read: 1 piece of 21 bytes (before the first frame)\n"
    )
    last = json.loads(dump(CASES / "young-9092.pcap", "-f", "json").stdout.splitlines()[-1])
    assert (last["type"], last["requests"], last["unread"][0]["bytes"]) == ("reading", 4, 21)
    assert dump(CASES / "empty.pcap").stdout == "read: no request\n"
    assert dump(written(tmp_path, asked(1))).stdout.count("\n") == 2  # all was read


def test_nothing_is_guessed_where_both_sides_may_be_the_client(objects: Objects, tmp_path: Path) -> None:
    zeros = sized(pack(">hhi", 0, 1, 0) + bytes(12))
    found = objects(written(tmp_path, Talk(client=50000, opened=False).say(False, zeros)))
    assert [one["reason"] for one in found if one["type"] == "error"] == ["client not known"]
    assert "give the port of the broker" in found[0]["error"]
