"""kafka-python's, aiokafka's and confluent-kafka's administrators get what they ask the fake broker for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import confluent_kafka.admin
import pytest
from aiokafka import TopicPartition as AioTopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource as AioConfigResource
from aiokafka.admin.config_resource import ConfigResourceType as AioConfigResourceType
from confluent_kafka import Consumer, Producer, TopicPartition
from kafka import KafkaAdminClient, KafkaConsumer
from kafka.admin import ConfigResource as KafkaConfigResource
from kafka.admin import ConfigResourceType
from kafka.structs import TopicPartition as KafkaTopicPartition

from kafka_messages.enums import ApiKey
from kipwire.testing import FakeBroker
from tests.support.subjects.fake_broker_clients import CLIENTS, TIMEOUT

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

TOPIC = "orders"
CONFLUENT: Any = confluent_kafka.admin
"""`Any`, since the module has no types for its exports."""


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(topics={TOPIC: 2}) as broker:
        for number in range(5):
            broker.append(TOPIC, b"%d" % number)
        yield broker


def left(broker: FakeBroker) -> list[bytes | None]:
    return [record.value for record in broker.records(TOPIC)]


def asked(broker: FakeBroker, *apis: ApiKey) -> None:
    """Check that a client has asked for all of these."""
    assert {one.api_key for one in broker.clear_requests()} >= set(apis)


def test_kafka_python(broker: FakeBroker) -> None:
    admin: Any = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    try:
        place = KafkaTopicPartition(TOPIC, 0)
        assert admin.delete_records({place: 3})
        assert left(broker) == [b"3", b"4"]
        for value, is_incremental in (("1000", True), ("2000", False)):
            resource = KafkaConfigResource(ConfigResourceType.TOPIC, TOPIC, {"retention.ms": value})
            admin.alter_configs([resource], incremental=is_incremental)
            assert f"'{value}'" in repr(admin.describe_configs([KafkaConfigResource(ConfigResourceType.TOPIC, TOPIC)]))
        assert "'orders'" in repr(admin.describe_log_dirs())
        assert not admin.list_partition_reassignments()
        commit_and_leave(broker)
        assert admin.delete_group_offsets("g", [place])
        assert broker.committed_offsets("g") == {}
        producer = open_transaction(broker)
        assert "Ongoing" in repr(admin.list_transactions()) and "'payments'" in repr(admin.list_transactions())
        assert "Ongoing" in repr(admin.describe_transactions(["payments"]))
        assert "producer_id" in repr(admin.describe_producers([place]))
        producer.abort_transaction(TIMEOUT)
    finally:
        admin.close()
    asked(
        broker,
        *(ApiKey.DELETE_RECORDS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.DESCRIBE_LOG_DIRS),
        *(ApiKey.LIST_PARTITION_REASSIGNMENTS, ApiKey.OFFSET_DELETE, ApiKey.LIST_TRANSACTIONS),
        *(ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.DESCRIBE_PRODUCERS),
    )


def open_transaction(broker: FakeBroker) -> Producer:
    """Return a producer with an open transaction that has a record."""
    settings = {"transactional.id": "payments", "linger.ms": 0, "log_level": 0}
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, **settings})
    producer.init_transactions(TIMEOUT)
    producer.begin_transaction()
    producer.produce(TOPIC, b"open", partition=0)
    producer.flush(TIMEOUT)
    return producer


def commit_and_leave(broker: FakeBroker) -> None:
    """Commit an offset of group `g`, which has no members then."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "log_level": 0})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, 4)], asynchronous=False)
    consumer.close()
    assert broker.committed_offsets("g") == {(TOPIC, 0): 4}


def test_confluent_kafka(broker: FakeBroker) -> None:
    admin = CONFLUENT.AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    place = TopicPartition(TOPIC, 0, 3)
    (deleted,) = admin.delete_records([place]).values()
    assert deleted.result(TIMEOUT).low_watermark == 3
    assert left(broker) == [b"3", b"4"]
    entry = CONFLUENT.ConfigEntry("cleanup.policy", "compact", incremental_operation=CONFLUENT.AlterConfigOpType.APPEND)
    for change in (
        admin.incremental_alter_configs(
            [CONFLUENT.ConfigResource(CONFLUENT.ResourceType.TOPIC, TOPIC, incremental_configs=[entry])]
        ),
        admin.alter_configs(
            [CONFLUENT.ConfigResource(CONFLUENT.ResourceType.TOPIC, TOPIC, set_config={"retention.ms": "7"})]
        ),
    ):
        (done,) = change.values()
        done.result(TIMEOUT)
    (described,) = admin.describe_configs([CONFLUENT.ConfigResource(CONFLUENT.ResourceType.TOPIC, TOPIC)]).values()
    values = {name: one.value for name, one in described.result(TIMEOUT).items()}
    assert (values["retention.ms"], values["cleanup.policy"]) == ("7", "delete")
    asked(broker, ApiKey.DELETE_RECORDS, ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS)


def test_aiokafka(broker: FakeBroker) -> None:
    async def run() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
        await admin.start()
        try:
            deleted = await admin.delete_records({AioTopicPartition(TOPIC, 0): RecordsToDelete(before_offset=3)})
            assert deleted == {AioTopicPartition(TOPIC, 0): 3}
            resource = AioConfigResource(AioConfigResourceType.TOPIC, TOPIC, {"retention.ms": "1000"})
            await admin.alter_configs([resource])
            described: Any = await admin.describe_configs([AioConfigResource(AioConfigResourceType.TOPIC, TOPIC)])
            assert "'1000'" in repr(described)
        finally:
            await admin.close()

    asyncio.run(asyncio.wait_for(run(), TIMEOUT))
    assert left(broker) == [b"3", b"4"]
    asked(broker, ApiKey.DELETE_RECORDS, ApiKey.ALTER_CONFIGS, ApiKey.DESCRIBE_CONFIGS)


@pytest.mark.parametrize("name", list(CLIENTS))
def test_consumers_begin_after_deleted_records(broker: FakeBroker, name: str) -> None:
    admin = CONFLUENT.AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    (deleted,) = admin.delete_records([TopicPartition(TOPIC, 0, 3)]).values()
    deleted.result(TIMEOUT)
    assert CLIENTS[name].read(broker.bootstrap_servers, TOPIC, 2, "g") == [b"3", b"4"]


def test_fetches_of_consumers_are_of_a_session(broker: FakeBroker) -> None:
    consumer: Any = KafkaConsumer(TOPIC, bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest")
    got: list[bytes] = []
    try:
        while len(got) < 8:
            got += [record.value for records in consumer.poll(timeout_ms=1000).values() for record in records]
            if len(got) == 5:
                for number in range(5, 8):
                    broker.append(TOPIC, b"%d" % number, partition=1)
    finally:
        consumer.close()
    assert got == [b"%d" % number for number in range(8)]
    bodies: list[Any] = [one.body for one in broker.requests(ApiKey.FETCH)]
    assert any(body.session_id > 0 and body.session_epoch > 0 for body in bodies)
