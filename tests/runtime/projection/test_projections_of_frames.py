"""Chosen fields of requests and responses on a connection: header and trailing bytes stay as they are."""

from __future__ import annotations

import pytest

import kafka_messages
from kafka_messages.api_versions_response.v0 import ApiVersionsResponse as Refusal
from kafka_messages.metadata_request.v12 import MetadataRequest, MetadataRequestTopic
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker
from kipwire import DecodeError, Message, UnsupportedVersionError
from kipwire.connection import ClientConnection, Request, Response, ServerConnection
from kipwire.projection import ProjectionError, VersionedProjection

REGISTRY = kafka_messages.REGISTRY
TOPICS: VersionedProjection[list[str | None] | None] = VersionedProjection(REGISTRY, "MetadataRequest", "topics.name")
ADDRESSES: VersionedProjection[list[str], list[int]] = VersionedProjection(
    REGISTRY, "MetadataResponse", "brokers.host", "brokers.port"
)


def received(request: Message, trailing: bytes = b"") -> Request:
    """Return a request as a server gets it, with an unknown tagged field in its header."""
    header = REGISTRY.read_request(REGISTRY.encode_request(request, 7, "me")).header
    header.unknown_tagged_fields = {300: b"kept"}
    frame = REGISTRY.encode_request(request, header=header) + trailing
    server = ServerConnection(REGISTRY)
    server.receive_data(len(frame).to_bytes(4, "big") + frame)
    (event,) = server.events()
    assert isinstance(event, Request)
    return event


def answer(request: Message, response: Message | bytes) -> Response:
    """Return a response as a client gets it."""
    client = ClientConnection(REGISTRY)
    client.send(request)
    body = response if isinstance(response, bytes) else REGISTRY.encode_response(response, 0)
    frame = bytes(4) + body if isinstance(response, bytes) else body
    client.receive_data(len(frame).to_bytes(4, "big") + frame)
    (event,) = client.events()
    assert isinstance(event, Response)
    return event


def test_topics_of_a_request_are_read_and_replaced() -> None:
    event = received(MetadataRequest(topics=[MetadataRequestTopic(name="a")]), b"\xff")
    assert event.project(TOPICS) == (["a"],)
    changed = event.replaced(TOPICS, (["tenant.a"],))
    header, body, rest = REGISTRY.read_request(changed)
    assert (header.unknown_tagged_fields, rest) == ({300: b"kept"}, b"\xff")
    assert body == MetadataRequest(topics=[MetadataRequestTopic(name="tenant.a")])
    assert event.replaced(TOPICS, (["a"],)) == event.raw


def test_addresses_of_a_response_are_read_and_replaced() -> None:
    response = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="kafka", port=9092)])
    event = answer(MetadataRequest(), response)
    assert event.project(ADDRESSES) == (["kafka"], [9092])
    response.brokers[0].host, response.brokers[0].port = "proxy", 1
    assert event.replaced(ADDRESSES, (["proxy"], [1])) == REGISTRY.encode_response(response, 0)


def test_a_refusal_in_version_0_is_read_as_such() -> None:
    errors = VersionedProjection[int, int | None](REGISTRY, "ApiVersionsResponse", "error_code", "throttle_time_ms")
    request = kafka_messages.request(18, 4)()
    event = answer(request, Refusal(error_code=35).encode())
    assert event.project(errors) == (35, None)


def test_errors_are_those_of_the_body() -> None:
    event = answer(MetadataRequest(), b"\0\0\0")
    with pytest.raises(DecodeError) as expected:
        _ = event.body
    for call in (lambda: event.project(ADDRESSES), lambda: event.replaced(ADDRESSES, ([], []))):
        with pytest.raises(DecodeError) as caught:
            call()
        assert str(caught.value) == str(expected.value)
    unknown = ServerConnection(REGISTRY)
    unknown.receive_data(bytes.fromhex("0000000a0003006300000007ffff"))
    (request,) = unknown.events()
    assert isinstance(request, Request)
    with pytest.raises(
        UnsupportedVersionError, match="unknown version 99 of MetadataRequest in kafka_messages; known versions are"
    ):
        request.project(TOPICS)


def test_a_projection_of_another_message_is_refused() -> None:
    with pytest.raises(ProjectionError, match="a projection of MetadataResponse does not fit MetadataRequest v12"):
        received(MetadataRequest()).project(ADDRESSES)
