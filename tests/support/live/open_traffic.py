"""Traffic that leaves open transactions in a broker, one of them for good, and many dead records."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafka import KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

import kafka_messages
from kafka_messages.enums import ErrorCode
from kipwire import build
from kipwire.connection import ClientConnection, Response
from kipwire.records import Record, write_batch
from tests.support.live.broker_traffic import A_MIB, admin_client

HELD, DEAD, SHARED, INDEXED = "held", "dead", "shared", "indexed"
GHOST = 4_000_000
"""Id of a producer that no coordinator has ever assigned."""
_PRODUCE = 0
_PRODUCE_VERSION = 9
_VERIFICATION = "transaction.partition.verification.enable"


def make_topics(address: str) -> None:
    """Make the topics; dead records stay for an hour, unless a test lets the cleaner remove them."""
    often = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.01"}
    with admin_client(address) as admin:
        admin.create_topics(
            [
                NewTopic(HELD, 3, 1),
                NewTopic(SHARED, 1, 1),
                NewTopic(INDEXED, 1, 1, topic_configs={"segment.bytes": str(A_MIB), "index.interval.bytes": "1000"}),
                NewTopic(DEAD, 1, 1, topic_configs={**often, "min.compaction.lag.ms": "3600000"}),
            ],
            wait_for_metadata=True,
        )


def end_some_transactions(address: str, transactional_id: str, topic: str) -> None:
    """Write three transactions to all partitions of a topic; abort the second."""
    producer = KafkaProducer(bootstrap_servers=address, transactional_id=transactional_id)
    producer.init_transactions()
    for is_committed in (True, False, True):
        producer.begin_transaction()
        for number in range(4):
            producer.send(topic, b"%d" % number, key=b"key %d" % number, partition=number % 2)
        producer.flush()
        if is_committed:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    producer.close()


@contextmanager
def open_transaction(address: str, transactional_id: str) -> Iterator[None]:
    """Open a transaction in partition 1 for the block, and send records of other producers after it."""
    producer = KafkaProducer(
        bootstrap_servers=address, transactional_id=transactional_id, transaction_timeout_ms=600_000
    )
    producer.init_transactions()
    producer.begin_transaction()
    for number in range(3):
        producer.send(HELD, b"open %d" % number, partition=1)
    producer.flush()
    other = KafkaProducer(bootstrap_servers=address)
    for number in range(5):
        other.send(HELD, b"after %d" % number, partition=1)
    other.close()
    yield
    producer.abort_transaction()
    producer.close()


def leave_hanging_transaction(address: str, topic: str = HELD) -> None:
    """Begin a transaction in partition 2 that no coordinator knows, which a broker allows that does not check it."""
    with admin_client(address) as admin:
        broker = (ConfigResourceType.BROKER, "1")
        admin.alter_configs([ConfigResource(*broker, {_VERIFICATION: "false"})])
        try:
            _produce_unchecked(address, topic, [b"nobody ends this", b"nor this"])
        finally:
            default: Any = {_VERIFICATION: None}
            admin.reset_configs([ConfigResource(*broker, default)])
    producer = KafkaProducer(bootstrap_servers=address)
    producer.send(topic, b"waits", partition=2)
    producer.close()


def _produce_unchecked(address: str, topic: str, values: list[bytes]) -> None:
    """Write a batch as soon as the broker has the setting that lets it accept this; it refuses what comes before."""
    until = time.monotonic() + 60
    while (
        error := _produce(address, topic, values)
    ) == ErrorCode.INVALID_PRODUCER_ID_MAPPING and time.monotonic() < until:
        time.sleep(0.1)
    assert error == 0, ErrorCode.text(error)


def _produce(address: str, topic_name: str, values: list[bytes]) -> int:
    """Return the error code for a batch of a transaction that no coordinator knows."""
    now = time.time_ns() // 1_000_000
    batch = write_batch(
        [Record(offset=at, timestamp=now, value=value) for at, value in enumerate(values)],
        producer_id=GHOST,
        producer_epoch=3,
        base_sequence=0,
        is_transactional=True,
    )
    topic = {"name": topic_name, "partition_data": [{"index": 2, "records": batch}]}
    values_of_request = {"transactional_id": "ghost", "acks": -1, "timeout_ms": 10_000, "topic_data": [topic]}
    connection = ClientConnection(kafka_messages.REGISTRY, "ghost")
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as broker:
        broker.sendall(connection.send(build(kafka_messages.request(_PRODUCE, _PRODUCE_VERSION), values_of_request)))
        while data := broker.recv(65536):
            connection.receive_data(data)
            for event in connection.events():
                assert isinstance(event, Response)
                body: Any = event.body
                code: int = body.responses[0].partition_responses[0].error_code
                return code
    raise AssertionError("the broker has closed the connection")


def fill_with_dead_records(address: str) -> None:
    """Eleven keys of which ten are written five times, then some removed, each time in new segments."""
    for number in range(5):
        producer = KafkaProducer(bootstrap_servers=address, compression_type="gzip" if number % 2 else None)
        for key in range(10):
            is_removed = number == 4 and key < 3
            producer.send(DEAD, None if is_removed else b"%d" % number * (10 + key), key=b"key %d" % key, partition=0)
        producer.close()
        time.sleep(0.02)
    producer = KafkaProducer(bootstrap_servers=address)
    producer.send(DEAD, b"the last segment is never cleaned", key=b"last", partition=0)
    producer.close()


def fill_indexes(address: str) -> None:
    """More than a segment of records in small batches, so that the first segment has indexes that are complete."""
    producer = KafkaProducer(bootstrap_servers=address, batch_size=4096, linger_ms=5)
    for number in range(1500):
        producer.send(INDEXED, b"%04d" % number * 200, partition=0)
    producer.close()


def let_the_cleaner_loose(address: str) -> None:
    """Let the log cleaner remove dead records at once."""
    with admin_client(address) as admin:
        admin.alter_configs(
            [
                ConfigResource(ConfigResourceType.TOPIC, DEAD, {"min.compaction.lag.ms": "0"}),
                ConfigResource(ConfigResourceType.BROKER, "1", {"log.cleaner.backoff.ms": "100"}),
            ]
        )


def send_shared(address: str, count: int) -> None:
    """Send records for a share group, which reads from the first one on."""
    with admin_client(address) as admin:
        admin.alter_configs(
            [ConfigResource(ConfigResourceType["GROUP"], "sharers", {"share.auto.offset.reset": "earliest"})]
        )
    producer = KafkaProducer(bootstrap_servers=address)
    for number in range(count):
        producer.send(SHARED, b"%d" % number, partition=0)
    producer.close()
