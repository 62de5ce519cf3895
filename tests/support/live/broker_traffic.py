"""Traffic of real clients with a real broker, and the records that must therefore be in its logs."""

from __future__ import annotations

import asyncio
import getpass
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic
from kafka.structs import OffsetAndMetadata, TopicPartition

CODECS = (None, "gzip", "snappy", "lz4", "zstd")
A_MIB = 1024 * 1024
COMPACTED, GONE, AGAIN, ROLLED = "compacted", "gone", "again", "rolled"
TRANSACTIONAL = "paid"

Headers = tuple[tuple[str, bytes], ...]


class Sent(NamedTuple):
    """A record that the broker has acknowledged."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    compression: str


@contextmanager
def admin_client(address: str) -> Iterator[Any]:  # most of its methods are attributes that type checkers do not see
    """Open an admin client, and close it at the end."""
    client = KafkaAdminClient(bootstrap_servers=address)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def captured(port: int, file: Path) -> Iterator[bool]:
    """Let tcpdump write the packets to and from a port, in files of a MB each; yield True if it may do so here."""
    if shutil.which("tcpdump") is None:
        yield False
        return
    # As the user that it runs as: it would otherwise become another one, who may not write into the folder.
    how = ["-i", "lo", "-U", "-B", "65536", "-C", "1", "-Z", getpass.getuser(), "-w", str(file)]
    process = subprocess.Popen(["tcpdump", *how, f"tcp port {port}"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        yield any("listening on" in line for line in iter(process.stderr.readline, ""))
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()


def change_topics(address: str) -> None:
    """Make topics, give them more partitions and other configuration, remove one for good and one to make it again."""
    with admin_client(address) as admin:
        first = {"retention.ms": "86400000", "max.message.bytes": "2000000"}
        admin.create_topics(
            [
                NewTopic("orders", 3, 1, topic_configs=first),
                NewTopic(COMPACTED, 1, 1, topic_configs={"cleanup.policy": "compact"}),
                NewTopic(ROLLED, 1, 1, topic_configs={"segment.bytes": str(A_MIB)}),
                NewTopic(TRANSACTIONAL, 2, 1),
                NewTopic(GONE, 2, 1),
                NewTopic(AGAIN, 2, 1, topic_configs={"retention.ms": "1000000"}),
            ]
        )
        admin.create_partitions({COMPACTED: 2})
        admin.alter_configs(
            [ConfigResource(ConfigResourceType.TOPIC, "orders", {"retention.ms": "7200000", "flush.ms": "60000"})]
        )
        default: Any = {"max.message.bytes": None}
        admin.reset_configs([ConfigResource(ConfigResourceType.TOPIC, "orders", default)])
        admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "1", {"log.cleaner.threads": "2"})])
        admin.delete_topics([GONE, AGAIN])
        admin.create_topics([NewTopic(AGAIN, 1, 1, topic_configs={"flush.ms": "50000"})], wait_for_metadata=True)


def send_with_kafka_python(address: str, topics: Sequence[str], count: int) -> list[Sent]:
    """Send records of all codecs and shapes: without key, without value, with headers twice and without value."""
    sent: list[Sent] = []
    for codec in CODECS:
        producer = KafkaProducer(bootstrap_servers=address, client_id="sender", compression_type=codec, linger_ms=10)
        waiting = []
        for topic in topics:
            for at in range(count):
                key = b"k%d" % (at % 17) if at % 3 or topic == COMPACTED else None
                value = b"%d" % at * (at % 40) if at % 11 or key is None else None  # a record has at least one of both
                headers = (("trace", b"%d" % at), ("trace", b""), ("größe", bytes([0, 255])))[: at % 4]
                future = producer.send(topic, key=key, value=value, headers=list(headers))
                waiting.append((future, key, value, headers))
        producer.flush()
        for future, key, value, headers in waiting:
            where = future.get(timeout=10)
            sent.append(Sent(where.topic, where.partition, where.offset, key, value, headers, codec or "none"))
        producer.close()
    return sent


def send_with_aiokafka(address: str, topic: str, count: int) -> list[Sent]:
    """Send records of all codecs by another client, whose compressed bytes are not the same."""

    async def send() -> list[Sent]:
        sent: list[Sent] = []
        for codec in CODECS:
            async with AIOKafkaProducer(bootstrap_servers=address, compression_type=codec, linger_ms=10) as producer:
                values = [b"aio %d " % at * 20 for at in range(count)]
                headers = (("by", b"aiokafka"),)
                futures = [await producer.send(topic, value=value, headers=list(headers)) for value in values]
                for value, future in zip(values, futures, strict=True):
                    where = await future
                    sent.append(Sent(topic, where.partition, where.offset, None, value, headers, codec or "none"))
        return sent

    return asyncio.run(send())


def send_numbers(address: str, topic: str, numbers: Iterable[int]) -> None:
    """Send records whose values are numbers, in digits."""
    producer = KafkaProducer(bootstrap_servers=address, linger_ms=20)
    for number in numbers:
        producer.send(topic, value=b"%d" % number)
    producer.close()


def partitions(described: Iterable[dict[str, Any]]) -> list[Any]:
    """Return the partitions of topics that an admin client has described."""
    return [
        TopicPartition(topic["name"], part["partition_index"]) for topic in described for part in topic["partitions"]
    ]


def fill_segments(address: str) -> list[Sent]:
    """Enough records, in batches of many, for a topic to have several segments."""
    producer = KafkaProducer(bootstrap_servers=address, linger_ms=20)
    values = [b"%06d" % at * 100 for at in range(6000)]
    futures = [producer.send(ROLLED, value=value, partition=0) for value in values]
    producer.flush()
    offsets = [future.get(timeout=10).offset for future in futures]
    producer.close()
    return [Sent(ROLLED, 0, offset, None, value, (), "none") for offset, value in zip(offsets, values, strict=True)]


def send_in_transactions(address: str, group: str) -> tuple[list[Sent], list[Sent]]:
    """Six transactions of five records and an offset each, every third aborted: what was committed, what was not."""
    committed: list[Sent] = []
    aborted: list[Sent] = []
    producer = KafkaProducer(bootstrap_servers=address, transactional_id="payments")
    producer.init_transactions()
    for number in range(6):
        producer.begin_transaction()
        values = [b"payment %d.%d" % (number, at) for at in range(5)]
        futures = [producer.send(TRANSACTIONAL, value=value) for value in values]
        offset = OffsetAndMetadata(100 + number, f"after {number}", -1)
        producer.send_offsets_to_transaction({TopicPartition("orders", 0): offset}, group)
        producer.flush()
        places = [future.get(timeout=10) for future in futures]
        is_aborted = number % 3 == 2
        kept = aborted if is_aborted else committed
        kept += [
            Sent(TRANSACTIONAL, place.partition, place.offset, None, value, (), "none")
            for place, value in zip(places, values, strict=True)
        ]
        end: Callable[[], Any] = producer.abort_transaction if is_aborted else producer.commit_transaction
        end()
    producer.close()
    return committed, aborted


def consume(address: str, group: str, topics: Sequence[str], every: int) -> int:
    """Read topics to their ends as a member of a group that commits after every few records; the number it read."""
    consumer = KafkaConsumer(
        *topics,
        bootstrap_servers=address,
        group_id=group,
        client_id=f"client of {group}",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=1500,
        max_poll_records=every,
    )
    count = 0
    for count, _ in enumerate(consumer, 1):
        if count % every == 0:
            consumer.commit()
    consumer.commit()
    consumer.close()
    return count


def read_all(address: str, topics: Sequence[str]) -> Iterator[Any]:
    """Yield every record that a consumer gets from the topics, internal ones too, as kafka-python's ConsumerRecord."""
    consumer = KafkaConsumer(
        bootstrap_servers=address,
        exclude_internal_topics=False,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=1500,
    )
    parts = [TopicPartition(topic, number) for topic in topics for number in consumer.partitions_for_topic(topic)]
    consumer.assign(parts)
    yield from consumer
    consumer.close()
