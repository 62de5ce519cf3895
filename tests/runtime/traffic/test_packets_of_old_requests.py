"""Requests of old versions in captures: their clients, and the check of bytes that could be such a request."""

from __future__ import annotations

from typing import Any

import pytest

import kafka_messages
from kipwire.traffic.requests import Request, begins_request, is_request, request_of


@pytest.mark.parametrize("broker_id", [0, 7, 70_000, -1])
def test_a_request_without_a_client_id_is_one_of_nobody(broker_id: int) -> None:
    cls: Any = kafka_messages.message("ControlledShutdownRequest", 0)
    body = cls(broker_id=broker_id)
    frame = kafka_messages.encode_request(body, correlation_id=5)
    assert len(frame) == 12
    assert request_of(frame) == Request(7, 0, 5, None)
    assert is_request(frame)
    assert begins_request((8).to_bytes(4) + frame) is False, "the size leaves no room for a body"


@pytest.mark.parametrize("version", [1, 2, 3])
def test_later_requests_of_the_same_api_name_their_client(version: int) -> None:
    cls: Any = kafka_messages.message("ControlledShutdownRequest", version)
    body = cls(broker_id=70_000)
    frame = kafka_messages.encode_request(body, correlation_id=5, client_id="broker-7")
    assert request_of(frame) == Request(7, version, 5, "broker-7")
    assert is_request(frame)


@pytest.mark.parametrize("api", ["Produce", "Fetch", "LeaderAndIsr", "StopReplica", "UpdateMetadata"])
def test_requests_that_kafka_4_no_longer_speaks_are_recognised(api: str) -> None:
    body = kafka_messages.message(f"{api}Request", 0)()
    assert is_request(kafka_messages.encode_request(body, correlation_id=1, client_id="old"))
