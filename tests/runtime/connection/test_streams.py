"""However a stream is split and whatever it contains, a connection reports the same events and documented errors."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafka_messages
from kafka_messages.api_versions_request.v5 import ApiVersionsRequest
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.metadata_request.v12 import MetadataRequest
from kafka_messages.metadata_response.v12 import MetadataResponse
from kipwire import DecodeError, KipwireError, LeftOverError
from kipwire.connection import (
    ClientConnection,
    RemoteProtocolError,
    SaslToken,
    ServerConnection,
)
from tests.support.subjects.connections import (
    REFUSED,
    REGISTRY,
    produce,
    request,
    sized,
)

# For every way of splitting the bytes, and for all contents.


FRAMES = [
    request(MetadataRequest(topics=None), 1),
    request(produce(9, 0), 2),
    request(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3),
    bytes.fromhex("03e7 0002 00000009 ffff"),
    request(HeartbeatRequest(group_id="g" * 300), 4) + b"\0",
]


def reported(connection: ServerConnection, chunks: list[bytes]) -> Iterator[object]:
    """Everything that a connection reports of a stream, as events or errors."""
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
    """A stream, whole and in chunks; its end may be missing or replaced."""
    data = sized(*draw(st.lists(st.sampled_from(FRAMES), max_size=5)))
    data += draw(st.sampled_from([b"", b"", b"\0\0", b"\0\0\0\x20abc", b"GET / HTTP/1.1", b"\0\0\0\3abc", b"\xff" * 5]))
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return data, [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@settings(deadline=None)
@given(streams())
def test_any_split_of_the_bytes_gives_the_same_events(stream: tuple[bytes, list[bytes]]) -> None:
    data, chunks = stream
    whole = list(reported(ServerConnection(REGISTRY), [data]))
    assert list(reported(ServerConnection(REGISTRY), chunks)) == whole
    assert list(reported(ServerConnection(REGISTRY), [bytes([byte]) for byte in data])) == whole


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
