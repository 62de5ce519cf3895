"""`kafka_topic` against a real broker: rows as Kafka's own consumer gets them, and streams that are killed.

For `make test-broker`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from pyspark.sql import SparkSession

import kipspark
from kipjobs.engines.embedded.session import EmbeddedSession
from kipspark.spark import java
from kipspark.spark.session import open_session
from kipwire.cluster import Cluster
from kipwire.tables import scan
from tests.support.live.kafka_tools import tool
from tests.support.live.listeners import MECHANISMS, PASSWORD, SASL_TLS, client_properties
from tests.support.live.real_broker import ADDRESS
from tests.support.places import SUPPORT

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

KILLS = int(os.environ.get("STREAM_KILLS", "5"))
COMMITTED = {"isolationLevel": "read_committed"}
_SECONDS_TO_START = 400


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("local[2]")
    kipspark.register(session)
    yield session
    session.stop()


@pytest.fixture
def topic() -> str:
    name = f"topics-{uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": ADDRESS})
    kept = {"retention.ms": "-1"}  # for records have old times
    for future in admin.create_topics([NewTopic(name, 3, 1, config=kept)]).values():
        future.result()
    return name


class Producing:
    """Produces to a topic by all codecs, and in transactions, of which some are aborted."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.count = 0
        self.chance = Random(3)
        self.in_transactions = Producer({"bootstrap.servers": ADDRESS, "transactional.id": str(uuid4())})
        self.in_transactions.init_transactions()

    def some(self, count: int) -> None:
        """Produce some records, of each of two kinds."""
        codec = self.chance.choice(("none", "gzip", "snappy", "lz4", "zstd"))
        plain = Producer({"bootstrap.servers": ADDRESS, "compression.type": codec})
        self.in_transactions.begin_transaction()
        for producer in (plain, self.in_transactions):
            for _ in range(count):
                self._one(producer)
            producer.flush()
        is_aborted = self.chance.random() < 0.3
        (self.in_transactions.abort_transaction if is_aborted else self.in_transactions.commit_transaction)()

    def _one(self, producer: Producer) -> None:
        self.count += 1
        headers: list[Any] = [("h", self.chance.choice((None, b"", b"v\0")))] * self.chance.randrange(3)
        value = self.chance.choice((None, b"", b"x" * self.chance.randrange(300)))
        key = self.chance.choice((None, b"%d" % self.count))
        at = 1_600_000_000_000 + self.chance.randrange(10**9)
        producer.produce(self.topic, value, key, self.count % 3, headers=headers, timestamp=at)


def rows_of_consumer(topic: str) -> list[tuple[Any, ...]]:
    """Return what librdkafka's consumer gets of a topic: committed records with all that it says of them."""
    consumer = Consumer({"bootstrap.servers": ADDRESS, "group.id": str(uuid4()), "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(3)])
    found: list[tuple[Any, ...]] = []
    idle = 0
    while idle < 3:
        messages = consumer.consume(1000, 1)
        idle = 0 if messages else idle + 1
        found += [_row_of(one) for one in messages if one.error() is None]
    consumer.close()
    return sorted(found)


def _row_of(one: Message) -> tuple[Any, ...]:
    kind, time = one.timestamp()
    type_ = "LogAppendTime" if kind == TIMESTAMP_LOG_APPEND_TIME else "CreateTime"
    headers: Any = one.headers() or []
    headers = [(name, value) for name, value in headers]
    return one.partition(), one.offset(), type_, time, one.key(), one.value(), headers


def row_of(one: dict[str, Any]) -> tuple[Any, ...]:
    time = round(one["timestamp"].timestamp() * 1000)
    headers = [(header["key"], header["value"]) for header in one["headers"] or ()]
    return one["partition"], one["offset"], one["timestamp_type"], time, one["key"], one["value"], headers


def test_rows_are_those_of_consumers_and_of_the_cluster_on_both_engines(spark: SparkSession, topic: str) -> None:
    producing = Producing(topic)
    for _ in range(8):
        producing.some(40)
    options = {"brokers": ADDRESS, "topics": topic}
    expected = rows_of_consumer(topic)
    assert 300 < len(expected) < producing.count
    ours = spark.read.format("kafka_topic").options(**options, **COMMITTED).load().toArrow()
    assert sorted(map(row_of, ours.to_pylist())) == expected
    where = ("--bootstrap-server", ADDRESS, "--topic", topic, "--from-beginning", "--timeout-ms", "8000")
    shown = [one for name in ("partition", "offset") for one in ("--formatter-property", f"print.{name}=true")]
    of_java = tool(
        *("org.apache.kafka.tools.consumer.ConsoleConsumer", *where, "--isolation-level", "read_committed"),
        *("--formatter-property", "print.value=false", *shown),
    ).splitlines()
    assert sorted(of_java) == sorted(f"Partition:{row[0]}\tOffset:{row[1]}" for row in expected)
    order = [("partition", "ascending"), ("offset", "ascending")]
    for more in ({}, {"includeControl": "true"}, {"maxRecordsPerPartition": "37"}):
        table = spark.read.format("kafka_topic").options(**options, **more).load().toArrow().sort_by(order)
        whole = scan(Cluster(ADDRESS), topics=topic, columns=table.schema.names, control="includeControl" in more)
        assert table.equals(whole.read_all().sort_by(order).cast(table.schema))
        with EmbeddedSession() as session:
            here = session.read.format("kafka_topic").options(**options, **more).load().toArrow()
        assert here.sort_by(order).cast(table.schema).equals(table)


def test_secrets_of_a_properties_file_are_nowhere(
    spark: SparkSession, topic: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Producing(topic).some(5)
    file = tmp_path / "client.properties"
    settings = client_properties(SASL_TLS, MECHANISMS["SCRAM-SHA-512"])
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    options = {"brokers": SASL_TLS.address, "topics": topic, "config": str(file)}
    frame = spark.read.format("kafka_topic").options(**options).load()
    assert frame.count() == 10
    frame.explain(True)
    bad = spark.read.format("kafka_topic").options(**options | {"topics": "none"}).load()
    with pytest.raises(Exception, match="has no topic 'none'") as raised:
        bad.count()
    assert PASSWORD not in capfd.readouterr().out + str(raised.value)


def command(what: str, topic: str, place: Path) -> list[str]:
    job = str(SUPPORT / "live" / "following_topic.py")
    limit = "20000" if what == "follow" else "2000000"
    return [sys.executable, job, what, ADDRESS, topic, str(place / "out"), str(place / "checkpoint"), limit]


@contextmanager
def following(topic: str, place: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that follows a topic; kill it at the end, with its JVM."""
    with (place / "errors").open("w") as file:
        process = subprocess.Popen(
            command("follow", topic, place), stdout=subprocess.PIPE, stderr=file, text=True, start_new_session=True
        )
    assert process.stdout is not None
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def commits(place: Path) -> int:
    """Return the number of the last batch that was committed."""
    found = [int(file.name) for file in (place / "checkpoint" / "commits").glob("*") if file.name.isdigit()]
    return max(found, default=-1)


def test_a_stream_that_is_killed_writes_each_committed_record_once(topic: str, tmp_path: Path) -> None:
    java.use_java()
    producing, is_over, chance = Producing(topic), Event(), Random(KILLS)

    def produce() -> None:
        while not is_over.wait(0.2):
            producing.some(40)

    thread = Thread(target=produce)
    thread.start()
    reached = [-1]
    try:
        for number in range(KILLS):
            with following(topic, tmp_path) as process:
                until = monotonic() + _SECONDS_TO_START
                while commits(tmp_path) <= reached[-1] + number % 2:
                    assert process.poll() is None, (tmp_path / "errors").read_text()[-3000:]
                    assert monotonic() < until
                    sleep(0.02)
                sleep(chance.uniform(0, 1))
            reached.append(commits(tmp_path))
            print(f"kill {number + 1}: {reached[-1]}", flush=True)
    finally:
        is_over.set()
        thread.join()
    done = subprocess.run(
        command("finish", topic, tmp_path), capture_output=True, text=True, timeout=_SECONDS_TO_START, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = Counter(map(tuple, json.loads(done.stdout.splitlines()[-1])))
    expected = [(row[0], row[1], None if row[5] is None else row[5].decode()) for row in rows_of_consumer(topic)]
    print(f"kills {KILLS}, batches {reached}, records {len(expected)} of {producing.count} produced")
    assert {row for row, count in found.items() if count > 1} == set()
    assert set(found) == set(expected) and len(expected) > 500
