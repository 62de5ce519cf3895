"""kipwire offsets --brokers beside Kafka's own tools, at a real broker. For `make test-broker`."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka.admin import ConfigResource, ConfigResourceType

from tests.console.offsets.conftest import Offsets, lines_of
from tests.support.live import broker_traffic, unread_traffic
from tests.support.live.kafka_tools import lag_by_kafka, members_by_kafka, share_offsets_by_kafka, tool
from tests.support.live.listeners import CA, CLIENT, PASSWORD, USERNAME, WAYS
from tests.support.live.real_broker import ADDRESS, LOGS
from tests.support.live.unread_traffic import APPENDED, COMMITTED, COMPACTED, RECORDS, START, TIMED, at
from tests.support.subjects.exposition import by_labels, samples
from tests.support.subjects.scripted_broker import unused_address

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PLACES = ("consumergroup", "topic", "partition")


def new_topic(partitions: int) -> str:
    name = f"offsets-{uuid4()}"
    admin = AdminClient({"bootstrap.servers": ADDRESS})
    for future in admin.create_topics([NewTopic(name, partitions, 1)]).values():
        future.result(30)
    return name


def produce(topic: str, partitions: int, count: int, codec: str = "lz4") -> None:
    producer = Producer({"bootstrap.servers": ADDRESS, "linger.ms": 20, "compression.type": codec})
    for partition in range(partitions):
        for number in range(count):
            producer.produce(topic, b"%d" % number, partition=partition)
    assert producer.flush(30) == 0


def member(topic: str, group: str, name: str, protocol: str) -> Consumer:
    settings = {"group.id": group, "client.id": name, "group.protocol": protocol, "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": ADDRESS, "enable.auto.commit": False, **settings})
    consumer.subscribe([topic])
    return consumer


class Groups(NamedTuple):
    """Groups of every kind at one topic, with members that stay."""

    topic: str
    classic: str
    consumer: str
    dead: str
    silent: str


@pytest.fixture(scope="module")
def groups() -> Iterator[Groups]:
    topic = new_topic(4)
    produce(topic, 4, 50)
    names = Groups(topic, *(f"{kind}-{uuid4()}" for kind in ("classic", "consumer", "dead", "silent")))
    members = [
        member(topic, names.classic, "one", "classic"),
        member(topic, names.classic, "two", "classic"),
        member(topic, names.consumer, "three", "consumer"),
        member(topic, names.silent, "four", "consumer"),
    ]
    until = monotonic() + 60
    while any(not one.assignment() for one in members) or len(members[0].assignment()) != 2:
        assert monotonic() < until
        for one in members:
            one.poll(0.1)
    for one in members[:3]:
        ahead = [TopicPartition(topic, part.partition, 10 + part.partition) for part in one.assignment()]
        one.commit(offsets=ahead, asynchronous=False)
    dead = Consumer({"bootstrap.servers": ADDRESS, "group.id": names.dead})
    dead.commit(offsets=[TopicPartition(topic, 0, 50), TopicPartition(topic, 1, 7), TopicPartition(topic, 2, 99)],
                asynchronous=False)  # fmt: skip
    dead.close()
    yield names
    for one in members:
        one.close()


def rows(offsets: Offsets, *arguments: object) -> list[dict[str, Any]]:
    done = offsets("--brokers", ADDRESS, "--format", "json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return lines_of(done, "partition")


def test_all_groups_are_as_kafkas_own_tool_describes_them(groups: Groups, offsets: Offsets) -> None:
    unread_traffic.fill(ADDRESS, LOGS)
    expected = lag_by_kafka(ADDRESS)
    assert {groups.classic, groups.consumer, groups.dead, "appended"} <= {group for group, *_ in expected}
    found = {
        (row["group"], row["topic"], str(row["partition"])): (row["offset"], row["end_offset"], row["lag"])
        for row in rows(offsets)
        if row["kind"] != "share" and row["offset"] is not None
    }
    assert found == expected


def test_readers_are_as_kafkas_own_tool_describes_them(groups: Groups, offsets: Offsets) -> None:
    for group in groups[1:]:
        expected = members_by_kafka(ADDRESS, group)
        assert expected
        found = {}
        for row in rows(offsets, "--group", group):
            offset, lag = (("-" if row[name] is None else str(row[name])) for name in ("offset", "lag"))
            (reader,) = row["readers"] or [{"host": "-", "client_id": "-"}]
            host = f"/{reader['host']}" if reader["host"] != "-" else "-"
            found[row["topic"], str(row["partition"])] = (offset, lag, host, reader["client_id"])
        # Of a group that is ahead, the tool prints a lag below 0.
        assert found == {
            place: (one[0], one[1] if one[1] != "-49" else "0", *one[2:]) for place, one in expected.items()
        }


def test_share_groups_are_as_kafkas_own_tool_describes_them(offsets: Offsets) -> None:
    topic = new_topic(1)
    group = f"share-{uuid4()}"
    with broker_traffic.admin_client(ADDRESS) as admin:
        setting = {"share.auto.offset.reset": "earliest"}
        admin.alter_configs([ConfigResource(ConfigResourceType["GROUP"], group, setting)])
    produce(topic, 1, 30, "none")
    reading = ("--topic", topic, "--group", group, "--max-messages", "20", "--timeout-ms", "8000")
    tool("org.apache.kafka.tools.consumer.ConsoleShareConsumer", "--bootstrap-server", ADDRESS, *reading)
    expected = share_offsets_by_kafka(ADDRESS, group)
    found = rows(offsets, "--group", group)
    assert {(one["topic"], str(one["partition"])): (one["offset"], one["lag"]) for one in found} == expected
    assert expected == {(topic, "0"): (20, 10)}
    assert {one["kind"] for one in found} == {"share"}


def test_lag_in_seconds_goes_back_to_the_first_record_that_is_left(offsets: Offsets) -> None:
    unread_traffic.fill(ADDRESS, LOGS)
    done = offsets("--brokers", ADDRESS, "--format", "json", "--topic", "unread-*")
    (totals,) = lines_of(done, "totals")
    times = {
        (row["group"], row["topic"], row["partition"]): (
            None if row["lag_seconds"] is None else round((totals["as_of"] - row["lag_seconds"]) * 1000)
        )
        for row in lines_of(done, "partition")
    }
    now = round(totals["as_of"] * 1000)
    (appended,) = [one for one in broker_traffic.read_all(ADDRESS, [APPENDED]) if one.offset == 1]
    assert appended.timestamp > START + 1_000_000
    expected = {
        "none": at(0), "some": at(2), "some-too": at(2), "most": at(950), "all": now, "ahead": now,
        "before": at(2500), "before-too": at(2500), "long-before": at(2500), "just-before": at(2500), "after": at(2600),
        "at-marker": at(4), "before-marker": at(2), "at-last-marker": now,
        "lost": now, "without-time": None, "with-time": at(1), "future": None, "all-lost": now,
        "appended": appended.timestamp, "compacted": at(RECORDS - 1), "compacted-too": at(RECORDS - 1),
    }  # fmt: skip
    assert times == {place: expected[place[0]] for place in COMMITTED}
    assert {TIMED, APPENDED, COMPACTED} == {topic for _, topic, _ in times}
    removed = {row["group"]: row["start_offset"] - row["offset"] for row in lines_of(done, "partition")}
    assert removed["before"] == 2490


def test_readers_of_committed_records_have_less_to_read(offsets: Offsets) -> None:
    topic, group = new_topic(1), f"committed-{uuid4()}"
    produce(topic, 1, 5)
    producer = Producer({"bootstrap.servers": ADDRESS, "transactional.id": topic})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(30) == 0
    consumer = Consumer({"bootstrap.servers": ADDRESS, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
    consumer.close()
    lags = [rows(offsets, "--group", group, *more)[0]["lag"] for more in ((), ("--committed",))]
    producer.abort_transaction(30)
    assert lags == [3, 2]


def test_the_exporter_says_what_kafkas_own_tool_says(groups: Groups) -> None:
    unread_traffic.fill(ADDRESS, LOGS)
    address = unused_address()
    command = [sys.executable, "-m", "kipwire", "offsets", "--brokers", ADDRESS, "--serve", address, "--every", "0.5"]
    with subprocess.Popen([*command, "--stalled-after", "1"], stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.readline()
        sleep(3)
        expected = lag_by_kafka(ADDRESS)
        with urllib.request.urlopen(f"http://{address}/metrics") as answer:
            found = samples(answer.read().decode())
        process.terminate()
    assert by_labels(found, "kafka_consumergroup_lag", PLACES) == {place: lag for place, (*_, lag) in expected.items()}
    assert by_labels(found, "kafka_consumergroup_current_offset", PLACES) == {
        place: offset for place, (offset, *_) in expected.items()
    }
    ends = by_labels(found, "kafka_topic_partition_current_offset", PLACES[1:])
    assert {place: ends[place[1:]] for place in expected} == {place: end for place, (_, end, _) in expected.items()}
    stalled = by_labels(found, "kipwire_consumergroup_stalled_seconds", PLACES)
    only_markers_left = {"at-last-marker", "lost", "all-lost"}  # or nothing at all: no record is unread
    assert set(stalled) == {place for place, (*_, lag) in expected.items() if lag and place[0] not in only_markers_left}
    assert found["kipwire_offsets_up", frozenset()] == 1
    assert by_labels(found, "kafka_consumergroup_members", PLACES[:1])[groups.classic,] == 2


@pytest.mark.parametrize("way", [way for way in WAYS if "OAUTH" not in way.upper()])
def test_every_listener_lets_it_in(way: str, groups: Groups, offsets: Offsets, tmp_path: Path) -> None:
    listener, mechanism = WAYS[way]
    (tmp_path / "password").write_text(PASSWORD)
    arguments: list[object] = ["--brokers", listener.address, "--group", groups.dead]
    arguments += ["--ca", CA] if listener.has_tls else []
    arguments += ["--cert", CLIENT] if listener.wants_certificate else []
    if mechanism is not None:
        arguments += ["--sasl", mechanism.name, "--user", USERNAME, "--password-file", tmp_path / "password"]
    done = offsets(*arguments, "-f", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines_of(done, "partition")) == 3
