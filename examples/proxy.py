"""A proxy for Kafka's protocol that prints every request and response, and keeps clients on itself.

    python examples/proxy.py localhost:9092 --listen localhost:19092

It rewrites the addresses of brokers wherever responses have them, so that clients come back to it, and opens a port of
its own for each broker. Other frames are passed on as they are, unread. It does not pass on tokens of SASL without
headers, of clients before Kafka 1.0.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import deque
from contextlib import suppress
from functools import cache, partial
from typing import Any

import kafka_messages
from kipwire.connection import ClientConnection, Request, Response, ServerConnection
from kipwire.projection import VersionedProjection

Address = tuple[str, int]
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
        self.servers: dict[Address, asyncio.Server] = {}
        self.opening = asyncio.Lock()

    async def listen(self, broker: Address, port: int = 0) -> int:
        """The port on which clients reach a broker; opened when it is first asked for."""
        async with self.opening:  # many responses may ask for the same broker at once
            if broker not in self.servers:
                self.servers[broker] = await asyncio.start_server(partial(self.pass_on, broker), self.host, port)
        return int(self.servers[broker].sockets[0].getsockname()[1])

    async def pass_on(self, broker: Address, reader: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        """Pass on one connection, until one side closes it or breaks the rules."""
        try:
            from_broker, to_broker = await asyncio.open_connection(*broker)
        except (OSError, asyncio.CancelledError) as error:
            print(f"no connection to {broker}: {error!r}")
            to_client.close()
            return
        link = Link(self, to_client, to_broker)
        tasks = [asyncio.create_task(side) for side in (link.from_client(reader), link.from_broker(from_broker))]
        with suppress(asyncio.CancelledError):  # when the program ends
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(result, Exception) and not isinstance(result, ConnectionError):
                print(f"closed: {result}")
        for side, stream in (("client", reader), ("broker", from_broker)):
            if stream.exception():  # such as a client that ends while a response is on its way to it
                print(f"broken off by the {side}: {stream.exception()}")
        for writer in (to_client, to_broker):
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def rewritten(self, response: Response) -> bytes:
        """A response in which the brokers' addresses are those of this proxy; all other bytes are copied."""
        projection = ADDRESSES.get(response.to.api_key)
        if projection is None or projection.absent(response.to.api_version) == projection.paths:
            return response.raw
        values = response.project(projection)
        moved: list[Any] = []
        for hosts, ports in zip(values[::2], values[1::2], strict=True):
            moved += await self.moved(hosts, ports)
        return response.raw if moved == list(values) else response.replaced(projection, tuple(moved))

    async def moved(self, host: Any, port: Any) -> tuple[Any, Any]:
        """The address of this proxy for one of a broker, or for each in two lists."""
        if isinstance(host, list):
            pairs = [await self.moved(*pair) for pair in zip(host, port, strict=True)]
            return [one for one, _ in pairs], [one for _, one in pairs]
        if host is None or port < 0:  # not in this version, or -1, the port of no broker
            return host, port
        return self.host, await self.listen((host, port))


class Link:
    """One client and its broker."""

    def __init__(self, proxy: Proxy, to_client: asyncio.StreamWriter, to_broker: asyncio.StreamWriter) -> None:
        self.proxy, self.to_client, self.to_broker = proxy, to_client, to_broker
        self.client_side = ServerConnection(kafka_messages.REGISTRY)
        self.broker_side = ClientConnection(kafka_messages.REGISTRY)
        self.waiting: deque[Request] = deque()

    async def from_client(self, reader: asyncio.StreamReader) -> None:
        """Pass on requests."""
        while data := await reader.read(65536):
            self.client_side.receive_data(data)
            for asked in self.client_side.events():
                assert isinstance(asked, Request)
                print(f"-> {name(asked.api_key, asked.api_version)} #{asked.correlation_id}, {len(asked.raw)} B")
                if asked.is_answered:
                    self.waiting.append(asked)
                self.to_broker.write(self.broker_side.send_frame(asked.raw))
            await self.to_broker.drain()

    async def from_broker(self, reader: asyncio.StreamReader) -> None:
        """Pass on responses."""
        while data := await reader.read(65536):
            self.broker_side.receive_data(data)
            for response in self.broker_side.events():
                assert isinstance(response, Response)
                to = response.to
                print(f"<- {name(to.api_key, to.api_version)} #{to.correlation_id}, {len(response.raw)} B")
                frame = await self.proxy.rewritten(response)
                self.to_client.write(self.client_side.respond_frame(self.waiting.popleft(), frame))
            await self.to_client.drain()


@cache
def name(api_key: int, version: int) -> str:
    """Such as `Fetch v12`."""
    if not kafka_messages.REGISTRY.has_request(api_key, version):
        return f"API {api_key} v{version}"
    return f"{kafka_messages.request(api_key, version).NAME.removesuffix('Request')} v{version}"


def address(text: str) -> Address:
    """The host and the port in `localhost:9092`."""
    host, _, port = text.rpartition(":")
    return host, int(port)


async def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Pass on Kafka's protocol, and print it.")
    parser.add_argument("broker", type=address)
    parser.add_argument("--listen", type=address, default=("localhost", 19092))
    options = parser.parse_args()
    await Proxy(options.listen[0]).listen(options.broker, options.listen[1])
    await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main())
