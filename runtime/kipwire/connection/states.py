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


class Row(NamedTuple):
    """A transition: a state, an event, and the states that may follow."""

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
    Row("idle", "send", ("responses",)),
    Row("idle", "send, acks 0", ("idle",)),
    Row("idle", "send_token", ("tokens",)),
    Row("idle", "send_token, unanswered", ("idle",)),
    Row("idle", "frame, as expected", (BROKEN,)),
    Row("idle", "frame, other id", (BROKEN,)),
    Row("responses", "send", ("responses",)),
    Row("responses", "send, acks 0", ("responses",)),
    Row("responses", "send_token", (REFUSED,)),
    Row("responses", "send_token, unanswered", (REFUSED,)),
    Row("responses", "frame, as expected", ("responses", "idle")),
    Row("responses", "frame, other id", (BROKEN,)),
    Row("tokens", "send", ("tokens first",)),
    Row("tokens", "send, acks 0", ("tokens",)),
    Row("tokens", "send_token", ("tokens",)),
    Row("tokens", "send_token, unanswered", ("tokens",)),
    Row("tokens", "frame, as expected", ("tokens", "idle")),
    Row("tokens", "frame, other id", ("tokens", "idle")),  # a token has no id
    Row("tokens first", "send", ("tokens first",)),
    Row("tokens first", "send, acks 0", ("tokens first",)),
    Row("tokens first", "send_token", (REFUSED,)),
    Row("tokens first", "send_token, unanswered", (REFUSED,)),
    Row("tokens first", "frame, as expected", ("tokens first", "responses")),
    Row("tokens first", "frame, other id", ("tokens first", "responses")),
)
"""A `ClientConnection`."""

SERVER_STATES = {
    "idle": "takes requests, none is open",
    "open": "takes requests, some are open",
    "tokens": "takes tokens, no request is open",
    "tokens, open": "takes tokens, requests are open",
}

SERVER = (
    Row("idle", "request", ("open",)),
    Row("idle", "request, acks 0", ("idle",)),
    Row("idle", "frame below 8 bytes", (BROKEN,)),
    Row("idle", "respond", (REFUSED,)),
    Row("idle", "respond out of turn", (REFUSED,)),
    Row("idle", "leave_unanswered", (REFUSED,)),
    Row("idle", "handshake accepted", (REFUSED,)),
    Row("idle", "handshake refused", (REFUSED,)),
    Row("idle", "send_token", (REFUSED,)),
    Row("idle", "expect_tokens", ("tokens",)),
    Row("idle", "expect_requests", ("idle",)),
    Row("open", "request", ("open",)),
    Row("open", "request, acks 0", ("open",)),
    Row("open", "frame below 8 bytes", (BROKEN,)),
    Row("open", "respond", ("open", "idle")),
    Row("open", "respond out of turn", ("open",)),
    Row("open", "leave_unanswered", ("open", "idle")),
    Row("open", "handshake accepted", ("tokens, open", "tokens")),
    Row("open", "handshake refused", ("open", "idle")),
    Row("open", "send_token", (REFUSED,)),
    Row("open", "expect_tokens", ("tokens, open",)),
    Row("open", "expect_requests", ("open",)),
    Row("tokens", "request", ("tokens",)),  # whatever a frame is, it is a token
    Row("tokens", "request, acks 0", ("tokens",)),
    Row("tokens", "frame below 8 bytes", ("tokens",)),
    Row("tokens", "respond", (REFUSED,)),
    Row("tokens", "respond out of turn", (REFUSED,)),
    Row("tokens", "leave_unanswered", (REFUSED,)),
    Row("tokens", "handshake accepted", (REFUSED,)),
    Row("tokens", "handshake refused", (REFUSED,)),
    Row("tokens", "send_token", ("tokens",)),
    Row("tokens", "expect_tokens", ("tokens",)),
    Row("tokens", "expect_requests", ("idle",)),
    Row("tokens, open", "request", ("tokens, open",)),
    Row("tokens, open", "request, acks 0", ("tokens, open",)),
    Row("tokens, open", "frame below 8 bytes", ("tokens, open",)),
    Row("tokens, open", "respond", ("tokens, open", "tokens")),
    Row("tokens, open", "respond out of turn", ("tokens, open",)),
    Row("tokens, open", "leave_unanswered", ("tokens, open", "tokens")),
    Row("tokens, open", "handshake accepted", ("tokens, open", "tokens")),
    Row("tokens, open", "handshake refused", ("open", "idle")),
    Row("tokens, open", "send_token", (REFUSED,)),
    Row("tokens, open", "expect_tokens", ("tokens, open",)),
    Row("tokens, open", "expect_requests", ("open",)),
)
"""A `ServerConnection`. `handshake` is a response to SaslHandshake v0 in its turn, without an error or with one."""

INPUT_STATES = {
    "receiving": "more may come",
    "ended": "nothing more comes",
    BROKEN: "nothing more is read",
}

INPUT = (
    Row("receiving", "receive_data", ("receiving",)),
    Row("receiving", "receive_end", ("ended",)),
    Row("receiving", "events, part of a frame", ("receiving",)),
    Row("receiving", "events, wrong size", (BROKEN,)),
    Row("ended", "receive_data", (REFUSED,)),
    Row("ended", "receive_end", ("ended",)),
    Row("ended", "events, part of a frame", (BROKEN,)),
    Row("ended", "events, wrong size", (BROKEN,)),
    Row(BROKEN, "receive_data", (BROKEN,)),
    Row(BROKEN, "receive_end", (BROKEN,)),
    Row(BROKEN, "events, part of a frame", (BROKEN,)),
    Row(BROKEN, "events, wrong size", (BROKEN,)),
)
"""Transitions of the input of either side, whatever the frames are: bytes are kept until `events` takes them."""
