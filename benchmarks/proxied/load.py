"""The client of a proxy that is measured: it produces records of 200 bytes, and consumes them as a group.

python -m benchmarks.proxied.load CLIENT ADDRESS TOPIC COUNT
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

SIZE = 200
SECONDS = 120


def by_kafka_python(address: str, topic: str, count: int) -> int:
    """Produce and consume by kafka-python, and return the number of records that came back."""
    import kafka

    value = bytes(SIZE)
    producer = kafka.KafkaProducer(bootstrap_servers=address)
    for _ in range(count):
        producer.send(topic, value)
    producer.close()
    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=address,
        group_id=topic,
        auto_offset_reset="earliest",
        consumer_timeout_ms=SECONDS * 1000,
    )
    seen = 0
    for seen, _ in enumerate(consumer, 1):
        if seen == count:
            break
    consumer.close()
    return seen


def by_confluent_kafka(address: str, topic: str, count: int) -> int:
    """Produce and consume by confluent-kafka, and return the number of records that came back."""
    import confluent_kafka

    confluent: Any = confluent_kafka
    value = bytes(SIZE)
    producer = confluent.Producer({"bootstrap.servers": address})
    for _ in range(count):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:  # its queue is full
                producer.poll(0.1)
    producer.flush(SECONDS)
    consumer = confluent.Consumer({"bootstrap.servers": address, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    seen = 0
    while seen < count and (found := consumer.consume(min(count - seen, 10_000), timeout=SECONDS)):
        seen += sum(message.error() is None for message in found)
    consumer.close()
    return seen


def latency(address: str, topic: str, count: int) -> int:
    """Send Produce requests of one record, one after the other; print p50 and p99 in ms, and return their number."""
    import asyncio

    from kafka_messages.metadata_request.v12 import MetadataRequest, MetadataRequestTopic
    from kafka_messages.metadata_response.v12 import MetadataResponseBroker
    from kafka_messages.produce_request.v12 import PartitionProduceData, ProduceRequest, TopicProduceData
    from kipwire.aio import connect
    from kipwire.records import Record, write_batch

    async def work() -> int:
        found: list[MetadataResponseBroker] = []
        async with connect(address, client_id=LATENCY) as bootstrap:
            while not found:  # the leader of a new topic
                metadata = await bootstrap.request(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]))
                leaders = [one.leader_id for one in metadata.topics[0].partitions if one.partition_index == 0]
                found = [one for one in metadata.brokers if one.node_id in leaders]
        (leader,) = found
        batch = write_batch([Record(offset=0, timestamp=0, value=bytes(SIZE))])
        rows = [PartitionProduceData(index=0, records=batch)]
        data = [TopicProduceData(name=topic, partition_data=rows)]
        request = ProduceRequest(acks=1, timeout_ms=SECONDS * 1000, topic_data=data)
        taken = []
        async with connect((leader.host, leader.port), client_id=LATENCY) as broker:
            for _ in range(count):
                began = time.perf_counter()
                await broker.request(request)
                taken.append((time.perf_counter() - began) * 1000)
        taken.sort()
        print(taken[count // 2], taken[count * 99 // 100])
        return len(taken)

    return asyncio.run(work())


LATENCY = "latency"
CLIENTS: dict[str, Callable[[str, str, int], int]] = {
    "kafka-python": by_kafka_python,
    "confluent-kafka": by_confluent_kafka,
}

if __name__ == "__main__":
    client, address, topic, count = sys.argv[1:]
    came = (latency if client == LATENCY else CLIENTS[client])(address, topic, int(count))
    sys.exit(None if came == int(count) else f"{client} produced {count} records and consumed {came}")
