"""A program is written for one version, and each side of its connections may speak another one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, assert_type

import pytest

import kafka_messages
import kipwire
from kafka_messages.api_versions_request.v4 import ApiVersionsRequest
from kafka_messages.api_versions_response.v3 import ApiVersion
from kafka_messages.api_versions_response.v4 import ApiVersionsResponse
from kafka_messages.fetch_request.v17 import FetchRequest
from kafka_messages.metadata_request import v4, v13
from kafka_messages.metadata_request.v13 import MetadataRequest
from kafka_messages.metadata_response import v9 as response_v9
from kafka_messages.metadata_response.v13 import MetadataResponse, MetadataResponseTopic
from kipwire import ConversionError, KipwireError, Loss, Message, UnsupportedVersionError
from kipwire.connection import (
    ClientConnection,
    Expected,
    LocalProtocolError,
    Request,
    Response,
    ServerConnection,
    best_version,
    served_versions,
)
from kipwire.drafts import proposals
from tests.support.cases import of_each
from tests.support.defaults import of_defaults
from tests.support.subjects.connections import REGISTRY

REQUESTS = [
    name for name in kafka_messages.names() if name.endswith("Request") and len(kafka_messages.versions(name)) > 0
]


def asked(client: ClientConnection, server: ServerConnection, data: bytes) -> Request:
    server.receive_data(data)
    (request,) = server.events()
    assert isinstance(request, Request)
    return request


def answered(client: ClientConnection, data: bytes) -> Response:
    client.receive_data(data)
    (response,) = client.events()
    assert isinstance(response, Response)
    return response


@of_each("name", REQUESTS, together=lambda name: name)
def test_a_response_is_of_the_version_that_the_program_is_written_for(name: str) -> None:
    newest = of_defaults(kafka_messages.message(name, kafka_messages.versions(name)[-1]))
    if name == "ProduceRequest":
        newest = newest.__replace__(acks=1)  # or there is no response
    answer = of_defaults(type(newest).RESPONSE)  # type: ignore[attr-defined]
    for version in kafka_messages.versions(name):
        client, server = ClientConnection(REGISTRY), ServerConnection(REGISTRY)
        request = asked(client, server, client.send(newest, version=version))
        assert (request.api_version, client.expected[0].api_version) == (version, version)
        expected = kipwire.convert(kipwire.convert(answer, version), type(answer))
        response = answered(client, server.respond(request, answer, version=version))
        if name == request.body.NAME:  # not another name of the same API, by whose key alone the frame says what it is
            assert request.body == kipwire.convert(newest, version)
            assert request.body_as(type(newest)) == kipwire.convert(request.body, type(newest))
            assert response.body == expected
            assert response.body is response.body
        assert response.body_as(type(newest)) == response.body_as(type(answer)) == expected
        again = response.body_as(kafka_messages.message(answer.NAME, version))
        assert again == kipwire.convert(answer, version), "the message as it came"
        frame = REGISTRY.decode_response(response.raw, type(newest), version=version)
        assert (frame.body, frame.header) == (expected, response.header)
        assert kafka_messages.encode_response(answer, response.header.correlation_id, version=version) == response.raw


def test_type_checkers_know_the_class_of_the_program() -> None:
    client, server = ClientConnection(REGISTRY, "me"), ServerConnection(REGISTRY)
    request = asked(client, server, client.send(MetadataRequest(topics=None), version=9))
    assert_type(request.body_as(MetadataRequest), MetadataRequest)
    response = answered(client, server.respond(request, MetadataResponse(controller_id=3), version=request.api_version))
    assert_type(response.body_as(MetadataRequest), MetadataResponse)
    assert_type(response.body_as(MetadataResponse), MetadataResponse)
    assert_type(kafka_messages.decode_response(response.raw, MetadataRequest, version=9).body, MetadataResponse)
    assert_type(REGISTRY.read_response(response.raw, MetadataResponse, version=9).body, MetadataResponse)
    assert response.body_as(MetadataRequest).controller_id == 3
    assert response.to == Expected(3, 9, 0, MetadataRequest)


def test_what_is_lost_on_the_way_is_reported_on_each_side() -> None:
    client, server = ClientConnection(REGISTRY), ServerConnection(REGISTRY)
    topics = [v13.MetadataRequestTopic(name="orders", topic_id=MetadataResponseTopic().topic_id)]
    lost: list[Loss] = []
    request = asked(client, server, client.send(MetadataRequest(topics=topics), version=4, lost=lost))
    assert {one.field for one in lost} <= {"include_cluster_authorized_operations"} and not any(
        one.is_dropped for one in lost
    )
    request.body_as(MetadataRequest, lost=lost)
    assert {(one.field, one.version) for one in lost if not one.is_dropped} >= {("topics.topic_id", 4)}
    sent: list[Loss] = []
    answer = MetadataResponse(throttle_time_ms=5, error_code=7)
    response = answered(client, server.respond(request, answer, version=4, lost=sent))
    assert [(one.field, one.value) for one in sent if one.is_dropped] == [("error_code", 7)]
    came: list[Loss] = []
    assert response.body_as(MetadataRequest, lost=came).error_code == 0
    assert [one.field for one in came if one.version == 4] == ["error_code"]
    assert REGISTRY.encode_response(answer, 0, version=4, lost=came) == response.raw
    assert came[-1] == sent[-1]


def test_without_a_version_nothing_is_converted() -> None:
    client, server = ClientConnection(REGISTRY), ServerConnection(REGISTRY)
    request = asked(client, server, client.send(MetadataRequest(), version=13))
    assert client.expected == (Expected(3, 13, 0),)
    with pytest.raises(LocalProtocolError, match="MetadataResponse v9 is not the response to API key 3, version 13"):
        server.respond(request, response_v9.MetadataResponse())
    with pytest.raises(LocalProtocolError, match="MetadataResponse v4 is not the response to API key 3, version 13"):
        server.respond(request, MetadataResponse(), version=4)
    assert server.respond(request, response_v9.MetadataResponse(), version=13)


def test_a_refused_version_of_apiversions_becomes_the_class_of_the_program() -> None:
    client = ClientConnection(REGISTRY)
    client.send(ApiVersionsRequest(client_software_name="me", client_software_version="1"), version=3)
    refusal = bytes.fromhex("00000000 0023 00000001 0012 0000 0002")
    body = answered(client, len(refusal).to_bytes(4) + refusal).body_as(ApiVersionsRequest)
    assert_type(body, ApiVersionsResponse)
    assert (body.error_code, served_versions(body)) == (35, {18: range(3)})


# The chosen version.


def peer(*rows: tuple[int, int, int]) -> dict[int, range]:
    return served_versions(
        kipwire.build(
            ApiVersionsResponse,
            {"api_keys": [ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in rows]},
        )
    )


@pytest.mark.parametrize(
    ("request_", "theirs", "version"),
    [
        (MetadataRequest(), peer((3, 0, 9)), 9),
        (MetadataRequest, peer((3, 0, 9)), 9),
        (MetadataRequest, peer((3, 0, 99)), 13),
        (v4.MetadataRequest, peer((3, 0, 99)), 4),
        (MetadataRequest, peer((3, 13, 99)), 13),
        (MetadataRequest, peer((1, 2, 3), (3, 0, 0)), 0),
    ],
)
def test_the_best_version_is_the_highest_of_both_that_the_program_knows(
    request_: Any, theirs: dict[int, range], version: int
) -> None:
    assert best_version(request_, theirs) == version


@pytest.mark.parametrize(
    ("request_", "theirs", "error", "text"),
    [
        (MetadataRequest, {}, UnsupportedVersionError, "MetadataRequest: the peer does not support API key 3"),
        (MetadataRequest, peer((3, 5, 2)), UnsupportedVersionError, "the peer does not support API key 3"),
        (
            v4.MetadataRequest(),
            peer((3, 9, 12)),
            UnsupportedVersionError,
            "MetadataRequest: the peer has versions 9 to 12, and this program versions 0 to 4; write it for the class "
            "of version 9 or a later one",
        ),
        (
            MetadataRequest,
            peer((3, 14, 14)),
            UnsupportedVersionError,
            "MetadataRequest: the peer has version 14, and this program versions 0 to 13; the peer needs a newer "
            "package, since this one ends at 13",
        ),
        (MetadataResponse, {}, TypeError, "expected a request, not the class MetadataResponse"),
        (None, {}, TypeError, "expected a request, not None"),
    ],
)
def test_sides_without_a_common_version_are_an_error_that_names_theirs(
    request_: Any, theirs: dict[int, range], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)):
        best_version(request_, theirs)


def test_a_peer_that_is_older_than_every_version_is_named() -> None:
    youngest = next(name for name in REQUESTS if kafka_messages.versions(name)[0] > 0)
    cls: Any = kafka_messages.message(youngest, kafka_messages.versions(youngest)[-1])
    with pytest.raises(UnsupportedVersionError, match="older than all versions that the package has"):
        best_version(cls, {cls.API_KEY: range(cls.MIN_VERSION)})


# Wrong input: nothing is sent, and the connection is as it was.

FOREIGN = of_defaults(proposals.message("FooRequest", 0))


def sent(body: Any, version: Any) -> None:
    client = ClientConnection(REGISTRY)
    try:
        client.send(body, version=version)
    finally:
        assert not client.expected


def responded(body: Any, version: Any) -> None:
    client, server = ClientConnection(REGISTRY), ServerConnection(REGISTRY)
    request = asked(client, server, client.send(MetadataRequest()))
    try:
        server.respond(request, body, version=version)
    finally:
        assert server.open_requests == (request,)


def read_as(cls: Any) -> None:
    client, server = ClientConnection(REGISTRY), ServerConnection(REGISTRY)
    request = asked(client, server, client.send(MetadataRequest(), version=9))
    answered(client, server.respond(request, MetadataResponse(), version=9)).body_as(cls)


def decoded_as(cls: Any, version: Any) -> None:
    kafka_messages.decode_response(kafka_messages.encode_response(MetadataResponse(), 1), cls, version=version)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: sent(MetadataRequest(), 14),
            UnsupportedVersionError,
            "unknown version 14 of MetadataRequest; known versions are 0 to 13",
        ),
        (
            lambda: sent(MetadataRequest(allow_auto_topic_creation=False), 3),
            ConversionError,
            "MetadataRequest v13: cannot become version 3: allow_auto_topic_creation: version 3 has no such field",
        ),
        (
            lambda: sent(MetadataRequest(topics=[]), "9"),
            TypeError,
            "converted to a version number or a message class, not a str",
        ),
        (lambda: sent(MetadataResponse(), 9), LocalProtocolError, "MetadataResponse v13 is not a request"),
        (lambda: sent(FOREIGN, 0), KipwireError, "FooRequest v0: message: is not a message of kafka_messages"),
        (lambda: responded(MetadataResponse(), 99), UnsupportedVersionError, "unknown version 99 of MetadataResponse"),
        (lambda: responded(MetadataRequest(), 13), LocalProtocolError, "MetadataRequest v13 is not the response to"),
        (
            lambda: read_as(FetchRequest),
            UnsupportedVersionError,
            "MetadataResponse cannot become FetchResponse, which is another message; give a class of MetadataResponse",
        ),
        (
            lambda: read_as(type(FOREIGN)),
            UnsupportedVersionError,
            "FooRequest v0 of kipwire.drafts.proposals is not a message of kafka_messages; "
            "use the registry of kipwire.drafts.proposals",
        ),
        (lambda: read_as(MetadataResponseTopic), TypeError, "name a response by its class"),
        (lambda: read_as(None), TypeError, "name a response by its class"),
        (lambda: decoded_as(MetadataRequest, 14), UnsupportedVersionError, "unknown version 14 of MetadataResponse"),
        (lambda: decoded_as(type(FOREIGN), None), UnsupportedVersionError, "is not a message of kafka_messages"),
        (lambda: decoded_as(MetadataRequest, 2), kipwire.DecodeError, "MetadataResponse v2"),
    ],
)
def test_wrong_versions_and_classes_are_errors_that_say_what_is_right(
    call: Callable[[], object], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)):
        call()


def test_a_request_event_is_not_read_as_another_request() -> None:
    client, server = ClientConnection(REGISTRY), ServerConnection(REGISTRY)
    request = asked(client, server, client.send(MetadataRequest()))
    wrong: type[Message] = FetchRequest
    with pytest.raises(UnsupportedVersionError, match="MetadataRequest cannot become FetchRequest"):
        request.body_as(wrong)
