"""Kafka's own consumer gets the same records as readers of a real broker's log folders. For `make test-broker`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kipwire.tables.sources.formats import log_plan
from tests.support.live.kafka_tools import tool
from tests.support.live.real_broker import ADDRESS, LOGS
from tests.tables.sources.test_streams import Stream

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]
COMMITTED = {"isolationLevel": "read_committed"}


def consumed(topic: str, level: str) -> list[str]:
    """Return the values that Kafka's console consumer gets of a partition from its start on."""
    where = ("--bootstrap-server", ADDRESS, "--topic", topic, "--partition", "0", "--offset", "earliest")
    end = ("--isolation-level", level, "--timeout-ms", "5000")
    return tool("org.apache.kafka.tools.consumer.ConsoleConsumer", *where, *end).split()


def read(folder: Path, **options: str) -> list[str]:
    plan = log_plan({"path": str(folder), "columns": "value", **options})
    return [
        str(row["value"], "ascii") for piece in plan.work() for batch in plan.read(piece) for row in batch.to_pylist()
    ]


class Traffic:
    """Producers of a topic of one partition and of small segments, some with transactions at the same time."""

    def __init__(self) -> None:
        self.topic = f"shown-{uuid4().hex}"
        self.folder = LOGS / f"{self.topic}-0"
        self.admin = AdminClient({"bootstrap.servers": ADDRESS})
        config = {"segment.ms": "50", "index.interval.bytes": "100"}
        for future in self.admin.create_topics([NewTopic(self.topic, 1, 1, config=config)]).values():
            future.result(30)
        self.random, self.number = Random(1), 0
        self.plain = Producer({"bootstrap.servers": ADDRESS})
        self.producers = [
            Producer({"bootstrap.servers": ADDRESS, "transactional.id": f"{self.topic}-{one}"}) for one in range(4)
        ]
        for producer in self.producers:
            producer.init_transactions(30)
        self.begun: set[int] = set()

    def send(self, producer: Producer) -> None:
        for _ in range(self.random.randrange(1, 4)):
            producer.produce(self.topic, b"%d" % self.number, partition=0)
            self.number += 1
        assert producer.flush(30) == 0

    def end(self, one: int) -> None:
        producer = self.producers[one]
        (producer.commit_transaction if self.random.random() < 0.5 else producer.abort_transaction)(30)
        self.begun.discard(one)

    def go_on(self, times: int) -> None:
        for _ in range(times):
            one = self.random.randrange(5)
            if one == 4:
                self.send(self.plain)
            elif one in self.begun and self.random.random() < 0.5:
                self.end(one)
            else:
                if one not in self.begun:
                    self.producers[one].begin_transaction()
                    self.begun.add(one)
                self.send(self.producers[one])


@pytest.fixture
def traffic() -> Iterator[Traffic]:
    found = Traffic()
    yield found
    for one in list(found.begun):
        found.end(one)


def test_committed_records_are_those_of_kafkas_consumer(traffic: Traffic) -> None:
    traffic.go_on(200)
    if 0 not in traffic.begun:
        traffic.producers[0].begin_transaction()
        traffic.begun.add(0)
    traffic.send(traffic.producers[0])
    traffic.send(traffic.plain)
    expected = consumed(traffic.topic, "read_committed")
    assert len([*traffic.folder.glob("*.log")]) > 3 and [*traffic.folder.glob("*.txnindex")]
    for size in ("1", "300", "1000000"):
        assert read(traffic.folder, splitBytes=size, **COMMITTED) == expected
    assert len(expected) < len(read(traffic.folder)) == traffic.number
    stream = Stream(LOGS, None, topics=traffic.topic, **COMMITTED)
    seen = [offset for batch in stream.batches() for _, offset in batch]
    assert len(seen) == len(expected)
    traffic.go_on(50)
    seen += [offset for batch in stream.batches() for _, offset in batch]
    for one in list(traffic.begun):
        traffic.end(one)
    time.sleep(1)  # markers of the last transactions are written after the answer
    seen += [offset for batch in stream.batches() for _, offset in batch]
    expected = consumed(traffic.topic, "read_committed")
    values = read(traffic.folder, **COMMITTED)
    assert values == expected
    assert len(seen) == len(set(seen)) == len(expected)


def test_records_below_the_log_start_are_those_that_kafka_has_deleted(traffic: Traffic) -> None:
    for _ in range(30):
        traffic.send(traffic.plain)
    for future in traffic.admin.delete_records([TopicPartition(traffic.topic, 0, 20)]).values():
        future.result(30)
    expected = consumed(traffic.topic, "read_uncommitted")
    until, line = time.monotonic() + 90, f"{traffic.topic} 0 20\n"
    while line not in (LOGS / "log-start-offset-checkpoint").read_text() and time.monotonic() < until:
        time.sleep(0.5)  # brokers write it once a minute
    assert read(traffic.folder, fromLogStart="true") == expected == [str(one) for one in range(20, traffic.number)]
    assert read(traffic.folder)[-len(expected) :] == expected
