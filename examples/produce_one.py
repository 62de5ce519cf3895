"""A client that produces one record: it agrees on versions, asks who leads the partition, and sends it there.

python examples/produce_one.py localhost:9092 orders "first order"
"""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import TypeVar

import kafka_messages
from kafka_messages.api_versions_request.v5 import ApiVersionsRequest
from kafka_messages.metadata_request.v13 import MetadataRequest, MetadataRequestTopic
from kafka_messages.produce_request.v12 import (  # the last version that names topics: from 13 on they have ids alone
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kipwire import AnsweredBy, Message
from kipwire.connection import ClientConnection, Response, best_version, served_versions, version_to_retry
from kipwire.records import Record, write_batch

TIMEOUT = 30.0
"""Seconds."""
MOST_TRIES = 20
"""A topic that Kafka creates because it was asked for has no leader at first."""
ALL_REPLICAS = -1

M = TypeVar("M", bound=Message)


class Failed(Exception):
    """What a broker has answered instead."""


class Broker:
    """A connection to one broker, on which one request is asked at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.connection = ClientConnection(kafka_messages.REGISTRY, "produce-one")
        self.versions: dict[int, range] = {}

    async def ask(self, request: AnsweredBy[M], version: int | None = None) -> M:
        """The answer to a request, which is sent in the highest version that both sides have."""
        version = best_version(request, self.versions) if version is None else version
        self.writer.write(self.connection.send(request, version=version))
        while data := await self.reader.read(65536):
            self.connection.receive_data(data)
            for event in self.connection.events():
                assert isinstance(event, Response)
                return event.body_as(type(request))
        raise Failed("the broker has closed the connection")

    async def agree(self) -> None:
        """Ask which versions the broker has; in an older one, if it does not know the newest (KIP-511)."""
        hello = ApiVersionsRequest(client_software_name="produce-one", client_software_version="1")
        answer = await self.ask(hello, hello.VERSION)
        if (version := version_to_retry(kafka_messages.REGISTRY, answer)) is not None:
            answer = await self.ask(hello, version)
        if answer.error_code:
            raise Failed(f"the broker does not say its versions: error code {answer.error_code}")
        self.versions = served_versions(answer)


async def connect(host: str, port: int) -> Broker:
    """A connection with which versions are agreed on."""
    broker = Broker(*await asyncio.open_connection(host, port))
    await broker.agree()
    return broker


async def leader_of(broker: Broker, topic: str) -> tuple[str, int]:
    """Host and port of the leader of the topic's first partition."""
    for _ in range(MOST_TRIES):
        answer = await broker.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]))
        addresses = {one.node_id: (one.host, one.port) for one in answer.brokers}
        for partition in answer.topics[0].partitions:
            if partition.partition_index == 0 and partition.leader_id in addresses:
                return addresses[partition.leader_id]
        await asyncio.sleep(0.25)
    raise Failed(f"partition 0 of {topic} has no leader")


async def produce(host: str, port: int, topic: str, value: bytes) -> int:
    """The offset at which a record was appended to the first partition of a topic."""
    first = await connect(host, port)
    leader = await connect(*await leader_of(first, topic))
    batch = write_batch([Record(offset=0, timestamp=time.time_ns() // 1_000_000, value=value)])
    topic_data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
    answer = await leader.ask(ProduceRequest(acks=ALL_REPLICAS, timeout_ms=30_000, topic_data=[topic_data]))
    for broker in (first, leader):
        broker.writer.close()
        await broker.writer.wait_closed()
    (partition,) = answer.responses[0].partition_responses
    if partition.error_code:
        raise Failed(f"the leader did not append it: error code {partition.error_code}")
    return partition.base_offset


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
