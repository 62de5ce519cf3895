"""Both sides of a connection: what comes is told frame by frame, and what cannot be is an error with its place."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafka_messages
from kafka_messages.api_versions_request.v5 import ApiVersionsRequest
from kafka_messages.api_versions_response import v0 as versions_v0
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.metadata_request.v12 import MetadataRequest
from kafka_messages.metadata_response.v12 import MetadataResponse
from kafka_messages.sasl_handshake_response.v0 import SaslHandshakeResponse
from kipwire import DecodeError, EncodeError, KipwireError, LeftOverError, UnknownApiKeyError, UnknownVersionError
from kipwire.connection import (
    ClientConnection,
    Expected,
    LocalProtocolError,
    RemoteProtocolError,
    Request,
    Response,
    SaslToken,
    ServerConnection,
    common_versions,
    version_to_retry,
    versions_answer,
)

REGISTRY = kafka_messages.REGISTRY
REFUSED = bytes.fromhex("00000000 0023 00000001 0012 0000 0005")


def sized(*frames: bytes) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


def unsized(data: bytes) -> list[bytes]:
    """The frames in what a connection sends."""
    frames = []
    while data:
        size = int.from_bytes(data[:4], "big")
        frames.append(data[4 : 4 + size])
        data = data[4 + size :]
    return frames


def server(*frames: bytes, **limits: int) -> ServerConnection:
    """A broker's side that has received frames."""
    connection = ServerConnection(REGISTRY, **limits)
    connection.receive_data(sized(*frames))
    return connection


def request(body: Any, correlation_id: int = 1) -> bytes:
    return kafka_messages.encode_request(body, correlation_id, "me")


def requests(connection: ServerConnection) -> list[Request]:
    found = []
    for event in connection.events():
        assert isinstance(event, Request)
        found.append(event)
    return found


def produce(version: int, acks: int, **values: Any) -> Any:
    cls: Any = REGISTRY.request(0, version)
    return cls(acks=acks, timeout_ms=30000, **values)


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
    with pytest.raises(LocalProtocolError, match="correlation id 1 wants no response"):
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


def test_what_is_no_response_to_a_request_is_refused() -> None:
    connection = server(request(MetadataRequest(), 7))
    (event,) = requests(connection)
    older: Any = REGISTRY.response(3, 9)
    for body in (older(), HeartbeatResponse(), MetadataRequest(), versions_v0.ApiVersionsResponse(error_code=35)):
        with pytest.raises(LocalProtocolError, match="is not the response to API key 3, version 12"):
            connection.respond(event, body)
    for frame, shown in ((b"\0\0\0\x08", "00 00 00 08"), (b"\0\0", "00 00"), (b"", "nothing")):
        with pytest.raises(LocalProtocolError, match=f"a response to correlation id 7 cannot begin with {shown}"):
            connection.respond_frame(event, frame)
    broken: Any = MetadataResponse(controller_id=2**40)
    with pytest.raises(EncodeError):
        connection.respond(event, broken)
    connection.respond(event, MetadataResponse())
    with pytest.raises(LocalProtocolError, match="has its response already"):
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


# What cannot be, and where.


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (b"\xff\xff\xff\xff", "a frame of -1 bytes is announced; a size must not be negative"),
        (b"\0\0\x10\1", "a frame of 4,097 bytes is announced; the limit is 4,096"),
        (b"GET / HTTP/1.1", "begin as HTTP does"),
        (b"CONNECT a:1 HTTP/1.1", "begin as HTTP does"),
        (b"\x16\x03\x01\x02\x00", "begin as TLS does"),
        (b"\0\0\0\0", "0 bytes cannot be a request, whose header has at least 8"),
        (b"\0\0\0\7abcdefg", "7 bytes cannot be a request"),
    ],
)
def test_what_is_no_frame_is_an_error_with_its_place(after: bytes, said: str) -> None:
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
    with pytest.raises(RemoteProtocolError, match="104,857,601 bytes is announced; the limit is 104,857,600"):
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


# The client's side.


def answers(connection: ClientConnection, *frames: bytes) -> list[Response]:
    connection.receive_data(sized(*frames))
    found = []
    for event in connection.events():
        assert isinstance(event, Response)
        found.append(event)
    return found


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
    with pytest.raises(LocalProtocolError, match="7 bytes cannot be a request"):
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
            "a response with correlation id 9, which no request in flight has; expected is that to correlation",
        ),
        (
            b"\0\0\0\1",
            "a response with correlation id 1, whose turn has not come; expected is that to correlation id 0",
        ),
        (b"\0\0\0", "3 bytes cannot be a response"),
    ],
)
def test_a_response_that_is_not_due_is_an_error(frame: bytes, said: str) -> None:
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
    with pytest.raises(LocalProtocolError, match="after the response to SaslHandshake v0 alone"):
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
    with pytest.raises(LocalProtocolError, match="no token can be sent while a response is due"):
        client.send_token(b"x")


# Versions.


def test_both_sides_agree_on_the_highest_version_that_both_have() -> None:
    answer = versions_answer(REGISTRY, 5, {3: range(2, 5), 12: range(90, 99), 18: range(6), 999: range(4)})
    assert common_versions(REGISTRY, answer) == {3: 4, 18: 5}
    everything = common_versions(REGISTRY, versions_answer(REGISTRY, 3))
    assert everything == {key: versions[-1] for key, versions in REGISTRY.api_versions().items()}
    with pytest.raises(TypeError, match="an ApiVersionsResponse says"):
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


# However the bytes come, and whatever is in them.


FRAMES = [
    request(MetadataRequest(topics=None), 1),
    request(produce(9, 0), 2),
    request(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3),
    bytes.fromhex("03e7 0002 00000009 ffff"),
    request(HeartbeatRequest(group_id="g" * 300), 4) + b"\0",
]


def told(connection: ServerConnection, chunks: list[bytes]) -> Iterator[object]:
    """All that a connection tells of a stream, one way or the other."""
    try:
        for chunk in chunks:
            connection.receive_data(chunk)
            for event in connection.events():
                yield event.raw
        connection.receive_end()
        for event in connection.events():
            yield event.raw
    except RemoteProtocolError as error:
        yield str(error)


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """A stream, whole and in chunks; its end may be missing, or something else stand there."""
    data = sized(*draw(st.lists(st.sampled_from(FRAMES), max_size=5)))
    data += draw(st.sampled_from([b"", b"", b"\0\0", b"\0\0\0\x20abc", b"GET / HTTP/1.1", b"\0\0\0\3abc", b"\xff" * 5]))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return data, [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@settings(deadline=None)
@given(streams())
def test_any_split_of_the_bytes_gives_the_same_events(stream: tuple[bytes, list[bytes]]) -> None:
    data, chunks = stream
    whole = list(told(ServerConnection(REGISTRY), [data]))
    assert list(told(ServerConnection(REGISTRY), chunks)) == whole
    assert list(told(ServerConnection(REGISTRY), [bytes([byte]) for byte in data])) == whole


@settings(deadline=None)
@given(st.lists(st.integers(1, 40), max_size=30), st.randoms(use_true_random=False))
def test_any_split_of_responses_gives_the_same_events(sizes: list[int], chance: random.Random) -> None:
    whole, cut = ClientConnection(REGISTRY), ClientConnection(REGISTRY)
    frames = []
    for number in range(5):
        for client in (whole, cut):
            client.send(HeartbeatRequest())
        frames.append(kafka_messages.encode_response(HeartbeatResponse(throttle_time_ms=number), number))
    data = sized(*frames)
    whole.receive_data(data)
    expected = [event.raw for event in whole.events()]
    found = []
    for size in [*sizes, len(data)]:
        cut.receive_data(data[:size])
        data = data[size:]
        for event in cut.events():
            found.append(event.raw)
            if chance.random() < 0.5:  # to stop within the events loses none
                break
    found += [event.raw for event in cut.events()]
    assert found == expected


def damaged(data: bytes, chance: random.Random) -> bytes:
    """A stream with some of its bytes replaced, removed, doubled, or moved."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(found) or 1)
        match chance.randrange(4):
            case 0:
                found[at : at + 1] = chance.randbytes(1)
            case 1:
                del found[at : at + chance.randrange(1, 8)]
            case 2:
                found[at:at] = found[at : at + chance.randrange(1, 8)]
            case _:
                found[at : at + 4] = chance.choice((b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff"))
    return bytes(found)


@pytest.mark.parametrize("seed", range(8))
def test_damage_gives_documented_errors_alone(seed: int) -> None:
    chance = random.Random(seed)
    seen: set[type[KipwireError]] = set()
    for _ in range(150):
        stream = damaged(sized(*chance.choices(FRAMES, k=3)), chance)
        broker, client = ServerConnection(REGISTRY), ClientConnection(REGISTRY)
        client.send(MetadataRequest())
        client.send(ApiVersionsRequest())
        answer = kafka_messages.encode_response(MetadataResponse(cluster_id="c"), 0)
        for connection, data in ((broker, stream), (client, damaged(sized(answer, b"\0\0\0\1" + REFUSED[4:]), chance))):
            try:
                connection.receive_data(data)
                for event in connection.events():
                    try:
                        _ = isinstance(event, SaslToken) or (event.header, event.body, event.rest)
                    except DecodeError as error:
                        seen.add(type(error))
                        assert not isinstance(error, LeftOverError)
                connection.receive_end()
                assert not list(connection.events())
            except RemoteProtocolError as error:
                assert 0 <= error.offset <= len(data)
                seen.add(type(error))
    assert seen >= {RemoteProtocolError, DecodeError}
