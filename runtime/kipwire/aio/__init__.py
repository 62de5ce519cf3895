"""One connection over asyncio, built on `kipwire.connection`: any request of any version, and its response.

    async with connect("localhost:9092", client_id="me") as broker:
        response = await broker.request(MetadataRequest(topics=None))

A connection retries nothing, has no consumer groups, and sends requests to its own broker alone.
`serve` is the other side.
"""

# Theory. `kipwire.connection` says what bytes mean, and this room when they go and come. A client is three things:
#
# 1. `link.Link`, a protocol of asyncio around a `ClientConnection`. A link keeps a future for each request in flight,
#    in the order of the requests, which responses have, too. A future that was cancelled, or whose time is over, keeps
#    its place until its response comes, which is dropped then
#    (`test_random_cancellations_leave_nothing_and_mix_up_nothing`). So nothing but a futures' queue is needed to give
#    each response to its request, and no request has a task or a timer of its own: one timer looks at all deadlines.
# 2. What may be sent. `is_full` says whether a request has to wait: the transport has enough to write, as many are in
#    flight as may be, an authentication must not be interrupted, or others wait already. Then the request takes its
#    `turn`: the first task that waits is woken, and wakes the next one when its request is sent or given up
#    (`test_one_that_is_cancelled_with_its_turn_gives_it_to_the_next`). Memory is bounded by turns, and by
#    `largest_frame`: what waits longer is in the tasks that wait.
# 3. The end. The first `Failure` stays: all tasks that wait get it, each as an error of its own, and so do later
#    requests (`test_after_a_failure_all_that_wait_have_the_same_reason_and_others_fail_at_once`). `connecting` opens
#    sockets, `authentication` proves the client's identity, and both only add causes to the failures.
#
# Writes of one turn of the event loop go out together, but for a request while no other is in flight.
#
# A server is two: `serving.Server` accepts, and has a task for each connection, so that `close` can end all tasks;
# `served.Served` is a protocol around a `ServerConnection`, whose task takes a request when there is room for it. The
# protocol stops reading when more has come than the task takes (`test_no_more_is_read_while_enough_is_open`).
#
# Typed handlers of a server are filters of requests, as a proxy has them: `filters.on` marks both. `answering` calls
# each with its version of a request, and answers all that no handler does: ApiVersions, versions and APIs that are not
# served, and errors (`test_the_client_is_told_of_each_fault`).
#
# To add a kind of failure: its class in `failures`, a row in docs/aio.md, and a test with a peer that causes it.

from kipwire.aio.client import Connection
from kipwire.aio.connecting import Connecting, connect
from kipwire.aio.failures import (
    Address,
    AuthenticationFailure,
    Closed,
    Failure,
    ProtocolFailure,
    Refused,
    TimedOut,
    TlsFailure,
    parse_address,
    parse_addresses,
)
from kipwire.aio.filters import Exchange, FilterError, on
from kipwire.aio.served import Client, ClosedByHandler, Handler, Session
from kipwire.aio.serving import Server, ServerSettings, Serving, serve, serve_each

__all__ = [
    "Address",
    "AuthenticationFailure",
    "Client",
    "Closed",
    "ClosedByHandler",
    "Connecting",
    "Connection",
    "Exchange",
    "Failure",
    "FilterError",
    "Handler",
    "ProtocolFailure",
    "Refused",
    "Server",
    "ServerSettings",
    "Serving",
    "Session",
    "TimedOut",
    "TlsFailure",
    "connect",
    "on",
    "parse_address",
    "parse_addresses",
    "serve",
    "serve_each",
]
