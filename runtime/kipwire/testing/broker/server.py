"""A fake cluster that listens, and its answers: each connection has one request handled at a time, as in Kafka.

A version that is not served is refused before anything else, as in Kafka; then come the functions of the test, then the
API. A mistake of the fake broker is kept and raised when it stops: clients only try again, and the test would pass.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from ssl import SSLContext
from typing import NamedTuple

from kafka_messages.enums import ApiKey
from kipwire import Message, aio, build
from kipwire.aio import ClosedByHandler
from kipwire.connection import Request, versions_answer
from kipwire.model.errors import KipwireError, MissingExtraError
from kipwire.testing.broker.apis import APIS
from kipwire.testing.broker.apis.api import NoAnswer
from kipwire.testing.broker.authentication import Authentication
from kipwire.testing.broker.interceptors import Call, Interceptors
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state import Refused

_log = logging.getLogger("kipwire.testing")


class Security(NamedTuple):
    """TLS and users, which clients need to connect."""

    ssl: SSLContext | None = None
    """TLS with the certificate of all nodes; None for connections without TLS."""
    users: dict[str, str] | None = None
    """Passwords by user; None is a connection without SASL."""


MOST_KEPT = 64 * 1024 * 1024
"""Bytes of requests that are kept for tests to look at."""
_BYTES_OF_OBJECTS = 1024
"""Estimated bytes of a request's objects, in addition to its frame."""
_MOST_REASONS = 1000
"""Reasons for closed connections that are kept; they have numbers that clients choose."""


@dataclass(slots=True)
class Asked:
    """The requests that have come, each with the id of its node: the newest of them, in bounded memory."""

    unanswered: Counter[str] = field(default_factory=Counter)
    """Reasons why the broker closed a connection by itself, with how often."""
    _kept: deque[tuple[int, Request]] = field(default_factory=deque)
    _size: int = 0

    def add(self, node_id: int, request: Request) -> None:
        """Keep a request."""
        self._kept.append((node_id, request))
        self._size += len(request.raw) + _BYTES_OF_OBJECTS
        while self._size > MOST_KEPT:
            self._size -= len(self._kept.popleft()[1].raw) + _BYTES_OF_OBJECTS

    def add_unanswered(self, reason: str) -> None:
        """Count a connection that the broker closed by itself, since it could not answer."""
        if reason in self.unanswered or len(self.unanswered) < _MOST_REASONS:
            self.unanswered[reason] += 1

    def found(self, api: int | None, node_id: int | None) -> list[Request]:
        """Find the requests of an API that came to a node; None is any."""
        return [one for at, one in self._kept if api in (None, one.api_key) and node_id in (None, at)]

    def clear(self) -> list[Request]:
        """Forget all, and return the requests."""
        cleared = self.found(None, None)
        self._kept.clear()
        self.unanswered.clear()
        self._size = 0
        return cleared


class Server:
    """Listens at each node, until it is closed."""

    def __init__(self, first: Node, interceptors: Interceptors, asked: Asked, security: Security, host: str) -> None:
        """Wait for `open`; all nodes, of which one is given, listen at a host."""
        self._nodes = {one: first.beside(one) for one in first.nodes.by_id}
        self._interceptors, self._asked, self._security, self._host = interceptors, asked, security, host
        self._servers: dict[int, aio.Server] = {}
        self._turns = {one: asyncio.Lock() for one in self._nodes}
        self.failure: Exception | None = None
        """The first error of the fake broker itself."""

    async def open(self) -> None:
        """Listen at the address of each node that runs; with port 0, at a free one, which is its own from then on."""
        try:
            for node_id in self._nodes:
                await self.update(node_id)
        except OSError:
            await self.close()
            raise

    async def update(self, node_id: int) -> None:
        """Listen, or no more, as the state of a node says."""
        node = self._nodes[node_id]
        async with self._turns[node_id]:
            if node.listener.is_running and node_id not in self._servers:
                node.fetch_sessions.clear()
                self._servers[node_id] = server = await aio.serve_each(
                    partial(self._session, node),
                    self._host,
                    node.listener.listens_at,
                    ssl=self._security.ssl,
                    registry=node.registry,
                    logger=_log,
                    failed=self._fail,
                )
                node.listener.listens_at = server.address[1]
            elif not node.listener.is_running and node_id in self._servers:
                await self._servers.pop(node_id).close()

    async def close(self) -> None:
        """Close all connections and listen no more, whatever clients do."""
        await asyncio.gather(*(one.close() for one in self._servers.values()))
        self._servers.clear()

    @asynccontextmanager
    async def _session(self, node: Node, client: aio.Client) -> AsyncIterator[aio.Handler]:
        users = self._security.users
        authentication = None if users is None else Authentication(users)
        client.on_part = partial(self._interceptors.expect_more, node.node_id)

        async def handle(request: Request) -> Message:
            self._asked.add(node.node_id, request)
            if _log.isEnabledFor(logging.DEBUG):
                api, size = node.text_of(request.api_key), len(request.raw)
                _log.debug("node %d: %s v%d, %d bytes", node.node_id, api, request.api_version, size)
            while node.listener.is_paused:
                await node.changes.wait(math.inf)
            if not node.listener.is_running:
                raise NoAnswer
            is_served = request.api_version in node.served.get(request.api_key, ())
            if authentication is not None and is_served and (response := authentication.answer(request)) is not None:
                return response
            return await answer(Call(node, request, client), self._interceptors)

        try:
            yield handle
        except (ClosedByHandler, KipwireError) as error:
            if str(error):  # without a reason a test, or Kafka's rules, close the connection
                self._asked.add_unanswered(str(error))
            raise

    def _fail(self, error: Exception) -> None:
        """Keep the first error of the fake broker itself, and report it: clients try again, many times."""
        if isinstance(error, OSError):
            error = OSError(error.errno, f"the fake broker {error.strerror}")
        if self.failure is None:
            is_explained = isinstance(error, MissingExtraError)
            _log.error("The fake broker failed: %s", error, exc_info=None if is_explained else error)
            self.failure = error


# From a request to its answer: faults first, then the handler of its API.


async def answer(call: Call, interceptors: Interceptors) -> Message:
    """Answer a request of any API, known or not.

    Raises:
        ClosedByHandler: the connection is closed instead.
        DecodeError: the request is broken.
    """
    node, request = call.node, call.request
    if request.api_version not in node.served.get(request.api_key, ()):
        if request.api_key == ApiKey.API_VERSIONS:  # KIP-511; after other requests Kafka closes the connection, too
            return versions_answer(node.registry, request.api_version, node.served)
        what = f"{node.text_of(request.api_key)} in version {request.api_version}"
        raise NoAnswer(f"the fake broker does not serve {what}; its versions are in the ApiVersions response")

    async def handle() -> Message:
        api = APIS.get(request.api_key)
        if api is None:
            raise NoAnswer(f"no function answers {node.text_of(request.api_key)}, which Kafka's brokers do not have")
        try:
            values = api.answer(node, request)
            values = await values if inspect.isawaitable(values) else values
            response = build(node.registry.response(request.api_key, request.api_version), values)
        except Refused as error:
            response = api.refuse(request.body, error.error)
            for name, value in error.values.items():
                setattr(response, name, value)
        node.changes.notify()
        return response

    return await interceptors.answer(call, handle)
