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
        self._is_closing = False
        self.failure: Exception | None = None
        """The first error of the fake broker itself."""

    async def open(self) -> None:
        """Listen at the node's address; with port 0, at a free port, which is the node's from then on."""
        family, _, _, _, address = socket.getaddrinfo(self._node.host, self._node.port, type=socket.SOCK_STREAM)[0]
        self._listener = socket.create_server(address[:2], family=family, backlog=100)
        self._listener.setblocking(False)
        self._node.port = self._listener.getsockname()[1]
        self._accepting = asyncio.create_task(self._accept())

    async def close(self) -> None:
        """Close all connections and listen no more.

        `asyncio.Server`, and a task that is cancelled while it accepts, leave open what they have just accepted. So a
        connection of our own ends the task.
        """
        self._is_closing = True
        _, writer = await asyncio.open_connection(*self._listener.getsockname()[:2])
        writer.close()
        await self._accepting
        self._listener.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(writer.wait_closed(), *self._connections, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._is_closing:
            client, _ = await loop.sock_accept(self._listener)
            task = loop.create_task(self._connected(client))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            task.add_done_callback(partial(_close, client))

    async def _connected(self, client: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=client)
        try:
            await self._serve(reader, writer)
        except NoAnswer:
            pass
        except (DecodeError, RemoteProtocolError) as error:
            _log.warning("A connection is closed: %s", error)
        except OSError:
            pass  # the client has closed it
        except asyncio.CancelledError:
            pass  # by `close`
        except Exception as error:
            if self.failure is None:  # clients try again, many times
                _log.exception("The fake broker failed; the connection is closed")
                self.failure = error
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

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
