"""The sockets of a fake broker, in an event loop. Each connection has one request handled at a time, as in Kafka."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

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
        self._server: asyncio.Server | None = None
        self.failure: Exception | None = None
        """The first error of the fake broker itself."""

    async def open(self) -> None:
        """Listen at the node's address; with port 0, at a free port, which is the node's from then on."""
        self._server = await asyncio.start_server(self._connected, self._node.host, self._node.port)
        self._node.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Close all connections and listen no more."""
        assert self._server is not None
        self._server.close()
        await asyncio.sleep(0)  # for connections that were accepted just now
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
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
            self._connections.discard(task)
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
