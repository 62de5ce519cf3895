"""A client that produces one record: it asks who leads the partition, and sends it there.

python examples/produce_one.py localhost:9092 orders "first order"
"""

from __future__ import annotations

import argparse
import asyncio
import time

from kafka_messages.enums import ErrorCode
from kafka_messages.metadata_request.v13 import MetadataRequest, MetadataRequestTopic
from kafka_messages.produce_request.v12 import (  # the last version that names topics: from 13 on they have ids alone
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kipwire.aio import Address, Connection, connect, parse_address
from kipwire.records import Record, write_batch

MOST_TRIES = 20
"""A topic that Kafka creates because it was asked for has no leader at first."""
ALL_REPLICAS = -1


class Failed(Exception):
    """A broker answered with an error instead."""


async def leader_of(broker: Connection, topic: str) -> Address:
    """Host and port of the leader of the topic's first partition."""
    for _ in range(MOST_TRIES):
        answer = await broker.request(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]))
        addresses = {one.node_id: (one.host, one.port) for one in answer.brokers}
        for partition in answer.topics[0].partitions:
            if partition.partition_index == 0 and partition.leader_id in addresses:
                return addresses[partition.leader_id]
        await asyncio.sleep(0.25)
    raise Failed(f"partition 0 of {topic} has no leader")


async def produce(host: str, port: int, topic: str, value: bytes) -> int:
    """Append a record to the first partition of a topic, and return its offset."""
    async with connect((host, port), client_id="produce-one") as broker:
        leader = await leader_of(broker, topic)
    batch = write_batch([Record(offset=0, timestamp=time.time_ns() // 1_000_000, value=value)])
    topic_data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
    async with connect(leader, client_id="produce-one") as broker:
        answer = await broker.request(ProduceRequest(acks=ALL_REPLICAS, timeout_ms=30_000, topic_data=[topic_data]))
    (partition,) = answer.responses[0].partition_responses
    if partition.error_code:
        raise Failed(f"the leader did not append it: {ErrorCode.text(partition.error_code)}")
    return partition.base_offset


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Produce one record.")
    parser.add_argument("broker", type=parse_address, help="host and port, as in localhost:9092")
    parser.add_argument("topic")
    parser.add_argument("value")
    options = parser.parse_args()
    host, port = options.broker
    print(f"appended at offset {asyncio.run(produce(host, port, options.topic, options.value.encode()))}")


if __name__ == "__main__":
    main()
