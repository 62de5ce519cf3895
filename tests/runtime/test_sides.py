"""Functions for messages of one side refuse all others by name, before they write any byte."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import kafka_messages
import kafka_records
from kafka_messages.api_versions_request.v3 import ApiVersionsRequest
from kafka_messages.api_versions_response.v3 import ApiVersionsResponse
from kafka_messages.metadata_request.v12 import MetadataRequest, MetadataRequestTopic
from kafka_messages.metadata_response.v12 import MetadataResponse
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kafka_messages.produce_request.v9 import ProduceRequest
from kafka_messages.request_header.v2 import RequestHeader
from kafka_messages.response_header.v1 import ResponseHeader
from kipwire import EncodeError, KipwireError
from kipwire.connection import ClientConnection, LocalProtocolError, ServerConnection
from kipwire.connection.negotiation import common_versions, version_to_retry
from kipwire.drafts import proposals
from kipwire.projection import Projection, ProjectionError, VersionedProjection
from kipwire.records.messages import partitions
from tests.support.cases import of_each
from tests.support.defaults import of_defaults

REGISTRY = kafka_messages.REGISTRY
REQUEST = kafka_messages.encode_request(MetadataRequest(), 7, "me")
RESPONSE = kafka_messages.encode_response(MetadataResponse(), 7)
FOREIGN = of_defaults(proposals.message("FooRequest", 0))

GIVEN: dict[str, Any] = {
    "a request": MetadataRequest(),
    "a response": MetadataResponse(),
    "the versions": ApiVersionsResponse(),
    "records": ProduceRequest(),
    "the header of a request": RequestHeader(request_api_key=3, request_api_version=12, correlation_id=7),
    "the header of a response": ResponseHeader(correlation_id=7),
    "a stored value": OffsetCommitValue(),
    "a record batch": kafka_records.message("RecordBatch", 2)(),
    "a request of another package": FOREIGN,
    "a struct": MetadataRequestTopic(),
    "a class": MetadataRequest,
    "none": None,
    "a dict": {"topics": None},
    "bytes": b"\0",
}


def server() -> tuple[ServerConnection, Any]:
    """Return a connection with a request that waits."""
    connection = ServerConnection(REGISTRY)
    connection.receive_data(len(REQUEST).to_bytes(4, "big") + REQUEST)
    return connection, next(iter(connection.events()))


def respond(body: Any) -> bytes:
    connection, request = server()
    try:
        return connection.respond(request, body)
    except KipwireError:
        assert connection.open_requests == (request,), "the connection is as it was"
        assert connection.respond(request, MetadataResponse())
        raise


def send(body: Any) -> bytes:
    connection = ClientConnection(REGISTRY)
    try:
        return connection.send(body)
    except (KipwireError, TypeError):
        assert connection.expected == ()
        raise


def with_header(body: Any) -> bytes:
    return kafka_messages.encode_response(MetadataResponse(), header=body)


TAKES: dict[str, tuple[Callable[[Any], object], set[str], tuple[type[Exception], ...]]] = {
    "encode_request": (
        lambda body: kafka_messages.encode_request(body, 7, "me"),
        {"a request", "records"},
        (EncodeError, TypeError),
    ),
    "encode_response": (
        lambda body: kafka_messages.encode_response(body, 7),
        {"a response", "the versions"},
        (EncodeError, TypeError),
    ),
    "the header of encode_request": (
        lambda body: kafka_messages.encode_request(MetadataRequest(), header=body),
        {"the header of a request"},
        (EncodeError, TypeError),
    ),
    "the header of encode_response": (with_header, {"the header of a response"}, (EncodeError, TypeError)),
    "send": (send, {"a request", "records"}, (LocalProtocolError, EncodeError)),
    "respond": (respond, {"a response"}, (LocalProtocolError,)),
    "common_versions": (lambda body: common_versions(REGISTRY, body), {"the versions"}, (TypeError,)),
    "version_to_retry": (lambda body: version_to_retry(REGISTRY, body), {"the versions"}, (TypeError,)),
    "partitions": (lambda body: list(partitions(body)), {"records"}, (ValueError,)),
    "decode_response": (lambda body: kafka_messages.decode_response(RESPONSE, body), {"a class"}, (TypeError,)),
    "read_response": (lambda body: REGISTRY.read_response(RESPONSE, body), {"a class"}, (TypeError,)),
    "Projection": (Projection, {"a class"}, (TypeError,)),
}


@of_each("entry, given", product(TAKES, GIVEN), together=lambda entry, given: entry)
def test_only_messages_of_its_side_are_taken(entry: str, given: str) -> None:
    call, accepted, errors = TAKES[entry]
    if given in accepted:
        call(GIVEN[given])
        return
    with pytest.raises(errors) as caught:
        call(GIVEN[given])
    text = str(caught.value)
    assert "object has no attribute" not in text
    assert "unhashable" not in text
    assert "unknown version" not in text, "what is wrong is not the version"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: kafka_messages.encode_request(MetadataResponse(), 7),
            "MetadataResponse v12: message: is a response, not a request; use encode_response",
        ),
        (
            lambda: kafka_messages.encode_response(MetadataRequest(), 7),
            "MetadataRequest v12: message: is a request, not a response; use encode_request",
        ),
        (
            lambda: kafka_messages.encode_request(OffsetCommitValue(), 7),
            "OffsetCommitValue v4: message: is not a request; only requests and responses have frames",
        ),
        (
            lambda: kafka_messages.encode_request(FOREIGN, 7),
            "is not a message of kafka_messages; use the registry of kipwire.drafts.proposals",
        ),
    ],
)
def test_the_error_names_the_message_and_what_would_be_right(call: Callable[[], bytes], said: str) -> None:
    with pytest.raises(EncodeError) as caught:
        call()
    assert str(caught.value).endswith(said)


def test_what_is_no_message_is_called_by_its_type() -> None:
    given: list[tuple[Any, str]] = [
        (MetadataRequestTopic(), "a MetadataRequestTopic"),
        (MetadataRequest, "the class MetadataRequest"),
        (None, "None"),
        ({}, "a dict"),
        (1, "an int"),
    ]
    for body, shown in given:
        with pytest.raises(TypeError) as caught:
            kafka_messages.encode_request(body, 7)
        assert str(caught.value) == f"the body of a frame is a request, not {shown}"


def test_a_class_of_ones_own_is_of_the_side_of_its_base() -> None:
    class Mine(MetadataRequest):
        __slots__ = ()

    assert kafka_messages.encode_request(Mine(), 7, "me") == REQUEST
    assert ClientConnection(REGISTRY, "me").send(Mine(), correlation_id=7)[4:] == REQUEST


def test_a_projection_is_of_the_message_in_the_frame() -> None:
    of_response = VersionedProjection(REGISTRY, "MetadataResponse", "controller_id")
    _, request = server()
    said = "a projection of MetadataResponse does not fit MetadataRequest v12"
    with pytest.raises(ProjectionError, match=said):
        request.project(of_response)
    with pytest.raises(ProjectionError, match=said):
        request.replaced(of_response, (1,))


def test_every_request_and_response_goes_through_its_own_function_alone() -> None:
    for registry in (REGISTRY, proposals.REGISTRY):
        for name in registry.names():
            for version in registry.versions(name):
                body = of_defaults(registry.message(name, version))
                for due in ("request", "response"):
                    if due == body.TYPE:
                        registry._expect_body(body, due)
                    else:
                        with pytest.raises(EncodeError):
                            registry._expect_body(body, due)


def test_versions_are_of_the_peer_that_was_asked() -> None:
    assert common_versions(REGISTRY, ApiVersionsResponse()) == {}
    with pytest.raises(TypeError, match="not ApiVersionsRequest v3"):
        common_versions(REGISTRY, ApiVersionsRequest())
