"""Both sides of a connection without I/O: bytes in, events out; answers in, bytes out.

    connection = ServerConnection(kafka_messages.REGISTRY)
    connection.receive_data(bytes_from_a_socket)
    for event in connection.events():
        if isinstance(event, Request):
            bytes_for_the_socket = connection.respond(event, answer_to(event.body))

It uses no socket, thread or clock, and decodes only what is asked for.
"""

# Theory. A side of a connection is three things:
#
# 1. What comes: `framing.Splitter`. `receive_data` only appends bytes, and `events` takes one frame after the other as
#    long as one is whole. So errors of the peer come from `events` alone, and they are the same however the bytes are
#    cut (`test_any_split_of_the_bytes_gives_the_same_events`). The first one stays: it is raised again at each call,
#    since no frame can be found after it.
# 2. What the next frame means. Nothing in a frame says it: a response names neither its API nor its version, and a SASL
#    token before KIP-152 names nothing at all. Only the order tells. A client keeps a queue of what it has sent,
#    `_expected`, and the first of it says what the next frame is. For a server each frame is a request, or each is a
#    token: one flag, `_takes_tokens`.
# 3. What may be sent. A client sends requests whenever it likes, with ids that no request in flight has, and tokens
#    only while no request waits. A server sends responses in the order of their requests, in whatever order they are
#    given: one that is early stays in the queue of open requests, and goes out with the one that it waited for
#    (`test_responses_go_out_in_the_order_of_requests`).
#
# docs/site/connection_states.py has all states of both sides as a table. tests/runtime/connection/test_states.py drives
# real connections through each row, and docs/connection-states.svg, which docs/connections.md shows, is drawn from it.
# What the table does not say:
#
# * Requests without a response, which are Produce with `acks` of 0, are in no queue, on neither side.
#   `framing.is_answered` decides it by the frame, for both. A request that it cannot read counts as answered
#   (`test_produce_that_is_cut_short_waits_for_an_answer`).
# * A server takes tokens from when the response to SaslHandshake v0 goes out, not from when it is given, if that is
#   earlier. Only the SASL mechanism determines when tokens end, so its owner calls `expect_requests`.
# * A call that raises `LocalProtocolError` or `EncodeError` has changed nothing: it checks and encodes first, and then
#   changes its queue (`test_a_request_that_cannot_be_written_is_not_waited_for`).
# * An event is a frame, not a message. Its header and body are decoded together, once, when one of them is first used.
#   A broken body is an error of that event alone, and the connection goes on
#   (`test_what_is_not_looked_at_may_be_broken`). The connection itself reads 8 bytes of a request and 4 of a response,
#   and of a Produce request as much as leads to `acks`.
# * The caller bounds the memory: a frame by `largest_frame`, which is compared as soon as a size has come
#   (`test_a_size_that_is_too_large_takes_no_memory_and_is_refused_at_once`), and open requests by taking no event while
#   `in_flight` is high. A call costs the same however many requests are open (test_growth_of_connections.py).
# * Versions are no state. `negotiation` computes from an answer to ApiVersions which versions both sides have, and the
#   sender chooses among them: `send` and `respond` convert to the chosen one. A client remembers the class of a
#   request before that, in `Expected`, so that its response is converted back when it is first used
#   (`test_a_response_is_of_the_version_that_the_program_is_written_for`).
#
# SASL is no state either: `sasl.authenticate` is a generator of requests, which is sent their responses. Its caller
# sends them like any other request, and again before the session ends (KIP-368); `scram` computes. Both are imported
# when they are asked for.
#
# To add an event or a call: change `client` or `server`, add its rows to the table, and a branch to the test; then draw
# the picture again. What both sides do alike belongs into `framing` or `events`. `kipwire.proxy` has both sides in one
# program, and `kipwire.testing.broker` a server around the broker's side.

from importlib import import_module

from kipwire.connection.client import ClientConnection
from kipwire.connection.events import Event, Expected, Request, Response, SaslToken
from kipwire.connection.framing import LocalProtocolError, RemoteProtocolError
from kipwire.connection.negotiation import (
    best_version,
    common_versions,
    served_versions,
    version_to_retry,
    versions_answer,
)
from kipwire.connection.refusals import refusal
from kipwire.connection.server import ServerConnection
from kipwire.message.frames import LARGEST_FRAME

__all__ = [
    "LARGEST_FRAME",
    "AuthenticationError",
    "ClientConnection",
    "Event",
    "Expected",
    "LocalProtocolError",
    "Mechanism",
    "OAuthBearer",
    "Plain",
    "RemoteProtocolError",
    "Request",
    "Response",
    "SaslToken",
    "Scram",
    "ServerConnection",
    "authenticate",
    "best_version",
    "common_versions",
    "refusal",
    "saslprep",
    "served_versions",
    "version_to_retry",
    "versions_answer",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.connection.sasl import AuthenticationError, Mechanism, OAuthBearer, Plain, Scram, authenticate
    from kipwire.connection.scram import saslprep

_OF_SASL = ("AuthenticationError", "Mechanism", "OAuthBearer", "Plain", "Scram", "authenticate")


def __getattr__(name: str) -> object:
    if name in _OF_SASL or name == "saslprep":  # most connections need none of them; they take as long as all the rest
        module = import_module(f"kipwire.connection.{'sasl' if name in _OF_SASL else 'scram'}")
        return globals().setdefault(name, getattr(module, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})  # also what is imported when it is asked for
