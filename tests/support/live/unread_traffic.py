"""Partitions with records of known times, and groups that have committed offsets without reading: `fill` makes all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from time import monotonic, sleep, time

from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.structs import OffsetAndMetadata, TopicPartition

from tests.support.live.broker_traffic import admin_client

TIMED, APPENDED, COMPACTED = "unread-timed", "unread-appended", "unread-compacted"
RECORDS = 300
"""Records in the compacted topic before the last one, and in a partition whose records are all deleted."""
START = 1_700_000_000_000
"""The time of the first record of each partition, in milliseconds; each record is a second and a bit after the last."""
COMMITTED = {
    # Plain records, of which groups have read different numbers.
    ("none", TIMED, 0): 0,
    ("some", TIMED, 0): 2,
    ("some-too", TIMED, 0): 2,
    ("most", TIMED, 0): 950,
    ("all", TIMED, 0): 1000,
    ("ahead", TIMED, 0): 1234,
    # Deleted up to 2500, so that ranges near the offsets have no record.
    ("before", TIMED, 1): 10,
    ("before-too", TIMED, 1): 20,
    ("long-before", TIMED, 1): 1700,
    ("just-before", TIMED, 1): 2490,
    ("after", TIMED, 1): 2600,
    # Markers of transactions at 3 and 8.
    ("at-marker", TIMED, 2): 3,
    ("before-marker", TIMED, 2): 2,
    ("at-last-marker", TIMED, 2): 8,
    # All deleted.
    ("lost", TIMED, 3): 5,
    # No time, and a time in the future.
    ("without-time", TIMED, 4): 0,
    ("with-time", TIMED, 4): 1,
    ("future", TIMED, 5): 0,
    # All deleted, and no more than that is near.
    ("all-lost", TIMED, 6): 5,
    ("appended", APPENDED, 0): 1,
    ("compacted", COMPACTED, 0): 0,
    ("compacted-too", COMPACTED, 0): 101,
}


def at(number: int) -> int:
    """Return the time of a record."""
    return START + 1001 * number


KEPT = {"retention.ms": "-1"}
"""Config of the topics: without it a broker deletes records older than a week, 30 seconds after its start."""
OFTEN = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.01"}
"""Config of a topic that is compacted as soon as there is something to remove."""


@cache
def fill(address: str, folder: Path) -> None:
    """Fill all topics, once in a run.

    Args:
        address: of the broker.
        folder: its log folder.
    """
    make_topics(address)
    send(address, TIMED, 0, map(at, range(1000)))
    send(address, TIMED, 1, map(at, range(3000)))
    delete_before(address, TIMED, 1, 2500)
    send_in_transaction(address, TIMED, 2, [at(0), at(1), at(2)])
    send(address, TIMED, 2, [at(4), at(5)])
    send_in_transaction(address, TIMED, 2, [at(6), at(7)])
    send(address, TIMED, 3, map(at, range(20)))
    delete_before(address, TIMED, 3, 20)
    send(address, TIMED, 4, [-1, at(1)])
    send(address, TIMED, 5, [round(time() * 1000) + 1_800_000, at(1)])
    send(address, TIMED, 6, map(at, range(RECORDS)))
    delete_before(address, TIMED, 6, RECORDS)
    send(address, APPENDED, 0, map(at, range(3)))
    send(address, COMPACTED, 0, map(at, range(RECORDS)), key=b"same")
    send(address, COMPACTED, 0, [at(RECORDS)], key=b"the last segment is never cleaned")
    compact(address, folder, COMPACTED, RECORDS)
    commit(address, COMMITTED)


def make_topics(address: str) -> None:
    """Make the topics; of the first two the partitions are for one case each."""
    with admin_client(address) as admin:
        admin.create_topics(
            [
                NewTopic(TIMED, 7, 1, topic_configs=KEPT),
                NewTopic(APPENDED, 1, 1, topic_configs={**KEPT, "message.timestamp.type": "LogAppendTime"}),
                NewTopic(COMPACTED, 1, 1, topic_configs=OFTEN),
            ],
            wait_for_metadata=True,
        )


def send(address: str, topic: str, partition: int, times: Iterable[int], key: bytes | None = None) -> None:
    """Send records with these times, in milliseconds."""
    producer = KafkaProducer(bootstrap_servers=address, linger_ms=20)
    for one in times:
        producer.send(topic, b"record", key=key, partition=partition, timestamp_ms=one)
    producer.close()


def send_in_transaction(address: str, topic: str, partition: int, times: Sequence[int]) -> None:
    """Send the same in a transaction; its marker takes the next offset."""
    producer = KafkaProducer(bootstrap_servers=address, transactional_id="unread")
    producer.init_transactions()
    producer.begin_transaction()
    for one in times:
        producer.send(topic, b"record", partition=partition, timestamp_ms=one)
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
