"""The states of a connection, as a table: what each call and each frame of the peer does in each of them.

The head of the package has the theory. `state` of a connection is one of these, and follows from its queue and its
flag; no connection looks up here what to do. tests/runtime/connection/test_states.py drives real connections through
every row, and `python -m docs.site.connection_states` draws docs/connection-states.svg.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

BROKEN: Literal["broken"] = "broken"
"""Bytes of the peer cannot be where they are: `RemoteProtocolError`, now and whenever events are asked for."""
REFUSED: Literal["refused"] = "refused"
"""The call is not allowed: `LocalProtocolError`, and the connection stays as it is."""


class Transition(NamedTuple):
    """A state, an event, and the states that may follow."""

    state: str
    event: str
    """A call, or what the peer's next frame is."""
    outcomes: tuple[str, ...]
    """The states that can follow, or `BROKEN`, or `REFUSED`. Of several, the first is for a queue with more in it, the
    last for a queue that the event empties."""


CLIENT_STATES = {
    "idle": "nothing is expected",
    "responses": "responses are expected",
    "tokens": "SASL tokens are expected",
    "tokens first": "tokens, then responses",
}

CLIENT = (
    Transition("idle", "send", ("responses",)),
    Transition("idle", "send, acks 0", ("idle",)),
    Transition("idle", "send_token", ("tokens",)),
    Transition("idle", "send_token, unanswered", ("idle",)),
    Transition("idle", "frame, as expected", (BROKEN,)),
    Transition("idle", "frame, other id", (BROKEN,)),
    Transition("responses", "send", ("responses",)),
    Transition("responses", "send, acks 0", ("responses",)),
    Transition("responses", "send_token", (REFUSED,)),
    Transition("responses", "send_token, unanswered", (REFUSED,)),
    Transition("responses", "frame, as expected", ("responses", "idle")),
    Transition("responses", "frame, other id", (BROKEN,)),
    Transition("tokens", "send", ("tokens first",)),
    Transition("tokens", "send, acks 0", ("tokens",)),
    Transition("tokens", "send_token", ("tokens",)),
    Transition("tokens", "send_token, unanswered", ("tokens",)),
    Transition("tokens", "frame, as expected", ("tokens", "idle")),
    Transition("tokens", "frame, other id", ("tokens", "idle")),  # a token has no id
    Transition("tokens first", "send", ("tokens first",)),
    Transition("tokens first", "send, acks 0", ("tokens first",)),
    Transition("tokens first", "send_token", (REFUSED,)),
    Transition("tokens first", "send_token, unanswered", (REFUSED,)),
    Transition("tokens first", "frame, as expected", ("tokens first", "responses")),
    Transition("tokens first", "frame, other id", ("tokens first", "responses")),
)
"""A `ClientConnection`."""

SERVER_STATES = {
    "idle": "takes requests, none is open",
    "open": "takes requests, some are open",
    "tokens": "takes tokens, no request is open",
    "tokens, open": "takes tokens, requests are open",
}

SERVER = (
    Transition("idle", "request", ("open",)),
    Transition("idle", "request, acks 0", ("idle",)),
    Transition("idle", "frame below 8 bytes", (BROKEN,)),
    Transition("idle", "respond", (REFUSED,)),
    Transition("idle", "respond out of turn", (REFUSED,)),
    Transition("idle", "leave_unanswered", (REFUSED,)),
    Transition("idle", "handshake accepted", (REFUSED,)),
    Transition("idle", "handshake refused", (REFUSED,)),
    Transition("idle", "send_token", (REFUSED,)),
    Transition("idle", "expect_tokens", ("tokens",)),
    Transition("idle", "expect_requests", ("idle",)),
    Transition("open", "request", ("open",)),
    Transition("open", "request, acks 0", ("open",)),
    Transition("open", "frame below 8 bytes", (BROKEN,)),
    Transition("open", "respond", ("open", "idle")),
    Transition("open", "respond out of turn", ("open",)),
    Transition("open", "leave_unanswered", ("open", "idle")),
    Transition("open", "handshake accepted", ("tokens, open", "tokens")),
    Transition("open", "handshake refused", ("open", "idle")),
    Transition("open", "send_token", (REFUSED,)),
    Transition("open", "expect_tokens", ("tokens, open",)),
    Transition("open", "expect_requests", ("open",)),
    Transition("tokens", "request", ("tokens",)),  # whatever a frame is, it is a token
    Transition("tokens", "request, acks 0", ("tokens",)),
    Transition("tokens", "frame below 8 bytes", ("tokens",)),
    Transition("tokens", "respond", (REFUSED,)),
    Transition("tokens", "respond out of turn", (REFUSED,)),
    Transition("tokens", "leave_unanswered", (REFUSED,)),
    Transition("tokens", "handshake accepted", (REFUSED,)),
    Transition("tokens", "handshake refused", (REFUSED,)),
    Transition("tokens", "send_token", ("tokens",)),
    Transition("tokens", "expect_tokens", ("tokens",)),
    Transition("tokens", "expect_requests", ("idle",)),
    Transition("tokens, open", "request", ("tokens, open",)),
    Transition("tokens, open", "request, acks 0", ("tokens, open",)),
    Transition("tokens, open", "frame below 8 bytes", ("tokens, open",)),
    Transition("tokens, open", "respond", ("tokens, open", "tokens")),
    Transition("tokens, open", "respond out of turn", ("tokens, open",)),
    Transition("tokens, open", "leave_unanswered", ("tokens, open", "tokens")),
    Transition("tokens, open", "handshake accepted", ("tokens, open", "tokens")),
    Transition("tokens, open", "handshake refused", ("open", "idle")),
    Transition("tokens, open", "send_token", (REFUSED,)),
    Transition("tokens, open", "expect_tokens", ("tokens, open",)),
    Transition("tokens, open", "expect_requests", ("open",)),
)
"""A `ServerConnection`. `handshake` is a response to SaslHandshake v0 in its turn, without an error or with one."""

INPUT_STATES = {
    "receiving": "more may come",
    "ended": "nothing more comes",
    BROKEN: "nothing more is read",
}

INPUT = (
    Transition("receiving", "receive_data", ("receiving",)),
    Transition("receiving", "receive_end", ("ended",)),
    Transition("receiving", "events, part of a frame", ("receiving",)),
    Transition("receiving", "events, wrong size", (BROKEN,)),
    Transition("ended", "receive_data", (REFUSED,)),
    Transition("ended", "receive_end", ("ended",)),
    Transition("ended", "events, part of a frame", (BROKEN,)),
    Transition("ended", "events, wrong size", (BROKEN,)),
    Transition(BROKEN, "receive_data", (BROKEN,)),
    Transition(BROKEN, "receive_end", (BROKEN,)),
    Transition(BROKEN, "events, part of a frame", (BROKEN,)),
    Transition(BROKEN, "events, wrong size", (BROKEN,)),
)
"""Transitions of the input of either side, whatever the frames are: bytes are kept until `events` takes them."""
