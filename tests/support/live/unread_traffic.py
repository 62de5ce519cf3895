"""Partitions with records of known times, and groups that have committed offsets without reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic, sleep

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.structs import OffsetAndMetadata, TopicPartition

from tests.support.live.broker_traffic import admin_client

TIMED, APPENDED, COMPACTED = "unread-timed", "unread-appended", "unread-compacted"
_KEPT = {"retention.ms": "-1"}
"""Else a broker deletes what is older than a week, 30 seconds after its start."""
_OFTEN = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.01"}


def make_topics(address: str) -> None:
    """Make the topics; of the first two the partitions are for one case each."""
    with admin_client(address) as admin:
        admin.create_topics(
            [
                NewTopic(TIMED, 7, 1, topic_configs=_KEPT),
                NewTopic(APPENDED, 1, 1, topic_configs={**_KEPT, "message.timestamp.type": "LogAppendTime"}),
                NewTopic(COMPACTED, 1, 1, topic_configs=_OFTEN),
            ],
            wait_for_metadata=True,
        )


def send(address: str, topic: str, partition: int, times: Iterable[int], key: bytes | None = None) -> None:
    """Records with these times, in milliseconds."""
    producer = KafkaProducer(bootstrap_servers=address, linger_ms=20)
    for time in times:
        producer.send(topic, b"record", key=key, partition=partition, timestamp_ms=time)
    producer.close()


def send_in_transaction(address: str, topic: str, partition: int, times: Sequence[int]) -> None:
    """The same, in a transaction; its marker takes the next offset."""
    producer = KafkaProducer(bootstrap_servers=address, transactional_id="unread")
    producer.init_transactions()
    producer.begin_transaction()
    for time in times:
        producer.send(topic, b"record", partition=partition, timestamp_ms=time)
    producer.flush()
    producer.commit_transaction()
    producer.close()


def delete_before(address: str, topic: str, partition: int, offset: int) -> None:
    """Delete records, as retention does."""
    with admin_client(address) as admin:
        admin.delete_records({TopicPartition(topic, partition): offset})


def compact(address: str, folder: Path, topic: str, offset: int) -> None:
    """Wait until the log cleaner has cleaned the only partition of a topic up to an offset."""
    with admin_client(address) as admin:
        broker = ConfigResource(ConfigResourceType.BROKER, "1", {"log.cleaner.backoff.ms": "100"})
        admin.alter_configs([broker])
    until = monotonic() + 60
    while f"\n{topic} 0 {offset}\n" not in (folder / "cleaner-offset-checkpoint").read_text():
        assert monotonic() < until, f"{topic} is not compacted"
        sleep(0.1)


def commit(address: str, offsets: Mapping[tuple[str, str, int], int]) -> None:
    """Commit offsets without reading, by group, topic and partition."""
    (group, topic, partition), offset = next(iter(offsets.items()))
    consumer = KafkaConsumer(bootstrap_servers=address, group_id=group, enable_auto_commit=False)
    part = TopicPartition(topic, partition)
    consumer.assign([part])
    consumer.commit({part: OffsetAndMetadata(offset, "", -1)})  # unlike the admin client, waits for the coordinator
    consumer.close()
    with admin_client(address) as admin:
        for (group, topic, partition), offset in offsets.items():
            admin.alter_group_offsets(group, {TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)})
