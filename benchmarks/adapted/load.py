"""What a client does that is measured: it produces and fetches, or asks for metadata.

python -m benchmarks.adapted.load WORK ADDRESS TOPIC SIDE

SIDE is `aiokafka`, or `adapter`, with which the adapter is in. Prints JSON: seconds of processor time of this process,
user and system, by what it did. Imports and connecting do not count.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from benchmarks.adapted.adapter import adapter

SECONDS = 300


@dataclass(frozen=True)
class Work:
    """Records to produce and to fetch."""

    what: str
    count: int
    size: int
    """Bytes of each record's value."""
    partitions: int
    producer: dict[str, Any] = field(default_factory=dict)
    """Settings of the producer."""
    consumer: dict[str, Any] = field(default_factory=dict)
    """Settings of the consumer."""
    passes: int = 5
    """How often all is fetched."""
    is_awaited: bool = False
    """Whether each record waits for its acknowledgement before the next one is sent."""


WORKS = {
    "small": Work("100,000 records of 200 bytes, 3 partitions", 100_000, 200, 3),
    "large": Work("5,000 records of 20 KB, batches of 1 MB, 3 partitions", 5_000, 20_000, 3, {"max_batch_size": 2**20}),
    "many": Work("40,000 records of 200 bytes, 100 partitions", 40_000, 200, 100),
    # With this setting a broker answers with one batch, however many partitions a request asks for.
    "single": Work(
        "1,000 records of 200 bytes, a request for each, 100 partitions",
        1_000,
        200,
        100,
        consumer={"fetch_max_bytes": 1},
        passes=1,
        is_awaited=True,
    ),
}
METADATA = "metadata"
"""The work that asks for the metadata of all topics."""
ASKED = 200
"""How often it does."""


async def produce(work: Work, address: str, topic: str) -> float:
    """The processor time of producing, after a record to each partition, for which the broker may need some time."""
    from aiokafka import AIOKafkaProducer

    value = bytes(work.size)
    async with AIOKafkaProducer(bootstrap_servers=address, acks=1, **work.producer) as producer:
        await asyncio.gather(
            *[producer.send_and_wait(topic, value, partition=number) for number in range(work.partitions)]
        )
        before = time.process_time()
        for number in range(work.count):
            sent = await producer.send(topic, value, partition=number % work.partitions)
            if work.is_awaited:
                await sent
        await producer.flush()
        return time.process_time() - before


async def fetch(work: Work, address: str, topic: str) -> float:
    """The processor time of fetching."""
    from aiokafka import AIOKafkaConsumer, TopicPartition

    partitions = [TopicPartition(topic, number) for number in range(work.partitions)]
    due = work.count + work.partitions
    async with AIOKafkaConsumer(bootstrap_servers=address, **work.consumer) as consumer:
        consumer.assign(partitions)
        before = time.process_time()
        for _ in range(work.passes):
            for partition in partitions:
                consumer.seek(partition, 0)
            seen = 0
            while seen < due:
                seen += sum(map(len, (await consumer.getmany(timeout_ms=1000)).values()))
            if seen != due:
                raise RuntimeError(f"{due} records were produced, and {seen} fetched")
        return time.process_time() - before


async def ask(address: str) -> float:
    """The processor time of asking for the metadata of all topics."""
    from aiokafka import AIOKafkaConsumer

    async with AIOKafkaConsumer(bootstrap_servers=address) as consumer:
        before = time.process_time()
        for _ in range(ASKED):
            await consumer.topics()
        return time.process_time() - before


async def do(name: str, address: str, topic: str) -> dict[str, float]:
    """What is measured, by what was done."""
    if name == METADATA:
        return {f"{ASKED} times the metadata of all topics": await ask(address)}
    work = WORKS[name]
    times = f"fetch {work.passes} times" if work.passes > 1 else "fetch"
    produced = await produce(work, address, topic)
    return {f"produce {work.what}": produced, f"{times} {work.what}": await fetch(work, address, topic)}


if __name__ == "__main__":
    _, asked, to, about, side = sys.argv
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it warns of every partition that has no leader yet
    if side == "adapter":
        adapter().install()
    print(json.dumps(asyncio.run(asyncio.wait_for(do(asked, to, about), SECONDS))))
