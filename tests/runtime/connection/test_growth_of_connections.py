"""A connection costs the same for each frame, however many are open and in whatever order they are answered."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from random import Random
from typing import Any, cast

import pytest

import kafka_messages
import kipwire.connection
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.list_offsets_request.v5 import ListOffsetsRequest
from kafka_messages.sasl_authenticate_response.v2 import SaslAuthenticateResponse
from kafka_messages.sasl_handshake_response.v1 import SaslHandshakeResponse
from kipwire import Message
from kipwire.connection import (
    AuthenticationError,
    ClientConnection,
    OAuthBearer,
    Request,
    Scram,
    ServerConnection,
    authenticate,
    refusal,
    saslprep,
)
from kipwire.connection.framing import add_size
from kipwire.connection.sasl import Mechanism
from tests.support.growth import Action, slow, untold

REGISTRY = kafka_messages.REGISTRY
ANSWER = bytes(6)
REQUEST = add_size(REGISTRY.encode_request(HeartbeatRequest(), 0, ""))
"""All with one correlation id, as a client may."""


def opened(count: int) -> tuple[ServerConnection, list[Any]]:
    server = ServerConnection(REGISTRY)
    server.receive_data(REQUEST * count)
    return server, list(server.events())


def answering(order: Callable[[list[Any]], list[Any]]) -> Callable[[int], Action]:
    def work(count: int) -> Action:
        server, events = opened(count)
        return lambda: [server.respond_frame(event, ANSWER) for event in order(events)]

    return work


def leaving(count: int) -> Action:
    server, events = opened(count)
    return lambda: [server.leave_unanswered(event) for event in reversed(events)]


def one_at_a_time(count: int) -> Action:
    """Answer each request as it comes, behind one that stays open."""
    server, _ = opened(1)

    def work() -> None:
        for _ in range(count):
            server.receive_data(REQUEST)
            event: Any = next(server.events())
            server.respond_frame(event, ANSWER)
            assert server.in_flight > 1

    return work


def stopping(count: int) -> Action:
    """Take one event at a time of all that have come; receive bytes in between."""
    server = ServerConnection(REGISTRY)
    server.receive_data(REQUEST * count)

    def work() -> None:
        while events := cast("list[Request]", list(islice(server.events(), 1))):
            server.receive_data(b"")
            server.respond_frame(events[0], ANSWER)

    return work


def in_pieces(count: int) -> Action:
    server = ServerConnection(REGISTRY)

    def work() -> None:
        for piece in (REQUEST * count)[::1]:
            server.receive_data(bytes([piece]))
            list(server.events())

    return work


def sending(number: Callable[[int], int | None]) -> Callable[[int], Action]:
    def work(count: int) -> Action:
        client = ClientConnection(REGISTRY)
        return lambda: [client.send(HeartbeatRequest(), correlation_id=number(one)) for one in range(count)]

    return work


def receiving(count: int) -> Action:
    client = ClientConnection(REGISTRY)
    for _ in range(count):
        client.send(HeartbeatRequest())
    client.receive_data(b"".join(add_size(number.to_bytes(4) + b"\0\0") for number in range(count)))
    return lambda: list(client.events())


def tokens(count: int) -> Action:
    client = ClientConnection(REGISTRY)
    return lambda: [client.send_token(b"") for _ in range(count)]


SERVER: dict[str, Callable[[int], Action]] = {
    "in order": answering(list),
    "in reverse order": answering(lambda events: events[::-1]),
    "in any order": answering(lambda events: Random(1).sample(events, len(events))),
    "behind one that is open": answering(lambda events: events[1:]),
    "left unanswered": leaving,
    "one at a time": one_at_a_time,
    "stopping": stopping,
    "in pieces": in_pieces,
}
CLIENT: dict[str, Callable[[int], Action]] = {
    "sent": sending(lambda one: None),
    "sent with ids of their own": sending(lambda one: one * 7),
    "sent with both": sending(lambda one: None if one % 2 else one),
    "received": receiving,
    "tokens": tokens,
}


def refused(mechanism: Mechanism, *answers: Callable[[int], Message]) -> Callable[[int], Action]:
    """Return a maker of actions that refuse a broker's answers, by the size of the answers."""

    def work(count: int) -> Action:
        messages = [answer(count) for answer in answers]

        def fail() -> None:
            steps = authenticate(mechanism, {17: range(2), 36: range(3)})
            next(steps)
            with pytest.raises(AuthenticationError):
                for message in messages:
                    steps.send(message)

        return fail

    return work


def handshake(count: int) -> Message:
    """Return the answer that lets a client begin."""
    return SaslHandshakeResponse()


def said(text: Callable[[int], str]) -> list[Callable[[int], Message]]:
    """Return two answers to tokens of the client."""

    def first(count: int) -> Message:
        return SaslAuthenticateResponse(auth_bytes=text(count).encode())

    return [handshake, first, lambda count: SaslAuthenticateResponse(error_code=58)]


def preparing(count: int) -> Action:
    text = "\u0627" * count
    return lambda: saslprep(text)


def refusing(count: int) -> Action:
    partitions = [{"partition_index": index} for index in range(count)]
    asked = kipwire.build(ListOffsetsRequest, {"topics": [{"name": "orders", "partitions": partitions}]})
    return lambda: refusal(asked, 6, "because")


SCRAM, BEARER = Scram("me", "pencil", "SCRAM-SHA-256"), OAuthBearer(lambda: "token")
AUTHENTICATIONS: dict[str, Callable[[int], Action]] = {
    "mechanisms": refused(SCRAM, lambda count: SaslHandshakeResponse(error_code=33, mechanisms=["PLAIN"] * count)),
    "reason": refused(
        SCRAM, handshake, lambda count: SaslAuthenticateResponse(error_code=58, error_message="\0" * count)
    ),
    "first message": refused(SCRAM, *said(lambda count: f"r={'a' * count},s={'QQ' * count}=,i={'1' * count}")),
    "extensions": refused(SCRAM, *said(lambda count: f"r=a,s=QQ==,i=4096{',x=y' * count}")),
    "status": refused(BEARER, *said(lambda count: '{"status": "' + "\\n" * count + '"}')),
    "broken status": refused(BEARER, *said(lambda count: '{"a":[' * count)),
}
ROWS = {
    "ServerConnection": SERVER,
    "ClientConnection": CLIENT,
    "authenticate": AUTHENTICATIONS,
    "saslprep": {"text": preparing},
    "refusal": {"partitions": refusing},
}
OF_ONE_FRAME = {
    **dict.fromkeys(("Mechanism", "OAuthBearer", "Plain", "Scram"), "one user"),
    "AuthenticationError": "an error",
    **dict.fromkeys(("Event", "Expected", "Request", "Response", "SaslToken"), "one frame"),
    **dict.fromkeys(("LocalProtocolError", "RemoteProtocolError"), "an error"),
    **dict.fromkeys(
        ("best_version", "common_versions", "served_versions", "version_to_retry", "versions_answer"),
        "the APIs of a package",
    ),
    "LARGEST_FRAME": "a number",
}


def test_every_connection_has_rows() -> None:
    assert not untold(set(kipwire.connection.__all__), ROWS, OF_ONE_FRAME)


@pytest.mark.parametrize("way", SERVER)
def test_a_server_takes_the_same_for_each_request(way: str) -> None:
    assert slow(SERVER[way], 200, 400) is None


@pytest.mark.parametrize("way", CLIENT)
def test_a_client_takes_the_same_for_each_request(way: str) -> None:
    assert slow(CLIENT[way], 200, 400) is None


@pytest.mark.parametrize("way", AUTHENTICATIONS)
def test_what_a_broker_says_costs_no_more_than_its_length(way: str) -> None:
    assert slow(AUTHENTICATIONS[way], 400, 800, 1600) is None


def test_a_refusal_takes_the_same_for_each_row() -> None:
    assert slow(refusing, 200, 400) is None


def test_a_text_is_prepared_in_steps_as_many_as_its_characters() -> None:
    assert slow(preparing, 400, 800) is None
