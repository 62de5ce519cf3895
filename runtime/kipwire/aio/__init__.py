"""One connection over asyncio, built on `kipwire.connection`: any request of any version, and its response.

    async with connect("localhost:9092", client_id="me") as broker:
        response = await broker.request(MetadataRequest(topics=None))

It retries nothing, has no consumer groups, and sends no request to another broker than the one it is connected to.
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

__all__ = [
    "Address",
    "AuthenticationFailure",
    "Closed",
    "Connecting",
    "Connection",
    "Failure",
    "ProtocolFailure",
    "Refused",
    "TimedOut",
    "TlsFailure",
    "connect",
    "parse_address",
]
