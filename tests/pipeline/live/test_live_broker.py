"""Live topics of a real broker, by the Spark that its connector is for: its own session, and a Spark Connect server.

For `make test-broker`.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pyarrow.dataset as dataset
import pyarrow.parquet as parquet
import pytest
from kafka.admin import (
    NewTopic,
    OffsetSpec,  # pyright: ignore[reportAttributeAccessIssue]
)

from kipjobs.sources.batch_heads import RowFilter
from kipjobs.sources.log_rows import read_rows
from kipjobs.sources.segments import find_segments
from kipjobs.sources.splits import cut_segment
from tests.support.live import broker_traffic as traffic
from tests.support.live.connect_server import connect_server
from tests.support.live.kafka_tools import lag_by_kafka, offsets_by_kafka
from tests.support.live.live_spark import Spark
from tests.support.live.real_broker import ADDRESS, LOGS
from tests.support.places import SUPPORT
from tests.support.subjects.exposition import by_labels, samples

pytestmark = [
    pytest.mark.broker,
    pytest.mark.new_broker,
    pytest.mark.xdist_group("broker"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SENT, STREAMED, GONE = "live-sent", "live-streamed", "live-gone"
COLUMNS = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers")
OWN = "kipspark-live"
"""Prefix of the names of groups that reading makes."""


@pytest.fixture(scope="session")
def used() -> None:
    """Clients have sent to the broker, read from it, and committed."""
    with traffic.admin_client(ADDRESS) as admin:
        there = {topic["name"] for topic in admin.describe_topics()}
        wanted = {SENT: 3, GONE: 1, "orders": 3, traffic.TRANSACTIONAL: 2}
        missing = [NewTopic(name, count, 1) for name, count in wanted.items() if name not in there]
        admin.create_topics(missing, wait_for_metadata=True)
    traffic.send_with_kafka_python(ADDRESS, [SENT, GONE], 200)
    traffic.send_with_aiokafka(ADDRESS, SENT, 50)
    traffic.send_in_transactions(ADDRESS, "live-payers")
    traffic.consume(ADDRESS, "live-readers", [SENT, GONE], 100)
    traffic.send_with_kafka_python(ADDRESS, [SENT], 30)
    with traffic.admin_client(ADDRESS) as admin:
        admin.delete_topics([GONE])


@pytest.fixture(scope="module")
def server(live_spark: Spark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Spark Connect server."""
    with connect_server(live_spark, tmp_path_factory.mktemp("server") / "log") as address:
        yield address


@pytest.fixture(params=["a session here", "Spark Connect"])
def remote(request: pytest.FixtureRequest) -> str | None:
    """Address of the Spark Connect server that reads, or None for a session of the command's own."""
    return None if request.param == "a session here" else request.getfixturevalue("server")


def at(remote: str | None) -> tuple[str, ...]:
    """Return kipspark's options for this address."""
    return ("--remote", remote) if remote else ()


def log_rows(topics: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the rows of `kafka_log`, without Spark."""
    segments = find_segments(str(LOGS), topics, ())
    splits = [split for segment in segments for split in cut_segment(segment, 2**30, 0)]
    return [row for split in splits for batch in read_rows(split, RowFilter()) for row in batch.to_pylist()]


def files(place: Path) -> list[dict[str, Any]]:
    """Return the rows of Parquet files that Spark wrote."""
    return parquet.read_table(place).to_pylist()  # type: ignore[no-any-return]


def written_by_stream(place: Path) -> list[dict[str, Any]]:
    """Return the rows of the files that Spark's file sink has finished, by its own list of them."""
    finished = []
    for step in sorted((place / "_spark_metadata").glob("[0-9]*")):
        finished += [part for line in step.read_text().splitlines() for part in line.split('"') if "part-" in part]
    paths = [str(place / Path(name).name) for name in dict.fromkeys(finished)]
    return dataset.dataset(paths).to_table().to_pylist() if paths else []


def place_of(row: dict[str, Any]) -> tuple[str, int, int]:
    return row["topic"], row["partition"], row["offset"]


def test_every_topic_has_the_rows_of_its_log(live_spark: Spark, used: None, remote: str | None, tmp_path: Path) -> None:
    with traffic.admin_client(ADDRESS) as admin:
        described = admin.describe_topics()
    topics = tuple(sorted(topic["name"] for topic in described))
    assert {SENT, traffic.TRANSACTIONAL, "__consumer_offsets", "__transaction_state"} <= set(topics)
    job = ("python", str(SUPPORT / "live" / "live_job.py"), "read", ADDRESS, ",".join(topics), str(tmp_path))
    live_spark.run(*job, *([remote] if remote else []))
    found = {place_of(row): tuple(row[name] for name in COLUMNS) for row in files(tmp_path / "records")}
    logged = {place_of(row): tuple(row[name] for name in COLUMNS) for row in log_rows(topics)}
    # Reading has joined a group, so that one topic has grown since.
    ends = Counter[tuple[str, int]]()
    for topic, partition, offset in found:
        ends[topic, partition] = max(ends[topic, partition], offset + 1)
    assert {
        place: row
        for place, row in logged.items()
        if place[0] != "__consumer_offsets" or place[2] < ends[place[0], place[1]]
    } == found
    assert {row["is_control"] for row in files(tmp_path / "records")} == {False}
    with traffic.admin_client(ADDRESS) as admin:
        parts = {part: OffsetSpec.LATEST for part in traffic.partitions(described) if not part.topic.startswith("__")}
        reported = {
            (part.topic, part.partition): end.offset for part, end in admin.list_partition_offsets(parts).items()
        }
    assert {(row["topic"], row["partition"]): row["end_offset"] for row in files(tmp_path / "ends")} == reported


def test_groups_are_where_the_admin_client_says(
    live_spark: Spark, used: None, remote: str | None, tmp_path: Path
) -> None:
    command = ("kipspark", "offsets", "--bootstrap-servers", ADDRESS, "--out", str(tmp_path))
    text = live_spark.run(*command, *at(remote))
    assert "Lag is the present end of the partition" in text
    found = {
        (row["group"], row["topic"], row["partition"]): (row["offset"], row["end_offset"], row["lag"])
        for row in files(tmp_path / "groups")
    }
    with traffic.admin_client(ADDRESS) as admin:
        committed = admin.list_group_offsets([group["group_id"] for group in admin.list_groups()])
        there = {topic["name"] for topic in admin.describe_topics()}
        parts = {part: OffsetSpec.LATEST for of_group in committed.values() for part in of_group if part.topic in there}
        ends = {part: end.offset for part, end in admin.list_partition_offsets(parts).items()}
    assert found == {
        (group, part.topic, part.partition): (one.offset, ends[part], max(ends[part] - one.offset, 0))
        for group, of_group in committed.items()
        for part, one in of_group.items()
    }
    assert sum(lag for (group, *_), (_, _, lag) in found.items() if group == "live-readers") == 30 * 5
    assert {offset for (group, *_), (offset, *_) in found.items() if group == "live-payers"} == {104}  # 105 was aborted
    events = {(row["group"], row["event"]) for row in files(tmp_path / "membership")}
    assert {("live-readers", "joined"), ("live-readers", "left")} <= events
    assert not [group for group, _ in events if group.startswith(OWN)]


def test_metrics_are_what_kafkas_own_tools_print(live_spark: Spark, used: None, remote: str | None) -> None:
    command = ("kipspark", "offsets", "--bootstrap-servers", ADDRESS, "--stalled-after", "1", "-f", "prometheus")
    found = samples(live_spark.run(*command, *at(remote)))  # nothing else is printed
    places = ("consumergroup", "topic", "partition")
    lags = by_labels(found, "kafka_consumergroup_lag", places)
    ends = by_labels(found, "kafka_topic_partition_current_offset", places[1:])
    positions = by_labels(found, "kafka_consumergroup_current_offset", places)
    assert {place: (offset, ends[place[1:]], lags[place]) for place, offset in positions.items()} == lag_by_kafka(
        ADDRESS
    )
    behind = {place for place, lag in lags.items() if lag}
    assert {group for group, *_ in behind} >= {"live-readers"}
    assert set(by_labels(found, "kipspark_consumergroup_stalled_seconds", places)) == behind
    ages = by_labels(found, "kafka_consumergroup_group_lag_seconds", ("group", *places[1:]))
    assert {place for place, age in ages.items() if age} <= behind
    assert lags.keys() - behind <= {place for place, age in ages.items() if age == 0}
    assert all(ages[place] > 0 for place in behind if place[:2] == ("live-readers", SENT))
    by_kafka = offsets_by_kafka(ADDRESS)
    assert ends == {place: by_kafka[place] for place in ends}
    assert set(ends) >= {place[1:] for place in lags}


def test_commits_that_are_streamed_are_those_of_the_log(
    live_spark: Spark, used: None, remote: str | None, tmp_path: Path
) -> None:
    places = ("--out", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "checkpoint"))
    command = ("kipspark", "offsets", "--bootstrap-servers", ADDRESS, "--stream", *places, *at(remote))
    live_spark.run(*command)
    first = written_by_stream(tmp_path / "out")
    later = "live-more" if remote is None else "live-more-by-connect"
    traffic.consume(ADDRESS, later, [SENT], 40)
    live_spark.run(*command)
    second = written_by_stream(tmp_path / "out")
    assert {row["group"] for row in second} - {row["group"] for row in first} == {later}
    keyed = Counter((row["log_partition"], row["log_offset"]) for row in second)
    assert set(keyed.values()) == {1}
    # By their keys: the int16 before them is the type, 1 a commit; of a transaction that was aborted there is none.
    in_log = [row for row in log_rows(("__consumer_offsets",)) if row["key"][:2] == b"\0\1"]
    plain = {(row["partition"], row["offset"]) for row in in_log if not row["is_transactional"]}
    transactional = {(row["partition"], row["offset"]) for row in in_log if row["is_transactional"]}
    assert plain <= set(keyed)
    assert 0 < len(set(keyed) - plain) < len(transactional)
    assert set(keyed) - plain <= transactional


def test_a_stream_that_is_killed_gives_each_record_once(live_spark: Spark, tmp_path: Path) -> None:
    count, out = 4000, tmp_path / "out"
    with traffic.admin_client(ADDRESS) as admin:
        admin.create_topics([NewTopic(STREAMED, 2, 1)], wait_for_metadata=True)
    traffic.send_numbers(ADDRESS, STREAMED, range(count))
    places = (str(out), str(tmp_path / "checkpoint"))
    command = ("python", str(SUPPORT / "live" / "live_job.py"), "follow", ADDRESS, STREAMED, *places)
    seen = []
    for wanted in (1, count // 2, count):
        with live_spark.running(*command) as process:
            until = monotonic() + 240
            while len(written_by_stream(out)) < wanted and monotonic() < until:
                assert process.poll() is None
                sleep(0.1)
        seen.append(len(written_by_stream(out)))
    assert sorted(int(row["value"]) for row in written_by_stream(out)) == list(range(count))
    assert 0 < seen[0] < seen[1] < seen[2] == count


def test_what_is_missing_is_reported(live_spark: Spark, used: None, tmp_path: Path) -> None:
    job = ("python", str(SUPPORT / "live" / "live_job.py"), "read", ADDRESS)
    for topics in (f"{SENT},no-such-topic", "__consumer_offsets,no-such-topic"):
        done = subprocess.run(
            [str(live_spark.folder / "bin" / job[0]), *job[1:], topics, str(tmp_path)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert f"SourceError: {ADDRESS}: has no topic no-such-topic\n" in done.stderr
    text = live_spark.fails("kipspark", "offsets", "--bootstrap-servers", "127.0.0.1:1")
    assert text.startswith("kipspark: 127.0.0.1:1: no broker answered within 15 seconds")
