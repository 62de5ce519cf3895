"""Decoding takes a buffer, and an error about a large value is not large itself, in the kernel and in Python."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.metadata_request.v12 import MetadataRequest
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseTopic
from kipwire import ConversionError, DecodeError, EncodeError, JsonError, native
from kipwire.model.errors import MOST_CHARACTERS, abbreviate, shorten

DECODERS: dict[str, Callable[[Any, Any], Any]] = {
    "decode": lambda cls, data: cls.decode(data),
    "read": lambda cls, data: cls.read(data),
    "decode in Python": native.PYTHON["decode"],
    "read in Python": native.PYTHON["read"],
}


@pytest.mark.parametrize(
    "data",
    [5, 10**11, True, None, "text", [0, 1], object(), range(3)],
    ids=lambda data: type(data).__name__ if data is not None else "None",
)
@pytest.mark.parametrize("decoder", DECODERS)
def test_only_buffers_are_decoded(decoder: str, data: Any) -> None:
    with pytest.raises(TypeError, match="a message must be bytes or another buffer, not "):
        DECODERS[decoder](HeartbeatRequest, data)


@pytest.mark.parametrize(
    "make", [bytes, bytearray, memoryview, lambda data: memoryview(b"".join(bytes((b, 0)) for b in data))[::2]]
)
@pytest.mark.parametrize("decoder", DECODERS)
def test_every_buffer_is_decoded(decoder: str, make: Callable[[bytes], Any]) -> None:
    message = HeartbeatRequest(group_id="group")
    found = DECODERS[decoder](HeartbeatRequest, make(message.encode()))
    assert found == (message if "decode" in decoder else (message, len(message.encode())))


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no")

    __str__ = __repr__


@pytest.mark.parametrize("tag", [10**5000, -(10**5000), Unspeakable(), b"x" * 10**6, ("x" * 10**6,)], ids=type)
@pytest.mark.parametrize("encode", [MetadataResponse.encode, native.PYTHON["encode"]])
def test_tags_that_cannot_be_shown_are_errors_all_the_same(encode: Callable[[Any], bytes], tag: Any) -> None:
    message = MetadataResponse()
    message.unknown_tagged_fields = {tag: b""}
    with pytest.raises(EncodeError, match="a tag must be a number from 0 to 2147483647") as caught:
        encode(message)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("value", [10**5000, Unspeakable(), "x" * 10**6], ids=type)
def test_values_that_cannot_be_shown_are_errors_all_the_same(value: Any) -> None:
    message = MetadataResponse(topics=[MetadataResponseTopic(is_internal=value)])
    with pytest.raises(EncodeError, match=r"topics\[0\].is_internal: must be True or False, not ") as caught:
        message.encode()
    assert len(str(caught.value)) < 300


LARGE = "x" * 10**7


def _json_value() -> None:
    MetadataRequest.from_json({**MetadataRequest(topics=[]).to_json(), "topics": [{"topicId": LARGE, "name": None}]})


def _json_key() -> None:
    MetadataRequest.from_json({**MetadataRequest().to_json(), LARGE: 1})


def _key_of_unknown_field() -> None:
    message = MetadataResponse()
    message.unknown_tagged_fields = {LARGE: b""}  # type: ignore[dict-item]
    message.encode()


@pytest.mark.parametrize("cause", [_json_value, _json_key, _key_of_unknown_field])
def test_errors_do_not_repeat_long_values(cause: Callable[[], None]) -> None:
    with pytest.raises((JsonError, EncodeError)) as caught:
        cause()
    assert len(str(caught.value)) < 3 * MOST_CHARACTERS
    assert LARGE not in caught.value.path + caught.value.reason
    assert all(len(one) < 2 * MOST_CHARACTERS for one in caught.value.args if isinstance(one, str))


@pytest.mark.parametrize("error", [EncodeError, JsonError, ConversionError])
def test_every_error_with_a_place_is_bounded(error: Any) -> None:
    assert len(str(error("Name", 0, LARGE, LARGE))) < 3 * MOST_CHARACTERS
    assert len(str(DecodeError("Name", 0, LARGE, 0, LARGE))) < 3 * MOST_CHARACTERS


def test_copies_of_an_error_with_long_texts_say_the_same() -> None:
    for error in (DecodeError("Name", 0, LARGE, 0, LARGE), EncodeError("Name", 0, LARGE, LARGE)):
        for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert (str(other), other.args) == (str(error), error.args)


def test_cut_values_are_marked() -> None:
    assert shorten("a" * MOST_CHARACTERS) == "a" * MOST_CHARACTERS
    assert "... (100 characters) ..." in shorten("a" * (MOST_CHARACTERS + 100))
    assert (abbreviate("text"), abbreviate(b"x"), abbreviate(-5), abbreviate(None)) == ("'text'", "b'x'", "-5", "None")
    assert abbreviate("a" * 100) == f"'{'a' * 80}'... (100 characters)"
    assert abbreviate(b"a" * 100) == f"b'{'a' * 80}'... (100 bytes)"
    assert abbreviate(10**5000) == "a number of 16610 bits"
    assert abbreviate(Unspeakable()) == "a Unspeakable"
