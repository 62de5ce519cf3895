"""The example client produces through a proxy, which keeps it on itself, to a broker of a few lines."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

import kafka_messages
from kipwire import build
from kipwire.connection import Request, ServerConnection, versions_answer
from kipwire.proxy import Exchange
from kipwire.records import read_batches, with_offsets
from tests.support.example_programs import example
from tests.support.subjects.peers import QuietProxy

TOPIC_ID = UUID(int=7)


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    await writer.wait_closed()


class FakeBroker:
    """Broker that leads its only topic, and keeps the produced records."""

    def __init__(self, versions: dict[int, range]) -> None:
        self.versions = versions
        self.log: list[bytes] = []
        self.asked: list[tuple[int, int]] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ServerConnection(kafka_messages.REGISTRY)
        while data := await reader.read(100):
            connection.receive_data(data)
            for request in connection.events():
                assert isinstance(request, Request)
                self.asked.append((request.api_key, request.api_version))
                writer.write(connection.respond(request, self.answer(request)))
        await closed(writer)

    def answer(self, request: Request) -> Any:
        if request.api_key == 18:
            return versions_answer(kafka_messages.REGISTRY, request.api_version, self.versions)
        values = self.metadata() if request.api_key == 3 else self.append(request.body)
        return build(kafka_messages.response(request.api_key, request.api_version), values)

    def metadata(self) -> dict[str, Any]:
        partitions = [{"partition_index": 0, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}]
        return {
            "brokers": [{"node_id": 1, "host": "127.0.0.1", "port": self.port}],
            "topics": [{"name": "orders", "topic_id": TOPIC_ID, "partitions": partitions}],
        }

    def append(self, body: Any) -> dict[str, Any]:
        (topic,) = body.topic_data
        (partition,) = topic.partition_data
        assert getattr(topic, "topic_id", TOPIC_ID) == TOPIC_ID
        assert getattr(topic, "name", "orders") == "orders"
        self.log.append(with_offsets(partition.records, 40 + len(self.log), 3))
        names = {"name": "orders", "topic_id": TOPIC_ID}
        return {"responses": [{**names, "partition_responses": [{"index": 0, "base_offset": 39 + len(self.log)}]}]}


@pytest.mark.parametrize(
    "versions",
    [
        {0: range(3, 14), 3: range(14), 18: range(6)},
        {0: range(3, 8), 3: range(2, 9), 18: range(4)},
        {0: range(3, 4), 3: range(2), 18: range(1)},
    ],
)
def test_a_client_produces_through_a_proxy(versions: dict[int, range]) -> None:
    client = example("produce_one")
    broker = FakeBroker(versions)
    passed: list[tuple[int, int]] = []

    def observe(exchange: Exchange, size: int | None, seconds: float) -> None:
        passed.append((exchange.request.api_key, exchange.request.api_version))

    async def run() -> list[int]:
        server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
        broker.port = server.sockets[0].getsockname()[1]
        async with QuietProxy(("127.0.0.1", broker.port), observer=observe) as proxy:
            place = (*proxy.address, "orders")
            offsets = [await asyncio.wait_for(client.produce(*place, b"v"), 60) for _ in range(2)]
        server.close()
        return offsets

    assert asyncio.run(run()) == [40, 41]
    records = [record for batch in broker.log for one in read_batches(batch) for record in one.records]
    assert [(record.offset, record.value) for record in records] == [(40, b"v"), (41, b"v")]
    highest = {key: min(served[-1], 12 if key == 0 else served[-1]) for key, served in versions.items()}
    assert {key: version for key, version in broker.asked if version in versions[key]} == highest
    assert sorted(passed) == sorted(broker.asked)  # the client never went past the proxy
