"""A client that produces one record: it agrees on versions, asks who leads the partition, and sends it there.

python examples/produce_one.py localhost:9092 orders "first order"
"""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import Any

import kafka_messages
from kipwire import build
from kipwire.connection import ClientConnection, Response, common_versions, version_to_retry
from kipwire.records import Record, write_batch

PRODUCE, METADATA, API_VERSIONS = 0, 3, 18
TIMEOUT = 30.0
"""Seconds."""
MOST_TRIES = 20
"""A topic that Kafka creates because it was asked for has no leader at first."""


class Failed(Exception):
    """What a broker has answered instead."""


class Broker:
    """A connection to one broker, on which one request is asked at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.connection = ClientConnection(kafka_messages.REGISTRY, "produce-one")
        self.versions: dict[int, int] = {}

    async def ask(self, api_key: int, values: dict[str, Any], version: int | None = None) -> Any:
        """The answer to a request of plain values, in the highest version that both sides have."""
        if version is None:
            if api_key not in self.versions:
                raise Failed(f"the broker and this client have no version of API {api_key} in common")
            version = self.versions[api_key]
        body = build(kafka_messages.request(api_key, version), values)
        self.writer.write(self.connection.send(body))
        while data := await self.reader.read(65536):
            self.connection.receive_data(data)
            for event in self.connection.events():
                assert isinstance(event, Response)
                return event.body
        raise Failed("the broker has closed the connection")

    async def agree(self) -> None:
        """Ask which versions the broker has; in an older one, if it does not know the newest (KIP-511)."""
        software = {"client_software_name": "produce-one", "client_software_version": "1"}
        answer = await self.ask(API_VERSIONS, software, kafka_messages.versions("ApiVersionsRequest")[-1])
        if (version := version_to_retry(kafka_messages.REGISTRY, answer)) is not None:
            answer = await self.ask(API_VERSIONS, software, version)
        if answer.error_code:
            raise Failed(f"the broker does not say its versions: error code {answer.error_code}")
        self.versions = common_versions(kafka_messages.REGISTRY, answer)


async def connect(host: str, port: int) -> Broker:
    """A connection with which versions are agreed on."""
    broker = Broker(*await asyncio.open_connection(host, port))
    await broker.agree()
    return broker


async def leader_of(broker: Broker, topic: str) -> tuple[str, int, Any]:
    """Host and port of the leader of the topic's first partition, and the topic itself."""
    for _ in range(MOST_TRIES):
        answer = await broker.ask(METADATA, {"topics": [{"name": topic}]})
        (found,) = answer.topics
        addresses = {one.node_id: (one.host, one.port) for one in answer.brokers}
        first = next((one for one in found.partitions if one.partition_index == 0), None)
        if first is not None and first.leader_id in addresses:
            return (*addresses[first.leader_id], found)
        await asyncio.sleep(0.25)
    raise Failed(f"partition 0 of {topic} has no leader")


async def produce(host: str, port: int, topic: str, value: bytes) -> int:
    """The offset at which a record was appended to the first partition of a topic."""
    first = await connect(host, port)
    leader_host, leader_port, found = await leader_of(first, topic)
    leader = await connect(leader_host, leader_port)
    batch = write_batch([Record(offset=0, timestamp=time.time_ns() // 1_000_000, value=value)])
    topic_data = {"name": topic, "partition_data": [{"index": 0, "records": batch}]}
    if hasattr(found, "topic_id"):  # Produce names topics by id from version 13 on, and Metadata says ids from 10 on
        topic_data["topic_id"] = found.topic_id
    answer = await leader.ask(PRODUCE, {"acks": -1, "timeout_ms": 30_000, "topic_data": [topic_data]})
    for broker in (first, leader):
        broker.writer.close()
        await broker.writer.wait_closed()
    (partition,) = answer.responses[0].partition_responses
    if partition.error_code:
        raise Failed(f"the leader did not append it: error code {partition.error_code}")
    offset: int = partition.base_offset
    return offset


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Produce one record.")
    parser.add_argument("broker", help="host and port, as in localhost:9092")
    parser.add_argument("topic")
    parser.add_argument("value")
    options = parser.parse_args()
    host, _, port = options.broker.rpartition(":")
    producing = produce(host, int(port), options.topic, options.value.encode())
    print(f"appended at offset {asyncio.run(asyncio.wait_for(producing, TIMEOUT))}")


if __name__ == "__main__":
    main()
