"""Frames and framed records: the header's version, the frame's parts and its bytes are those of the Java library."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kafka_messages
from kipwire import Message
from tests.support import golden_data


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


def test_every_api_has_the_versions_that_java_has() -> None:
    for api in header_versions():
        name = f"{api['name']}Request"
        wanted = [one["version"] for one in api["versions"]]
        assert list(kafka_messages.versions(name)) == wanted


@pytest.mark.parametrize("line", golden_data.lines("frames"), ids=lambda line: f"{line['message']}-{line['version']}")
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
    assert body.to_json() == line["json"]
    assert header.encode() + body.encode() == frame
    if line["direction"] == "request":
        again = kafka_messages.encode_request(body, line["header"]["correlationId"], line["header"].get("clientId"))
    else:
        again = kafka_messages.encode_response(body, line["header"]["correlationId"])
    assert again == frame


@pytest.mark.parametrize(
    "line", golden_data.lines("framed-records"), ids=lambda line: f"{line['message']}-{line['version']}"
)
def test_bodies_of_framed_records_come_back_byte_for_byte(line: dict[str, Any]) -> None:
    data = bytes.fromhex(line["hex"])
    body_at = 3 if line["kind"] == "metadata_record" else 2  # all varints before the body have one byte here
    cls = kafka_messages.message(line["message"], line["version"])
    message = cls.decode(data[body_at:])
    assert message.to_json() == line["json"]
    assert message.encode() == data[body_at:]
