"""A proxy for Kafka's protocol that prints every request and response, and keeps clients on itself.

    python examples/proxy.py localhost:9092 --listen localhost:19092

It rewrites the addresses of brokers wherever responses have them, so that clients come back to it, and opens a port of
its own for each broker. Other frames are passed on as they are, unread. It does not pass on tokens of SASL without
headers, of clients before Kafka 1.0.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from math import inf
from typing import Any

import kafka_messages
from kipwire import KipwireError
from kipwire.aio import (
    Address,
    Client,
    ClosedByHandler,
    Connection,
    Handler,
    Server,
    connect,
    parse_address,
    serve_each,
)
from kipwire.connection import Expected, Request, Response
from kipwire.projection import VersionedProjection

MOST_IN_FLIGHT = 100
"""Requests of one client that wait for their responses; no more are read."""
ADDRESSES = {
    key: VersionedProjection(
        kafka_messages.REGISTRY, name, *[path + field for path in at for field in ("host", "port")]
    )
    for key, name, *at in (
        (0, "ProduceResponse", "node_endpoints."),
        (1, "FetchResponse", "node_endpoints."),
        (3, "MetadataResponse", "brokers."),
        (10, "FindCoordinatorResponse", "", "coordinators."),  # up to version 3, and from 4 on
        (60, "DescribeClusterResponse", "brokers."),
        (78, "ShareFetchResponse", "node_endpoints."),
        (79, "ShareAcknowledgeResponse", "node_endpoints."),
    )
}
"""The hosts and the ports in responses, one after the other, by API key."""


class Proxy:
    """All listeners, one for each broker."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.servers: dict[Address, Server] = {}
        self.opening = asyncio.Lock()

    async def listen(self, broker: Address, port: int = 0) -> int:
        """The port on which clients reach a broker; opened when it is first asked for."""
        async with self.opening:  # many responses may ask for the same broker at once
            if broker not in self.servers:
                link = partial(self.link, broker)
                self.servers[broker] = await serve_each(link, self.host, port, in_flight=MOST_IN_FLIGHT)
        return self.servers[broker].address[1]

    @asynccontextmanager
    async def link(self, broker: Address, client: Client) -> AsyncIterator[Handler]:
        """One client and its connection to a broker, until one side closes it or breaks the rules."""
        try:
            async with connect(broker, versions={}) as upstream:
                upstream.when_closed(client.close)
                yield partial(self.pass_on, upstream)
                if upstream.failure is not None and upstream.failure.__cause__:
                    print(f"broken off by the broker: {upstream.failure.__cause__}")
        except OSError as error:
            print(f"broken off by the client: {error}")  # as by one that ends while a response is on its way to it
        except KipwireError as error:
            print(f"closed: {error}")
            raise ClosedByHandler from None

    async def pass_on(self, upstream: Connection, asked: Request) -> bytes | None:
        """The broker's answer to a request."""
        what = f"{name(asked.api_key, asked.api_version)} #{asked.correlation_id}"
        print(f"-> {what}, {len(asked.raw)} B")
        frame = await upstream.exchange(asked.raw, timeout=inf)
        if frame is None:
            return None
        print(f"<- {what}, {len(frame)} B")
        return await self.rewritten(asked, frame)

    async def rewritten(self, asked: Request, frame: bytes) -> bytes:
        """A response in which the brokers' addresses are those of this proxy; all other bytes are copied."""
        projection = ADDRESSES.get(asked.api_key)
        if projection is None or projection.absent(asked.api_version) == projection.paths:
            return frame
        expected = Expected(asked.api_key, asked.api_version, asked.correlation_id)
        response = Response(kafka_messages.REGISTRY, frame, expected)
        values = response.project(projection)
        moved: list[Any] = []
        for hosts, ports in zip(values[::2], values[1::2], strict=True):
            moved += await self.moved(hosts, ports)
        return frame if moved == list(values) else response.replaced(projection, tuple(moved))

    async def moved(self, host: Any, port: Any) -> tuple[Any, Any]:
        """The address of this proxy for one of a broker, or for each in two lists."""
        if isinstance(host, list):
            pairs = [await self.moved(*pair) for pair in zip(host, port, strict=True)]
            return [one for one, _ in pairs], [one for _, one in pairs]
        if host is None or port < 0:  # not in this version, or -1, the port of no broker
            return host, port
        return self.host, await self.listen((host, port))


@cache
def name(api_key: int, version: int) -> str:
    """Such as `Fetch v12`."""
    if not kafka_messages.REGISTRY.has_request(api_key, version):
        return f"API {api_key} v{version}"
    return f"{kafka_messages.request(api_key, version).NAME.removesuffix('Request')} v{version}"


async def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Pass on Kafka's protocol, and print it.")
    parser.add_argument("broker", type=parse_address)
    parser.add_argument("--listen", type=parse_address, default=("localhost", 19092))
    options = parser.parse_args()
    await Proxy(options.listen[0]).listen(options.broker, options.listen[1])
    await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
