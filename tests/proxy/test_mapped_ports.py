"""A client reaches a proxy through mapped ports alone, as of a container, and stays when the proxy restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from kipwire.proxy import Proxy
from kipwire.testing import FakeBroker
from tests.proxy.test_addresses import free_ports
from tests.support.live.real_broker import ADDRESS

NODE = 1
"""The only broker of both clusters."""


@pytest.fixture(
    params=["fake", pytest.param("kafka", marks=[pytest.mark.broker, pytest.mark.xdist_group("broker")])],
)
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a broker."""
    if request.param == "kafka":
        yield ADDRESS
        return
    with FakeBroker() as broker:
        yield broker.bootstrap_servers


@asynccontextmanager
async def mapped(port: int, to: int) -> AsyncIterator[asyncio.Server]:
    """Pass connections at a port on to another one."""
    writers: list[asyncio.StreamWriter] = []

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            behind = await asyncio.open_connection("127.0.0.1", to)
        except OSError:  # the proxy is not there
            writer.close()
            return
        await asyncio.gather(copy(reader, behind[1]), copy(behind[0], writer))

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    yield server
    server.close()
    for writer in writers:
        writer.close()
    await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


def test_a_producer_behind_mapped_ports_goes_on_when_the_proxy_starts_again(address: str) -> None:
    topic = f"mapped-{uuid4().hex[:8]}"

    def send(producer: Producer) -> list[object]:
        """Send a record; return its error or None."""
        errors: list[object] = []
        producer.produce(topic, b"x", on_delivery=lambda error, _: errors.append(error))
        producer.flush(20)
        return errors

    async def work() -> None:
        inside = free_ports(NODE + 2)
        outside = free_ports(NODE + 2)
        how: dict[str, Any] = {"listen": ("127.0.0.1", inside), "advertise": f"127.0.0.1:{outside}"}
        # It asks the brokers that it knows, and not again the first address, as Java's clients before 4.0.
        known = {"metadata.recovery.strategy": "none", "log_level": 0}
        producer = Producer({"bootstrap.servers": f"127.0.0.1:{outside}", **known})
        async with mapped(outside + NODE + 1, inside + NODE + 1):
            async with mapped(outside, inside), Proxy(address, **how):
                assert await asyncio.to_thread(send, producer) == [None]
                brokers = (await asyncio.to_thread(producer.list_topics, topic, 10)).brokers
                assert [(one.id, one.port) for one in brokers.values()] == [(NODE, outside + NODE + 1)]
            # Only the broker's port is mapped now: the new proxy has to listen there before a client asks.
            async with Proxy(address, **how):
                assert await asyncio.to_thread(send, producer) == [None]
        del producer  # which ends its threads

    asyncio.run(work())
