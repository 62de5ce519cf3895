"""Features of aiokafka, each as a program that checks its own result; and aiokafka's codec, which may be forbidden."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any, TypeVar
from unittest import mock

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.protocol import struct, types
from aiokafka.protocol.abstract import AbstractType

T = TypeVar("T")
SECONDS = 60
"""Seconds after which a feature counts as hanging."""
RETENTION = 10**13
"""Milliseconds that the records of topics are kept: their timestamps are long ago."""
CODECS = (None, "gzip", "snappy", "lz4", "zstd")


@contextmanager
def forbidden_schemas() -> Iterator[list[str]]:
    """Have each of aiokafka's own types raise an error where it encodes or decodes; the list gets what was tried."""
    used: list[str] = []

    def refuse(name: str) -> Callable[..., Any]:
        def call(*_: object, **__: object) -> Any:
            used.append(name)
            raise AssertionError(f"aiokafka's own {name} is used")

        return call

    codecs = [types.Schema, types.Array, types.CompactArray, types.String, types.CompactString, struct.Struct]
    with mock.patch.multiple(AbstractType, encode=refuse("AbstractType.encode"), decode=refuse("AbstractType.decode")):
        patches = [
            mock.patch.object(cls, method, refuse(f"{cls.__name__}.{method}"))
            for cls in (*codecs, *AbstractType.__subclasses__())
            for method in ("encode", "decode")
        ]
        for patch in patches:
            patch.start()
        try:
            yield used
        finally:
            for patch in reversed(patches):
                patch.stop()


def run(feature: Callable[[str, str], Awaitable[None]], address: str, topic: str) -> None:
    """Run a feature with a topic of its own.

    Args:
        feature: one of `FEATURES`.
        address: of a broker.
        topic: a name that the broker does not have yet.
    """

    async def go() -> None:
        await _create(address, topic, 2)
        await feature(address, topic)

    asyncio.run(asyncio.wait_for(go(), SECONDS))


async def _create(address: str, topic: str, partitions: int) -> None:
    async with AsyncExitStack() as stack:
        admin = await _admin(stack, address)
        configs = {"retention.ms": str(RETENTION)}
        created = await admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs)])
        assert [error[:2] for error in created.topic_errors] == [(topic, 0)]


async def _admin(stack: AsyncExitStack, address: str) -> Any:
    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    stack.push_async_callback(admin.close)
    await admin.start()
    return admin


def _producer(address: str, **settings: Any) -> Any:
    return AIOKafkaProducer(bootstrap_servers=address, retry_backoff_ms=20, **settings)


def _consumer(*topics: str, address: str, **settings: Any) -> Any:
    common = {
        "auto_offset_reset": "earliest",
        "heartbeat_interval_ms": 100,
        "retry_backoff_ms": 20,
        "fetch_max_wait_ms": 50,
    }
    return AIOKafkaConsumer(*topics, bootstrap_servers=address, **{**common, **settings})


async def _values(consumer: Any, count: int) -> list[bytes]:
    return [(await consumer.getone()).value for _ in range(count)]


async def acknowledgements(address: str, topic: str) -> None:
    """Produce with `acks` of 0, 1 and all."""
    for acks in ("all", 1, 0):  # 0 at the end: with it, records sent before a new topic has a leader are lost
        async with _producer(address, acks=acks) as producer:
            sent = await producer.send_and_wait(topic, f"acks {acks}".encode(), partition=0)
            assert sent is None if acks == 0 else sent.offset >= 0
    async with _consumer(topic, address=address) as consumer:
        assert sorted(await _values(consumer, 3)) == [b"acks 0", b"acks 1", b"acks all"]


async def compression(address: str, topic: str) -> None:
    """Produce records with keys, headers and timestamps in batches of every codec, and a batch made by hand."""
    for number, codec in enumerate(CODECS):
        async with _producer(address, compression_type=codec) as producer:
            headers = [("codec", str(codec).encode()), ("none", None)]
            await producer.send_and_wait(
                topic, b"v" * 1000, key=b"k", partition=1, headers=headers, timestamp_ms=1700000000000 + number
            )
    async with _producer(address) as producer:
        batch = producer.create_batch()
        for value in (b"one", b"two"):
            batch.append(key=None, value=value, timestamp=None)
        batch.close()
        assert (await (await producer.send_batch(batch, topic, partition=1))).offset == len(CODECS)
    async with _consumer(topic, address=address) as consumer:
        for number, codec in enumerate(CODECS):
            got = await consumer.getone()
            assert (got.key, got.value, got.timestamp) == (b"k", b"v" * 1000, 1700000000000 + number)
            assert got.headers == (("codec", str(codec).encode()), ("none", None))
        assert await _values(consumer, 2) == [b"one", b"two"]


async def idempotence(address: str, topic: str) -> None:
    """Produce idempotently, with several batches in flight."""
    async with _producer(address, enable_idempotence=True, max_batch_size=200) as producer:
        sent = [await producer.send(topic, f"{number:03}".encode(), partition=0) for number in range(100)]
        await producer.flush()
        assert [(await one).offset for one in sent] == [*range(100)]
    async with _consumer(topic, address=address) as consumer:
        assert await _values(consumer, 100) == [f"{number:03}".encode() for number in range(100)]


async def offsets(address: str, topic: str) -> None:
    """Consume without a group: assignment, positions, offsets by time, pausing."""
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    async with _producer(address) as producer:
        for number in range(5):
            await producer.send_and_wait(topic, b"%d" % number, partition=0, timestamp_ms=1700000000000 + number)
    async with _consumer(address=address) as consumer:
        consumer.assign([first, second])
        assert await consumer.beginning_offsets([first, second]) == {first: 0, second: 0}
        assert await consumer.end_offsets([first, second]) == {first: 5, second: 0}
        found = await consumer.offsets_for_times({first: 1700000000003})
        assert (found[first].offset, found[first].timestamp) == (3, 1700000000003)
        consumer.seek(first, 3)
        assert await _values(consumer, 2) == [b"3", b"4"]
        await consumer.seek_to_beginning(first)
        consumer.pause(first)
        assert await consumer.getmany(first, timeout_ms=100) == {}
        consumer.resume(first)
        got = await consumer.getmany(first, timeout_ms=5000)
        assert [one.value for one in got[first]] == [b"0", b"1", b"2", b"3", b"4"]
        assert (await consumer.position(first), consumer.highwater(first)) == (5, 5)
        await consumer.seek_to_end(first)
        assert await consumer.position(first) == 5
        assert topic in await consumer.topics() and consumer.partitions_for_topic(topic) == {0, 1}


async def commits(address: str, topic: str) -> None:
    """Go on where a group has committed, with and without metadata."""
    partition, group = TopicPartition(topic, 0), f"group-of-{topic}"
    async with _producer(address) as producer:
        for number in range(4):
            await producer.send_and_wait(topic, b"%d" % number, partition=0)
    for settings, expected in (({}, [b"0", b"1"]), ({"enable_auto_commit": False}, [b"2"])):
        async with _consumer(topic, address=address, group_id=group, **settings) as consumer:
            assert await _values(consumer, len(expected)) == expected
            await consumer.commit({partition: (int(expected[-1]) + 1, "noted")})
            assert await consumer.committed(partition) == int(expected[-1]) + 1
            await consumer.seek_to_committed(partition)
    async with _consumer(topic, address=address, group_id=group) as consumer:
        assert await _values(consumer, 1) == [b"3"]
    async with AsyncExitStack() as stack:
        found = await (await _admin(stack, address)).list_consumer_group_offsets(group)
        assert found[partition].offset == 4


async def rebalance(address: str, topic: str, *assignors: Any) -> None:
    """Share the partitions of a topic by two members; when one leaves, the other has both."""
    settings: dict[str, Any] = {"address": address, "group_id": f"members-of-{topic}", "enable_auto_commit": False}
    if assignors:
        settings["partition_assignment_strategy"] = assignors
    both = {TopicPartition(topic, 0), TopicPartition(topic, 1)}
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(_consumer(topic, **settings))
        await _until(lambda: first.assignment() == both)
        async with _consumer(topic, **settings) as second:
            await _until(lambda: len(first.assignment()) == len(second.assignment()) == 1)
            assert first.assignment() | second.assignment() == both
            async with _producer(address) as producer:
                for number in (0, 1):
                    await producer.send_and_wait(topic, b"%d" % number, partition=number)
            got = await asyncio.gather(first.getone(), second.getone())
            assert sorted(one.value for one in got) == [b"0", b"1"]
            assert {TopicPartition(topic, one.partition) for one in got[:1]} == first.assignment()
            await asyncio.gather(first.commit(), second.commit())
        await _until(lambda: first.assignment() == both)
        assert [await first.committed(one) for one in sorted(both)] == [1, 1]


async def assignors(address: str, topic: str) -> None:
    """Rebalance with the round-robin assignor."""
    await rebalance(address, topic, RoundRobinPartitionAssignor)


async def sticky_assignor(address: str, topic: str) -> None:
    """Rebalance with the sticky assignor, whose user data has a format of its own."""
    await rebalance(address, topic, StickyPartitionAssignor)


async def transactions(address: str, topic: str) -> None:
    """Commit and abort transactions with a group's offsets; a reader of committed records sees no aborted ones."""
    partition, group = TopicPartition(topic, 0), f"group-of-{topic}"
    async with _producer(address, transactional_id=f"id-of-{topic}") as producer:
        for value, offset, is_kept in ((b"kept", 1, True), (b"aborted", 7, False), (b"kept too", 2, True)):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, value, partition=0)
            await producer.send_offsets_to_transaction({partition: offset}, group)
            await (producer.commit_transaction() if is_kept else producer.abort_transaction())
        async with producer.transaction():
            await producer.send_and_wait(topic, b"last", partition=1)
    async with _consumer(topic, address=address, isolation_level="read_committed") as consumer:
        assert sorted(await _values(consumer, 3)) == [b"kept", b"kept too", b"last"]
        assert consumer.last_stable_offset(partition) == 6  # three records, each with a marker
    async with _consumer(topic, address=address) as consumer:
        assert sorted(await _values(consumer, 4)) == [b"aborted", b"kept", b"kept too", b"last"]
    async with _consumer(address=address, group_id=group) as consumer:
        consumer.assign([partition])
        assert await consumer.committed(partition) == 2


async def administration(address: str, topic: str) -> None:
    """Topics, partitions, configuration and groups by the admin client."""
    async with AsyncExitStack() as stack:
        admin = await _admin(stack, address)
        grown = await admin.create_partitions({topic: NewPartitions(4)})
        assert [error[:2] for error in grown.topic_errors] == [(topic, 0)]
        (described,) = await admin.describe_topics([topic])
        assert sorted(one["partition"] for one in described["partitions"]) == [0, 1, 2, 3]
        assert topic in await admin.list_topics()
        assert len((await admin.describe_cluster())["brokers"]) == 1
        (configs,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        settings = {entry[0]: entry[1] for entry in configs.resources[0][4]}
        assert settings["retention.ms"] == str(RETENTION)
        group = f"group-of-{topic}"
        async with _consumer(topic, address=address, group_id=group) as consumer:
            await _until(lambda: len(consumer.assignment()) == 4)
            (answer,) = await admin.describe_consumer_groups([group])
            assert [(one[0], one[1], one[2], len(one[5])) for one in answer.groups] == [(0, group, "Stable", 1)]
        assert (group, "consumer") in await admin.list_consumer_groups()
        assert await admin.find_coordinator(group) >= 0
        deleted = await admin.delete_topics([topic])
        assert list(deleted.topic_error_codes) == [(topic, 0)]


async def deleted_records(address: str, topic: str) -> None:
    """Deleting records, which is a request of a flexible version."""
    partition = TopicPartition(topic, 0)
    async with _producer(address) as producer:
        for number in range(3):
            await producer.send_and_wait(topic, b"%d" % number, partition=0)
    async with AsyncExitStack() as stack:
        admin = await _admin(stack, address)
        assert await admin.delete_records({partition: RecordsToDelete(before_offset=2)}) == {partition: 2}
    async with _consumer(address=address) as consumer:
        consumer.assign([partition])
        assert await consumer.beginning_offsets([partition]) == {partition: 2}


async def _until(condition: Callable[[], bool]) -> None:
    """Wait for what a client does in the background; the time limit of the feature ends it."""
    while not condition():
        await asyncio.sleep(0.02)


FEATURES: dict[str, Callable[[str, str], Awaitable[None]]] = {
    one.__name__: one
    for one in (
        acknowledgements,
        compression,
        idempotence,
        offsets,
        commits,
        rebalance,
        assignors,
        transactions,
        administration,
    )
}
"""Features by name. All of them also run with the fake broker, and need no codec of aiokafka's."""
OF_KAFKA_ALONE: dict[str, Callable[[str, str], Awaitable[None]]] = {"deleted_records": deleted_records}
"""Features of which the fake broker lacks the API."""
