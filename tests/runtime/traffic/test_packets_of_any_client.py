"""Requests are found whatever their client is called, and nothing else is taken for one."""

from __future__ import annotations

from pathlib import Path
from random import Random
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kafka_messages
from kafka_messages.api_versions_request.v0 import ApiVersionsRequest as ApiVersions0
from kafka_messages.api_versions_request.v3 import ApiVersionsRequest as ApiVersions3
from kafka_messages.fetch_request.v11 import FetchRequest as Fetch11
from kafka_messages.metadata_request.v12 import MetadataRequest as Metadata12
from kipwire import Message
from kipwire.traffic.packet_captures import find_frames
from kipwire.traffic.requests import begins_request, is_request, opens_with_request, request_of, why_no_request
from tests.support import packet_dumps as made
from tests.support.subjects.packet_talks import Talk, errors_of, found_in, frames_of, sized

REQUESTS: list[Message] = [
    ApiVersions3(client_software_name="librdkafka", client_software_version="2.4.0"),
    ApiVersions0(),
    Metadata12(topics=None),
    Fetch11(max_wait_ms=500, min_bytes=1, topics=[]),
]
NAMES = st.text(st.characters(min_codepoint=ord("0"), max_codepoint=ord("z")), min_size=1, max_size=63)
ODD = ["client of new\nline\ttab", "caf\u00a0e\u00ad", "\x01", "\u200b\ufeff", "\U0001fae8", "\U00011f5a", "\x7f\x80"]


def framed(client_id: bytes, number: int = 0) -> bytes:
    """Return a request as a client of C sends it, whose client id may be any bytes, with its size."""
    frame = kafka_messages.encode_request(REQUESTS[number], correlation_id=1, client_id="")
    return sized(frame[:8] + pack(">h", len(client_id)) + client_id + frame[10:])


@pytest.mark.parametrize("client_id", ODD)
def test_client_ids_with_odd_characters_are_found_in_packets(tmp_path: Path, client_id: str) -> None:
    data = [framed(client_id.encode(), number) for number in range(len(REQUESTS))]
    for opened in (True, False):
        talk = Talk(opened=opened)
        for one in data:
            talk.say(True, one)
        found = found_in(tmp_path, made.dump(talk.segments))
        assert [frame for *_, frame in frames_of(found)] == [one[4:] for one in data]
        assert {one.request.client_id for one in found if one.request} == {client_id}
        assert errors_of(found) == []


@given(
    st.one_of(st.text(), st.text(st.characters(categories=["Cc", "Cf", "Cn", "Zs", "Co"]))), st.sampled_from(REQUESTS)
)
def test_every_client_id_that_is_text_is_that_of_a_request(client_id: str, body: Message) -> None:
    frame = kafka_messages.encode_request(body, correlation_id=1, client_id=client_id.replace("\0", "0"))
    assert is_request(frame)
    assert request_of(frame) == (body.API_KEY, body.VERSION, 1, client_id.replace("\0", "0"))


@given(st.binary(max_size=300).map(lambda data: data.replace(b"\0", b"\xff")), st.integers(0, len(REQUESTS) - 1))
def test_every_client_id_that_a_program_in_c_can_send_is_that_of_a_request(client_id: bytes, number: int) -> None:
    data = framed(client_id, number)
    assert begins_request(data)
    cut = [opens_with_request(data[:end]) for end in range(len(data))]
    assert set(cut[:14]) == {None} and set(cut[14:]) <= {True}, "the first bytes may be a part of it"


def test_a_request_without_a_client_id_and_with_the_longest_is_one() -> None:
    assert is_request(kafka_messages.encode_request(REQUESTS[0], correlation_id=1, client_id=None))
    assert begins_request(framed(b"x" * 32767))


# Bytes that are no request.


@given(st.integers(20, 23), st.integers(0, 4), st.binary(min_size=12, max_size=100))
def test_records_of_tls_are_no_requests(kind: int, minor: int, rest: bytes) -> None:
    assert opens_with_request(bytes([kind, 3, minor]) + rest) is False


@given(
    st.sampled_from(["GET ", "POST ", "HTTP/1.1 ", "PRI * ", "SSH-2.0-", "*3\r\n$", "EHLO ", "220 "]),
    st.binary(min_size=10),
)
def test_text_of_other_protocols_is_no_request(begin: str, rest: bytes) -> None:
    assert opens_with_request(begin.encode() + rest) is False


@given(NAMES, st.dictionaries(NAMES, NAMES))
def test_the_first_message_of_postgres_is_no_request(user: str, settings: dict[str, str]) -> None:
    """It has a size and then the version 3.0, which would be the API key of Metadata and version 0."""
    words = ["user", user, "application_name", "x" * 200, *(word for setting in settings.items() for word in setting)]
    body = pack(">hh", 3, 0) + "".join(f"{word}\0" for word in words).encode() + b"\0"
    assert opens_with_request((len(body) + 4).to_bytes(4) + body) is False


def test_random_bytes_are_no_requests() -> None:
    random = Random(7)
    assert not any(opens_with_request(random.randbytes(64)) for _ in range(100_000))
    # Even if they start with a plausible size and the key of an API.
    assert sum(bool(begins_request(sized(pack(">h", 3) + random.randbytes(60)))) for _ in range(100_000)) < 100


@pytest.mark.parametrize(
    ("hello", "reason"),
    [
        (b"GET / HTTP/1.1\r\n", "no request has a size of 1,195,725,856"),
        (sized(pack(">hhih", 999, 3, 1, 2) + b"me"), "no request has API key 999 and version 3"),
        (sized(pack(">hhih", 18, 300, 1, 2) + b"me"), "no request has API key 18 and version 300"),
        (sized(pack(">hhih", 18, 3, 1, 900) + b"me"), "no client id has 900 bytes in a request of 12"),
        (sized(pack(">hhih", 18, 3, 1, -2) + b"me"), "no client id has -2 bytes in a request of 12"),
        (sized(pack(">hhih", 18, 3, 1, 3) + b"m\0e"), "no client id has a zero byte"),
    ],
)
def test_a_connection_that_is_given_up_says_why(tmp_path: Path, hello: bytes, reason: str) -> None:
    talk = Talk().say(True, hello).say(False, b"something else")
    (error,) = errors_of(found_in(tmp_path, made.dump(talk.segments)))
    starts = f"{hello[:8].hex(' ')} and {b'somethin'.hex(' ')}"
    assert error.startswith(f"no Kafka request found; it starts with {starts}: {reason}; {len(hello)} bytes from ")
    assert why_no_request(hello) == reason


def test_bytes_that_are_too_few_say_nothing() -> None:
    assert why_no_request(b"GET /") is None
    assert list(find_frames([], ())) == []


def test_what_is_within_a_connection_is_not_taken_for_a_request_of_an_odd_client() -> None:
    """Responses with small correlation ids look like requests: of Produce, in the version of that number."""
    response = sized(bytes.fromhex("00000009 00000000 0002 07") + b"orders" + bytes(24))
    assert begins_request(response) is False
    assert why_no_request(response) is None
    assert opens_with_request(response) is False


def test_a_long_odd_client_id_is_found_where_the_connection_begins(tmp_path: Path) -> None:
    data = framed(b"\x01" * 5000)
    for opened in (True, False):
        talk = Talk(opened=opened)
        for start in range(0, len(data), 1400):
            talk.say(True, data[start : start + 1400])
        talk.say(True, framed(b"\x02"))
        found = frames_of(found_in(tmp_path, made.dump(talk.segments)))
        assert [frame for *_, frame in found] == [data[4:], framed(b"\x02")[4:]][0 if opened else 1 :]
