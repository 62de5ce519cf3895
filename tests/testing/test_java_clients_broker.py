"""Java's console clients produce to and consume from the fake broker. For `make test-broker`, which has their jars."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.testing import FakeBroker
from tests.support.places import ROOT

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]

TOOLS = "org.apache.kafka.tools"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TOPIC = "orders"


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(topics={TOPIC: 3}) as broker:
        yield broker


def tool(broker: FakeBroker, name: str, *arguments: str, given: str = "") -> str:
    """Run a tool of Kafka against the broker; return its output."""
    command = ["bash", str(ROOT / "scripts" / "broker" / "broker.sh"), "tool", f"{TOOLS}.{name}"]
    command += ["--bootstrap-server", broker.bootstrap_servers, *arguments]
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def produce(broker: FakeBroker, name: str, *arguments: str, count: int = 4) -> list[str]:
    """Lines that the console producer has sent."""
    lines = [f"{name} {number}" for number in range(count)]
    tool(broker, "ConsoleProducer", "--topic", TOPIC, *arguments, given="".join(f"{line}\n" for line in lines))
    return lines


def consume(broker: FakeBroker, count: int, *arguments: str) -> list[str]:
    """Lines of the console consumer."""
    limits = ("--from-beginning", "--max-messages", str(count), "--timeout-ms", "60000")
    return tool(broker, "consumer.ConsoleConsumer", "--topic", TOPIC, *limits, *arguments).splitlines()


def test_console_clients_produce_every_codec_and_consume_it(broker: FakeBroker) -> None:
    sent = [line for codec in CODECS for line in produce(broker, codec, "--compression-codec", codec)]
    batches = [batch for partition in range(3) for batch in broker.batches(TOPIC, partition)]
    assert {batch.compression for batch in batches} == set(CODECS)
    assert {batch.producer_epoch for batch in batches} == {0}  # they are idempotent producers
    assert sorted(consume(broker, len(sent))) == sorted(sent)


@pytest.mark.smoke
def test_a_group_goes_on_where_it_has_committed(broker: FakeBroker) -> None:
    first = produce(broker, "first")
    assert sorted(consume(broker, 4, "--group", "g")) == first
    assert sum(broker.committed_offsets("g").values()) == 4
    second = produce(broker, "second", "--command-property", "acks=1")
    how = ("--group", "g", "--isolation-level", "read_committed")
    assert sorted(consume(broker, 4, *how)) == second
    assert broker.group("g").state == "Empty"
    described = tool(broker, "consumer.group.ConsumerGroupCommand", "--describe", "--group", "g").splitlines()
    lags = [line.split()[5] for line in described if line.startswith("g ")]
    assert lags == ["0", "0", "0"]


def test_errors_are_retried(broker: FakeBroker) -> None:
    broker.fail(ApiKey.PRODUCE, ErrorCode.NOT_LEADER_OR_FOLLOWER, times=2)
    broker.disconnect(ApiKey.PRODUCE, handled=True)
    sent = produce(broker, "retried")
    assert sorted(str((record.value or b"").decode()) for record in broker.records(TOPIC)) == sent
    assert len(broker.requests(ApiKey.PRODUCE)) >= 4
    broker.fail(ApiKey.FETCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    broker.fail(ApiKey.JOIN_GROUP, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    assert sorted(consume(broker, 4, "--group", "g")) == sent


def test_topics_are_created_described_changed_and_deleted(broker: FakeBroker) -> None:
    tool(broker, "TopicCommand", "--create", "--topic", "made", "--partitions", "2", "--config", "retention.ms=5")
    described = tool(broker, "TopicCommand", "--describe", "--topic", "made")
    assert "PartitionCount: 2" in described and "Configs: retention.ms=5" in described
    tool(broker, "TopicCommand", "--alter", "--topic", "made", "--partitions", "4")
    assert broker.topics() == {TOPIC: 3, "made": 4}
    tool(broker, "TopicCommand", "--delete", "--topic", "made")
    assert broker.topics() == {TOPIC: 3}


def test_a_transactional_producer_gets_its_next_epoch_at_each_end(broker: FakeBroker) -> None:
    how = ("--topic", TOPIC, "--record-size", "20", "--throughput", "200", "--num-records", "200")
    tool(broker, "ProducerPerformance", *how, "--transactional-id", "payments", "--transaction-duration-ms", "100")
    batches = [batch for partition in range(3) for batch in broker.batches(TOPIC, partition)]
    assert len({batch.producer_epoch for batch in batches if not batch.is_control}) >= 3
    assert sum(len(broker.records(TOPIC, partition, committed=True)) for partition in range(3)) == 200
    assert broker.requests(ApiKey.ADD_PARTITIONS_TO_TXN) == []  # producing adds them (KIP-890)
    assert {one.api_version for one in broker.requests(ApiKey.END_TXN)} == {5}
    listed = tool(broker, "TransactionsCommand", "list")
    assert "payments" in listed and "CompleteCommit" in listed
    assert "ProducerEpoch" in tool(
        broker, "TransactionsCommand", "describe-producers", "--topic", TOPIC, "--partition", "0"
    )
    assert "CompleteCommit" in tool(broker, "TransactionsCommand", "describe", "--transactional-id", "payments")


def test_administrators_get_what_they_ask_for(broker: FakeBroker, tmp_path: Path) -> None:
    for number in range(5):
        broker.append(TOPIC, b"%d" % number)
    places = tmp_path / "offsets.json"
    places.write_text(json.dumps({"version": 1, "partitions": [{"topic": TOPIC, "partition": 0, "offset": 3}]}))
    assert "low_watermark: 3" in tool(broker, "DeleteRecordsCommand", "--offset-json-file", str(places))
    assert [record.value for record in broker.records(TOPIC)] == [b"3", b"4"]
    assert f'"partition":"{TOPIC}-0"' in tool(broker, "LogDirsCommand", "--describe", "--topic-list", TOPIC)
    assert consume(broker, 2, "--group", "g") == ["3", "4"]
    how = ("--delete-offsets", "--group", "g", "--topic", TOPIC)
    assert "Successful" in tool(broker, "consumer.group.ConsumerGroupCommand", *how)
    assert broker.committed_offsets("g") == {}
    altering = ("--alter", "--entity-type", "topics", "--entity-name", TOPIC, "--add-config", "retention.ms=1000")
    tool(broker, "ConfigCommand", *altering)
    assert "Configs: retention.ms=1000" in tool(broker, "TopicCommand", "--describe", "--topic", TOPIC)
