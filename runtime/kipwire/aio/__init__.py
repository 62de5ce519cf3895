"""One connection over asyncio, built on `kipwire.connection`: any request of any version, and its response.

    async with connect("localhost:9092", client_id="me") as broker:
        response = await broker.request(MetadataRequest(topics=None))

It retries nothing, has no consumer groups, and sends no request to another broker than the one it is connected to.
`serve` is the other side.
"""

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
)
from kipwire.aio.served import Client, ClosedByHandler, Handler, Session
from kipwire.aio.serving import Server, Serving, serve, serve_each

__all__ = [
    "Address",
    "AuthenticationFailure",
    "Client",
    "Closed",
    "ClosedByHandler",
    "Connecting",
    "Connection",
    "Failure",
    "Handler",
    "ProtocolFailure",
    "Refused",
    "Server",
    "Serving",
    "Session",
    "TimedOut",
    "TlsFailure",
    "connect",
    "parse_address",
    "serve",
    "serve_each",
]
