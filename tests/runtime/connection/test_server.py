"""A broker's side of a connection: requests become events, and invalid bytes an error with its location."""

from __future__ import annotations

from typing import Any

import pytest

import kafka_messages
from kafka_messages.api_versions_request.v5 import ApiVersionsRequest
from kafka_messages.api_versions_response import v0 as versions_v0
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.metadata_request.v12 import MetadataRequest
from kafka_messages.metadata_response.v12 import MetadataResponse
from kipwire import DecodeError, EncodeError, UnknownApiKeyError, UnknownVersionError
from kipwire.connection import (
    ClientConnection,
    Expected,
    LocalProtocolError,
    RemoteProtocolError,
    ServerConnection,
    versions_answer,
)
from tests.support.subjects.connections import (
    REFUSED,
    REGISTRY,
    produce,
    request,
    requests,
    server,
    sized,
    unsized,
)

# The broker's side.


def test_requests_are_decoded_when_they_are_asked_for_and_once() -> None:
    frame = request(MetadataRequest(topics=None), 7)
    (event,) = requests(server(frame))
    assert event.raw == frame
    assert (event.api_key, event.api_version, event.correlation_id) == (3, 12, 7)
    assert (event.header.client_id, event.body, event.rest) == ("me", MetadataRequest(topics=None), b"")
    assert event.body is event.body


def test_what_is_not_looked_at_may_be_broken() -> None:
    (event,) = requests(server(request(MetadataRequest())[:-1]))
    assert event.is_known
    with pytest.raises(DecodeError):
        _ = event.body


def test_bytes_too_many_are_given_beside_the_body() -> None:
    (event,) = requests(server(request(MetadataRequest()) + b"\0"))
    assert (event.body, event.rest) == (MetadataRequest(), b"\0")


@pytest.mark.parametrize(
    ("key", "version", "error"), [(999, 0, UnknownApiKeyError), (3, 99, UnknownVersionError), (4, -1, DecodeError)]
)
def test_a_server_answers_what_it_does_not_know(key: int, version: int, error: type[Exception]) -> None:
    connection = server(key.to_bytes(2) + version.to_bytes(2, signed=True) + b"\0\0\0\x05rest")
    (event,) = requests(connection)
    assert (event.is_known, event.api_key, event.api_version, event.correlation_id) == (False, key, version, 5)
    with pytest.raises(error):
        _ = event.body
    assert unsized(connection.respond_frame(event, b"\0\0\0\x05answer")) == [b"\0\0\0\x05answer"]


def test_an_unknown_version_of_api_versions_is_answered_in_version_0() -> None:
    connection = server(bytes.fromhex("0012 0063 00000000"))
    (event,) = requests(connection)
    answer = versions_answer(REGISTRY, event.api_version)
    assert unsized(connection.respond(event, answer)) == [REFUSED]


def test_responses_go_out_in_the_order_of_requests() -> None:
    connection = server(*(request(HeartbeatRequest(), number) for number in range(4)))
    events = requests(connection)
    assert connection.open_requests == tuple(events)
    assert connection.respond(events[2], HeartbeatResponse()) == b""
    assert connection.respond(events[1], HeartbeatResponse()) == b""
    assert connection.open_requests == (events[0], events[3])
    sent = unsized(connection.respond(events[0], HeartbeatResponse(error_code=27)))
    assert [int.from_bytes(frame[:4], "big") for frame in sent] == [0, 1, 2]
    assert kafka_messages.decode_response(sent[0], HeartbeatResponse).body.error_code == 27
    assert len(unsized(connection.respond(events[3], HeartbeatResponse()))) == 1
    assert not connection.open_requests


def test_what_is_in_flight_is_all_that_is_kept() -> None:
    connection = server(*(request(HeartbeatRequest(), number) for number in range(4)))
    events = requests(connection)
    assert connection.in_flight == 4
    connection.respond(events[2], HeartbeatResponse())
    connection.leave_unanswered(events[1])
    assert connection.in_flight == 4  # they wait for the first one
    assert len(unsized(connection.respond(events[0], HeartbeatResponse()))) == 2
    assert (connection.in_flight, connection.open_requests) == (1, (events[3],))


def test_a_request_is_settled_once() -> None:
    connection = server(request(HeartbeatRequest(), 1), request(HeartbeatRequest(), 2))
    first, second = requests(connection)
    connection.leave_unanswered(second)
    for settle in (connection.leave_unanswered, lambda one: connection.respond(one, HeartbeatResponse())):
        with pytest.raises(LocalProtocolError, match="correlation id 2 was already answered"):
            settle(second)
    assert connection.open_requests == (first,)


def test_a_request_may_be_left_unanswered() -> None:
    connection = server(request(HeartbeatRequest(), 1), request(HeartbeatRequest(), 2))
    first, second = requests(connection)
    assert connection.respond(second, HeartbeatResponse()) == b""
    assert len(unsized(connection.leave_unanswered(first))) == 1


@pytest.mark.parametrize("version", kafka_messages.versions("ProduceRequest"))
@pytest.mark.parametrize("transaction", [None, "t" * 300])
def test_produce_without_acknowledgement_has_no_response(version: int, transaction: str | None) -> None:
    values = {"transactional_id": transaction} if version >= 3 else {}
    connection = server(request(produce(version, 0, **values), 1), request(produce(version, 1, **values), 2))
    silent, asking = requests(connection)
    assert (silent.is_answered, asking.is_answered) == (False, True)
    cls: Any = REGISTRY.response(0, version)
    with pytest.raises(LocalProtocolError, match="correlation id 1 expects no response"):
        connection.respond(silent, cls())
    assert len(unsized(connection.respond(asking, cls()))) == 1
    client = ClientConnection(REGISTRY)
    client.send(produce(version, 0, **values))
    client.send(produce(version, -1, **values))
    assert client.expected == (Expected(0, version, 1),)


@pytest.mark.parametrize("size", range(8, 15))
def test_produce_that_is_cut_short_waits_for_an_answer(size: int) -> None:
    (event,) = requests(server(request(produce(9, 0), 1)[:size]))
    assert event.is_answered


@pytest.mark.parametrize("size", ["8200", "82808000"])
def test_produce_whose_transaction_has_redundant_bytes_in_its_length_waits_for_an_answer(size: str) -> None:
    frame = request(produce(9, 0, transactional_id="t"), 1)
    assert frame.count(b"\x02t") == 1
    (event,) = requests(server(frame.replace(b"\x02t", bytes.fromhex(size) + b"t")))
    with pytest.raises(DecodeError):
        assert event.body
    assert event.is_answered


def test_what_is_not_a_response_to_a_request_is_refused() -> None:
    connection = server(request(MetadataRequest(), 7))
    (event,) = requests(connection)
    older: Any = REGISTRY.response(3, 9)
    for body in (older(), HeartbeatResponse(), MetadataRequest(), versions_v0.ApiVersionsResponse(error_code=35)):
        with pytest.raises(LocalProtocolError, match="is not the response to API key 3, version 12"):
            connection.respond(event, body)
    for frame, shown in ((b"\0\0\0\x08", "00 00 00 08"), (b"\0\0", "00 00"), (b"", "nothing")):
        with pytest.raises(
            LocalProtocolError, match=f"the response must begin with correlation id 7, not with the bytes {shown}"
        ):
            connection.respond_frame(event, frame)
    broken: Any = MetadataResponse(controller_id=2**40)
    with pytest.raises(EncodeError):
        connection.respond(event, broken)
    connection.respond(event, MetadataResponse())
    with pytest.raises(LocalProtocolError, match="was already answered"):
        connection.respond(event, MetadataResponse())


def test_only_a_refusal_of_api_versions_is_of_another_version() -> None:
    connection = server(request(ApiVersionsRequest(), 7))
    (event,) = requests(connection)
    with pytest.raises(LocalProtocolError, match="v0 is not the response"):
        connection.respond(event, versions_v0.ApiVersionsResponse(error_code=0))
    assert connection.respond(event, versions_v0.ApiVersionsResponse(error_code=35))


def test_responses_take_a_header_with_tags() -> None:
    connection = server(request(MetadataRequest(), 7))
    (event,) = requests(connection)
    header, _ = kafka_messages.decode_response(kafka_messages.encode_response(MetadataResponse(), 7), 3, 12)
    header.unknown_tagged_fields = {5: b"x"}
    (frame,) = unsized(connection.respond(event, MetadataResponse(), header=header))
    assert kafka_messages.decode_response(frame, 3, 12).header == header


# Impossible bytes and their places.


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (b"\xff\xff\xff\xff", "the frame size is -1; it must not be negative"),
        (b"\0\0\x10\1", "the frame size is 4,097 bytes; the limit is 4,096"),
        (b"GET / HTTP/1.1", "begin as HTTP does"),
        (b"CONNECT a:1 HTTP/1.1", "begin as HTTP does"),
        (b"\x16\x03\x01\x02\x00", "begin as TLS does"),
        (b"\0\0\0\0", "a request has at least 8 bytes, not 0"),
        (b"\0\0\0\7abcdefg", "a request has at least 8 bytes, not 7"),
    ],
)
def test_what_is_not_a_frame_is_an_error_with_its_place(after: bytes, said: str) -> None:
    good = request(MetadataRequest())
    connection = server(good, good, largest_frame=4096)
    connection.receive_data(after)
    events = connection.events()
    assert [next(events), next(events)]
    with pytest.raises(RemoteProtocolError) as caught:
        next(events)
    assert said in str(caught.value)
    assert (caught.value.frame, caught.value.offset) == (2, 2 * len(sized(good)))
    connection.receive_data(sized(good))
    with pytest.raises(RemoteProtocolError) as again:
        next(connection.events())
    assert again.value is caught.value


def test_a_size_that_is_too_large_takes_no_memory_and_is_refused_at_once() -> None:
    connection = ServerConnection(REGISTRY)
    connection.receive_data((100 * 1024 * 1024).to_bytes(4))
    assert list(connection.events()) == []
    connection = ServerConnection(REGISTRY)
    connection.receive_data((100 * 1024 * 1024 + 1).to_bytes(4))
    with pytest.raises(RemoteProtocolError, match="the frame size is 104,857,601 bytes; the limit is 104,857,600"):
        next(connection.events())


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"\0", "1 byte into the size"), (b"\0\0\0\5ab", "after 2 of the 5 bytes"), (b"\0\0\0\5", "after 0 of the 5")],
)
def test_an_end_within_a_frame_is_an_error(data: bytes, said: str) -> None:
    for connection in (ServerConnection(REGISTRY), ClientConnection(REGISTRY)):
        connection.receive_data(data)
        assert list(connection.events()) == []
        connection.receive_end()
        with pytest.raises(RemoteProtocolError, match=said):
            next(iter(connection.events()))
        with pytest.raises(LocalProtocolError, match="after the end"):
            connection.receive_data(b"x")


def test_an_end_between_frames_is_none() -> None:
    connection = server(request(MetadataRequest()))
    connection.receive_end()
    assert len(list(connection.events())) == 1
