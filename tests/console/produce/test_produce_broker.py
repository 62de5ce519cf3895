"""kipwire produce and a real broker. For `make test-broker`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from time import sleep
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kipwire.console.produce.placing import murmur2
from tests.console.produce.conftest import Kipwire
from tests.support.live.real_broker import ADDRESS, LOGS

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]

TIME = 1_750_000_000_000


def new_topic(partitions: int, **config: str) -> str:
    name = f"produce-{uuid4()}"
    admin = AdminClient({"bootstrap.servers": ADDRESS})
    new = NewTopic(name, partitions, 1, config={name.replace("_", "."): value for name, value in config.items()})
    for future in admin.create_topics([new]).values():
        future.result(30)
    return name


def consumed(topic: str, partition: int) -> list[Any]:
    """Return what a consumer of committed records gets, without offsets."""
    consumer = Consumer({"bootstrap.servers": ADDRESS, "group.id": str(uuid4()), "isolation.level": "read_committed"})
    try:
        place = TopicPartition(topic, partition, 0)
        consumer.assign([place])
        last = consumer.get_watermark_offsets(place, 30)[1]
        found: list[Any] = []
        while consumer.position([place])[0].offset < last:
            message = consumer.poll(30)
            if message is None:
                break
            assert not message.error()
            found.append((message.key(), message.value(), message.headers(), message.timestamp()))
            if message.offset() == last - 1:
                break
        return found
    finally:
        consumer.close()


@pytest.fixture(scope="module")
def topic() -> str:
    """A topic with headers, nulls, and transactions, of which each third is aborted, and plain records at its ends."""
    name = new_topic(3, retention_ms="-1")
    plain = Producer({"bootstrap.servers": ADDRESS, "compression.type": "lz4"})
    producer = Producer({"bootstrap.servers": ADDRESS, "transactional.id": name})
    producer.init_transactions(30)

    def send(by: Any, at: int) -> None:
        by.produce(
            name,
            None if at % 7 == 3 else b"v%d" % at,
            key=None if at % 5 == 1 else b"k%d" % (at % 11),
            headers=[("h", b"\xff"), ("h", None), ("é", b"")][: at % 4],
            partition=at % 3,
            timestamp=TIME + at,
        )

    for at in range(300):
        send(plain, at)
        assert plain.flush(30) == 0
        if at % 10 == 0:
            producer.begin_transaction()
            for more in range(6):
                send(producer, 1000 * at + more)
            assert producer.flush(30) == 0
            (producer.abort_transaction if at % 30 == 20 else producer.commit_transaction)(30)
    send(plain, 5)
    assert plain.flush(30) == 0
    return name


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_topic_comes_back_record_by_record(topic: str, codec: str, committed: bool, kipwire: Kipwire) -> None:
    copy = new_topic(3, retention_ms="-1")
    dumped = kipwire("dump", "--brokers", ADDRESS, "-r", "-f", "json", topic, *["--committed"] * committed)
    to = ("produce", "--brokers", ADDRESS, copy, "--compression", codec, "-f", "json")
    done = kipwire(*to, stdin=dumped.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout.splitlines()[-1])
    for partition in range(3):
        wanted = consumed(topic, partition)
        assert len(wanted) > 100
        assert consumed(copy, partition) == wanted
    assert (summary["aborted"], summary["markers"]) == ((0, 0) if committed else (60, 90))


def test_a_log_folder_of_the_broker_comes_back(topic: str, kipwire: Kipwire) -> None:
    copy = new_topic(3, retention_ms="-1")
    dumped = kipwire("dump", "-r", "-f", "json", *(LOGS / f"{topic}-{number}" for number in range(3)))
    assert kipwire("produce", "--brokers", ADDRESS, copy, stdin=dumped.stdout).returncode == 0
    assert all(consumed(copy, partition) == consumed(topic, partition) for partition in range(3))


def test_keys_are_placed_as_by_a_client_of_kafka(topic: str, kipwire: Kipwire) -> None:
    copy, theirs = new_topic(4, retention_ms="-1"), new_topic(4)
    dumped = kipwire("dump", "--brokers", ADDRESS, "-r", "-f", "json", topic, "--committed").stdout
    assert kipwire("produce", "--brokers", ADDRESS, copy, "--by-key", stdin=dumped).returncode == 0
    producer = Producer({"bootstrap.servers": ADDRESS, "partitioner": "murmur2"})
    for number in range(11):
        producer.produce(theirs, b"", key=b"k%d" % number)
    assert producer.flush(30) == 0
    for partition in range(4):
        keys = {one[0] for one in consumed(theirs, partition)}
        assert keys == {key for key in (b"k%d" % number for number in range(11)) if murmur2(key) % 4 == partition}
        assert {one[0] for one in consumed(copy, partition) if one[0] is not None} == keys


def test_a_process_that_is_killed_again_and_again_writes_each_record_once(kipwire: Kipwire, tmp_path: Path) -> None:
    topic, copy = new_topic(2), new_topic(2)
    producer = Producer({"bootstrap.servers": ADDRESS})
    for at in range(60_000):
        producer.produce(topic, b"%08d" % at * 60, partition=at // 30_000)
        if at % 5000 == 0:
            producer.flush(30)
    assert producer.flush(30) == 0
    lines = kipwire("dump", "--brokers", ADDRESS, "-r", "-f", "json", topic).stdout
    (tmp_path / "lines").write_text(lines)
    command = [sys.executable, "-m", "kipwire", "produce", "--brokers", ADDRESS, copy, "lines", "--state", "state"]
    broken = 0
    for _ in range(4):
        with subprocess.Popen([*command, "-f", "json"], cwd=tmp_path, stdout=-1) as process:
            assert process.stdout is not None
            for _ in range(3):
                process.stdout.readline()  # a batch more is written
            sleep(0.02)
            broken += process.poll() is None
            process.send_signal(signal.SIGKILL)
    assert broken > 2
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    counts = [int(found.replace(",", "")) for found in re.findall(r"([\d,]+) records? written", done.stdout)]
    assert sum(counts) == 60_000
    for partition in range(2):
        found = Counter(value for _, value, _, _ in consumed(copy, partition))
        assert len(found) == 30_000
        assert set(found.values()) == {1}
        assert consumed(copy, partition) == consumed(topic, partition)
