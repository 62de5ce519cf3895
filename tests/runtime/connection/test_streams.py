"""However a stream is split and whatever it contains, a connection reports the same events and documented errors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from typing import Any

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
from tests.support.cost import cost_of
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
    """Return a stream, whole and in chunks; its end may be missing or replaced."""
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
    """Return a stream with some of its bytes replaced, removed, doubled, or moved."""
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


# Large frames, which are put together from pieces.


@pytest.mark.parametrize("piece", [1000, 4095, 4096, 5000, 65536, 70_000, 1 << 20])
@pytest.mark.parametrize("first", [0, 3, 4, 5, 4096])
def test_large_frames_in_any_pieces_are_what_was_sent(piece: int, first: int) -> None:
    frames = [random.Random(size).randbytes(size) for size in (65_537, 10, 300_000, 65_536, 131_072, 70_000)]
    stream = b"".join(sized(bytes.fromhex("03e7 0002 00000009") + frame) for frame in frames)
    connection = ServerConnection(REGISTRY)
    found: list[bytes] = []
    reused = bytearray()
    for start, end in zip(
        [0, *range(first, len(stream), piece)], [*range(first, len(stream), piece), None], strict=True
    ):
        reused[:] = stream[start:end]
        given: Any = reused  # the connection must not keep it
        connection.receive_data(given)
        if piece != 4095:  # with 4095 the events are taken at the end alone
            found += [one.raw[8:] for one in connection.events()]
    found += [one.raw[8:] for one in connection.events()]
    assert found == frames
    assert {type(one) for one in found} == {bytes}
    connection.receive_end()
    assert list(connection.events()) == []


def test_a_large_frame_that_is_cut_short_says_how_much_of_it_came() -> None:
    stream = sized(bytes(100_000))
    for end in (5, 70_004, 100_003):
        connection = ServerConnection(REGISTRY)
        for start in range(0, end, 20_000):
            connection.receive_data(stream[start : min(start + 20_000, end)])
            assert list(connection.events()) == []
        connection.receive_end()
        with pytest.raises(RemoteProtocolError, match=f"ends after {end - 4} of the 100,000 bytes of a frame"):
            list(connection.events())


def test_a_large_frame_takes_little_more_than_its_bytes_however_small_its_pieces_are() -> None:
    stream = sized(bytes(1 << 17))

    def receive(piece: int) -> None:
        connection = ServerConnection(REGISTRY)
        for start in range(0, len(stream), piece):
            connection.receive_data(stream[start : start + piece])
            assert all(connection.events())

    for piece in (16, 4096, 65_536):
        assert cost_of(partial(receive, piece)).memory < 2.7 * len(stream)
