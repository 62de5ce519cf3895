"""One client and its connection to a broker: requests go through filters to the broker, and responses back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from math import inf
from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Expected, Request, Response, refusal
from kipwire.model.api_keys import API_VERSIONS_KEY
from kipwire.proxy.filters import Exchange, FilterError, Filters
from kipwire.proxy.rewriting import has_addresses, limited, moved

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kipwire.aio import Address, Connection
    from kipwire.proxy.rewriting import Move

    Observer = Callable[[Exchange, int | None, float], None]


@dataclass(eq=False)
class Link:
    """The exchanges of one client."""

    filters: Filters
    client: Address
    node: int | None
    """The id of the broker; None for the one that the proxy was given."""
    upstream: Connection
    move: Move
    observer: Observer | None
    notes: dict[str, Any] = field(default_factory=dict)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    in_turn: int = 0
    """Requests that have the turn, or wait for it."""

    async def answer(self, asked: Request) -> bytes | None:
        """The response to a request of the client; None if none is due.

        Raises:
            FilterError: a filter fails.
            Failure: the broker does not answer.
            KipwireError: a message that is to be changed is broken.
        """
        exchange = Exchange(self.client, self.node, asked, self.notes)
        if self.observer is None:
            return await self._exchanged(exchange)
        clock = asyncio.get_running_loop().time
        began = clock()
        answer = await self._exchanged(exchange)
        self.observer(exchange, None if answer is None else len(answer), clock() - began)
        return answer

    async def _exchanged(self, exchange: Exchange) -> bytes | None:
        asked = exchange.request
        filters, _ = self.filters.of(asked.api_key)
        if not self.in_turn and not filters:
            return await self._answered(exchange, await self.upstream.exchange(asked.raw, timeout=inf))
        # The broker gets requests in the order of the client, however long filters take.
        self.in_turn += 1
        try:
            async with self.turn:
                frame = asked.raw
                for position, one in filters:
                    given = await one.apply(Request(asked.registry, frame), exchange)
                    if not isinstance(given, bytes):
                        return await self._answered(exchange, _response(asked, given), position)
                    frame = given
                sent = asyncio.ensure_future(self.upstream.exchange(frame, timeout=inf))
                await asyncio.sleep(0)  # in which it is sent, or waits behind those before it
        finally:
            self.in_turn -= 1
        return await self._answered(exchange, await sent)

    async def _answered(self, exchange: Exchange, frame: bytes | None, position: int | None = None) -> bytes | None:
        """The response as the client gets it.

        Args:
            exchange: the request.
            frame: the response of the broker or of a filter, if there is one.
            position: of the filter that answered; only the filters before it see the response.
        """
        asked = exchange.request
        if not asked.is_answered:
            return None
        if frame is None:
            raise FilterError("a filter has changed acks to 0, and so taken away the response that the client awaits")
        to = Expected(asked.api_key, asked.api_version, asked.correlation_id)
        if position is None and has_addresses(asked.api_key, asked.api_version):
            frame = await moved(Response(asked.registry, frame, to), self.move)
        if position is None and asked.api_key == API_VERSIONS_KEY:
            frame = limited(Response(asked.registry, frame, to), self.filters.highest)
        for number, one in self.filters.of(asked.api_key)[1]:
            if position is None or number < position:
                given = await one.apply(Response(asked.registry, frame, to), exchange)
                frame = given if isinstance(given, bytes) else _response(asked, given)
        return frame


def _response(asked: Request, given: Any) -> bytes:
    """The frame of a response that a filter has made: of an error code, or of a message of any version.

    Raises:
        KipwireError: the client awaits none, or it cannot be sent in the version of the request.
    """
    if not asked.is_answered:  # Kafka's brokers close the connection, too, if a Produce with acks of 0 fails
        raise FilterError("a filter refuses Produce with acks of 0, to which no response can be sent")
    body = refusal(asked.body, given, given.about) if isinstance(given, ErrorCode) else given
    return asked.registry.encode_response(body, asked.correlation_id, version=asked.api_version)
