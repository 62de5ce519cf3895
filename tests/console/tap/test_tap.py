"""kipwire tap shows one line for each request with its response, and only the selected requests."""

from __future__ import annotations

import base64
import gzip
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from struct import pack
from typing import Any
from uuid import UUID

import pytest

import kafka_messages
from kafka_messages.api_versions_request.v0 import ApiVersionsRequest
from kafka_messages.api_versions_response.v0 import ApiVersionsResponse
from kafka_messages.enums import ErrorCode
from kafka_messages.metadata_request.v12 import MetadataRequest, MetadataRequestTopic
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseTopic
from kafka_messages.produce_request.v9 import PartitionProduceData, ProduceRequest, TopicProduceData
from kipwire.description.json_codec import uuid_to_json
from kipwire.records import Record, read_batches, write_batch
from tests.console.tap.conftest import Tap
from tests.support import packet_dumps as made
from tests.support.packet_dumps import Disorder
from tests.support.places import ROOT
from tests.support.subjects.packet_talks import COUNT, Talk, shipped, sized

Objects = Callable[..., list[dict[str, Any]]]
CAPTURE = ROOT / "examples" / "capture"
TOPICAL = "Produce", "Fetch", "ListOffsets", "OffsetCommit", "OffsetFetch"
CLIENT, BROKER = "10.0.0.1:50000", "10.0.0.2:9092"


def exchanged(*ids: int, talk: Talk | None = None) -> Talk:
    """Return a conversation of whole requests, each with its response."""
    talk = talk or Talk()
    for number in ids:
        asked(talk, number)
        response = kafka_messages.encode_response(ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST), number)
        talk.say(False, sized(response))
    return talk


def asked(talk: Talk, number: int) -> Talk:
    return talk.say(True, sized(kafka_messages.encode_request(ApiVersionsRequest(), number, "me")))


def write(folder: Path, talk: Talk, name: str = "a.pcap") -> Path:
    (folder / name).write_bytes(made.dump(talk.segments))
    return folder / name


@pytest.fixture
def packets(tmp_path: Path) -> Path:
    """The shipped capture as packets."""
    file = tmp_path / "shipped.pcap"
    file.write_bytes(made.dump(made.segments(shipped(), random.Random(5), Disorder())))
    return file


def test_a_line_has_both_ends_sizes_latency_errors_and_the_numbers_of_frames(tap: Tap, tmp_path: Path) -> None:
    done = tap(write(tmp_path, exchanged(7)))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"1970-01-01T00:00:00.000002Z {CLIENT} > {BROKER} ApiVersions v0 client='me' request=12 response=10 "
        "latency=0.001ms errors=INVALID_REQUEST frames=0,1"
    ]


def test_packets_and_the_own_format_have_the_same_exchanges(objects: Objects, packets: Path) -> None:
    own, of_packets = objects(CAPTURE), objects(packets)
    requests = [row for row in shipped() if row["direction"] == "request"]
    assert len(own) == len(of_packets) == len(requests)
    keys = (
        "api",
        "api_version",
        "correlation_id",
        "client_id",
        "request_size",
        "response_size",
        "error_codes",
        "error",
    )
    both = [Counter(str([one[key] for key in keys]) for one in every) for every in (own, of_packets)]
    assert both[0] == both[1]
    frames = [one[key] for one in own for key in ("request_frame", "response_frame") if one[key] is not None]
    assert sorted(frames) == list(range(COUNT))
    responses = {row["number"]: row for row in shipped() if row["direction"] == "response"}
    for one in own:
        if one["response_frame"] is not None:
            row = responses[one["response_frame"]]
            assert row["correlation_id"] == one["correlation_id"]
            assert row["timestamp_ns"] - one["timestamp_ns"] == one["latency_ns"]


def test_bodies_are_the_json_of_the_messages(objects: Objects, tap: Tap) -> None:
    for one in objects(CAPTURE, "--bodies", "--api", "FindCoordinator"):
        for direction in ("request", "response"):
            row = shipped()[one[f"{direction}_frame"]]
            frame = row["frame"]
            if direction == "request":
                body = kafka_messages.decode_request(frame)[1]
            else:
                body = kafka_messages.decode_response(frame, row["api_key"], row["api_version"])[1]
            assert one[direction] == body.to_json()
    lines = tap(CAPTURE, "-b", "--api", "FindCoordinator").stdout.splitlines()
    assert [line.split(" ")[0:3] == ["", "", "request"] for line in lines[:3]] == [False, True, False]
    assert (
        json.loads(lines[1].partition("request ")[2])
        == objects(CAPTURE, "-b", "--api", "FindCoordinator")[0]["request"]
    )


def test_a_request_without_response_has_a_line(objects: Objects, tmp_path: Path) -> None:
    talk = Talk()
    body = ProduceRequest(acks=0, timeout_ms=1, topic_data=[])
    talk.say(True, sized(kafka_messages.encode_request(body, 1, "me")))
    exchanged(2, talk=asked(talk, 9))
    found = objects(write(tmp_path, asked(talk, 3)))
    assert [(one["api"], one["correlation_id"], one["response_size"]) for one in found] == [
        ("Produce", 1, None),  # at once: it gets no response
        ("ApiVersions", 9, None),  # when a later one is answered
        ("ApiVersions", 2, 10),
        ("ApiVersions", 3, None),
    ]


def test_filters_choose_exchanges_and_all_of_them_must_agree(objects: Objects, packets: Path) -> None:
    every = objects(CAPTURE)

    def shown(*options: object) -> list[dict[str, Any]]:
        return objects(CAPTURE, *options)

    assert shown("--api", "heartbeat", "--api", "18") == [one for one in every if one["api_key"] in (12, 18)]
    assert shown("--client", "kp-*", "--client", "1") == [
        one for one in every if one["client_id"].startswith("kp-") or one["client_id"] == "1"
    ]
    assert shown("--errors") == [one for one in every if one["error_codes"]]
    assert shown("-e", "--client", "kp-*") == [
        one for one in every if one["error_codes"] and one["client_id"].startswith("kp-")
    ]
    assert shown("--address", "ctrl") == [one for one in every if one["broker"] == "ctrl"]
    of_packets = objects(packets)
    assert objects(packets, "--address", "10.0.0.1") == of_packets
    assert objects(packets, "--address", "*:9094") == [one for one in of_packets if one["broker"].endswith(":9094")]
    assert objects(packets, "--address", "10.9.*") == []
    assert {one["broker"] for one in objects(packets, "--port", "9093")} == {"10.0.0.2:9093"}


def test_a_topic_is_known_by_its_name_and_by_its_id(objects: Objects) -> None:
    found = objects(CAPTURE, "--topic", "orders", "--bodies")
    apis = Counter(one["api"] for one in found)
    assert apis["Produce"] > 0
    assert apis["Fetch"] > 0
    ids = {
        topic["topicId"]
        for one in objects(CAPTURE, "--api", "Metadata", "--bodies")
        for topic in one["response"]["topics"]
        if topic["name"] == "orders" and "topicId" in topic
    }
    (id_,) = ids
    for one in found:
        text = json.dumps([one["request"], one["response"]])
        assert '"orders"' in text or id_ in text
    by_id = objects(CAPTURE, "--topic", id_)
    assert by_id
    assert {one["request_frame"] for one in by_id} <= {one["request_frame"] for one in found}
    assert objects(CAPTURE, "--topic", "no-such-topic") == []


def test_lines_name_the_topics_of_the_request_or_else_of_the_response(objects: Objects, tap: Tap) -> None:
    found = [one for one in objects(CAPTURE, "--bodies") if one["type"] == "exchange"]
    for one in found:
        text = json.dumps([one["request"], one["response"]])
        for topic in one["topics"]:
            assert f'"{topic}"' in text or '"topicId"' in text
    named = {api: {topic for one in found if one["api"] == api for topic in one["topics"]} for api in TOPICAL}
    assert all("orders" in topics for topics in named.values()), named
    assert "__cluster_metadata" in named["Fetch"]
    assert not any(one["topics"] for one in found if one["api"] in ("ApiVersions", "FindCoordinator"))
    lines = tap(CAPTURE, "--api", "WriteTxnMarkers").stdout.splitlines()
    shown = {line.partition(" topic=")[2].split()[0] for line in lines if " topic=" in line}
    assert shown == {"'orders'", "'orders'+1"}
    fetches = tap(CAPTURE, "--api", "Fetch").stdout
    assert " topic='orders'" in fetches  # by the names of Metadata responses, which are not shown


def test_a_name_is_not_taken_for_the_id_of_another_topic_in_a_request(objects: Objects, tmp_path: Path) -> None:
    talk, id_ = Talk(), UUID(int=7)
    asked = (
        MetadataRequestTopic(topic_id=id_, name=None),
        MetadataRequestTopic(name="b-topic"),
        MetadataRequestTopic(topic_id=id_, name=None),
    )
    talk.say(True, sized(kafka_messages.encode_request(MetadataRequest(topics=list(asked)), 1, "me")))
    (found,) = (one for one in objects(write(tmp_path, talk)) if one["type"] == "exchange")
    assert found["topics"] == [uuid_to_json(id_), "b-topic"]


def test_names_of_topics_come_from_entity_types(objects: Objects, tmp_path: Path) -> None:
    talk = Talk()
    request = MetadataRequest(topics=[MetadataRequestTopic(name="a-topic")])
    talk.say(True, sized(kafka_messages.encode_request(request, 1, "me")))
    response = MetadataResponse(brokers=[], topics=[MetadataResponseTopic(name="b-topic")])
    talk.say(False, sized(kafka_messages.encode_response(response, 1)))
    file = write(tmp_path, talk)
    assert [len(objects(file, "--topic", glob)) for glob in ("a-*", "b-*", "c-*")] == [1, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--api", "Fetsh", CAPTURE), "kafka_messages has no API named 'Fetsh'; did you mean Fetch?"),
        (("--upgrade-to", "5.0", CAPTURE), "'5.0' is not a known release of Kafka; use one from 2.2 to 4.4"),
        (("--bodies", "--summary", CAPTURE), "--bodies cannot be used with --summary or --upgrade-to"),
        (("nothing",), "nothing does not exist; give a capture, or - for packets from standard input"),
        ((ROOT / "README.md",), "is not a capture; give packets"),
        (("-", "-"), "standard input (-) can be read once"),
    ],
)
def test_what_cannot_run_says_why(tap: Tap, arguments: tuple[object, ...], said: str) -> None:
    done = tap(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_what_is_no_frame_and_what_cannot_be_decoded_have_lines(tap: Tap, objects: Objects, tmp_path: Path) -> None:
    broken = sized(pack(">hhih", 12, 4, 5, 2) + b"me" + b"\0\xff")
    file = tmp_path / "a.pcap"
    file.write_bytes(made.dump(exchanged(1).answer(77).say(True, broken).segments)[:-3])
    done = tap(file)
    assert done.returncode == 1
    assert "response error='a response of 10 bytes to a request that was not captured'" in done.stdout
    assert "error='a.pcap: the file ends within the packet" in done.stdout
    assert [one["type"] for one in objects(file) if one["error"]] == ["error"] * 2
    file.write_bytes(made.dump(Talk().say(True, broken).segments))
    done = tap(file, "--errors")
    assert done.returncode == 1
    assert "Heartbeat v4 client='me' request=14 response=none frames=0 error='HeartbeatRequest v4: " in done.stdout


@pytest.mark.parametrize("name", ["a.pcap.gz", "a.pcapng", "folder"])
def test_captures_of_all_kinds_are_taken(tap: Tap, tmp_path: Path, name: str) -> None:
    segments = exchanged(1, 2).segments
    if name == "folder":
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.pcap0").write_bytes(made.dump(segments[:4]))
        (tmp_path / name / "a.pcap1").write_bytes(made.dump(segments[4:]))
    else:
        data = made.dump_ng(segments) if name.endswith("ng") else made.dump(segments)
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    done = tap(name)
    assert (done.returncode, done.stdout.count(" latency=")) == (0, 2)


def test_client_ids_cannot_steer_a_terminal(tap: Tap, tmp_path: Path) -> None:
    talk = Talk()
    request = kafka_messages.encode_request(ApiVersionsRequest(), 1, "a\x1b[2J\nb\u202e")
    file = write(tmp_path, talk.say(True, sized(request)))
    for options in ((), ("--summary",), ("-b",), ("-f", "json"), ("--upgrade-to", "4.4")):
        said = tap(file, *options).stdout
        assert all(character == "\n" or character.isprintable() for character in said)


def test_a_terminal_gets_colours_and_no_date(tap: Tap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kipwire.console.tap.lines.has_colour", lambda stream: True)
    monkeypatch.setattr("kipwire.console.tap.lines.is_terminal", lambda stream: True)
    line = tap(write(tmp_path, exchanged(1))).stdout
    assert line.startswith("\x1b[2m00:00:00.000002Z\x1b[0m ")
    assert "\x1b[1m ApiVersions v0\x1b[0m" in line
    assert "\x1b[31m errors=INVALID_REQUEST\x1b[0m" in line


def test_damaged_packets_never_give_a_traceback(tap: Tap, packets: Path, tmp_path: Path) -> None:
    chance = random.Random(13)
    whole = packets.read_bytes()[:60_000]
    for turn in range(12):
        data = bytearray(whole)
        for _ in range(chance.randrange(1, 30)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        (tmp_path / "b.pcap").write_bytes(data)
        options = (("--summary", "--upgrade-to", "4.0"), ("--bodies",), ("--topic", "*"), ("-f", "json"))[turn % 4]
        assert tap("b.pcap", *options).returncode in (0, 1)


def test_records_are_opened_in_bodies_with_what_a_users_function_makes_of_them(
    objects: Objects, tap: Tap, tmp_path: Path
) -> None:
    plain, opened = (
        [one for one in objects(CAPTURE, "--api", "Produce", option) if one["type"] == "exchange"]
        for option in ("--bodies", "--records")
    )
    count = 0
    for one, other in zip(plain, opened, strict=True):
        for topic, with_records in zip(one["request"]["topicData"], other["request"]["topicData"], strict=True):
            for place, found in zip(topic["partitionData"], with_records["partitionData"], strict=True):
                batches = read_batches(base64.b64decode(place["records"]))
                offsets = [record.offset for batch in batches for record in batch.records]
                assert [record["offset"] for record in found["records"]] == offsets
                count += len(offsets)
    assert count > 100
    (tmp_path / "made.py").write_text(
        "def where(data, ctx):\n    if data[-1:] == b'9':\n        raise ValueError('no nine')\n"
        "    return [ctx.topic, ctx.partition]\n"
    )
    found = objects(CAPTURE, "--api", "Produce", "--records", "--record-key", "made:where")
    data = found[0]["request"]["topicData"][0]
    keys = [record["key"] for place in data["partitionData"] for record in place["records"]]
    assert [data["name"], data["partitionData"][0]["index"]] in keys
    errors = {record.get("error") for place in data["partitionData"] for record in place["records"]}
    assert errors == {None, "key: ValueError: no nine"}
    done = tap(CAPTURE, "--value", "made:where")
    assert (done.returncode, done.stderr) == (2, "kipwire: --value needs --records\n")


def test_a_broken_batch_is_said_in_the_place_of_its_records(objects: Objects, tmp_path: Path) -> None:
    batch = bytearray(write_batch([Record(offset=0, timestamp=1, key=b"k", value=b"v")]))
    whole = bytes(batch)
    batch[-1] ^= 1
    data = PartitionProduceData(index=0, records=whole + bytes(batch))
    request = ProduceRequest(acks=1, timeout_ms=1, topic_data=[TopicProduceData(name="t", partition_data=[data])])
    talk = Talk().say(True, sized(kafka_messages.encode_request(request, 1, "me")))
    (found,) = objects(write(tmp_path, talk), "--records")
    first, broken = found["request"]["topicData"][0]["partitionData"][0]["records"]
    assert (first["key"], first["value"]) == ("k", "v")
    assert "crc" in broken["error"]
