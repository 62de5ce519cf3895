"""A client's side of a connection: requests, responses, SASL tokens and versions."""

from __future__ import annotations

from typing import Any

import pytest

import kafka_messages
from kafka_messages.api_versions_response import v0 as versions_v0
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.metadata_request.v12 import MetadataRequest
from kafka_messages.metadata_response.v12 import MetadataResponse
from kafka_messages.sasl_handshake_response.v0 import SaslHandshakeResponse
from kipwire import EncodeError, UnknownApiKeyError
from kipwire.connection import (
    ClientConnection,
    Expected,
    LocalProtocolError,
    RemoteProtocolError,
    Response,
    SaslToken,
    ServerConnection,
    common_versions,
    version_to_retry,
    versions_answer,
)
from tests.support.subjects.connections import (
    REFUSED,
    REGISTRY,
    answers,
    request,
    requests,
    server,
    sized,
    unsized,
)

# The client's side.


def test_a_client_pipelines_requests() -> None:
    client = ClientConnection(REGISTRY, "me")
    (first,) = unsized(client.send(MetadataRequest()))
    (second,) = unsized(client.send(HeartbeatRequest()))
    assert kafka_messages.decode_request(first).header.client_id == "me"
    assert client.expected == (Expected(3, 12, 0), Expected(12, 4, 1))
    (one,) = answers(client, kafka_messages.encode_response(MetadataResponse(controller_id=4), 0))
    assert one.body == MetadataResponse(controller_id=4)
    assert (one.to, one.header.correlation_id, one.rest) == (Expected(3, 12, 0), 0, b"")
    (two,) = answers(client, kafka_messages.encode_response(HeartbeatResponse(), 1) + b"x")
    assert (two.body, two.rest) == (HeartbeatResponse(), b"x")
    assert not client.expected
    assert kafka_messages.decode_request(second).header.correlation_id == 1


def test_correlation_ids_are_those_that_no_request_in_flight_has() -> None:
    client = ClientConnection(REGISTRY)
    client.send(HeartbeatRequest(), correlation_id=0)
    client.send(HeartbeatRequest())
    assert [one.correlation_id for one in client.expected] == [0, 1]
    client = ClientConnection(REGISTRY)
    client.send(HeartbeatRequest(), correlation_id=2**31 - 1)
    for _ in range(3):
        client.send(HeartbeatRequest())
    assert [one.correlation_id for one in client.expected] == [2**31 - 1, 0, 1, 2]


def test_a_correlation_id_is_not_used_twice_at_a_time() -> None:
    client = ClientConnection(REGISTRY)
    client.send(HeartbeatRequest(), correlation_id=5)
    with pytest.raises(LocalProtocolError, match="a request with correlation id 5 is already waiting for its response"):
        client.send(MetadataRequest(), correlation_id=5)
    assert len(client.expected) == 1
    answers(client, kafka_messages.encode_response(HeartbeatResponse(), 5))
    client.send(MetadataRequest(), correlation_id=5)


@pytest.mark.parametrize("body", [HeartbeatResponse(), kafka_messages.message("RequestHeader", 1)()])
def test_a_client_sends_requests_alone(body: Any) -> None:
    with pytest.raises(LocalProtocolError, match="is not a request"):
        ClientConnection(REGISTRY).send(body)
    with pytest.raises(LocalProtocolError, match="a request has at least 8 bytes, not 7"):
        ClientConnection(REGISTRY).send_frame(b"1234567")


def test_a_request_that_cannot_be_written_is_not_waited_for() -> None:
    client = ClientConnection(REGISTRY)
    broken: Any = HeartbeatRequest(group_id=None)  # type: ignore[arg-type]
    with pytest.raises(EncodeError):
        client.send(broken)
    assert not client.expected
    client.send(HeartbeatRequest())
    assert [one.correlation_id for one in client.expected] == [0]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (
            b"\0\0\0\x09",
            "response without a request: got correlation id 9, expected correlation",
        ),
        (
            b"\0\0\0\1",
            "response out of order: got correlation id 1, expected correlation id 0",
        ),
        (b"\0\0\0", "a response has at least 4 bytes, not 3"),
    ],
)
def test_an_unexpected_response_is_an_error(frame: bytes, said: str) -> None:
    client = ClientConnection(REGISTRY)
    client.send(HeartbeatRequest())
    client.send(HeartbeatRequest())
    with pytest.raises(RemoteProtocolError, match=said):
        answers(client, frame)


def test_a_response_to_no_request_is_an_error() -> None:
    client = ClientConnection(REGISTRY)
    client.send(HeartbeatRequest())
    good = kafka_messages.encode_response(HeartbeatResponse(), 0)
    with pytest.raises(RemoteProtocolError, match="without a request") as caught:
        answers(client, good, good)
    assert (caught.value.frame, caught.value.offset) == (1, len(sized(good)))


def test_frames_of_unknown_requests_are_passed_on() -> None:
    client = ClientConnection(REGISTRY)
    frame = bytes.fromhex("03e7 0002 00000009 ffff")
    assert client.send_frame(frame) == sized(frame)
    (event,) = answers(client, b"\0\0\0\x09body")
    assert (event.raw, event.to) == (b"\0\0\0\x09body", Expected(999, 2, 9))
    with pytest.raises(UnknownApiKeyError):
        _ = event.body


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5, 99])
def test_a_client_reads_the_refusal_of_whatever_version_it_asked_in(version: int) -> None:
    client = ClientConnection(REGISTRY)
    client.send_frame(b"\0\x12" + version.to_bytes(2) + b"\0\0\0\0")
    (event,) = answers(client, REFUSED)
    assert isinstance(event.body, versions_v0.ApiVersionsResponse)
    assert (event.body.error_code, event.rest) == (35, b"")


# SASL.


def handshake(version: int) -> Any:
    cls: Any = REGISTRY.request(17, version)
    return cls(mechanism="PLAIN")


def test_tokens_without_headers_follow_the_first_handshake() -> None:
    client, broker = ClientConnection(REGISTRY), ServerConnection(REGISTRY)
    broker.receive_data(client.send(handshake(0)))
    (event,) = requests(broker)
    assert not broker.takes_tokens
    client.receive_data(broker.respond(event, SaslHandshakeResponse(mechanisms=["PLAIN"])))
    (answer,) = client.events()
    assert isinstance(answer, Response)
    for secret in (b"\0user\0password", b""):
        broker.receive_data(client.send_token(secret))
        (token,) = broker.events()
        assert isinstance(token, SaslToken)
        assert token.raw == secret
        assert "password" not in repr(token)
        client.receive_data(broker.send_token(b"!"))
        (heard,) = client.events()
        assert isinstance(heard, SaslToken)
        assert heard.raw == b"!"
    broker.receive_data(client.send_token(b"last", is_answered=False))
    assert len(list(broker.events())) == 1
    broker.expect_requests()
    broker.receive_data(client.send(MetadataRequest()))
    (event,) = requests(broker)
    assert event.body == MetadataRequest()


@pytest.mark.parametrize(("version", "code"), [(0, 33), (1, 0)])
def test_no_tokens_follow_other_handshakes(version: int, code: int) -> None:
    connection = server(request(handshake(version)))
    (event,) = requests(connection)
    cls: Any = REGISTRY.response(17, version)
    connection.respond(event, cls(error_code=code))
    assert not connection.takes_tokens
    with pytest.raises(LocalProtocolError, match="only after the response to SaslHandshake v0"):
        connection.send_token(b"x")


def test_tokens_of_a_time_without_handshakes_can_be_expected() -> None:
    connection = server(b"\x60\x82gssapi")
    connection.expect_tokens()
    (token,) = connection.events()
    assert isinstance(token, SaslToken)
    assert token.raw == b"\x60\x82gssapi"


def test_tokens_wait_for_responses() -> None:
    client = ClientConnection(REGISTRY)
    client.send(handshake(0))
    with pytest.raises(LocalProtocolError, match="no token can be sent before the response to correlation id"):
        client.send_token(b"x")


# Versions.


def test_both_sides_agree_on_the_highest_version_that_both_have() -> None:
    answer = versions_answer(REGISTRY, 5, {3: range(2, 5), 12: range(90, 99), 18: range(6), 999: range(4)})
    assert common_versions(REGISTRY, answer) == {3: 4, 18: 5}
    everything = common_versions(REGISTRY, versions_answer(REGISTRY, 3))
    assert everything == {key: versions[-1] for key, versions in REGISTRY.api_versions().items()}
    with pytest.raises(TypeError, match="expected an ApiVersionsResponse, not"):
        common_versions(REGISTRY, MetadataResponse())


def test_a_client_talks_to_an_older_broker_in_versions_that_are_no_longer_served() -> None:
    answer = versions_answer(REGISTRY, 0, {0: range(3), 1: range(4), 2: range(90, 91), 7: range(1, 2), 18: range(1)})
    assert common_versions(REGISTRY, answer) == {0: 2, 1: 3, 7: 1, 18: 0}


@pytest.mark.parametrize("served", [range(1), range(4), range(6)])
def test_a_client_that_is_too_new_asks_again_in_a_version_that_the_broker_has(served: range) -> None:
    client, broker = ClientConnection(REGISTRY), ServerConnection(REGISTRY)
    version: int | None = 5
    asked = []
    answer: Any = None
    while version is not None:
        asked.append(version)
        broker.receive_data(client.send(REGISTRY.request(18, version)()))
        (event,) = requests(broker)
        client.receive_data(broker.respond(event, versions_answer(REGISTRY, event.api_version, {18: served})))
        (response,) = client.events()
        assert isinstance(response, Response)
        answer = response.body
        version = version_to_retry(REGISTRY, answer)
    assert asked == list(dict.fromkeys((5, served[-1])))
    assert (answer.error_code, answer.VERSION) == (0, served[-1])


def test_brokers_before_kip_511_do_not_say_their_versions() -> None:
    answer = versions_v0.ApiVersionsResponse(error_code=35)
    assert version_to_retry(REGISTRY, answer) == 0
    assert common_versions(REGISTRY, answer) == {}


@pytest.mark.parametrize("version", range(6))
def test_fields_that_a_version_lacks_are_dropped_from_the_answer(version: int) -> None:
    answer: Any = versions_answer(REGISTRY, version, throttle_time_ms=7)
    assert version == answer.VERSION
    assert getattr(answer, "throttle_time_ms", 7) == 7
