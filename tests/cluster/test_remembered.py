"""First records that an exporter keeps from round to round: read once, and again when they may have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_messages.delete_records_request.v2 import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_messages.enums import ApiKey, ErrorCode
from kafka_messages.incremental_alter_configs_request.v1 import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kipwire.aio import connect
from kipwire.cluster import ONCE, Cluster, lag
from kipwire.cluster.model import First, Look
from kipwire.cluster.remembered import Memory
from kipwire.cluster.unread import SHARED_SIZES
from kipwire.logs.names import Partition
from kipwire.testing import FakeBroker
from tests.cluster.conftest import TIME, committed

TOPIC = 2
"""The type of a resource."""
Change = Callable[[FakeBroker], Any]


async def rounds(broker: FakeBroker, *changes: Change) -> list[tuple[Look, int]]:
    """Run one round of an exporter, and one after each change; return each look, with the number of its fetches."""
    cluster = Cluster(broker.bootstrap_servers, patience=ONCE)
    memory, found = Memory(), []
    try:
        for change in (lambda _: None, *changes):
            await asyncio.to_thread(change, broker)
            broker.clear_requests()
            seen = await lag.look(cluster, memory=memory)
            bodies: list[Any] = [one.body for one in broker.requests(ApiKey.FETCH)]
            found.append((seen, sum(len(topic.partitions) for body in bodies for topic in body.topics)))
            alone = await lag.look(cluster)
            assert (seen.firsts, seen.problems) == (alone.firsts, alone.problems)
    finally:
        await cluster.close()
    return found


def asked(broker: FakeBroker, request: Any) -> None:
    async def ask() -> None:
        async with connect(broker.bootstrap_servers) as one:
            await one.request(request)

    asyncio.run(ask())


def delete_records(broker: FakeBroker) -> None:
    partition = DeleteRecordsPartition(partition_index=0, offset=3)
    asked(broker, DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="orders", partitions=[partition])]))


def policy(text: str) -> Change:
    config = AlterableConfig(name="cleanup.policy", config_operation=0, value=text)
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name="orders", configs=[config])
    return lambda broker: asked(broker, IncrementalAlterConfigsRequest(resources=[resource]))


def made_anew(broker: FakeBroker) -> None:
    broker.delete_topic("orders")
    broker.create_topic("orders", 2)
    for number in range(4):
        broker.append("orders", b"x", timestamp=TIME + 50_000 + number)
    committed(broker, "billing", {("orders", 0): 1})


@pytest.mark.parametrize(
    ("change", "fetched"),
    [
        (lambda _: None, 0),
        (lambda broker: broker.append("orders", b"x"), 0),
        (lambda broker: committed(broker, "billing", {("orders", 0): 2}), 1),
        (lambda broker: committed(broker, "other", {("orders", 0): 1, ("orders", 1): 3}), 1),
        (delete_records, 1),
        (made_anew, 1),
        (policy("compact"), 1),
        (policy("compact,delete"), 1),
        (lambda broker: broker.fail(ApiKey.DESCRIBE_CONFIGS, ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=None), 1),
    ],
)
def test_records_are_read_again_only_when_they_may_have_changed(
    broker: FakeBroker, change: Change, fetched: int
) -> None:
    (_, before), (_, after) = asyncio.run(rounds(broker, change))
    assert (before, after) == (1, fetched)


def test_what_a_compacted_topic_had_is_not_believed_when_it_is_compacted_no_more(broker: FakeBroker) -> None:
    found = asyncio.run(rounds(broker, policy("compact"), policy("delete"), lambda _: None))
    assert [fetched for _, fetched in found] == [1, 1, 1, 0]


def test_a_record_of_an_open_transaction_is_not_believed_until_it_is_committed(broker: FakeBroker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "paid"})
    producer.init_transactions(30)

    def begin(_: FakeBroker) -> None:
        committed(broker, "billing", {("orders", 0): 4, ("orders", 1): 4})
        producer.begin_transaction()
        producer.produce("orders", b"x", partition=0, timestamp=TIME)
        assert producer.flush(30) == 0

    def abort(_: FakeBroker) -> None:
        producer.abort_transaction(30)

    found = asyncio.run(rounds(broker, begin, lambda _: None, abort))
    firsts = [seen.firsts.get(Partition("orders", 0), {}).get(4) for seen, _ in found[1:]]
    assert firsts == [First(True, TIME, 4, False)] * 2 + [First(False, -1)]


def test_another_leader_is_asked_again() -> None:
    with FakeBroker(topics={"orders": 1}, nodes=2, auto_create_topics=False) as broker:
        broker.append("orders", b"x", timestamp=TIME)
        committed(broker, "billing", {("orders", 0): 0})
        to = 3 - broker.leader("orders")
        found = asyncio.run(rounds(broker, lambda one: one.move_leader("orders", to=to), lambda _: None))
    assert [fetched for _, fetched in found] == [1, 1, 0]


def test_large_batches_are_found_beside_small_ones() -> None:
    sizes = [1, SHARED_SIZES[0], SHARED_SIZES[1], SHARED_SIZES[2] * 2]
    with FakeBroker(topics={"orders": len(sizes)}, auto_create_topics=False) as broker:
        for partition, size in enumerate(sizes):
            for number in range(3):
                broker.append("orders", bytes(size), partition=partition, timestamp=TIME + 10 * partition + number)
        for number in range(4):
            committed(broker, f"g{number}", {("orders", partition): number for partition in range(len(sizes))})
        ((found, _),) = asyncio.run(rounds(broker))
    assert found.firsts == {
        Partition("orders", partition): {n: First(True, TIME + 10 * partition + n, n) for n in range(3)}
        for partition in range(len(sizes))
    }


def test_many_groups_of_many_partitions_need_few_requests() -> None:
    with FakeBroker(topics={"orders": 40}, auto_create_topics=False) as broker:
        for partition in range(40):
            for number in range(5):
                broker.append("orders", b"x", partition=partition, timestamp=TIME + number)
        for group in range(5):
            committed(broker, f"g{group}", {("orders", partition): group for partition in range(40)})
        ((found, fetched),) = asyncio.run(rounds(broker))
        assert (sum(map(len, found.firsts.values())), fetched) == (200, 40)
        assert len(broker.requests(ApiKey.FETCH)) == 2  # one in `rounds`, and one for the look alone
