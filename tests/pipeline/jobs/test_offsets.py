"""Offsets of groups: lag in records and in seconds, groups that stand still, who comes and goes."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kipjobs.engines import DataFrame, Session, functions_of
from kipjobs.jobs import offsets
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.offsets.tables import ends
from kipjobs.jobs.shared import running
from kipjobs.jobs.shared.options import Outputs
from kipjobs.jobs.shared.reading import committed
from kipjobs.report.metrics import exposition
from kipwire.logs.internal_topics import INTERNAL_TOPICS
from kipwire.records import Record, read_segment, write_batch
from kipwire.tables.arrow import TIMESTAMP
from tests.support.subjects.both_engines import frame_of
from tests.support.subjects.exposition import samples
from tests.support.subjects.offset_logs import Batch, Commit, at, write_logs
from tests.support.subjects.spark_tables import SEGMENTS, rows

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
FAR = 3_000_000_000
"""Seconds: a time in another century, of a producer whose clock is wrong."""


def table(session: Session, folder: Path, name: str, stalled_after: int = 60) -> DataFrame:
    """Return a table of the report, in its order."""
    found = next(one for one in offsets_report(session, folder, stalled_after).tables if one.name == name)
    return found.frame.orderBy(*found.order)


def seconds_of(session: Session, folder: Path) -> dict[tuple[str, int], tuple[int | None, float | None]]:
    """Lag and lag in seconds, by group and partition."""
    groups = rows(table(session, folder, "groups"))
    return {(row["group"], row["partition"]): (row["lag"], row["lag_seconds"]) for row in groups}


def test_lag_in_seconds_is_the_age_of_the_first_unread_record(session: Session, tmp_path: Path) -> None:
    log = {
        0: [Batch(0, [0, 1]), Batch(2, [10, 12, 14]), Batch(5, [40])],
        1: [Batch(0, [3, 4], append_time=20), Batch(2, [50, 51], append_time=60)],
        2: [Batch(0, [None, None]), Batch(2, [30])],
        3: [Batch(7, [25]), Batch(9, [35])],
    }
    commits = [
        Commit("all", 0, 6, 41),
        Commit("ahead", 0, 9, 41),
        Commit("whole batches", 0, 2, 41),
        Commit("last batch", 0, 5, 41),
        Commit("part of a batch", 0, 4, 41),
        Commit("nothing", 0, 0, 41),
        Commit("append time", 1, 1, 41),
        Commit("no time", 2, 1, 41),
        Commit("deleted records", 3, 2, 41),
        Commit("in a gap", 3, 8, 41),
        Commit("gone", 4, 5, 41),
        Commit("late", 0, 6, 100),  # the last known record of all
    ]
    assert seconds_of(session, write_logs(tmp_path, "t", log, commits)) == {
        ("all", 0): (0, 0.0),
        ("ahead", 0): (0, 0.0),
        ("late", 0): (0, 0.0),
        ("whole batches", 0): (4, 90.0),
        ("last batch", 0): (1, 60.0),
        ("part of a batch", 0): (2, 90.0),  # too high by 4: of the batch only the first record's time is known
        ("nothing", 0): (6, 100.0),
        ("append time", 1): (3, 80.0),
        ("no time", 2): (2, None),
        ("deleted records", 3): (8, 75.0),
        ("in a gap", 3): (2, 65.0),
        ("gone", 4): (None, None),
    }


def test_a_time_in_the_future_is_not_the_time_of_the_last_record(session: Session, tmp_path: Path) -> None:
    log = {0: [Batch(0, [10]), Batch(1, [FAR])], 1: [Batch(0, [20])]}
    commits = [Commit("g", 0, 0, 50), Commit("at the odd one", 0, 1, 50), Commit("g", 1, 0, 50)]
    assert seconds_of(session, write_logs(tmp_path / "some", "t", log, commits)) == {
        ("g", 0): (2, 40.0),
        ("at the odd one", 0): (1, None),
        ("g", 1): (1, 30.0),
    }
    only = write_logs(tmp_path / "only", "t", {0: [Batch(0, [FAR]), Batch(1, [FAR + 5])]}, [Commit("g", 0, 0, FAR)])
    assert seconds_of(session, only) == {("g", 0): (2, 5.0)}


def test_lag_is_that_of_the_end_of_the_log_beside_that_of_the_commit(session: Session, tmp_path: Path) -> None:
    log = {0: [Batch(0, [0] * 4), Batch(4, [20] * 10)]}
    commits = [Commit("g", 0, 1, 5), Commit("g", 0, 4, 10), Commit("reads", 0, 0, 15), Commit("reads", 0, 14, 30)]
    names = ("end_offset", "lag", "lag_at_commit", "highest_lag", "commits")
    groups = rows(table(session, write_logs(tmp_path, "t", log, commits), "groups"))
    assert {row["group"]: [row[name] for name in names] for row in groups} == {
        "g": [14, 10, 0, 10, 2],
        "reads": [14, 0, 0, 4, 2],
    }


def test_what_stands_still_with_unread_records_is_stalled(session: Session, tmp_path: Path) -> None:
    log = {
        0: [Batch(0, [0] * 10), Batch(10, [200] * 5)],
        1: [Batch(0, [0] * 3)],
        2: [Batch(50, [150] * 4)],
    }
    commits = [
        Commit("stuck", 0, 2, 10),
        Commit("stuck", 0, 7, 40),
        Commit("stuck", 0, 7, 90),  # still alive
        Commit("stuck", 0, 7, 250),
        Commit("moves", 0, 7, 10),
        Commit("moves", 0, 9, 290),
        Commit("back", 0, 9, 10),
        Commit("back", 0, 3, 100),
        Commit("at the end", 0, 15, 210),
        Commit("quiet topic", 1, 1, 10),
        Commit("left", 0, 7, 10),
        Commit("left", 0, None, 20),
        Commit("came back", 0, 7, 10),
        Commit("came back", 0, None, 20),
        Commit("came back", 0, 7, 210),
        Commit("before the log", 2, 20, 10),
        Commit("last", 0, 15, 300),
    ]
    folder = write_logs(tmp_path, "t", log, commits)

    names = ("group", "offset", "lag", "since", "stalled_seconds", "grown", "last_commit")
    found = rows(table(session, folder, "stalled"))
    assert [tuple(row[name] for name in names) for row in found] == [
        ("before the log", 20, 34, at(10), 290.0, None, at(10)),
        ("back", 3, 12, at(100), 200.0, 5, at(100)),
        ("stuck", 7, 8, at(40), 260.0, 5, at(250)),
        ("came back", 7, 8, at(210), 90.0, 0, at(210)),
        ("quiet topic", 1, 2, at(10), 290.0, 0, at(10)),
    ]
    # The time that an offset must stand still is a choice; one that stands for exactly that long counts.
    assert [row["group"] for row in rows(table(session, folder, "stalled", 260))] == [
        "before the log",
        "stuck",
        "quiet topic",
    ]


def log_of(session: Session) -> DataFrame:
    """Return all records of the samples."""
    return session.read.format("kafka_log").option("includeControl", "true").load(str(SEGMENTS))


def roll(folder: Path, partition: int, base_offset: int, data: bytes = b"") -> None:
    """Begin another segment."""
    (folder / f"t-{partition}" / f"{base_offset:020}.log").write_bytes(data)


def test_a_partition_ends_where_its_last_segment_begins_or_later(session: Session, tmp_path: Path) -> None:
    log: dict[int, list[Batch]] = {
        0: [],
        1: [Batch(0, [0] * 10)],
        2: [Batch(0, [0] * 10)],
        3: [Batch(0, [0] * 10)],
        4: [],
        5: [Batch(0, [0] * 10), Batch(20, [5] * 10)],
    }
    commits = [Commit("g", number, 5, 20) for number in log] + [Commit("at the end", 0, 190, 20)]
    folder = write_logs(tmp_path, "t", log, commits)
    roll(folder, 0, 190)
    (folder / "t-0" / f"{0:020}.log").unlink()  # retention
    roll(folder, 1, 50)  # compaction has removed the records in between
    roll(folder, 2, 10, b"\0" * 8 + b"\0\0\1\0")  # a batch that is not complete
    roll(folder, 3, 10, write_batch([Record(offset=12, timestamp=0, value=b"v")]))
    report = offsets_report(session, folder)
    groups = rows(next(one for one in report.tables if one.name == "groups").frame)
    found = {(row["group"], row["partition"]): (row["end_offset"], row["lag"], row["lag_seconds"]) for row in groups}
    assert found == {
        ("g", 0): (190, 185, 0.0),  # no record is left to read
        ("at the end", 0): (190, 0, 0.0),
        ("g", 1): (50, 45, 20.0),
        ("g", 2): (10, 5, 20.0),
        ("g", 3): (13, 8, 20.0),
        ("g", 4): (0, 0, 0.0),
        ("g", 5): (30, 25, 20.0),
    }
    text = exposition(report.metrics)
    assert 'kafka_topic_partition_current_offset{topic="t",partition="0"} 190' in text
    assert 'kafka_consumergroup_lag{consumergroup="g",topic="t",partition="0"} 185' in text
    assert "__cluster_metadata" not in text


def test_topics_of_users_may_begin_with_what_those_of_brokers_begin_with(session: Session, tmp_path: Path) -> None:
    log = {0: [Batch(0, [0] * 10)]}
    commits = [Commit("reads", 0, 4, 30), Commit("waits", 0, 10, 30), Commit("last", 0, 10, 300)]
    folder = write_logs(tmp_path, "__user.state", log, commits)
    found = {row["group"]: row for row in rows(table(session, folder, "groups"))}
    assert (found["reads"]["lag_at_commit"], found["waits"]["lag_at_commit"]) == (6, 0)
    assert [(row["group"], row["grown"]) for row in rows(table(session, folder, "stalled"))] == [("reads", 0)]
    assert {(row["end_offset"], row["lag"]) for row in rows(table(session, folder, "commits"))} == {(10, 6), (10, 0)}


def test_only_topics_of_brokers_have_no_end_at_a_time(session: Session) -> None:
    names = [*INTERNAL_TOPICS, "__user.state", "__debezium-heartbeat.db", "orders"]
    types = {"topic": pa.string(), "partition": pa.int32(), "last_offset": pa.int64(), "max_timestamp": TIMESTAMP}
    batches = frame_of(session, types, [(name, 0, 9, at(0)) for name in names])
    assert {row["topic"] for row in rows(ends(batches))} == {"__user.state", "__debezium-heartbeat.db", "orders"}


def test_groups_of_what_a_consumer_receives_use_the_ends_of_now(session: Session) -> None:
    received = ("topic", "partition", "offset", "timestamp", "key", "value", "is_control")
    log = session.read.format("kafka_log").option("topics", offsets.TOPIC).load(str(SEGMENTS)).select(*received)
    commits = offsets.commits(log)
    assert "is_transactional" not in commits.columns
    of_now = [("orders", 0, 1000), ("orders", 1, 5)]
    ends_now = frame_of(session, {"topic": pa.string(), "partition": pa.int32(), "end_offset": pa.int64()}, of_now)
    latest = rows(offsets.latest_with_ends(commits, ends_now))
    found = {(row["group"], row["partition"]): (row["offset"], row["end_offset"], row["lag"]) for row in latest}
    assert found["kp-group", 0] == (323, 1000, 1000 - 323)
    assert found["java-new", 1] == (511, 5, 0)  # it is not below 0
    assert found["kp-group", 2][1:] == (None, None)  # it is gone


def test_the_offsets_job_reads_no_record_of_other_topics_but_the_ends_of_transactions(
    session: Session, tmp_path: Path
) -> None:
    folder = tmp_path / "logs"
    shutil.copytree(SEGMENTS, folder)
    for path in folder.glob("orders-*/*.log"):
        data = bytearray(path.read_bytes())
        for batch in read_segment(path):
            if batch.is_control:
                continue
            data[batch.position + 61 : batch.position + batch.size] = bytes(batch.size - 61)
        path.write_bytes(data)
    found = rows(table(session, folder, "groups"))
    assert sorted(map(repr, found)) == sorted(map(repr, rows(table(session, SEGMENTS, "groups"))))
    assert any(row["lag"] for row in found)


def test_ends_are_those_of_the_records(session: Session) -> None:
    sf, columns = functions_of(session), "topic,partition,offset,timestamp,segment,batch_position"
    reader = session.read.format("kafka_log").options(includeControl="true", columns=columns)
    log = reader.load(str(SEGMENTS))
    batches = session.read.format("kafka_log").options(level="batches", includeControl="true").load(str(SEGMENTS))
    of_records = (
        log.where(sf.substring("topic", 1, 2) != "__")
        .groupBy("topic", "partition", "segment", "batch_position")
        .agg(sf.max("timestamp").alias("time"), (sf.max("offset") + 1).alias("end_offset"))
        .select("topic", "partition", "time", "end_offset")
    )
    key = ["topic", "partition", "end_offset", "time"]
    assert rows(offsets.ends(batches).orderBy(*key)) == rows(of_records.orderBy(*key))


def test_commits_of_aborted_and_unfinished_transactions_do_not_count(session: Session) -> None:
    def row(offset: int, producer: int, control: int | None = None) -> tuple[Any, ...]:
        key = None if control is None else b"\0\0\0" + bytes([control])
        return ("t", 0, offset, key, producer, True, control is not None)

    types = {"topic": pa.string(), "partition": pa.int32(), "offset": pa.int64(), "key": pa.binary()}
    types |= {"producer_id": pa.int64(), "is_transactional": pa.bool_(), "is_control": pa.bool_()}
    given = [row(0, 1), row(1, 2), row(2, 1, 1), row(3, 2, 0), row(4, 1), row(5, 1, 0), row(6, 2)]
    given.append(("t", 0, 7, None, -1, False, False))
    found = committed(frame_of(session, types, given))
    assert sorted(one["offset"] for one in rows(found)) == [0, 7]


def test_members_come_and_go(session: Session) -> None:
    events = rows(offsets.membership(committed(log_of(session))).orderBy("time"))
    seen = {(row["group"], row["kind"], row["event"], row["client_id"]) for row in events}
    assert ("kp-group", "classic", "joined", "kp-cons-1") in seen
    assert ("kp-group", "classic", "left", "kp-cons-1") in seen
    assert ("java-new", "consumer", "joined", "java-kip848") in seen
    assert ("java-share", "share", "joined", "console-share-consumer") in seen
    epochs = [row["epoch"] for row in events if row["event"] == "epoch" and row["group"] == "kp-group"]
    assert epochs == [0, 1, 2, 3]


def test_groups_are_metrics(session: Session, tmp_path: Path) -> None:
    odd = 'of\n"two" \\ lines'
    log = {0: [Batch(0, [0, 10]), Batch(2, [200])], 1: [Batch(0, [None])]}
    commits = [Commit(odd, 0, 1, 20), Commit("g", 1, 0, 20), Commit("g", 0, 3, 300)]
    report = offsets_report(session, write_logs(tmp_path / "logs", "t", log, commits))
    running.deliver(report, Outputs(metrics=tmp_path / "kafka.prom"))
    found = samples((tmp_path / "kafka.prom").read_text())
    for kind in ("unknown", "damaged"):
        assert found.pop(("kipwire_left_out", frozenset([("kind", kind)]))) == 0
    as_of = found.pop(("kipwire_offsets_as_of_timestamp_seconds", frozenset()))
    assert as_of == datetime(2026, 1, 1, 0, 5, tzinfo=UTC).timestamp()
    ends = {
        ("t", "0"): 3,
        ("t", "1"): 1,
        ("__consumer_offsets", "0"): 3,
    }
    expected = {
        ("kafka_consumergroup_current_offset", "consumergroup"): {(odd, "0"): 1, ("g", "0"): 3, ("g", "1"): 0},
        ("kafka_consumergroup_lag", "consumergroup"): {(odd, "0"): 2, ("g", "0"): 0, ("g", "1"): 1},
        ("kipwire_consumergroup_unread", "consumergroup"): {(odd, "0"): 2, ("g", "0"): 0, ("g", "1"): 1},
        ("kafka_consumergroup_group_lag_seconds", "group"): {(odd, "0"): 300, ("g", "0"): 0},
        ("kipwire_consumergroup_stalled_seconds", "consumergroup"): {(odd, "0"): 280, ("g", "1"): 280},
    }
    assert found == {
        **{
            ("kafka_topic_partition_current_offset", frozenset([("topic", topic), ("partition", number)])): end
            for (topic, number), end in ends.items()
        },
        **{
            (name, frozenset([(label, group), ("topic", "t"), ("partition", number)])): value
            for (name, label), values in expected.items()
            for (group, number), value in values.items()
        },
    }
