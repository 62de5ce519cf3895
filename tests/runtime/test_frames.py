"""Frames are read with unexpected content, and the error of a wrong frame names its message."""

from __future__ import annotations

import pickle
from typing import Any, assert_type

import pytest

import kafka_messages
import kipwire
from kafka_messages.api_versions_response import v0, v1, v5
from kafka_messages.metadata_request import v13 as metadata_request_v13
from kafka_messages.metadata_request.v12 import MetadataRequest
from kafka_messages.metadata_response import v13 as metadata_response_v13
from kafka_messages.metadata_response.v12 import MetadataResponse
from kipwire import DecodeError, EncodeError, Message, UnsupportedVersionError
from kipwire.message.frames import Frame, RequestHeader, ResponseHeader

REQUEST = kafka_messages.encode_request(MetadataRequest(), 7, "me")
RESPONSE = kafka_messages.encode_response(MetadataResponse(controller_id=1), 7)
REFUSED = bytes.fromhex("00000007 0023 00000001 0012 0000 0005")
"""Answer of brokers to ApiVersions in an unknown version (KIP-511)."""
SURPLUS = kafka_messages.encode_request(kafka_messages.request(51, 0)(), 3, "rdkafka") + b"\0"
"""AlterUserScramCredentials v0 as librdkafka writes it: the tag section of the body is there twice."""


def refused(frame: bytes, *asked: Any) -> Any:
    """Return the error of a frame that is read as a request, or as the response to an asked API and version."""
    with pytest.raises(DecodeError) as caught:
        kafka_messages.decode_response(frame, *asked) if asked else kafka_messages.decode_request(frame)
    return caught.value


# Content that the receiver did not expect.


def test_bytes_left_over_are_an_error_of_their_own_and_can_be_asked_for() -> None:
    error = refused(SURPLUS)
    assert type(error) is kipwire.LeftOverError
    assert (error.api_key, error.api_version, error.correlation_id, error.offset) == (51, 0, 3, len(SURPLUS) - 1)
    header, body, rest = kafka_messages.REGISTRY.read_request(SURPLUS)
    assert rest == b"\0"
    assert kafka_messages.encode_request(body, header=header) + rest == SURPLUS


def test_bytes_left_over_after_a_response_too() -> None:
    error = refused(RESPONSE + b"xy", 3, 12)
    assert type(error) is kipwire.LeftOverError
    assert (error.api_key, error.api_version, error.correlation_id, error.offset) == (3, 12, 7, len(RESPONSE))
    assert kafka_messages.REGISTRY.read_response(RESPONSE + b"xy", 3, 12).rest == b"xy"
    assert kafka_messages.REGISTRY.read_response(RESPONSE, MetadataResponse).rest == b""


@pytest.mark.parametrize(
    ("frame", "kind", "of", "place"),
    [
        ("03e7 0002 00000009 ffff", kipwire.UnknownApiKeyError, (999, 2, 9), ("request_api_key", 0)),
        ("0003 0063 00000009 ffff", kipwire.UnknownVersionError, (3, 99, 9), ("request_api_version", 2)),
        ("0003 ffff 00000009 ffff", kipwire.UnknownVersionError, (3, -1, 9), ("request_api_version", 2)),
        ("03e7 0063 0000", kipwire.UnknownApiKeyError, (999, 99, None), ("request_api_key", 0)),
    ],
)
def test_requests_that_the_package_does_not_have(frame: str, kind: Any, of: tuple[int, ...], place: Any) -> None:
    error = refused(bytes.fromhex(frame))
    assert type(error) is kind
    assert issubclass(kind, UnsupportedVersionError)
    assert (error.api_key, error.api_version, error.correlation_id) == of
    assert (error.path, error.offset) == place


def test_responses_that_the_package_does_not_have() -> None:
    error = refused(RESPONSE, 999, 0)
    assert type(error) is kipwire.UnknownApiKeyError
    assert isinstance(error, UnsupportedVersionError)
    error = refused(RESPONSE, 3, 99)
    assert type(error) is kipwire.UnknownVersionError
    assert (error.api_key, error.api_version, error.correlation_id) == (3, 99, 7)


def test_errors_of_frames_survive_a_pickle() -> None:
    error = pickle.loads(pickle.dumps(refused(SURPLUS)))
    assert (type(error), error.api_key, error.correlation_id) == (kipwire.LeftOverError, 51, 3)


# Bytes that are no frame.


@pytest.mark.parametrize(
    ("frame", "asked", "said"),
    [
        (len(REQUEST).to_bytes(4, "big") + REQUEST, (), "begins with its own size (17)"),
        (len(RESPONSE).to_bytes(4, "big") + RESPONSE, (3, 12), "begins with its own size"),
        (b"GET / HTTP/1.1\r\n", (), "begin as HTTP does"),
        (b"HTTP/1.1 400 Bad Request\r\n", (3, 12), "begin as HTTP does"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", (), "begin as TLS does"),
        (b"\x15\x03\x03\x00\x02\x02\x28", (3, 12), "begin as TLS does"),
        (REQUEST.hex().encode(), (), "begin with text (b'0003000c00000007')"),
        (b"\0\0\0\x63\0\0\0\0\0\0", (), "is it a response, of correlation id 99"),
        (REQUEST, (3, 12), "begins with API key 3 and version 12"),
    ],
)
def test_what_is_not_a_frame_is_called_by_its_name(frame: bytes, asked: tuple[int, ...], said: str) -> None:
    assert said in str(refused(frame, *asked))


def test_a_damaged_frame_is_not_taken_for_something_else() -> None:
    assert str(refused(REQUEST[:-1])).endswith("need 1 byte, but none are left")


@pytest.mark.parametrize("frame", ["00030000", None, 7])
def test_text_is_not_a_frame(frame: Any) -> None:
    with pytest.raises(TypeError, match="bytes or another buffer"):
        kafka_messages.decode_request(frame)
    with pytest.raises(TypeError, match="bytes or another buffer"):
        kafka_messages.decode_response(frame, 3, 12)


def test_a_call_without_what_a_frame_needs_says_what_that_is() -> None:
    calls: Any = kafka_messages
    for call in (calls.decode_response, calls.REGISTRY.read_response):
        with pytest.raises(TypeError, match="name a response by its class"):
            call(RESPONSE)
    for call, body in ((calls.encode_request, MetadataRequest()), (calls.encode_response, MetadataResponse())):
        with pytest.raises(TypeError, match="give a correlation id, or header="):
            call(body)


def test_other_buffers_are_frames() -> None:
    buffers: list[Any] = [bytearray(REQUEST + b"x"), memoryview(REQUEST + b"x")]
    for buffer in buffers:
        assert kafka_messages.REGISTRY.read_request(buffer)[1:] == (MetadataRequest(), b"x")


# Headers.


def test_headers_have_their_attributes() -> None:
    frame = kafka_messages.decode_request(REQUEST)
    assert isinstance(frame.header, RequestHeader)
    assert not isinstance(frame.header, ResponseHeader)
    assert (frame.header.request_api_key, frame.header.request_api_version) == (3, 12)
    assert (frame.header.correlation_id, frame.header.client_id) == (7, "me")
    assert isinstance(kafka_messages.decode_response(RESPONSE, 3, 12).header, ResponseHeader)


def test_tags_of_headers_survive() -> None:
    header, body = kafka_messages.decode_request(REQUEST)
    header.unknown_tagged_fields = {9: b"trace"}
    frame = kafka_messages.encode_request(body, header=header)
    header, body = kafka_messages.decode_request(frame)
    assert header.unknown_tagged_fields == {9: b"trace"}
    assert kafka_messages.encode_request(body, header=header) == frame
    answer, found = kafka_messages.decode_response(RESPONSE, 3, 12)
    answer.unknown_tagged_fields = {4: b"x"}
    frame = kafka_messages.encode_response(found, header=answer)
    assert kafka_messages.decode_response(frame, 3, 12).header.unknown_tagged_fields == {4: b"x"}


def test_a_header_of_another_request_is_refused() -> None:
    header, body = kafka_messages.decode_request(REQUEST)
    with pytest.raises(EncodeError, match="cannot precede MetadataRequest v5, which needs RequestHeader v1"):
        kafka_messages.encode_request(kipwire.convert(body, 5), header=header)
    header.request_api_version = 11
    with pytest.raises(EncodeError, match=r"request_api_version: is 11; that of MetadataRequest v12 is 12"):
        kafka_messages.encode_request(body, header=header)
    with pytest.raises(EncodeError, match="cannot precede"):
        kafka_messages.encode_response(MetadataResponse(), header=header)  # type: ignore[call-overload]


def test_a_header_and_what_is_in_it_are_not_given_both() -> None:
    header, body = kafka_messages.decode_request(REQUEST)
    with pytest.raises(TypeError, match="or a header"):
        kafka_messages.encode_request(body, 8, header=header)  # type: ignore[call-overload]


# Requests and their responses.


def test_a_response_is_asked_for_by_its_class_or_its_requests() -> None:
    wanted = MetadataResponse(controller_id=1)
    assert kafka_messages.decode_response(RESPONSE, MetadataResponse).body == wanted
    assert kafka_messages.decode_response(RESPONSE, MetadataRequest).body == wanted
    assert kafka_messages.decode_response(RESPONSE, MetadataResponse, version=12).body == wanted
    with pytest.raises(TypeError, match="by its class"):
        kafka_messages.decode_response(RESPONSE, kafka_messages.message("RequestHeader", 1))


def test_every_request_knows_its_response_and_back() -> None:
    for name in kafka_messages.names():
        for version in kafka_messages.versions(name):
            cls: Any = kafka_messages.message(name, version)
            if cls.TYPE == "request":
                assert (cls.API_KEY, version) == (cls.RESPONSE.API_KEY, cls.RESPONSE.VERSION)
                assert name.removesuffix("Request") + "Response" == cls.RESPONSE.NAME
                assert cls.RESPONSE.REQUEST is cls
            else:
                assert not hasattr(cls, "RESPONSE")


def test_the_table_of_versions_has_every_request() -> None:
    table = kafka_messages.REGISTRY.api_versions()
    assert table[3] == range(14)
    assert list(table) == sorted(table)
    for key, versions in table.items():
        assert kafka_messages.served(kafka_messages.request(key, versions[0]).NAME) == versions
    assert (table[1], table[56]) == (range(4, 19), range(2, 4))
    assert not {4, 5, 6, 7} & set(table), "what no version is served of"


def test_a_former_name_of_an_api_has_a_response_of_the_same_name() -> None:
    asked: Any = kafka_messages.message("AlterIsrRequest", 0)
    answer: Any = kafka_messages.message("AlterIsrResponse", 0)
    wanted = answer(throttle_time_ms=3)
    frame = kafka_messages.encode_response(wanted, 5)
    assert kafka_messages.decode_response(frame, asked).body == wanted
    assert kafka_messages.decode_response(frame, 56, 0).body.NAME == "AlterPartitionResponse"


def test_the_oldest_header_has_no_client_id() -> None:
    cls: Any = kafka_messages.message("ControlledShutdownRequest", 0)
    body = cls(broker_id=7)
    frame = kafka_messages.encode_request(body, 5, "nobody")
    assert frame == bytes.fromhex("0007 0000 00000005 00000007")
    header, found = kafka_messages.decode_request(frame)
    assert (header.VERSION, found) == (0, body)
    assert kafka_messages.encode_request(body, header=header) == frame


# KIP-511.


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5, 6, 99])
def test_a_refused_version_is_answered_in_version_0(version: int) -> None:
    header, body = kafka_messages.decode_response(REFUSED, 18, version)
    assert type(body) is v0.ApiVersionsResponse
    assert (body.error_code, body.api_keys) == (35, [v0.ApiVersion(api_key=18, max_version=5)])
    assert kafka_messages.encode_response(body, header=header) == REFUSED


def test_a_refused_version_is_converted_to_a_class_that_was_asked_for() -> None:
    _, body = kafka_messages.decode_response(REFUSED, v5.ApiVersionsResponse)
    assert type(body) is v5.ApiVersionsResponse
    assert (body.error_code, body.api_keys[0].max_version, body.throttle_time_ms) == (35, 5, 0)


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("code", [0, 35])
def test_answers_in_the_asked_version_are_read_in_it_whatever_their_error(version: int, code: int) -> None:
    cls: Any = kafka_messages.response(18, version)
    frame = kafka_messages.encode_response(kipwire.build(cls, {"error_code": code, "api_keys": [{"api_key": 3}]}), 7)
    body = kafka_messages.decode_response(frame, 18, version).body
    assert type(body) is cls
    assert kafka_messages.encode_response(body, 7) == frame


def test_errors_of_a_refused_version_are_those_of_version_0() -> None:
    error = refused(REFUSED[:-1], 18, 5)
    assert (error.message, error.version, error.path) == ("ApiVersionsResponse", 0, "api_keys[0].max_version")
    error = refused(REFUSED + b"x", 18, 5)
    assert (type(error), error.version, error.offset) == (kipwire.LeftOverError, 0, len(REFUSED))


def test_no_other_answer_has_another_version_than_the_request() -> None:
    assert refused(bytes.fromhex("00000007 0000 00000001 0012 0000 0005"), 18, 5).version == 5
    assert refused(bytes.fromhex("00000007 0023 00000001 0012 0000"), 3, 1).version == 1
    with pytest.raises(kipwire.UnknownVersionError):
        kafka_messages.decode_response(b"\0\0\0\7\0\0\0\0\0\0", 18, 6)


# Other versions and plain values.


def test_a_message_is_converted_to_a_class() -> None:
    newer: v1.ApiVersionsResponse = kipwire.convert(v0.ApiVersionsResponse(error_code=3), v1.ApiVersionsResponse)
    assert newer == v1.ApiVersionsResponse(error_code=3)
    with pytest.raises(UnsupportedVersionError, match="cannot become MetadataResponse, which is another message"):
        kipwire.convert(newer, MetadataResponse)


def build(name: str, version: int, values: dict[str, Any]) -> Message:
    return kipwire.build(kafka_messages.message(name, version), values)


def test_messages_are_built_of_plain_values_in_every_version() -> None:
    values = {
        "brokers": [{"node_id": 1, "host": "a", "port": 9092}],
        "topics": [{"name": "t", "partitions": [{"partition_index": 2, "leader_id": 1, "leader_epoch": 5}]}],
        "throttle_time_ms": 4,
    }
    for version in kafka_messages.versions("MetadataResponse"):
        message: Any = build("MetadataResponse", version, values)
        again: Any = type(message).decode(message.encode())
        assert (again.brokers[0].host, again.topics[0].partitions[0].leader_id) == ("a", 1)
        assert getattr(again, "throttle_time_ms", 4) == 4
        assert getattr(again.topics[0].partitions[0], "leader_epoch", 5) == 5


def test_what_is_built_names_all_that_would_be_lost() -> None:
    with pytest.raises(kipwire.ConversionError) as caught:
        build("MetadataRequest", 3, {"topics": None, "allow_auto_topic_creation": False, "topisc": []})
    assert caught.value.reason == (
        "cannot become version 3: allow_auto_topic_creation: version 3 has no such field, and it is not ignorable; "
        "leave it at its default, True, or use one of the versions 4 to 13; "
        "topisc: no version has a field of this name; did you mean topics?"
    )
    text = f"MetadataRequest v{caught.value.version}: {caught.value.reason}"
    assert (str(caught.value), caught.value.path) == (text, "allow_auto_topic_creation"), "the path is there once"
    with pytest.raises(kipwire.ConversionError, match="topics: null, which version 0 does not allow here"):
        build("MetadataRequest", 0, {"topics": None})


def test_what_is_built_may_leave_out_defaults_of_other_versions() -> None:
    assert build("MetadataRequest", 3, {"allow_auto_topic_creation": True}).encode() == b"\0\0\0\0"


def test_what_is_built_takes_structs_of_any_version_and_unknown_tagged_fields() -> None:
    assert build("MetadataRequest", 12, {"topics": None}) == MetadataRequest(topics=None)
    from kafka_messages.metadata_request.v4 import MetadataRequestTopic

    built: Any = build("MetadataRequest", 12, {"topics": [MetadataRequestTopic(name="t"), {"name": "u"}]})
    assert [one.name for one in type(built).decode(built.encode()).topics] == ["t", "u"]
    tagged = build("MetadataRequest", 12, {"unknown_tagged_fields": {9: b"x"}})
    assert tagged.encode().endswith(b"\x01\x09\x01x")


@pytest.mark.parametrize("values", [{"topics": 5}, {"topics": [5]}, {"topics": {"name": "t"}}, {"topics": [None]}])
def test_values_of_wrong_types_are_refused_when_they_are_written(values: dict[str, Any]) -> None:
    with pytest.raises(EncodeError, match="topics"):
        build("MetadataRequest", 12, values).encode()


# Types in type checkers: mypy and pyright check this file, too.


def test_type_checkers_know_headers_and_bodies() -> None:
    header, body = kafka_messages.decode_request(REQUEST)
    assert_type(header, RequestHeader)
    assert_type(header.client_id, str | None)
    assert_type(body, Message)
    assert_type(kafka_messages.decode_response(RESPONSE, MetadataResponse).body, MetadataResponse)
    assert_type(kafka_messages.decode_response(RESPONSE, MetadataRequest).body, MetadataResponse)
    assert_type(kafka_messages.decode_response(RESPONSE, 3, 12), Frame[ResponseHeader, Message])
    assert_type(kafka_messages.REGISTRY.read_response(RESPONSE, MetadataRequest).body, MetadataResponse)
    assert_type(kafka_messages.REGISTRY.read_request(REQUEST).header.correlation_id, int)
    assert_type(MetadataRequest.RESPONSE, type[MetadataResponse])
    assert_type(MetadataRequest.RESPONSE.REQUEST, type[MetadataRequest])


def test_type_checkers_know_partners_of_versions_that_share_code() -> None:
    assert_type(metadata_request_v13.MetadataRequest.RESPONSE, type[metadata_response_v13.MetadataResponse])
    assert_type(metadata_response_v13.MetadataResponse.REQUEST, type[metadata_request_v13.MetadataRequest])


def test_type_checkers_know_what_is_converted_and_built() -> None:
    assert_type(kipwire.convert(MetadataResponse(), metadata_response_v13.MetadataResponse).VERSION, int)
    assert_type(kipwire.convert(MetadataResponse(), 11), Message)
    assert_type(kipwire.build(MetadataRequest, {}), MetadataRequest)
