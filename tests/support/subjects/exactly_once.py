"""Two programs that copy records in transactions, exactly once, whatever happens to brokers and to themselves.

Each reads a partition of its own of the topic `RUN-in`, sends every record to `RUN-out`, and commits the offset in the
same transaction. After any error it begins anew, from the last committed offset, as such programs do.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as Place

from kafka_messages.enums import CoordinatorType
from kafka_messages.find_coordinator_request.v3 import FindCoordinatorRequest
from kafka_messages.offset_fetch_request.v7 import OffsetFetchRequest, OffsetFetchRequestTopic
from kipwire.aio import connect

SOURCE, TARGET = "{}-in", "{}-out"
"""Topics of a run."""
_SILENT = logging.Logger("exactly once", logging.CRITICAL + 1)
"""Logger for librdkafka, which reports that it was fenced whatever its `log_level` is."""
_BATCH = 3
"""Records of a transaction."""
_TIMEOUT_MS = 5000
"""Time limit of requests, and of transactions."""

_LONGEST_PAUSE = 0.1
"""Seconds between two events."""

Copy = Callable[[str, str, int, int, Random, Event], None]
"""Copies all records of a partition: takes address, name of the run, partition, their number, chance, and the end."""


def _name(run: str, partition: int) -> str:
    return f"{run}-{partition}"


def copy_by_confluent(address: str, run: str, partition: int, count: int, chance: Random, given_up: Event) -> None:
    """Copy with confluent-kafka."""
    while not given_up.is_set():
        with suppress(KafkaException):
            if _copied_by_confluent(address, run, partition, count, chance):
                return


def _copied_by_confluent(address: str, run: str, partition: int, count: int, chance: Random) -> bool:
    """Copy records; return True once all are copied, and False if this copier ends before, as one that is killed."""
    common = {"bootstrap.servers": address, "log_level": 0, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100}
    common |= {"topic.metadata.refresh.fast.interval.ms": 50, "retry.backoff.ms": 20, "socket.timeout.ms": _TIMEOUT_MS}
    consumer = Consumer(
        {
            **common,
            "group.id": _name(run, partition),
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": 50,
        }
    )
    try:
        producer = Producer(
            {
                **common,
                "transactional.id": _name(run, partition),
                "transaction.timeout.ms": _TIMEOUT_MS,
                "linger.ms": 0,
            },
            logger=_SILENT,
        )
        producer.init_transactions(10)
        (committed,) = consumer.committed([Place(SOURCE.format(run), partition)], 10)
        at = max(committed.offset, 0)
        consumer.assign([Place(SOURCE.format(run), partition, at)])
        while at < count:
            producer.begin_transaction()
            for message in consumer.consume(min(_BATCH, count - at), 5):
                if message.error():
                    raise KafkaException(message.error())
                producer.produce(TARGET.format(run), message.value(), partition=partition)
                at = (message.offset() or 0) + 1
            if chance.random() < 0.05:
                return False
            end = [Place(SOURCE.format(run), partition, at)]
            _within(10, producer.send_offsets_to_transaction, end, consumer.consumer_group_metadata(), 10)
            producer.commit_transaction(10)
        return True
    finally:
        consumer.close()


def _within(seconds: float, function: Callable[..., object], *arguments: Any) -> None:
    """Call a function that may never end, in a thread that is then left behind.

    librdkafka 2.16.0 waits for ever, whatever its timeout is, if metadata no longer names the node that coordinated the
    group (its issues 5511 and 5456).
    """
    failures: list[KafkaException] = []

    def call() -> None:
        try:
            function(*arguments)
        except KafkaException as error:
            failures.append(error)

    thread = Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise KafkaException("the client does not return")
    if failures:
        raise failures[0]


def copy_by_aiokafka(address: str, run: str, partition: int, count: int, chance: Random, given_up: Event) -> None:
    """Copy with aiokafka."""

    async def copy() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # aiokafka leaves failed futures behind
        while not given_up.is_set():
            try:
                async with asyncio.timeout(15):
                    if await _copied_by_aiokafka(address, run, partition, count, chance):
                        return
            except Exception:
                await asyncio.sleep(0.05)

    asyncio.run(copy())


async def _committed(address: str, group: str, place: TopicPartition) -> int:
    """Return the committed offset of a group.

    aiokafka 0.14.0 takes an OffsetFetch of version 2 or 3 that a node refuses, such as one that does not coordinate the
    group any more, for a group without offsets. Its program would begin anew, and copy all once more.
    """
    topics = [OffsetFetchRequestTopic(name=place.topic, partition_indexes=[place.partition])]
    async with connect(address) as broker:
        found = await broker.request(FindCoordinatorRequest(key=group, key_type=CoordinatorType.GROUP))
    async with connect((found.host, found.port)) as coordinator:
        answer = await coordinator.request(OffsetFetchRequest(group_id=group, topics=topics, require_stable=True))
    if answer.error_code or answer.topics[0].partitions[0].error_code:
        raise RuntimeError(f"the offset of {group} is not known")
    return max(answer.topics[0].partitions[0].committed_offset, 0)


async def _copied_by_aiokafka(address: str, run: str, partition: int, count: int, chance: Random) -> bool:
    """Copy as `_copied_by_confluent` does."""
    common: dict[str, Any] = {"bootstrap_servers": address, "retry_backoff_ms": 20, "request_timeout_ms": _TIMEOUT_MS}
    place = TopicPartition(SOURCE.format(run), partition)
    group = _name(run, partition)
    consumer = AIOKafkaConsumer(
        group_id=group,
        enable_auto_commit=False,
        isolation_level="read_committed",
        fetch_max_wait_ms=50,
        **common,
    )
    producer = AIOKafkaProducer(transactional_id=group, transaction_timeout_ms=_TIMEOUT_MS, **common)
    try:
        await consumer.start()
        await producer.start()
        consumer.assign([place])
        at = await _committed(chance.choice(address.split(",")), group, place)
        consumer.seek(place, at)
        while at < count:
            await producer.begin_transaction()
            found = await consumer.getmany(place, timeout_ms=5000, max_records=min(_BATCH, count - at))
            for record in found.get(place, []):
                await producer.send(TARGET.format(run), record.value, partition=partition)
                at = record.offset + 1
            if chance.random() < 0.05:
                return False
            await producer.send_offsets_to_transaction({place: at}, group)
            await producer.commit_transaction()
        return True
    finally:
        for one in (consumer, producer):
            with suppress(Exception):
                await asyncio.wait_for(one.stop(), 5)


COPIES: tuple[Copy, ...] = (copy_by_confluent, copy_by_aiokafka)
"""Each for the partition of its place."""


def copied(address: str, run: str, count: int, seed: int, events: Iterable[Callable[[], None]], seconds: float) -> None:
    """Let both copy, while things happen.

    Args:
        address: of the brokers, which have the topics with a partition for each copier.
        run: a name that no other run has.
        count: of records in each partition of `RUN-in`.
        seed: of the copiers, and of the times at which things happen.
        events: what happens, one after the other, as long as both have not ended.
        seconds: after which it has failed.
    """
    chance, given_up = Random(seed), Event()
    threads = [
        Thread(target=copy, args=(address, run, at, count, Random(seed + at), given_up), daemon=True)
        for at, copy in enumerate(COPIES)
    ]
    for one in threads:
        one.start()
    until = monotonic() + seconds
    for event in events:
        sleep(chance.uniform(0.0, _LONGEST_PAUSE))
        event()
    for one in threads:
        one.join(max(until - monotonic(), 0))
    if any(one.is_alive() for one in threads):
        given_up.set()
        for one in threads:
            one.join(20)
        raise TimeoutError(f"run {run} with seed {seed} is not done after {seconds} s")


def fence(address: str, run: str, partition: int) -> None:
    """Take the place of a copier's producer, which has to begin anew then."""
    settings = {"bootstrap.servers": address, "log_level": 0, "transactional.id": _name(run, partition)}
    with suppress(KafkaException):
        Producer(settings, logger=_SILENT).init_transactions(2)


def read(address: str, run: str, partition: int, seconds: float) -> list[bytes]:
    """Return all committed records of a partition of `RUN-out`, as a consumer that reads only those gets them."""
    settings: dict[str, Any] = {"bootstrap.servers": address, "group.id": "reader", "log_level": 0}
    settings |= {"isolation.level": "read_committed", "enable.partition.eof": True, "fetch.wait.max.ms": 20}
    consumer = Consumer(settings)
    found: list[bytes] = []
    until = monotonic() + seconds
    try:
        consumer.assign([Place(TARGET.format(run), partition, 0)])
        while monotonic() < until:
            message = consumer.poll(1)
            if message is None:
                continue
            if (error := message.error()) is not None:
                if error.name() == "_PARTITION_EOF":
                    return found
                continue
            value = message.value()
            assert isinstance(value, bytes)
            found.append(value)
        raise TimeoutError(f"partition {partition} of {run} does not end after {seconds} s")
    finally:
        consumer.close()
