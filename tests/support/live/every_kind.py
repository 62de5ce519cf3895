"""Traffic that leaves every kind of group, codec and end of a transaction in a broker, compaction, and open ends."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from kafka import KafkaProducer
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic

from tests.support.live.broker_traffic import CODECS, admin_client, consume
from tests.support.live.kafka_tools import tool

READ, PAID, TIDY, SHARED = "every-read", "every-paid", "every-tidy", "every-shared"
CLASSIC, CONSUMER, SHARE, STREAMS = "every-classic", "every-consumer", "every-share", "every-streams"
"""Groups, each of its kind."""
_JOIN, _LEAVE = 0, -1
"""Epochs of a member of a streams group."""


def do_everything(address: str) -> None:
    """Make topics, write and read them."""
    often = {"cleanup.policy": "compact", "segment.ms": "1", "min.cleanable.dirty.ratio": "0.01"}
    with admin_client(address) as admin:
        admin.create_topics(
            [NewTopic(READ, 3, 1), NewTopic(PAID, 2, 1), NewTopic(TIDY, 1, 1, topic_configs=often)],
            wait_for_metadata=True,
        )
        admin.create_topics([NewTopic(SHARED, 1, 1)], wait_for_metadata=True)
        admin.alter_configs(
            [
                ConfigResource(ConfigResourceType["GROUP"], SHARE, {"share.auto.offset.reset": "earliest"}),
                ConfigResource(ConfigResourceType.BROKER, "1", {"log.cleaner.backoff.ms": "100"}),
            ]
        )
    _send(address)
    _end_transactions(address)
    consume(address, CLASSIC, [READ, PAID], 37)
    _console(
        address,
        "consumer.ConsoleConsumer",
        READ,
        CONSUMER,
        "--from-beginning",
        "--command-property",
        "group.protocol=consumer",
    )
    _console(address, "consumer.ConsoleShareConsumer", SHARED, SHARE, "--max-messages", "20")
    _streams_member(address)
    _send(address, count=20)  # so that groups lag


def _send(address: str, count: int = 60) -> None:
    """Send records of all codecs, with and without keys, values and headers; with repeated keys, and tombstones."""
    for codec in CODECS:
        producer = KafkaProducer(bootstrap_servers=address, compression_type=codec, linger_ms=5)
        for number in range(count):
            key, value = b"key %d" % (number % 7), b"%d" % number * (number % 30)
            headers: list[tuple[str, bytes]] = [("trace", b"%d" % number)] if number % 3 == 0 else []
            producer.send(READ, value or None, key=key if number % 2 or not value else None, headers=headers)
            producer.send(TIDY, value if number % 11 else None, key=key)
            producer.send(SHARED, value, partition=0)
        producer.close()
        time.sleep(0.02)  # the next codec's records of the compacted topic are in another segment


def _end_transactions(address: str) -> None:
    """Transactions of two producers, every other one aborted."""
    for name in ("every-payer", "every-refunder"):
        producer = KafkaProducer(bootstrap_servers=address, transactional_id=name, compression_type="zstd")
        producer.init_transactions()
        for number in range(6):
            producer.begin_transaction()
            for at in range(4):
                producer.send(PAID, b"%s %d.%d" % (name.encode(), number, at), partition=at % 2)
            producer.flush()
            end: Any = producer.abort_transaction if number % 2 else producer.commit_transaction
            end()
        producer.close()


def _console(address: str, name: str, topic: str, group: str, *more: str) -> None:
    """Read a topic with one of Kafka's own consumers, as a member of a group."""
    to = ("--bootstrap-server", address, "--topic", topic, "--group", group, "--timeout-ms", "8000")
    tool(f"org.apache.kafka.tools.{name}", *to, *more)


def _streams_member(address: str) -> None:
    """Join a streams group and leave it, as a member of one subtopology that reads one topic."""
    member = str(uuid4())
    sub = {"subtopologyId": "0", "sourceTopics": [READ]}
    joining = {
        "memberEpoch": _JOIN,
        "rebalanceTimeoutMs": 60_000,
        "topology": {"epoch": 0, "subtopologies": [sub]},
        "activeTasks": [],
        "standbyTasks": [],
        "warmupTasks": [],
        "processId": "every",
        "clientTags": [],
    }
    for fields in (joining, {"memberEpoch": _LEAVE}):
        request = json.dumps({"groupId": STREAMS, "memberId": member, **fields})
        command = [str(Path(sys.executable).parent / "kipwire"), "call", address, "StreamsGroupHeartbeat", request]
        done = subprocess.run([*command, "--to", f"group:{STREAMS}"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def open_transaction(address: str) -> Iterator[None]:
    """Open a transaction for the block, and abort it afterwards."""
    producer = KafkaProducer(bootstrap_servers=address, transactional_id="every-undecided")
    producer.init_transactions()
    producer.begin_transaction()
    for number in range(4):
        producer.send(PAID, b"undecided %d" % number, partition=number % 2)
    producer.flush()
    yield
    producer.abort_transaction()
    producer.close()
