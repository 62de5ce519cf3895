"""Messages of other protocols have the headers of KIP-482, also under the API keys that are exceptions in Kafka."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kafka_messages
from kipwire import UnknownVersionError
from kipwire.message.frames import may_answer_in_version_0
from tests.support.spec_package import generated

KEYS = (0, 7, 17, 18, 19)
"""ControlledShutdown is 7 and ApiVersions 18 in Kafka; the others are no exceptions there either."""


def spec_of(name: str, api_key: int) -> str:
    """Return a message of two versions, flexible from 1 on, that begins with an int16 as an error code does."""
    fields = [
        {"name": "Code", "type": "int16", "versions": "0+"},
        {"name": "Text", "type": "string", "versions": "0+"},
    ]
    kind = "response" if name.endswith("Response") else "request"
    document = {"name": name, "type": kind, "apiKey": api_key, "validVersions": "0-1", "flexibleVersions": "1+"}
    return json.dumps({**document, "fields": fields})


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A package with an API of another protocol for each key, and one that has Kafka's name under another key."""
    folder = tmp_path_factory.mktemp("headers")
    (folder / "specs").mkdir()
    names = {f"Foo{key}": key for key in KEYS} | {"ApiVersions": 500, "ControlledShutdown": 501}
    for name, key in names.items():
        for kind in ("Request", "Response"):
            (folder / f"specs/{name}{kind}.json").write_text(spec_of(f"{name}{kind}", key))
    with generated(folder / "specs", "headers_of_another_protocol", folder) as package:
        yield package


@pytest.mark.parametrize("key", [*KEYS, 500, 501])
def test_headers_follow_from_the_flexible_versions_alone(key: int, other: ModuleType) -> None:
    assert [other.request_header_version(key, version) for version in (0, 1)] == [1, 2]
    assert [other.response_header_version(key, version) for version in (0, 1)] == [0, 1]
    for version, request, response in (
        (0, "00000007 0002 6d65 0023 0001 78", "00000007 0023 0001 78"),
        (1, "00000007 0002 6d65 00 0023 02 78 00", "00000007 00 0023 02 78 00"),
    ):
        body = other.request(key, version)(code=35, text="x")
        frame = key.to_bytes(2, "big") + version.to_bytes(2, "big") + bytes.fromhex(request)
        assert other.encode_request(body, 7, "me") == frame
        assert other.decode_request(frame).body == body
        answer = other.response(key, version)(code=35, text="x")
        assert other.encode_response(answer, 7) == bytes.fromhex(response)
        assert other.decode_response(bytes.fromhex(response), key, version).body == answer


def test_no_answer_of_another_protocol_is_in_version_0(other: ModuleType) -> None:
    assert not may_answer_in_version_0(other.response(18, 1))
    with pytest.raises(UnknownVersionError):
        other.decode_response(bytes.fromhex("00000007 0023 0001 78"), 18, 9)


def test_kafkas_own_exceptions_stay() -> None:
    assert {kafka_messages.response_header_version(18, version) for version in range(6)} == {0}
    assert kafka_messages.request_header_version(7, 0) == 0
    assert may_answer_in_version_0(kafka_messages.response(18, 5))


def test_a_package_with_kafkas_name_and_key_has_kafkas_headers(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    for name in ("ApiVersionsRequest", "ApiVersionsResponse"):
        (tmp_path / f"specs/{name}.json").write_text(spec_of(name, 18))
    with generated(tmp_path / "specs", "some_apis_of_kafka", tmp_path) as package:
        assert [package.response_header_version(18, version) for version in (0, 1)] == [0, 0]
