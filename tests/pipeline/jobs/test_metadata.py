"""The state of a cluster, from its metadata log and its snapshots."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_messages.topic_record.v0 import TopicRecord
from kipjobs.engines import Session
from kipjobs.jobs import metadata
from kipjobs.jobs.metadata.report import metadata_report
from kipwire.tables.arrow import TIMESTAMP
from kipwire.tables.errors import JobError
from tests.support.places import DATA
from tests.support.subjects.both_engines import frame_of
from tests.support.subjects.spark_tables import SEGMENTS, rows, tables

pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SNAPSHOTS = DATA / "snapshots"


def test_metadata_is_that_of_a_time(session: Session) -> None:
    log = session.read.format("kafka_log").option("includeControl", "true").load(str(SEGMENTS)).persist()
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


def test_metadata_before_the_log_is_that_of_its_snapshot(session: Session, tmp_path: Path) -> None:
    folder = SNAPSHOTS / "__cluster_metadata-0"
    wanted = ("topics", "partitions", "configs", "brokers")
    early = tables(metadata_report(session, SNAPSHOTS, None), *wanted)
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
    late = tables(metadata_report(session, tmp_path, None), *wanted)
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
def test_a_report_says_where_the_metadata_is_from(session: Session, at: str | None, origin: str) -> None:
    time = None if at is None else datetime.fromisoformat(at)
    assert re.search(origin, metadata_report(session, SNAPSHOTS, time).notes[0])


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
    session: Session, tmp_path: Path, topic: str, at: str | None, wrong: str
) -> None:
    shutil.copytree(SNAPSHOTS / "__cluster_metadata-0", tmp_path / f"{topic}-0")
    with pytest.raises(JobError, match=wrong):
        metadata_report(session, tmp_path, None if at is None else datetime.fromisoformat(at))


def test_replicas_of_the_metadata_log_count_once(session: Session, tmp_path: Path) -> None:
    for name in ("one", "two"):
        shutil.copytree(SNAPSHOTS, tmp_path / name)
    names = ("changes", "partition_history")
    alone, both = (tables(metadata_report(session, path, None), *names) for path in (tmp_path / "one", tmp_path))
    for name in names:
        assert sorted(map(str, both[name])) == sorted(map(str, alone[name])) != []


def test_metadata_of_a_transaction_that_was_aborted_does_not_count(session: Session) -> None:
    begin, end, abort = (b"\1\x17\0\0", b"\1\x18\0\0", b"\1\x19\0\0")
    topic = b"\1\2\0" + TopicRecord(name="t").encode()
    given = [topic, abort, topic, begin, topic, end, topic, begin, topic]  # the first one began before the log
    types = {"topic": pa.string(), "offset": pa.int64(), "timestamp": TIMESTAMP, "value": pa.binary()}
    log = [(metadata.TOPIC, at, datetime.now(UTC), value, False) for at, value in enumerate(given)]
    found = rows(metadata.records(frame_of(session, {**types, "is_control": pa.bool_()}, log)))
    assert sorted(row["offset"] for row in found if row["type"] == "TopicRecord") == [2, 4, 6]
