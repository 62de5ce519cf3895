"""The sockets of a fake broker, in an event loop. Each connection has one request handled at a time, as in Kafka."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from functools import partial

import kafka_messages
from kipwire.connection import RemoteProtocolError, Request, ServerConnection
from kipwire.errors import DecodeError
from kipwire.testing.broker.answering import answer
from kipwire.testing.broker.apis.api import NoAnswer
from kipwire.testing.broker.faults import Faults
from kipwire.testing.broker.node import Node

_log = logging.getLogger("kipwire.testing")
_CHUNK = 65536
_SECONDS_TO_NEXT_ACCEPT = 0.1
"""After an accept that failed, such as for want of file descriptors: others may be closed until then."""


class Server:
    """Listens, until it is closed."""

    def __init__(self, node: Node, faults: Faults, requests: list[Request]) -> None:
        """Wait for `open`.

        Args:
            node: what requests act on.
            faults: what happens to them.
            requests: where all that come are kept.
        """
        self._node, self._faults, self._requests = node, faults, requests
        self._connections: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()
        self.failure: Exception | None = None
        """The first error of the fake broker itself."""

    async def open(self) -> None:
        """Listen at the node's address; with port 0, at a free port, which is the node's from then on."""
        family, _, _, _, address = socket.getaddrinfo(self._node.host, self._node.port, type=socket.SOCK_STREAM)[0]
        self._waker = socket.socket(family, socket.SOCK_STREAM)
        self._waker.setblocking(False)
        try:
            self._listener = socket.create_server(address[:2], family=family, backlog=100)
        except OSError:
            self._waker.close()
            raise
        self._listener.setblocking(False)
        self._address = self._listener.getsockname()[:2]
        self._node.port = self._address[1]
        self._accepting = asyncio.create_task(self._accept())

    async def close(self) -> None:
        """Close all connections and listen no more, whatever clients do.

        `asyncio.Server`, and a task that is cancelled while it accepts, leave open what they have just accepted. So a
        connection of our own ends the task. Its socket is made when the server opens: later there may be no descriptor.
        """
        self._closing.set()
        waking = asyncio.ensure_future(asyncio.get_running_loop().sock_connect(self._waker, self._address))
        await self._accepting
        waking.cancel()
        await asyncio.gather(waking, return_exceptions=True)
        self._waker.close()
        self._listener.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._closing.is_set():
            try:
                client, _ = await loop.sock_accept(self._listener)
            except OSError as error:
                self._fail(OSError(error.errno, f"the fake broker cannot accept a connection: {error.strerror}"))
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), _SECONDS_TO_NEXT_ACCEPT)
                continue
            task = loop.create_task(self._connected(client))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            task.add_done_callback(partial(_close, client))

    async def _connected(self, client: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=client)
        try:
            try:
                await self._serve(reader, writer)
            except (NoAnswer, DecodeError, RemoteProtocolError) as error:
                if str(error):
                    _log.warning("A connection is closed: %s", error)
            writer.close()
            await writer.wait_closed()
        except OSError:
            pass  # the client has closed it
        except asyncio.CancelledError:
            pass  # by `close`
        except Exception as error:
            self._fail(error)
        finally:
            writer.transport.abort()  # without what the client does not read
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    def _fail(self, error: Exception) -> None:
        """Keep the first error of the fake broker itself, and report it: clients try again, many times."""
        if self.failure is None:
            _log.error("The fake broker failed: %s", error, exc_info=error)
            self.failure = error

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ServerConnection(kafka_messages.REGISTRY)
        while data := await reader.read(_CHUNK):
            connection.receive_data(data)
            for request in connection.events():
                assert isinstance(request, Request)  # tokens come only after SaslHandshake, which is not served
                self._requests.append(request)
                body = await answer(self._node, request, self._faults.take(request))
                if request.is_answered:
                    writer.write(connection.respond(request, body))
                    await writer.drain()


def _close(client: socket.socket, _: asyncio.Task[None]) -> None:
    """Close the socket of a connection whose task was cancelled before it began; others have closed theirs."""
    client.close()
