"""Inspecting: every byte has one meaning, errors show what was read before them, and all of it can be looked at."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

import kafka_messages
from kafka_messages.api_versions_response.v3 import ApiVersionsResponse
from kafka_messages.metadata_response.v12 import MetadataResponse
from kipwire import DecodeError
from kipwire.console.inspect.json import inspection_json
from kipwire.console.inspect.tree import Inspection, inspect_message, inspect_request, inspect_response
from tests.support import golden_data
from tests.support.cases import THOROUGH, of_each, some
from tests.support.places import ROOT
from tests.support.subjects.inspections import HEARTBEAT, as_text, broker_message, inspected

CAPTURE = ROOT / "examples" / "capture"
NAMES = sorted({name for name, _ in golden_data.messages()})


def element(inspection: Inspection, path: str, role: str = "value") -> tuple[str, object]:
    """Kind and value of the one piece of that path and role."""
    ((kind, value),) = [(it.kind, it.value) for it in inspection.pieces if (it.path, it.role) == (path, role)]
    return kind, value


def assert_without_gaps(inspection: Inspection) -> None:
    ends = [0, *(piece.end for piece in inspection.pieces)]
    assert [piece.start for piece in inspection.pieces] == ends[:-1]
    if inspection.error is None:
        assert ends[-1] == len(inspection.data)


# Decoding.


@of_each("name", NAMES, together=lambda name: name)
def test_every_byte_of_every_golden_message_has_one_meaning(name: str) -> None:
    for (message, version), lines in golden_data.messages().items():
        if message == name:
            for line in lines:
                inspection = inspect_message(kafka_messages.message(name, version), bytes.fromhex(line["hex"]))
                assert inspection.error is None
                assert_without_gaps(inspection)
                unknown = [it.value for it in inspection.pieces if it.role == "unknown" and isinstance(it.value, bytes)]
                assert sorted(unknown) == sorted(bytes.fromhex(it["hex"]) for it in line.get("unknown", ()))


def test_values_are_those_that_decoding_gives() -> None:
    data = (ROOT / "benchmarks/data/metadata_v12.bin").read_bytes()
    message: Any = MetadataResponse.decode(data)
    values = {piece.path: piece.value for piece in inspected(data).pieces if piece.role == "value"}
    for number, partition in enumerate(message.topics[0].partitions):
        path = f"topics[0].partitions[{number}]"
        assert values[f"{path}.partition_index"] == partition.partition_index
        assert values[f"{path}.leader_id"] == partition.leader_id
        assert [values[f"{path}.isr_nodes[{i}]"] for i in range(len(partition.isr_nodes))] == partition.isr_nodes
    assert values["topics[0].topic_id"] == message.topics[0].topic_id


def test_types_distinguish_compact_from_classic() -> None:
    flexible = inspected(broker_message().encode())
    assert element(flexible, "brokers", "count") == ("compact count", 1)
    assert element(flexible, "brokers[0].host", "length") == ("compact string length", 9)
    assert element(flexible, "brokers[0].host") == ("string", "a.example")
    assert element(flexible, "brokers[0].rack", "length") == ("compact string length", None)
    assert element(flexible, "", "tags") == ("tag count", 0)
    old = kafka_messages.message("MetadataResponse", 1)
    classic = inspect_message(old, bytes.fromhex("00000001 00000001 0001 61 00002384 ffff 00000001 00000000"))
    assert classic.error is None
    assert element(classic, "brokers", "count") == ("count int32", 1)
    assert element(classic, "brokers[0].host", "length") == ("string length int16", 1)
    assert element(classic, "brokers[0].rack", "length") == ("string length int16", None)


def test_tagged_fields_known_and_unknown_are_distinguished() -> None:
    message = ApiVersionsResponse(finalized_features_epoch=42)
    message.unknown_tagged_fields = {200: b"new"}
    inspection = inspect_message(ApiVersionsResponse, message.encode())
    assert element(inspection, "", "tags") == ("tag count", 2)
    assert element(inspection, "finalized_features_epoch", "tag") == ("tag", 1)
    assert element(inspection, "finalized_features_epoch", "size") == ("tagged field size", 8)
    assert element(inspection, "finalized_features_epoch") == ("int64", 42)
    assert element(inspection, "<tag 200>", "tag") == ("tag", 200)
    assert element(inspection, "<tag 200>", "unknown") == ("unknown tagged field", b"new")


def test_types_show_encodings_and_markers(encodings_package: str) -> None:
    cls = __import__(encodings_package).message("Odd", 0)
    inspection = inspect_message(cls, bytes.fromhex("03 00000007 01 05 00 01 00 03 01 06 00"))
    assert inspection.error is None
    assert element(inspection, "zigzag") == ("int32 packed32", -2)
    assert element(inspection, "narrow") == ("int64 fixed32", 7)
    assert element(inspection, "cursor", "marker") == ("marker int8", 1)
    assert element(inspection, "cursor.at") == ("int8", 5)
    assert element(inspection, "late", "marker") == ("marker varint", 1)
    assert element(inspection, "late.at") == ("int8", 6)


# Errors.


def test_a_message_cut_anywhere_shows_all_that_was_read() -> None:
    data = broker_message().encode()
    whole = inspected(data).pieces
    for size in range(len(data)):
        inspection = inspected(data[:size])
        assert inspection.error is not None
        assert inspection.pieces == whole[: len(inspection.pieces)]
        following = whole[len(inspection.pieces)]
        assert following.end > size  # all that could be read was
        assert inspection.rest == following.start


GOLDEN_ERRORS = [
    line for line in golden_data.lines("negative") if line["version"] in kafka_messages.versions(line["message"])
]


@pytest.mark.parametrize("part", range(4))
def test_errors_are_those_that_decoding_finds(part: int) -> None:
    for line in some(GOLDEN_ERRORS)[part::4]:
        data, cls = bytes.fromhex(line["hex"]), kafka_messages.message(line["message"], line["version"])
        inspection = inspect_message(cls, data)
        try:
            cls.decode(data)
        except DecodeError as error:
            assert inspection.error is not None
            assert str(inspection.error) == str(error)
            assert inspection.rest <= error.offset
        else:
            assert inspection.error is None
        assert_without_gaps(inspection)
        assert as_text(inspection)
        assert json.dumps(inspection_json(inspection), allow_nan=False)


def test_text_shows_the_error_and_the_bytes_from_there_on() -> None:
    data = broker_message().encode() + bytes(range(0x10, 0x24))
    end = len(data) - 20
    assert as_text(inspected(data))[-3:] == [
        f"error: MetadataResponse v12: message at byte {end}: 20 trailing bytes after the message",
        f"{end:>6}  10 11 12 13 14 15 16 17 18 19 1a 1b 1c 1d 1e 1f",
        f"{end + 16:>6}  20 21 22 23",
    ]
    assert as_text(inspected(data[:3]))[-2:] == [
        "error: MetadataResponse v12: throttle_time_ms at byte 0: need 4 bytes, but only 3 are left",
        "     0  00 00 00",
    ]
    assert as_text(inspected(data[:4]))[-1] == "the bytes end here"


def test_bytes_of_a_broken_string_are_shown_from_its_start() -> None:
    data = broker_message("ab\0").encode().replace(b"ab\0", b"ab\xff")
    inspection = inspected(data)
    assert inspection.error is not None
    start = data.index(b"ab")
    assert (inspection.error.offset, inspection.rest) == (start + 2, start)


# Frames.


def captured_frames() -> list[tuple[dict[str, Any], bytes]]:
    index = gzip.decompress((CAPTURE / "frames.jsonl.gz").read_bytes()).decode().splitlines()
    data = gzip.decompress((CAPTURE / "frames.bin.gz").read_bytes())
    lines = map(json.loads, index)
    return [(line, data[line["off"] : line["off"] + 4 + line["len"]]) for line in lines]


def inspect_frame(line: dict[str, Any], frame: bytes) -> Inspection:
    if line["dir"] == "req":
        return inspect_request(kafka_messages.REGISTRY, frame)
    cls = kafka_messages.response(line["api_key"], line["api_version"])
    return inspect_response(kafka_messages.REGISTRY, cls, frame)


def test_captured_frames_are_read_with_and_without_their_size() -> None:
    of_each_class = {
        (line["dir"], line["api_key"], line["api_version"]): (line, frame) for line, frame in captured_frames()
    }
    for line, frame in captured_frames() if THOROUGH else of_each_class.values():
        sized, bare = inspect_frame(line, frame), inspect_frame(line, frame[4:])
        for inspection in (sized, bare):
            assert inspection.error is None
            assert_without_gaps(inspection)
        assert element(sized, "size", "length") == ("frame size int32", line["len"])
        assert [(it.path, it.start + 4, it.value) for it in bare.pieces] == [
            (it.path, it.start, it.value) for it in sized.pieces[1:]
        ]
        assert element(bare, "correlation_id")[1] == line["correlation_id"]


def test_requests_cut_short_are_still_recognised() -> None:
    frame = next(frame for line, frame in captured_frames() if (line["dir"], line["api_key"]) == ("req", 18))
    for data in (frame, frame[4:]):
        for size in range(20, len(data)):
            inspection = inspect_request(kafka_messages.REGISTRY, data[:size])
            assert inspection.error is not None
            assert inspection.message == "ApiVersionsRequest"
            assert (inspection.pieces[0].part == "frame") == (data is frame)


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (b"\0\0\0\x18" + HEARTBEAT, "message at byte 24: the frame's size is 24, but 20 bytes follow it"),
        (b"\0\0\0\x14" + HEARTBEAT + b"\0\0", "message at byte 24: 2 trailing bytes after the frame of 20 bytes"),
        (HEARTBEAT + b"\0", "message at byte 20: 1 trailing byte after the message"),
    ],
)
def test_frames_of_another_size_than_they_say_are_errors(frame: bytes, error: str) -> None:
    assert len(HEARTBEAT) == 20
    inspection = inspect_request(kafka_messages.REGISTRY, frame)
    assert str(inspection.error) == f"HeartbeatRequest v0: {error}"
    assert element(inspection, "member_id") == ("string", "m")


def test_the_header_of_an_unknown_version_is_shown() -> None:
    inspection = inspect_request(kafka_messages.REGISTRY, bytes.fromhex("0003 0063 00000007 0001 61"))
    assert element(inspection, "request_api_version") == ("int16", 99)
    assert element(inspection, "client_id") == ("string", "a")
    assert inspection.error is not None
    assert "unknown version 99 of MetadataRequest in kafka_messages" in inspection.error.reason


@pytest.mark.parametrize("size", range(9))
def test_fragments_of_a_header_are_an_error(size: int) -> None:
    for inspection in (
        inspect_request(kafka_messages.REGISTRY, HEARTBEAT[:size]),
        inspect_response(kafka_messages.REGISTRY, kafka_messages.response(12, 0), HEARTBEAT[: min(size, 5)]),
    ):
        assert inspection.error is not None
        assert_without_gaps(inspection)


@pytest.mark.parametrize("version", [0, 1, 3, 5])
@pytest.mark.parametrize("size", [b"", b"\0\0\0\x10"])
def test_a_refused_version_of_api_versions_is_shown_as_its_answer_is_in_version_0(version: int, size: bytes) -> None:
    frame = size + bytes.fromhex("00000007 0023 00000001 0012 0000 0005")
    inspection = inspect_response(kafka_messages.REGISTRY, kafka_messages.response(18, version), frame)
    assert (inspection.message, inspection.version, inspection.error) == ("ApiVersionsResponse", 0, None)
    assert element(inspection, "api_keys[0].max_version") == ("int16", 5)


def test_packages_with_headers_of_their_own_use_them() -> None:
    from kipwire.drafts import proposals

    body = proposals.message("FooRequest", 9)()
    frame = proposals.REGISTRY.encode_request(body, correlation_id=7, client_id="me")
    inspection = inspect_request(proposals.REGISTRY, frame)
    assert inspection.error is None
    assert element(inspection, "client_id", "length") == ("compact string length", 2)  # classic in Kafka's own header
