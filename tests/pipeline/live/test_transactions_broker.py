"""Transactions, compaction, share groups and files of a real broker: as Kafka's own tools say. For `make test-broker`.

It leaves a transaction open for good, so it runs after the other tests of the broker.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.structs import TopicPartition
from pyspark.sql import SparkSession

from kafka_messages.remote_log_segment_metadata_record.v0 import RemoteLogSegmentMetadataRecord
from kafka_messages.remote_log_segment_metadata_update_record.v0 import RemoteLogSegmentMetadataUpdateRecord
from kipjobs.jobs.compaction.command import compaction_report
from kipjobs.jobs.share.command import share_report
from kipjobs.jobs.tiered.command import tiered_report
from kipjobs.jobs.transactions.command import transactions_report
from kipjobs.report.report import Report
from kipspark.spark.session import FOR_FEW_ROWS, open_session
from kipwire import build
from tests.support.live import broker_traffic, open_traffic
from tests.support.live.broker_traffic import A_MIB
from tests.support.live.real_broker import ADDRESS, LOGS
from tests.support.places import ROOT
from tests.support.subjects.both_engines import Both
from tests.support.subjects.spark_tables import rows

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    # py4j, Spark and the clients leave sockets and files to be collected; pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

HELD, DEAD = open_traffic.HELD, open_traffic.DEAD
REMOTE = "__remote_log_metadata"


def tool(*command: str) -> str:
    """Run one of Kafka's own tools; return its output."""
    script = ["bash", str(ROOT / "scripts" / "broker" / "broker.sh"), "tool"]
    return subprocess.run([*script, *command], check=True, capture_output=True, text=True, timeout=60).stdout


def lines_of(text: str) -> list[dict[str, str]]:
    """Return the table that a tool prints, whose first line has the names of its columns."""
    names, *lines = [line.split() for line in text.splitlines() if line.strip()]
    return [dict(zip(names, line, strict=False)) for line in lines]


def transactions_tool(*command: str) -> list[dict[str, str]]:
    return lines_of(tool("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", ADDRESS, *command))


def dumped(*files: Path, option: str = "--skip-record-metadata") -> str:
    """Return the output of Kafka's own dump-log for files."""
    return tool("org.apache.kafka.tools.DumpLogSegments", "--files", ",".join(map(str, files)), option)


def table(report: Report, name: str) -> list[dict[str, Any]]:
    return rows(next(one.frame for one in report.tables if one.name == name))


def milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)


@pytest.fixture(scope="module")
def spark() -> SparkSession:
    """The session of the other modules, if they have one, set for little data."""
    session = SparkSession.getActiveSession() or open_session("local[2]", settings=FOR_FEW_ROWS)
    for name, value in FOR_FEW_ROWS.items():
        if name.startswith("spark.sql."):
            session.conf.set(name, value)
    return session


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Both engines, which must give the same reports; tests compare the one in the process with Kafka."""
    engines = Both(spark, tmp_path_factory.mktemp("both"))
    yield engines
    engines.close()


@pytest.fixture(scope="module", autouse=True)
def opened() -> Iterator[None]:
    """A transaction is open, another one hangs, and others have ended."""
    open_traffic.make_topics(ADDRESS)
    open_traffic.end_some_transactions(ADDRESS, "ender", HELD)
    open_traffic.leave_hanging_transaction(ADDRESS)
    open_traffic.fill_with_dead_records(ADDRESS)
    open_traffic.fill_indexes(ADDRESS)
    open_traffic.send_shared(ADDRESS, 30)
    with open_traffic.open_transaction(ADDRESS, "stopped"):
        yield


@pytest.fixture(scope="module")
def report(both: Both, opened: None) -> Report:
    return both.report(transactions_report, LOGS)


def test_transactional_ids_are_as_the_coordinator_lists_them(report: Report) -> None:
    found = {row["transactional_id"]: row for row in table(report, "transactions")}
    listed = {
        (one["TransactionalId"], int(one["ProducerId"]), one["TransactionState"]) for one in transactions_tool("list")
    }
    assert {(name, row["producer_id"], row["state"]) for name, row in found.items()} == listed
    assert {"ender", "stopped"} <= set(found)
    (one,) = transactions_tool("describe", "--transactional-id", "stopped")
    row = found["stopped"]
    assert (row["state"], row["producer_epoch"]) == (one["TransactionState"], int(one["ProducerEpoch"]))
    assert row["timeout_ms"] == int(one["TransactionTimeoutMs"])
    assert milliseconds(row["started"]) == int(one["CurrentTransactionStartTimeMs"])
    assert ",".join(row["partitions"]) == one["TopicPartitions"] == f"{HELD}-1"


@pytest.mark.parametrize("partition", [1, 2])
def test_producers_are_as_the_broker_describes_them(report: Report, partition: int) -> None:
    described = transactions_tool("describe-producers", "--topic", HELD, "--partition", str(partition))
    expected = {
        (
            *(int(one[name]) for name in ("ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence")),
            int(one["LastTimestamp"]),
            None if one["CurrentTransactionStartOffset"] == "None" else int(one["CurrentTransactionStartOffset"]),
        )
        for one in described
    }
    assert {
        (
            *(row[name] for name in ("producer_id", "producer_epoch", "coordinator_epoch", "last_sequence")),
            milliseconds(row["last_timestamp"]),
            row["start_offset"],
        )
        for row in table(report, "producers")
        if (row["topic"], row["partition"]) == (HELD, partition)
    } == expected


def test_a_transaction_hangs_where_kafkas_tool_says_so(report: Report) -> None:
    opened = table(report, "open")
    said = transactions_tool("find-hanging", "--broker-id", "1", "--max-transaction-timeout", "0")
    expected = [
        tuple(
            one[name] if name == "Topic" else int(one[name])
            for name in ("Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset")
        )
        for one in said
    ]
    names = ("topic", "partition", "producer_id", "producer_epoch", "coordinator_epoch", "start_offset")
    assert [tuple(row[name] for name in names) for row in opened if row["is_hanging"]] == expected
    assert [one["ProducerId"] for one in said] == [str(open_traffic.GHOST)]
    (other,) = [row for row in opened if not row["is_hanging"]]
    assert (other["transactional_id"], other["state"], other["records"]) == ("stopped", "Ongoing", 3)


def test_last_stable_offsets_are_where_committed_readers_stop(report: Report) -> None:
    consumer = KafkaConsumer(
        bootstrap_servers=ADDRESS,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=1500,
    )
    parts = [TopicPartition(HELD, number) for number in range(3)]
    ends = consumer.end_offsets(parts)
    found = {TopicPartition(row["topic"], row["partition"]): row for row in table(report, "partitions")}
    assert {part: found[part]["last_stable_offset"] for part in parts} == ends
    # The records held back are the ones that only other readers see; records aborted before are not held back.
    everything = list(broker_traffic.read_all(ADDRESS, [HELD]))
    consumer.close()
    for part in parts:
        late = [one for one in everything if (one.partition, one.offset >= ends[part]) == (part.partition, True)]
        assert found[part]["held_back"] == len(late)
    assert [found[part]["held_back"] for part in parts] == [0, 8, 3]


def test_share_groups_are_where_kafkas_tool_says(both: Both) -> None:
    reading = ("--group", "sharers", "--max-messages", "20", "--timeout-ms", "8000")
    consumer = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
    tool(consumer, "--bootstrap-server", ADDRESS, "--topic", open_traffic.SHARED, *reading)
    command = ("--describe", "--group", "sharers", "--offsets", "--verbose")
    described = lines_of(
        tool("org.apache.kafka.tools.consumer.group.ShareGroupCommand", "--bootstrap-server", ADDRESS, *command)
    )
    expected = [
        (one["GROUP"], one["TOPIC"], *(int(one[name]) for name in ("PARTITION", "LEADER-EPOCH", "START-OFFSET", "LAG")))
        for one in described
    ]
    names = ("group", "topic", "partition", "leader_epoch", "start_offset", "lag")
    found = table(both.report(share_report, LOGS), "partitions")
    assert [tuple(row[name] for name in names) for row in found if row["group"] == "sharers"] == expected
    assert expected[0][4:] == (20, 10)


def test_what_is_dead_is_what_the_log_cleaner_removes(both: Both) -> None:
    before = table(both.report(compaction_report, LOGS, [DEAD]), "partitions")[0]
    folder = LOGS / f"{DEAD}-0"
    text = dumped(*sorted(folder.glob("*.log")), option="--print-data-log")
    keys = re.findall(r"^\| offset: (\d+) .* key: (.+?)(?: payload: .*)?$", text, re.MULTILINE)
    last = {key: int(offset) for offset, key in keys}
    assert (before["records"], before["records"] - before["dead_records"]) == (len(keys), len(last))
    assert (before["tombstones"], before["cleaned_to"], before["dirty_ratio"]) == (3, None, 1.0)
    open_traffic.let_the_cleaner_loose(ADDRESS)
    until = monotonic() + 30
    checkpoint = LOGS / "cleaner-offset-checkpoint"
    while f"\n{DEAD} 0 50\n" not in checkpoint.read_text() and monotonic() < until:
        sleep(0.1)
    after = table(both.report(compaction_report, LOGS, [DEAD]), "partitions")[0]
    assert after["records"] == before["records"] - before["dead_records"]
    assert after["bytes"] == before["bytes"] - before["dead_bytes"]
    assert (after["dead_records"], after["tombstones"], after["cleaned_to"], after["dirty_ratio"]) == (0, 3, 50, 0.0)


def files(spark: SparkSession, kind: str, topic: str) -> list[dict[str, Any]]:
    options = {"kind": kind, "topics": topic}
    return rows(spark.read.format("kafka_partition_files").options(**options).load(str(LOGS)))


def as_dumped(kind: str, row: dict[str, Any]) -> str:
    """Return an entry as Kafka prints it."""
    if kind == "offset_index":
        return f"offset: {row['offset']} position: {row['position']}"
    if kind == "time_index":
        return f"timestamp: {milliseconds(row['timestamp'])} offset: {row['offset']}"
    if kind == "aborted_transaction":
        names = ("producer_id", "first_offset", "last_offset", "last_stable_offset")
        words = ("producerId", "firstOffset", "lastOffset", "lastStableOffset")
        return " ".join(["version: 0", *(f"{word}: {row[name]}" for word, name in zip(words, names, strict=True))])
    start, time = row["current_txn_first_offset"], milliseconds(row["last_timestamp"])
    return (
        f"producerId: {row['producer_id']} producerEpoch: {row['producer_epoch']} "
        f"coordinatorEpoch: {row['coordinator_epoch']} "
        f"currentTxnFirstOffset: OptionalLong{'.empty' if start < 0 else f'[{start}]'} lastTimestamp: {time} "
        f"firstSequence: {row['last_sequence'] - row['offset_delta']} lastSequence: {row['last_sequence']} "
        f"lastOffset: {row['last_offset']} offsetDelta: {row['offset_delta']} timestamp: {time}"
    )


@pytest.mark.parametrize(
    ("kind", "suffix", "topic"),
    [
        ("offset_index", "index", open_traffic.INDEXED),
        ("time_index", "timeindex", open_traffic.INDEXED),
        ("aborted_transaction", "txnindex", HELD),
        ("producer", "snapshot", DEAD),
    ],
)
def test_files_next_to_segments_are_as_kafka_dumps_them(
    spark: SparkSession, kind: str, suffix: str, topic: str
) -> None:
    found: dict[str, list[str]] = {}
    for row in files(spark, kind, topic):
        found.setdefault(row["file"], []).append(as_dumped(kind, row))
    # Files in use are allocated in advance, and dump-log prints the first zeros of the free room as an entry.
    complete = [file for file in sorted(LOGS.glob(f"{topic}-*/*.{suffix}")) if 0 < file.stat().st_size < A_MIB]
    expected: dict[str, list[str]] = {}
    for part in re.split(r"^Dumping ", dumped(*complete), flags=re.MULTILINE)[1:]:
        name, *lines = part.splitlines()
        expected[name] = [line.strip() for line in lines if re.match(r"(version|producerId|offset|timestamp): ", line)]
    assert {name: found.get(name) for name in expected} == expected
    assert sum(map(len, expected.values())) > 1


def test_tiered_storage_is_as_kafka_decodes_it(both: Both) -> None:
    of = {"topic_id_partition": {"name": HELD, "id": uuid4(), "partition": 1}}
    segment = {**of, "id": uuid4()}
    values: dict[str, Any] = {
        "broker_id": 1,
        "start_offset": 10,
        "end_offset": 19,
        "segment_size_in_bytes": 512,
        "event_timestamp_ms": 7,
    }
    values |= {"max_timestamp_ms": 5, "segment_leader_epochs": [{"leader_epoch": 0, "offset": 10}]}
    copied = {"broker_id": 1, "event_timestamp_ms": 9, "remote_log_segment_state": 1}
    producer = KafkaProducer(bootstrap_servers=ADDRESS)
    for cls, rest in ((RemoteLogSegmentMetadataRecord, values), (RemoteLogSegmentMetadataUpdateRecord, copied)):
        message = build(cls, {"remote_log_segment_id": segment, **rest})
        producer.send(REMOTE, bytes([1, cls.API_KEY or 0, cls.VERSION]) + message.encode(), partition=0)
    producer.close()
    (found,) = table(both.report(tiered_report, LOGS), "segments")
    (log,) = [path for path in (LOGS / f"{REMOTE}-0").glob("*.log") if path.stat().st_size]
    text = dumped(log, option="--remote-log-metadata-decoder")
    assert re.search(rf"topicIdPartition={found['topic_id']}:{HELD}-1, id={found['segment_id']}", text)
    assert re.search(rf"startOffset={found['start_offset']}, endOffset={found['end_offset']}", text)
    assert f"segmentSizeInBytes={found['size']}" in text
    assert re.findall(r"state=(\w+)", text)[-1] == found["state"] == "COPY_SEGMENT_FINISHED"
    assert {found["partition"], milliseconds(found["changed"])} == {1, 9}
