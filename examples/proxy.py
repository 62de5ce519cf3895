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
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, partial
from typing import Any

import kafka_messages
from kipwire import Struct
from kipwire.connection import ClientConnection, Request, Response, ServerConnection

Address = tuple[str, int]
ADDRESSES_SINCE = {0: 10, 1: 16, 3: 0, 10: 0, 60: 0, 78: 1, 79: 1}
"""The first version with addresses, by API key: Produce, Fetch, Metadata, FindCoordinator, DescribeCluster, Share..."""


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
            if isinstance(result, Exception):
                print(f"closed: {result}")
        for writer in (to_client, to_broker):
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def rewritten(self, response: Response) -> bytes:
        """A response in which the brokers' addresses are those of this proxy."""
        to = response.to
        if to.api_version < ADDRESSES_SINCE.get(to.api_key, to.api_version + 1):
            return response.raw
        if not (found := [one for one in endpoints(response.body) if one.port >= 0]):  # -1 is the port of no broker
            return response.raw  # such as most of Produce and Fetch: records need not be encoded again
        for one in found:
            one.host, one.port = self.host, await self.listen((one.host, one.port))
        return kafka_messages.encode_response(response.body, header=response.header) + response.rest


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


def endpoints(struct: Struct) -> Iterator[Any]:
    """All structs with a host and a port."""
    if hasattr(struct, "host") and hasattr(struct, "port"):
        yield struct
    for field in struct.ATTRIBUTES:
        value = getattr(struct, field.name)
        if field.struct is not None and value is not None:
            for inner in value if field.array else [value]:
                yield from endpoints(inner)


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
