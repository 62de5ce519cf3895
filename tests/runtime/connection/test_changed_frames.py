"""Frames of a connection with another body, or with other names in it; and what a header says by itself."""

from __future__ import annotations

import pytest

import kafka_messages
from kafka_messages.metadata_request.v9 import MetadataRequest as MetadataRequest9
from kafka_messages.metadata_request.v12 import MetadataRequest, MetadataRequestTopic
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseTopic
from kipwire import ConversionError, DecodeError, EncodeError, Loss
from kipwire.connection import Expected, Request, Response

REGISTRY = kafka_messages.REGISTRY


def request(version: int = 12, rest: bytes = b"") -> Request:
    topics = [MetadataRequestTopic(name="a"), MetadataRequestTopic(name=None)]
    header = REGISTRY.decode_request(REGISTRY.encode_request(MetadataRequest(), 7, "me", version=version)).header
    if hasattr(header, "unknown_tagged_fields"):
        header.unknown_tagged_fields = {100: b"x"}
    body = MetadataRequest(topics=topics if version > 9 else topics[:1])
    return Request(REGISTRY, REGISTRY.encode_request(body, header=header, version=version) + rest)


def test_another_body_keeps_header_and_rest() -> None:
    event = request(rest=b"\1\0")
    assert event.with_body(event.body) == event.raw
    changed = Request(REGISTRY, event.with_body(MetadataRequest(topics=[])))
    assert changed.body == MetadataRequest(topics=[])
    assert (changed.rest, changed.header) == (event.rest, event.header)


def test_another_body_is_converted_to_the_version_of_the_frame() -> None:
    lost: list[Loss] = []
    event = request(version=9)
    changed = Request(REGISTRY, event.with_body(MetadataRequest(topics=[MetadataRequestTopic(name="b")]), lost=lost))
    assert isinstance(changed.body, MetadataRequest9) and changed.body.topics and changed.body.topics[0].name == "b"
    assert [one.field for one in lost if one.is_dropped] == []
    with pytest.raises(ConversionError, match="topics"):
        event.with_body(MetadataRequest(topics=[MetadataRequestTopic(name=None)]))


def test_another_body_of_a_response() -> None:
    frame = REGISTRY.encode_response(MetadataResponse(controller_id=1), 7)
    event = Response(REGISTRY, frame, Expected(3, 12, 7))
    assert event.is_known and not Response(REGISTRY, frame, Expected(3, 99, 7)).is_known
    changed = Response(REGISTRY, event.with_body(MetadataResponse(controller_id=2)), event.to)
    assert changed.body_as(MetadataResponse).controller_id == 2
    with pytest.raises(EncodeError):
        event.with_body(MetadataRequest())


def test_names_of_a_kind_are_changed_wherever_there_are_some() -> None:
    event = request(rest=b"\1")
    changed = Request(REGISTRY, event.renamed("topicName", str.upper))
    assert [one.name for one in changed.body_as(MetadataRequest).topics or ()] == ["A", None]
    assert (changed.rest, changed.header) == (event.rest, event.header)
    assert event.renamed("groupId", str.upper) is event.raw
    assert event.renamed("topicName", str) is event.raw


def test_names_in_a_response_of_any_version() -> None:
    for version in REGISTRY.versions("MetadataResponse"):
        body = MetadataResponse(topics=[MetadataResponseTopic(name="a")])
        event = Response(REGISTRY, REGISTRY.encode_response(body, 7, version=version), Expected(3, version, 7))
        changed = Response(REGISTRY, event.renamed("topicName", str.upper), event.to)
        assert changed.body_as(MetadataResponse).topics[0].name == "A"


def test_names_in_a_broken_message_are_an_error() -> None:
    with pytest.raises(DecodeError, match="MetadataRequest v12"):
        Request(REGISTRY, request().raw[:-3]).renamed("topicName", str.upper)


def test_the_client_id_is_read_without_the_body() -> None:
    assert request(version=0).client_id == request().client_id == "me"
    cut = request().raw[:-8]
    assert Request(REGISTRY, cut).client_id == "me"
    assert Request(REGISTRY, bytes.fromhex("03e7 0000 00000001 0002 6d65")).client_id is None  # an unknown API
    assert Request(REGISTRY, REGISTRY.encode_request(MetadataRequest(), 7)).client_id is None
    with pytest.raises(DecodeError):
        _ = Request(REGISTRY, request().raw[:9]).client_id
