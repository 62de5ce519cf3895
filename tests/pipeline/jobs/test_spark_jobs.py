"""The jobs on Spark: on the log and the capture of a real cluster."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kafka_messages.topic_record.v0 import TopicRecord
from kipjobs.jobs import metadata, offsets, traffic
from kipjobs.jobs.metadata.report import metadata_report
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.shared import options, running
from kipjobs.jobs.shared.reading import committed
from kipjobs.jobs.traffic.command import traffic_report
from kipjobs.report.metrics import exposition
from kipjobs.report.outputs import write_tables
from kipjobs.report.report import Report, Table
from kipspark import JobError, from_message, to_message
from kipwire.records import read_segment
from tests.support import golden_data
from tests.support.command_line import call
from tests.support.places import DATA
from tests.support.subjects.exposition import samples
from tests.support.subjects.spark_tables import SEGMENTS, rows

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SNAPSHOTS = DATA / "snapshots"


def tables(report: Report) -> dict[str, list[dict[str, Any]]]:
    return {table.name: rows(table.frame) for table in report.tables}


# Jobs.


@pytest.mark.every_spark
def test_lag_is_the_end_of_the_partition_at_the_time_of_the_commit(log: DataFrame, batches: DataFrame) -> None:
    latest = {
        (row["group"], row["partition"]): (row["offset"], row["end_offset"], row["lag"])
        for row in rows(offsets.latest(offsets.with_lag(offsets.commits(committed(log)), offsets.ends(batches))))
    }
    assert latest["java-new", 1] == (511, 511, 0)
    assert latest["kp-group", 0] == (323, 323, 0)
    group, partition = "kp-txn-group", 0
    offset, end, lag = latest[group, partition]
    assert lag == end - offset > 0


def test_ends_are_those_of_the_records(log: DataFrame, batches: DataFrame) -> None:
    of_records = (
        log.where(~sf.col("topic").startswith("__"))
        .groupBy("topic", "partition", "segment", "batch_position")
        .agg(sf.max("timestamp").alias("time"), (sf.max("offset") + 1).alias("end_offset"))
        .select("topic", "partition", "time", "end_offset")
    )
    key = ["topic", "partition", "end_offset", "time"]
    assert rows(offsets.ends(batches).orderBy(key)) == rows(of_records.orderBy(key))


def test_the_offsets_job_reads_no_record_of_other_topics(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    shutil.copytree(SEGMENTS, folder)
    for path in folder.glob("orders-*/*.log"):
        data = bytearray(path.read_bytes())
        for batch in read_segment(path):
            data[batch.position + 61 : batch.position + batch.size] = bytes(batch.size - 61)
        path.write_bytes(data)
    found = tables(offsets_report(spark, folder))
    assert found["groups"] == tables(offsets_report(spark, SEGMENTS))["groups"]
    assert any(row["lag"] for row in found["groups"])


def test_commits_of_aborted_and_unfinished_transactions_do_not_count(spark: SparkSession) -> None:
    def row(offset: int, producer: int, control: int | None = None) -> tuple[Any, ...]:
        key = None if control is None else b"\0\0\0" + bytes([control])
        return ("t", 0, offset, key, producer, True, control is not None)

    schema = "topic string, partition int, offset long, key binary, producer_id long"
    schema += ", is_transactional boolean, is_control boolean"
    given = [row(0, 1), row(1, 2), row(2, 1, 1), row(3, 2, 0), row(4, 1), row(5, 1, 0), row(6, 2)]
    given.append(("t", 0, 7, None, -1, False, False))
    found = committed(spark.createDataFrame(given, schema))
    assert sorted(one["offset"] for one in rows(found)) == [0, 7]


def test_members_come_and_go(log: DataFrame) -> None:
    events = rows(offsets.membership(committed(log)).orderBy("time"))
    seen = {(row["group"], row["kind"], row["event"], row["client_id"]) for row in events}
    assert ("kp-group", "classic", "joined", "kp-cons-1") in seen
    assert ("kp-group", "classic", "left", "kp-cons-1") in seen
    assert ("java-new", "consumer", "joined", "java-kip848") in seen
    assert ("java-share", "share", "joined", "console-share-consumer") in seen
    epochs = [row["epoch"] for row in events if row["event"] == "epoch" and row["group"] == "kp-group"]
    assert epochs == [0, 1, 2, 3]


def test_traffic_pairs_every_response_with_its_request(frames: DataFrame) -> None:
    found = traffic.inspect_all(frames).persist()
    paired = traffic.exchanges(found).persist()
    totals = paired.agg(
        sf.count("*").alias("requests"),
        sf.count("response_bytes").alias("responses"),
        (sf.sum("request_bytes") + sf.sum("response_bytes")).alias("bytes"),
        sf.min("latency_ms").alias("fastest"),
    )
    (total,) = rows(totals)
    assert (total["requests"], total["responses"]) == (1094, 1092)
    assert total["bytes"] == rows(frames.agg(sf.sum(sf.length("frame")).alias("bytes")))[0]["bytes"]
    assert total["fastest"] > 0
    assert rows(traffic.errors(found)) == []
    clients = {(row["client_id"], row["software"]) for row in rows(traffic.by_client(paired))}
    assert ("kp-cons-1", "kafka-python 3.0.12") in clients
    aborted = [
        row for row in rows(traffic.error_codes(paired)) if row["code"] == 51 and row["api"] == "AddOffsetsToTxn"
    ]
    assert [row["responses"] for row in aborted] == [6]
    assert {row["error"] for row in aborted} == {"CONCURRENT_TRANSACTIONS"}
    assert {row["code"] for row in rows(traffic.error_codes(paired)) if row["error"] is None} == set()


def test_traffic_names_the_clients_that_an_upgrade_breaks_as_tap_does(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = traffic_report(spark, (str(DATA / "clients"),), release="4.0")
    (table,) = [table for table in report.tables if table.name == "unserved"]
    keys = ("client_id", "api", "api_version", "requests", "served", "fix")
    found = {tuple(row[key] for key in keys) for row in rows(table.frame)}
    arguments = ("tap", DATA / "clients", "--upgrade-to", "4.0", "-f", "json")
    done = call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert found == {tuple(one[key] for key in keys) for one in json.loads(done.stdout)["unserved"]}
    assert ("sarama", "Fetch", 0, 13, "4-17", "Sarama 1.30.1?") in found
    values = samples(exposition(report.metrics))
    assert len(values) == len(found)
    assert {name for name, _ in values} == {"kipwire_unserved_requests"}
    assert sum(values.values()) == sum(row[3] for row in found)
    labels = [dict(labels) for _, labels in values]
    assert {(one["client_id"], one["fix"], one["release"]) for one in labels} == {
        (row[0], row[5], "4.0") for row in found
    }


def test_metadata_is_that_of_a_time(log: DataFrame) -> None:
    counting = metadata.records(log).persist()
    before = metadata.records(metadata.until(log, datetime(2026, 11, 21, 8, 1, 40, tzinfo=UTC)))
    gone = {row["topic"]: row["removed"] for row in rows(metadata.topics(counting))}
    assert gone["gone"] == datetime(2026, 11, 21, 8, 1, 40, 561000, tzinfo=UTC)
    assert gone["orders"] is None
    leaders = {
        (row["topic"], row["partition"]): (row["leader"], row["isr"])
        for row in rows(metadata.partitions(metadata.partition_history(before)))
    }
    assert leaders["orders", 1] == (2, [2, 1])
    assert ("gone", 0) in leaders
    later = {row["topic"] for row in rows(metadata.partitions(metadata.partition_history(counting)))}
    assert "gone" not in later
    values = {(row["resource"], row["name"]): row["value"] for row in rows(metadata.configs(counting))}
    assert values["orders", "retention.ms"] == "86400000"
    assert [row["is_fenced"] for row in rows(metadata.brokers(before))] == [False, False]
    narrow = metadata.records(log, metadata.OF_CONFIGS)
    assert narrow.columns == [
        "offset",
        "time",
        "type",
        "topic_record",
        "config_record",
        "remove_topic_record",
    ]
    assert rows(metadata.configs(narrow).orderBy("resource", "name")) == rows(
        metadata.configs(counting).orderBy("resource", "name")
    )


def test_metadata_before_the_log_is_that_of_its_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    folder = SNAPSHOTS / "__cluster_metadata-0"
    early = tables(metadata_report(spark, SNAPSHOTS, None))
    created = {row["topic"]: (row["created"] is None, row["removed"] is None) for row in early["topics"]}
    assert created == {
        "orders": (True, True),
        "again": (True, True),
        "later-gone": (True, False),
        "new": (False, True),
    }
    places = {
        (row["topic"], row["partition"]): (row["leader"], row["isr"], row["changes"]) for row in early["partitions"]
    }
    assert places == {
        **{("orders", number): (1, [1], 0) for number in range(3)},
        ("orders", 3): (1, [1], 1),
        ("again", 0): (1, [1], 0),
        **{("new", number): (1, [1], 1) for number in range(2)},
    }
    values = {(row["resource"], row["name"]): (row["value"], row["time"] is None) for row in early["configs"]}
    assert values == {
        ("", "min.insync.replicas"): ("1", True),
        ("1", "log.cleaner.threads"): ("2", True),
        ("again", "flush.ms"): ("50000", True),
        ("orders", "flush.ms"): ("60000", False),
        ("orders", "max.message.bytes"): ("2000000", True),
        ("orders", "retention.ms"): ("7200000", False),
    }
    # The broker's own last snapshot, alone, says the same of the end.
    (tmp_path / folder.name).mkdir()
    for file in (max(folder.glob("*.log")), max(folder.glob("*.checkpoint"))):
        shutil.copy(file, tmp_path / folder.name)
    late = tables(metadata_report(spark, tmp_path, None))
    known = {
        "topics": ("topic", "topic_id", "partitions"),
        "partitions": ("topic", "topic_id", "partition", "leader", "replicas", "isr"),
        "configs": ("resource_type", "resource", "name", "value"),
        "brokers": ("broker_id", "rack", "endpoints", "is_fenced"),
    }
    for table, names in known.items():
        alike = [
            sorted((tuple(row[name] for name in names) for row in rows if row.get("removed") is None), key=repr)
            for rows in (early[table], late[table])
        ]
        assert alike[0] == alike[1] != []


@pytest.mark.parametrize(
    ("at", "origin"),
    [
        (None, r"snapshot 0+146-0+1\.checkpoint, .* before offset 146 .*, and from the log after it to offset 254"),
        ("2026-11-21T16:05:40Z", r"snapshot 0+146-.* \(2026-11-21 16:05:32 UTC\), .* to offset 160"),
        (
            "2026-11-21T16:05:32Z",
            r"from the log alone, from offset 142 to 144\. Earlier changes are missing: .* of that time",
        ),
    ],
)
def test_a_report_says_where_the_metadata_is_from(spark: SparkSession, at: str | None, origin: str) -> None:
    time = None if at is None else datetime.fromisoformat(at)
    assert re.search(origin, metadata_report(spark, SNAPSHOTS, time).notes[0])


@pytest.mark.parametrize(
    ("topic", "at", "wrong"),
    [
        (
            "__cluster_metadata",
            "2026-11-21T16:00:00Z",
            "no state at .*: the log begins at 2026-11-21 16:05:30",
        ),
        ("orders", None, "no records of __cluster_metadata; the folder __cluster_metadata-0 is"),
    ],
)
def test_where_no_metadata_is_the_report_says_so(
    spark: SparkSession, tmp_path: Path, topic: str, at: str | None, wrong: str
) -> None:
    shutil.copytree(SNAPSHOTS / "__cluster_metadata-0", tmp_path / f"{topic}-0")
    with pytest.raises(JobError, match=wrong):
        metadata_report(spark, tmp_path, None if at is None else datetime.fromisoformat(at))


def test_replicas_of_the_metadata_log_count_once(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(SNAPSHOTS, tmp_path / name)
    alone, both = (tables(metadata_report(spark, path, None)) for path in (tmp_path / "one", tmp_path))
    for name in ("changes", "partition_history"):
        assert sorted(map(str, both[name])) == sorted(map(str, alone[name])) != []


def test_metadata_of_a_transaction_that_was_aborted_does_not_count(spark: SparkSession) -> None:
    begin, end, abort = (b"\1\x17\0\0", b"\1\x18\0\0", b"\1\x19\0\0")
    topic = b"\1\2\0" + TopicRecord(name="t").encode()
    given = [topic, abort, topic, begin, topic, end, topic, begin, topic]  # the first one began before the log
    schema = "topic string, offset long, timestamp timestamp, value binary, is_control boolean"
    log = [(metadata.TOPIC, at, datetime.now(UTC), value, False) for at, value in enumerate(given)]
    found = rows(metadata.records(spark.createDataFrame(log, schema)))
    assert sorted(row["offset"] for row in found if row["type"] == "TopicRecord") == [2, 4, 6]


def test_golden_messages_come_back_from_columns_of_spark(spark: SparkSession) -> None:
    newest = {name: version for name, version in sorted(golden_data.messages()) if name.endswith("Record")}
    assert len(newest) > 20
    for name, version in newest.items():
        data = [(bytes.fromhex(line["hex"]),) for line in golden_data.messages()[name, version]]
        frame = spark.createDataFrame(data, "data binary").coalesce(1)
        again = frame.select("data", to_message(from_message("data", name, version), name, version).alias("again"))
        assert [(row["data"], row["again"]) for row in rows(again)] == [row * 2 for row in data], name


def test_tables_of_which_one_cannot_be_written_leave_nothing(spark: SparkSession, tmp_path: Path) -> None:
    good, bad = (spark.range(2).select(column) for column in (sf.col("id"), sf.raise_error(sf.lit("no")).alias("id")))
    with pytest.raises(PySparkException, match="no"):
        write_tables(tmp_path, [Table("good", "", good, ()), Table("bad", "", bad, ())])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("job", ["offsets", "traffic", "metadata"])
def test_a_report_has_tables_and_a_page_with_a_chart(
    spark: SparkSession, job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = {
        "offsets": lambda: offsets_report(spark, options.sample_segments()),
        "traffic": lambda: traffic_report(spark, options.sample_capture()),
        "metadata": lambda: metadata_report(spark, options.sample_segments(), None),
    }[job]()
    running.deliver(report, options.Outputs(tmp_path / "out", html=tmp_path / "page.html"))
    text = (tmp_path / "page.html").read_text()
    assert "<svg" in text
    assert report.title in capsys.readouterr().out
    for table in report.tables:
        assert spark.read.parquet(str(tmp_path / "out" / table.name)).columns == table.frame.columns
