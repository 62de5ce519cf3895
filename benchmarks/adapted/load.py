"""The client that is measured: it produces and fetches, or requests metadata.

python -m benchmarks.adapted.load WORK ADDRESS TOPIC ROUNDS

In every round it does the same with the adapter and without, one right after the other, in an order that changes. So
both sides have the same process, connections and memory, and meet the same noise. Prints JSON: by operation and side,
the seconds of processor time of this process, user and system, in each round.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.adapted.adapter import adapter

SECONDS = 900
SIDES = ("aiokafka", "adapter")
Samples = dict[str, dict[str, list[float]]]


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
    is_awaited: bool = False
    """True if each record is acknowledged before the next one is sent."""


WORKS = {
    "small": Work("20,000 records of 200 bytes, 3 partitions", 20_000, 200, 3),
    "large": Work("1,000 records of 20 KB, batches of 1 MB, 3 partitions", 1_000, 20_000, 3, {"max_batch_size": 2**20}),
    "many": Work("20,000 records of 200 bytes, 100 partitions", 20_000, 200, 100),
    # With this setting a broker answers with one batch, for any number of partitions in a request.
    "single": Work(
        "200 records of 200 bytes, a request for each, 100 partitions",
        200,
        200,
        100,
        consumer={"fetch_max_bytes": 1},
        is_awaited=True,
    ),
}
METADATA = "metadata"
"""Name of the work that requests the metadata of all topics."""
ASKED = 20
"""Number of its requests in a round."""


async def sampled(what: str, do: Callable[[], Awaitable[None]], rounds: int) -> Samples:
    """Measure the processor time of an operation, by side; the first round warms up and does not count."""
    own = adapter()
    taken: dict[str, list[float]] = {side: [] for side in SIDES}
    for number in range(rounds + 1):
        for side in reversed(SIDES) if number % 2 else SIDES:
            (own.install if side == "adapter" else own.uninstall)()
            gc.collect()
            before = time.process_time()
            await do()
            taken[side].append(time.process_time() - before)
    own.uninstall()
    return {what: {side: seconds[1:] for side, seconds in taken.items()}}


async def produce(work: Work, producer: Any, topic: str) -> None:
    """Produce the records."""
    value = bytes(work.size)
    for number in range(work.count):
        sent = await producer.send(topic, value, partition=number % work.partitions)
        if work.is_awaited:
            await sent
    await producer.flush()


async def fetch(work: Work, consumer: Any) -> None:
    """Fetch the records of a work from the start on, from each partition the same number."""
    for partition in (partitions := consumer.assignment()):
        consumer.seek(partition, 0)
    consumer.resume(*partitions)
    due = dict.fromkeys(partitions, work.count // work.partitions)
    while due:
        for partition, records in (await consumer.getmany(timeout_ms=1000)).items():
            if partition in due and records[-1].offset >= due[partition] - 1:
                consumer.pause(partition)  # the partition may have more records
                del due[partition]


async def measured(work: Work, address: str, topic: str, rounds: int) -> Samples:
    """Measure producing and fetching for a work."""
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

    async with AIOKafkaProducer(bootstrap_servers=address, acks=1, **work.producer) as producer:
        await produce(work, producer, topic)  # which waits until partitions have leaders
        async with AIOKafkaConsumer(bootstrap_servers=address, **work.consumer) as consumer:
            consumer.assign([TopicPartition(topic, number) for number in range(work.partitions)])
            fetched = await sampled(f"fetch {work.what}", partial(fetch, work, consumer), rounds)
        return {**await sampled(f"produce {work.what}", partial(produce, work, producer, topic), rounds), **fetched}


async def asked(address: str, rounds: int) -> Samples:
    """Measure requests for the metadata of all topics."""
    from aiokafka import AIOKafkaConsumer

    async with AIOKafkaConsumer(bootstrap_servers=address) as consumer:

        async def ask() -> None:
            for _ in range(ASKED):
                await consumer.topics()

        return await sampled(f"{ASKED} times the metadata of all topics", ask, rounds)


if __name__ == "__main__":
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # it warns of every partition that has no leader yet
    _, name, to, about, count = sys.argv
    done = asked(to, int(count)) if name == METADATA else measured(WORKS[name], to, about, int(count))
    print(json.dumps(asyncio.run(asyncio.wait_for(done, SECONDS))))
