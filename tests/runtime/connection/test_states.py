"""Connections do in each state what the table of states says, which is also what its picture shows."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Literal, get_args, get_type_hints

import pytest

import kafka_messages
from docs.site.connection_states import (
    BROKEN,
    CLIENT,
    CLIENT_STATES,
    FILE,
    INPUT,
    INPUT_STATES,
    REFUSED,
    SERVER,
    SERVER_STATES,
    Transition,
    drawing,
)
from kafka_messages.metadata_request.v12 import MetadataRequest
from kafka_messages.metadata_response.v12 import MetadataResponse
from kipwire.connection import ClientConnection, LocalProtocolError, RemoteProtocolError, Request, ServerConnection
from tests.support.places import ROOT
from tests.support.subjects.connections import REGISTRY, produce, request, requests, sized

HANDSHAKE: Any = kafka_messages.message("SaslHandshakeRequest", 0)
HANDSHAKE_ANSWER: Any = kafka_messages.message("SaslHandshakeResponse", 0)
BOTH = pytest.mark.parametrize("many", [True, False], ids=["more is in the queue", "the queue gets empty"])


def ids(row: Transition) -> str:
    return f"{row.state}: {row.event}"


def expected_of(row: Transition, many: bool) -> str:
    return row.outcomes[0 if many else -1]


def outcome(connection: Any, call: Callable[[], object], state_of: Callable[[Any], str] = attrgetter("state")) -> str:
    """Return the outcome of a call; a refused call must not change the state."""
    before = state_of(connection)
    try:
        call()
    except LocalProtocolError:
        assert state_of(connection) == before
        return REFUSED
    except RemoteProtocolError as error:
        with pytest.raises(RemoteProtocolError) as again:
            list(connection.events())
        assert again.value is error
        return BROKEN
    return state_of(connection)


@pytest.mark.parametrize(("rows", "states"), [(CLIENT, CLIENT_STATES), (SERVER, SERVER_STATES), (INPUT, INPUT_STATES)])
def test_the_table_says_once_what_each_event_does_in_each_state(
    rows: tuple[Transition, ...], states: dict[str, str]
) -> None:
    events = dict.fromkeys(row.event for row in rows)
    assert [(row.state, row.event) for row in rows] == [(state, event) for state in states for event in events]
    assert all({*row.outcomes} <= {*states, BROKEN, REFUSED} for row in rows)


@pytest.mark.parametrize(
    ("connection", "states"), [(ClientConnection, CLIENT_STATES), (ServerConnection, SERVER_STATES)]
)
def test_the_type_of_a_state_is_the_states_of_the_table(connection: Any, states: dict[str, str]) -> None:
    due = get_type_hints(connection.state.fget, localns={"Literal": Literal})["return"]
    assert get_args(due) == tuple(states)


# The client's side.


def client_in(state: str, many: bool) -> ClientConnection:
    connection = ClientConnection(REGISTRY, "me")
    for _ in range(0 if "tokens" not in state else 2 if many else 1):
        connection.send_token(b"token")
    for number in range(0 if state not in ("responses", "tokens first") else 2 if many else 1):
        connection.send(MetadataRequest(), correlation_id=number)
    return connection


def client_does(connection: ClientConnection, event: str) -> None:
    """Make an event happen; request 0 is the first that waits."""
    if event == "send":
        connection.send(MetadataRequest())
    elif event == "send, acks 0":
        connection.send(produce(9, 0))
    elif event == "send_token":
        connection.send_token(b"token")
    elif event == "send_token, unanswered":
        connection.send_token(b"token", is_answered=False)
    else:
        number = {"frame, as expected": 0, "frame, other id": 77}[event]
        connection.receive_data(sized(kafka_messages.encode_response(MetadataResponse(), number)))
        assert len(list(connection.events())) == 1


@BOTH
@pytest.mark.parametrize("row", CLIENT, ids=ids)
def test_a_client_does_what_the_table_says(row: Transition, many: bool) -> None:
    connection = client_in(row.state, many)
    assert connection.state == row.state
    assert outcome(connection, lambda: client_does(connection, row.event)) == expected_of(row, many)


# The broker's side.


def server_in(state: str, many: bool, first: Any) -> tuple[ServerConnection, Request, Request]:
    """Return a connection in a state, and its two first requests; where none are open, they have been answered."""
    connection = ServerConnection(REGISTRY)
    connection.receive_data(sized(request(first, 0), request(MetadataRequest(), 1)))
    one, two = requests(connection)
    is_open = "open" in state
    if not (is_open and many):
        connection.leave_unanswered(two)
    if not is_open:
        connection.leave_unanswered(one)
    if "tokens" in state:
        connection.expect_tokens()
    return connection, one, two


def server_does(connection: ServerConnection, event: str, one: Request, two: Request) -> None:
    frames = {
        "request": request(MetadataRequest(), 5),
        "request, acks 0": request(produce(9, 0), 5),
        "frame below 8 bytes": bytes(7),
    }
    if event in frames:
        connection.receive_data(sized(frames[event]))
        assert len(list(connection.events())) == 1
    elif event == "respond":
        assert connection.respond(one, MetadataResponse())
    elif event == "respond out of turn":
        assert not connection.respond(two, MetadataResponse())
    elif event == "leave_unanswered":
        assert not connection.leave_unanswered(one)
    elif event.startswith("handshake"):
        assert connection.respond(one, HANDSHAKE_ANSWER(error_code=33 if event == "handshake refused" else 0))
    elif event == "send_token":
        assert connection.send_token(b"token") == sized(b"token")
    else:
        getattr(connection, event)()


@BOTH
@pytest.mark.parametrize("row", SERVER, ids=ids)
def test_a_server_does_what_the_table_says(row: Transition, many: bool) -> None:
    first = HANDSHAKE(mechanism="PLAIN") if row.event.startswith("handshake") else MetadataRequest()
    # A response is out of turn only where another request is open before it.
    open_two = many or row.event == "respond out of turn"
    connection, one, two = server_in(row.state, open_two, first)
    assert connection.state == row.state
    found = outcome(connection, lambda: server_does(connection, row.event, one, two))
    assert found == expected_of(row, many)


# Receiving by both sides.


def input_state(connection: Any) -> str:
    """Return the state of the input, shown without more bytes: by a kept error, or by an end."""
    try:
        list(connection.events())
    except RemoteProtocolError:
        return BROKEN
    return "ended" if connection._splitter._is_at_end else "receiving"


@pytest.mark.parametrize("side", [ClientConnection, ServerConnection])
@pytest.mark.parametrize("row", INPUT, ids=ids)
def test_both_sides_receive_as_the_table_says(row: Transition, side: Any) -> None:
    connection = side(REGISTRY, largest_frame=100)
    waiting = {"events, part of a frame": sized(bytes(8))[:-1], "events, wrong size": sized(bytes(101))}.get(row.event)
    if row.state == BROKEN:
        connection.receive_data(sized(bytes(101)))
        assert input_state(connection) == BROKEN
    if waiting is not None:
        connection.receive_data(waiting)
    if row.state == "ended":
        connection.receive_end()

    def does() -> None:
        if row.event == "receive_data":
            connection.receive_data(b"\0")
        elif row.event == "receive_end":
            connection.receive_end()
        else:
            list(connection.events())

    assert outcome(connection, does, input_state) == row.outcomes[0]


def test_the_picture_of_the_states_is_that_of_the_table() -> None:
    assert (ROOT / FILE).read_text("utf-8") == drawing(), "run python -m docs.site.connection_states"
