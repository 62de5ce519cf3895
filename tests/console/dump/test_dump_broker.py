"""kipwire dump --brokers against a real broker. For `make test-broker`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kipwire.connection import OAuthBearer
from tests.console.dump.conftest import Dump
from tests.support.live.kafka_tools import offsets_by_kafka, tool
from tests.support.live.listeners import (
    CA,
    CLEAR,
    CLIENT,
    OTHER_CA,
    PASSWORD,
    SASL,
    TLS,
    USERNAME,
    WAYS,
    Listener,
    token,
)
from tests.support.live.real_broker import ADDRESS, LOGS

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]

POSITION = re.compile(r" position=\d+")
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def new_topic(partitions: int = 1) -> str:
    name = f"dump-{uuid4()}"
    admin = AdminClient({"bootstrap.servers": ADDRESS})
    for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
        future.result(30)
    return name


def produce(topic: str, *values: bytes, **settings: Any) -> None:
    producer = Producer({"bootstrap.servers": ADDRESS, "linger.ms": 50, **settings})
    for number, value in enumerate(values):
        producer.produce(topic, value, key=b"k%d" % number, headers=[("h", b"\xff")], partition=0)
    assert producer.flush(30) == 0


@pytest.fixture(scope="module")
def topic() -> str:
    """A topic with batches of every codec."""
    name = new_topic(2)
    for codec in CODECS:
        produce(name, *(b"%s %d %s" % (codec.encode(), i, b"x" * i) for i in range(200)), **{"compression.type": codec})
    return name


def test_a_topic_has_the_lines_of_its_segment(topic: str, dump: Dump) -> None:
    for arguments in ((), ("-r",), ("-r", "--from-offset", 250, "--to-offset", 630)):
        done = dump("--brokers", ADDRESS, f"{topic}/0", *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        of_file = dump(LOGS / f"{topic}-0", *arguments).stdout
        assert done.stdout.splitlines()[1:] == POSITION.sub("", of_file).splitlines()[1:]
    shown = dump("--brokers", ADDRESS, topic, "-s").stdout.splitlines()
    assert len(shown) == 2
    assert " 1,000 records, offset=0-999, " in shown[0]
    assert re.search(r"compression=gzip:\d+,lz4:\d+,none:\d+,snappy:\d+,zstd:\d+", shown[0])
    assert shown[1].endswith(": nothing before offset 0, 0 bytes, 0 batches")


def test_committed_is_what_a_consumer_of_committed_records_sees(dump: Dump) -> None:
    name = new_topic()
    producer = Producer({"bootstrap.servers": ADDRESS, "transactional.id": name})
    producer.init_transactions(30)
    for number in range(6):
        producer.begin_transaction()
        producer.produce(name, b"%d" % number)
        assert producer.flush(30) == 0
        (producer.abort_transaction if number % 3 == 1 else producer.commit_transaction)(30)
    producer.begin_transaction()
    producer.produce(name, b"open")
    assert producer.flush(30) == 0
    every = dump("--brokers", ADDRESS, name, "-r").stdout
    seen = dump("--brokers", ADDRESS, name, "-r", "--committed").stdout
    producer.abort_transaction(30)
    assert every.count(" ABORT ") == 2
    assert every.count(" COMMIT ") == 4
    assert "value='open'" in every
    assert re.findall(r"value='(\w+)'", seen) == ["0", "2", "3", "5"]


def test_the_last_records_are_those_that_consumers_get_last(dump: Dump) -> None:
    name = new_topic(2)
    producer = Producer({"bootstrap.servers": ADDRESS, "transactional.id": name})
    producer.init_transactions(30)
    for number in range(40):
        producer.begin_transaction()
        for partition in (0, 1):
            producer.produce(name, b"%d" % number, partition=partition)
        assert producer.flush(30) == 0
        (producer.abort_transaction if number % 4 == 3 else producer.commit_transaction)(30)
    ends = offsets_by_kafka(ADDRESS)
    for partition in (0, 1):
        assert ends[name, str(partition)] == 80  # a record and a marker of each
        for committed in (False, True):
            consumed = consumed_by_kafka(name, partition, committed=committed)
            for number in (1, 10, 30, 100):
                options = ("-r", "--last", number, *["--committed"] * committed)
                shown = dump("--brokers", ADDRESS, f"{name}/{partition}", *options).stdout
                assert re.findall(r"value='(\w+)'", shown) == consumed[-number:]
        of_files = dump(LOGS / f"{name}-{partition}", "-r", "--last", 10).stdout
        assert re.findall(r"value='(\w+)'", of_files) == consumed_by_kafka(name, partition, committed=False)[-10:]
        # As kcat -o -5: the offsets from five before the end on, of which markers take three.
        back = dump("--brokers", ADDRESS, f"{name}/{partition}", "-r", "--from-offset", -5).stdout
        assert re.findall(r"^  offset=(\d+)", back, re.MULTILINE) == ["75", "76", "77", "78", "79"]
    both = dump("--brokers", ADDRESS, name, "-r", "--last", 3, "--committed").stdout
    assert re.findall(r"value='(\w+)'", both) == ["36", "37", "38"] * 2


def consumed_by_kafka(topic: str, partition: int, *, committed: bool) -> list[str]:
    """Return the values that Kafka's console consumer gets of a partition from its start on."""
    where = ("--bootstrap-server", ADDRESS, "--topic", topic, "--partition", str(partition), "--offset", "earliest")
    level = "read_committed" if committed else "read_uncommitted"
    end = ("--isolation-level", level, "--timeout-ms", "5000")
    return tool("org.apache.kafka.tools.consumer.ConsoleConsumer", *where, *end).split()


def test_offsets_of_groups_are_decoded(topic: str, dump: Dump) -> None:
    group = f"group-{uuid4()}"
    consumer = Consumer({"bootstrap.servers": ADDRESS, "group.id": group, "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
    consumer.close()
    done = dump("--brokers", ADDRESS, "__consumer_offsets", "-r")
    assert (done.returncode, done.stderr) == (0, "")
    key = f'key={{"group":"{group}","topic":"{topic}","partition":0}} value={{"offset":7,'
    assert re.search(rf" OffsetCommit v\d+ {re.escape(key)}", done.stdout)


def options(listener: Listener, mechanism: Any, folder: Path) -> Iterator[object]:
    yield from ("--brokers", listener.address)
    if listener.has_tls:
        yield from ("--ca", CA)
    if listener.wants_certificate:
        yield from ("--cert", CLIENT)
    if mechanism is None:
        return
    yield from ("--sasl", mechanism.name)
    if isinstance(mechanism, OAuthBearer):
        (folder / "token").write_text(token())
        yield from ("--token-file", folder / "token")
    else:
        (folder / "password").write_text(PASSWORD)
        yield from ("--user", USERNAME, "--password-file", folder / "password")


@pytest.mark.parametrize("way", WAYS)
def test_every_listener_lets_it_in(way: str, topic: str, dump: Dump, tmp_path: Path) -> None:
    listener, mechanism = WAYS[way]
    done = dump(*options(listener, mechanism, tmp_path), f"{topic}/0", "-s")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"orders partition 0 at {listener.address}".replace("orders", topic) in done.stdout
    assert " 1,000 records, " in done.stdout


def test_what_a_listener_refuses_is_one_line(topic: str, dump: Dump, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_text("wrong-secret")
    wrong = ("--sasl", "SCRAM-SHA-512", "--user", USERNAME, "--password-file", tmp_path / "wrong")
    for arguments in (("--brokers", SASL.address, *wrong), ("--brokers", TLS.address, "--ca", OTHER_CA)):
        done = dump(*arguments, topic)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith("kipwire: ")
        assert "wrong-secret" not in done.stderr
    done = dump("--brokers", CLEAR.address, f"absent-{uuid4()}")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith(": 3 UNKNOWN_TOPIC_OR_PARTITION\n")
