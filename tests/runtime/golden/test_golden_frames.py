"""Frames and framed records: header version, parts and bytes are the same as in the Java library."""

from __future__ import annotations

import json
from typing import Any

import kafka_messages
from kipwire import Message
from tests.support import golden_data
from tests.support.cases import of_each


def header_versions() -> list[dict[str, Any]]:
    apis: list[dict[str, Any]] = json.loads((golden_data.FOLDER / "header-versions.json").read_text())
    return apis


def test_header_versions_are_javas() -> None:
    pairs = 0
    for api in header_versions():
        key = api["apiKey"]
        for one in api["versions"]:
            version = one["version"]
            assert kafka_messages.request_header_version(key, version) == one["requestHeaderVersion"]
            assert kafka_messages.response_header_version(key, version) == one["responseHeaderVersion"]
            assert one["requestHeaderVersion"] == kafka_messages.request(key, version).HEADER_VERSION
            assert one["responseHeaderVersion"] == kafka_messages.response(key, version).HEADER_VERSION
            pairs += 1
    assert pairs == 309


def test_every_api_serves_the_versions_that_java_has() -> None:
    for api in header_versions():
        wanted = [one["version"] for one in api["versions"]]
        for name in (f"{api['name']}Request", f"{api['name']}Response"):
            assert list(kafka_messages.served(name)) == wanted


def test_requests_that_no_java_client_knows_are_not_served() -> None:
    known = {f"{api['name']}Request" for api in header_versions() if api["versions"]}
    requests = {name for name in kafka_messages.names() if kafka_messages.REGISTRY.entry(name).type == "request"}
    assert {name for name in requests if kafka_messages.served(name)} == known
    assert sorted(requests - known) == [
        "AlterIsrRequest",
        "ControlledShutdownRequest",
        "LeaderAndIsrRequest",
        "ListClientMetricsResourcesRequest",
        "StopReplicaRequest",
        "UpdateMetadataRequest",
    ]


def test_header_versions_of_what_java_no_longer_has_are_those_of_its_frames() -> None:
    pairs = set()
    for line in golden_data.lines("removed-frames"):
        key, version, header_version = line["apiKey"], line["version"], line["headerVersion"]
        is_request = line["direction"] == "request"
        of_key = kafka_messages.request_header_version if is_request else kafka_messages.response_header_version
        assert of_key(key, version) == header_version
        cls = kafka_messages.message(line["message"], version)
        assert key == cls.API_KEY
        assert header_version == cls.HEADER_VERSION
        assert version not in kafka_messages.served(line["message"])
        pairs.add((line["message"], version))
    assert len(pairs) == 114


FRAMES = [*golden_data.lines("frames"), *golden_data.lines("removed-frames")]
EARLIER_NAMES = {
    "AlterIsrRequest": "AlterPartitionRequest",
    "AlterIsrResponse": "AlterPartitionResponse",
    "ListClientMetricsResourcesRequest": "ListConfigResourcesRequest",
    "ListClientMetricsResourcesResponse": "ListConfigResourcesResponse",
}
"""Later names of messages, under which frames with their keys are read: the bytes are the same."""


def message_of(line: dict[str, Any]) -> str:
    return str(line["message"])


def label(line: dict[str, Any]) -> str:
    return f"{line['message']}-{line['version']}"


@of_each("line", FRAMES, together=message_of, label=label)
def test_frames_come_back_byte_for_byte(line: dict[str, Any]) -> None:
    data = bytes.fromhex(line["hex"])
    frame = data[4:]
    assert int.from_bytes(data[:4], "big") == len(frame)
    header: Message
    if line["direction"] == "request":
        header, body = kafka_messages.decode_request(frame)
    else:
        header, body = kafka_messages.decode_response(frame, line["apiKey"], line["version"])
    assert line["headerVersion"] == header.VERSION
    assert header.to_json() == line["header"]
    assert EARLIER_NAMES.get(line["message"], line["message"]) == body.NAME
    if line["message"] in EARLIER_NAMES:
        body = kafka_messages.message(line["message"], line["version"]).decode(body.encode())
    assert body.to_json() == line["json"]
    assert header.encode() + body.encode() == frame
    if line["direction"] == "request":
        again = kafka_messages.encode_request(body, line["header"]["correlationId"], line["header"].get("clientId"))
    else:
        again = kafka_messages.encode_response(body, line["header"]["correlationId"])
    assert again == frame


@of_each("line", golden_data.lines("framed-records"), together=message_of, label=label)
def test_bodies_of_framed_records_come_back_byte_for_byte(line: dict[str, Any]) -> None:
    data = bytes.fromhex(line["hex"])
    body_at = 3 if line["kind"] == "metadata_record" else 2  # all varints before the body have one byte here
    cls = kafka_messages.message(line["message"], line["version"])
    message = cls.decode(data[body_at:])
    assert message.to_json() == line["json"]
    assert message.encode() == data[body_at:]
