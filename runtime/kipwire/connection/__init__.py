"""Both sides of a connection without I/O: bytes in, events out; answers in, bytes out.

    connection = ServerConnection(kafka_messages.REGISTRY)
    connection.receive_data(bytes_from_a_socket)
    for event in connection.events():
        if isinstance(event, Request):
            bytes_for_the_socket = connection.respond(event, answer_to(event.body))

It uses no socket, thread or clock, and decodes only what is asked for.
"""

from kipwire.connection.client import ClientConnection
from kipwire.connection.events import Event, Expected, Request, Response, SaslToken
from kipwire.connection.framing import LocalProtocolError, RemoteProtocolError
from kipwire.connection.negotiation import common_versions, version_to_retry, versions_answer
from kipwire.connection.server import ServerConnection
from kipwire.message.frames import LARGEST_FRAME

__all__ = [
    "LARGEST_FRAME",
    "ClientConnection",
    "Event",
    "Expected",
    "LocalProtocolError",
    "RemoteProtocolError",
    "Request",
    "Response",
    "SaslToken",
    "ServerConnection",
    "common_versions",
    "version_to_retry",
    "versions_answer",
]
