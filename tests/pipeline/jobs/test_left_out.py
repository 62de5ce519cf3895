"""No record and no batch hides the others: jobs name what they cannot read, and pass it over."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from kipjobs.engines.embedded.session import EmbeddedSession
from kipjobs.jobs.metadata.report import metadata_report
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.share.command import share_report
from kipjobs.jobs.tiered.command import tiered_report
from kipjobs.jobs.transactions.command import transactions_report
from kipjobs.report.report import Report
from kipspark.jobs.offsets_stream.command import write_stream
from kipspark.jobs.offsets_stream.stream import commits_of_folders
from kipwire.records import Record, read_batches, read_segment, write_batch
from kipwire.tables.errors import FAILFAST, PERMISSIVE, JobError, Mode
from tests.support.command_line import call
from tests.support.places import DATA
from tests.support.subjects.both_engines import Found, different, found
from tests.support.subjects.broker_logs import NOW, marker, table, write_log
from tests.support.subjects.odd_records import FAMILIES, Odd, add_odd_records, without, write_remote
from tests.support.subjects.offset_logs import Batch, Commit, write_logs
from tests.support.subjects.random_logs import write_random_logs, write_random_metadata

pytestmark = pytest.mark.xdist_group("spark")

JOBS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "offsets": (offsets_report, ("__consumer_offsets",)),
    "transactions": (transactions_report, ("__transaction_state",)),
    "share": (share_report, ("__share_group_state",)),
    "metadata": (partial(metadata_report, at=None), ("__cluster_metadata",)),
    "tiered": (tiered_report, ("__remote_log_metadata",)),
}
"""Jobs, with the topics in which odd records are put for them."""


def write_broker(folder: Path, seed: int, number: int) -> None:
    """Write the log folder of a broker, with all internal topics but the cluster's metadata."""
    write_random_logs(folder, seed, number)
    write_remote(folder / f"__remote_log_metadata-{number}", Random(seed), number)


OF_OFFSETS = "__consumer_offsets-0"


class Broker:
    """Log folders with odd records, whose places are known."""

    def __init__(self, folder: Path, seed: int, logs: int, *, damaged: bool = False) -> None:
        random = Random(seed)
        self.folders = [folder / str(number) for number in range(logs)]
        self.odd: dict[Path, list[Odd]] = {}
        for number, root in enumerate(self.folders):
            write_broker(root, seed * logs + number, number)
        write_random_metadata(self.folders[0], seed)
        for root in self.folders:
            for topic in FAMILIES:
                for partition in root.glob(f"{topic}-*"):
                    self.odd[partition] = add_odd_records(partition, random, damaged=damaged)

    @property
    def roots(self) -> list[str]:
        return [str(folder) for folder in self.folders]

    def expected(self, topics: tuple[str, ...]) -> list[tuple[object, ...]]:
        """Return the places, kinds, types and versions of the odd records in these topics."""
        rows: list[tuple[object, ...]] = []
        for folder, some in self.odd.items():
            topic, _, partition = folder.name.rpartition("-")
            if topic in topics:
                rows += [(topic, int(partition), one.record.offset, one.kind, one.type, one.version) for one in some]
        return sorted(rows, key=repr)

    def remove_odd(self) -> None:
        for folder, some in self.odd.items():
            without(folder, some)


def names(report: Report) -> list[tuple[object, ...]]:
    columns = ("topic", "partition", "offset", "kind", "type", "version")
    return sorted((tuple(row[name] for name in columns) for row in table(report, "left_out")), key=repr)


def check(broker: Broker, jobs: Iterable[str], mode: Mode = FAILFAST) -> None:
    """Check jobs: odd records are named once, and all else is as without them."""
    kept: dict[str, Found] = {}
    for job in jobs:
        report_of, topics = JOBS[job]
        with EmbeddedSession() as session:
            report = report_of(session, broker.roots, mode=mode)
            named = names(report)
            assert [row for row in named if row[0] in topics] == broker.expected(topics), job
            # Jobs read other internal topics, too, such as for the names of topics.
            assert all(row in broker.expected(tuple(FAMILIES)) for row in named), job
            assert (report.left_out != "") == bool(named)
            assert report.is_damaged == any(row[3] == "damaged" for row in named)
            kept[job] = rest(report)
    broker.remove_odd()
    for job in kept:
        with EmbeddedSession() as session:
            clean = JOBS[job][0](session, broker.roots)
            assert names(clean) == []
            assert different(kept[job], rest(clean)) == {}, job


def rest(report: Report) -> Found:
    """Return all that a report has but what is left out, and its numbers."""
    return {name: content for name, content in found(report).items() if name not in ("left_out", "metrics")}


@pytest.mark.parametrize(
    "job", [pytest.param(job, marks=() if job == "offsets" else pytest.mark.night) for job in JOBS]
)
def test_odd_records_are_named_once_and_hide_no_other(job: str, tmp_path: Path) -> None:
    check(Broker(tmp_path, 1, 1), [job])


@pytest.mark.night
@pytest.mark.parametrize("seed", range(100, 110))
def test_odd_records_of_50_brokers_are_named_once_and_hide_no_other(seed: int, tmp_path: Path) -> None:
    check(Broker(tmp_path / "unknown", seed, 5), JOBS)
    check(Broker(tmp_path / "damaged", seed, 5, damaged=True), JOBS, PERMISSIVE)


@pytest.mark.night
@pytest.mark.parametrize("seed", range(200, 202))
def test_odd_records_are_the_same_rows_on_both_engines(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    broker = Broker(tmp_path, seed, 5, damaged=True)
    for report_of, _ in JOBS.values():
        with EmbeddedSession() as session:
            here = found(report_of(session, broker.roots, mode=PERMISSIVE))
        assert different(here, found(report_of(spark, broker.roots, mode=PERMISSIVE))) == {}
        spark.catalog.clearCache()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_stream_counts_unknown_records_and_ends_at_a_damaged_one(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = DATA / "cases" / "unknown-records" / "later-type"
    write_stream(commits_of_folders(spark, str(path)), tmp_path / "out", tmp_path / "checkpoint", None)
    line = f"left out of batch 0: 1 record of an unknown type or version; one of them: {OF_OFFSETS} offset 1: record: "
    assert line in capsys.readouterr().err
    assert spark.read.parquet(str(tmp_path / "out")).count() == 1
    (segment,) = write_logs(tmp_path / "logs", "t", {}, [Commit("a", 0, 1, 2)]).rglob("*.log")
    ((record,),) = [batch.records for batch in read_segment(segment)]
    record.value = (record.value or b"")[:-1]
    segment.write_bytes(write_batch([record]))
    with pytest.raises(StreamingQueryException, match=f"{OF_OFFSETS} offset 0: OffsetCommitValue"):
        commits = commits_of_folders(spark, str(tmp_path / "logs"))
        write_stream(commits, tmp_path / "other", tmp_path / "other checkpoint", None)


def test_a_damaged_record_ends_a_job_unless_it_is_left_out(tmp_path: Path) -> None:
    write_random_logs(tmp_path, 5, 0)
    random = Random(5)
    odd: list[Odd] = []
    while not any(one.kind == "damaged" for one in odd):
        odd = add_odd_records(tmp_path / "__share_group_state-0", random, damaged=True)
    offset = min(one.record.offset for one in odd if one.kind == "damaged")
    with EmbeddedSession() as session, pytest.raises(JobError) as caught:
        share_report(session, str(tmp_path))
    assert str(caught.value).startswith(f"__share_group_state-0 offset {offset}: Share")
    assert str(caught.value).endswith("; --permissive leaves it out and goes on")


@pytest.mark.parametrize(
    ("case", "line", "offsets"),
    [
        ("later-type", "offset 1: record: type at byte 0: there is no type 99", ["99", 1]),
        ("later-version", "offset 1: OffsetCommitValue: version at byte 0: unknown version 5; ", ["OffsetCommit", 1]),
        ("new-type", "offset 1: record: type at byte 0: there is no type 99", ["99", 1]),
        ("new-version", "offset 1: OffsetCommitValue: version at byte 0: unknown version 9; ", ["OffsetCommit", 1]),
        ("foreign", "offset 1: record: type at byte 0: there is no type 31522", ["31522", 1]),
    ],
)
def test_a_record_of_a_later_kafka_hides_no_commit(
    case: str,
    line: str,
    offsets: list[object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = DATA / "cases" / "unknown-records" / case
    done = call("offsets", path, "-f", "json", folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 0
    assert done.stderr.startswith(f"left out: 1 record of an unknown type or version; the first: {OF_OFFSETS} {line}")
    rows = list(map(json.loads, done.stdout.splitlines()))
    assert [[row["type"], row["offset"]] for row in rows if row["table"] == "left_out"] == [offsets]
    assert [(row["topic"], row["lag"]) for row in rows if row["table"] == "groups"] == [("orders", 3)]


def damaged_log(folder: Path) -> Path:
    """Write commits in two batches, of which one has a wrong checksum, and a topic with a head of no known magic."""
    topic = {number: [Batch(0, [0, 1]), Batch(2, [2])] for number in (0, 1)}
    logs = write_logs(folder, "t", topic, [Commit("a", 0, 1, 2), Commit("b", 0, 1, 2)])
    for name, at in ((OF_OFFSETS, 70), ("t-1", 16)):
        (segment,) = (logs / name).iterdir()
        data = bytearray(segment.read_bytes())
        data[at] ^= 4
        segment.write_bytes(data)
    return logs


def test_a_damaged_batch_ends_a_job_unless_it_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = damaged_log(tmp_path / "logs")
    run = partial(call, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    done = run("offsets", logs)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert "/t-1/" in done.stderr or f"/{OF_OFFSETS}/" in done.stderr
    metrics = tmp_path / "kafka.prom"
    done = run("offsets", logs, "--permissive", "-f", "json", "--metrics", metrics)
    assert done.returncode == 1
    assert "left out: 2 damaged batches or records; the first: RecordBatch v2: crc at byte 17" in done.stderr
    rows = list(map(json.loads, done.stdout.splitlines()))
    assert [row["group"] for row in rows if row["table"] == "groups"] == ["b"]
    damage = [row for row in rows if row["table"] == "left_out"]
    assert [(row["topic"], row["partition"], row["kind"], row["position"]) for row in damage] == [
        ("__consumer_offsets", 0, "damaged", 0),
        ("t", 1, "damaged", 0),
    ]
    assert [Path(row["file"]).parent.name for row in damage] == [OF_OFFSETS, "t-1"]
    text = metrics.read_text()
    assert 'kipwire_left_out{kind="damaged"} 2\nkipwire_left_out{kind="unknown"} 0\n' in text


def marked_log(folder: Path, change: Callable[[bytes], bytes]) -> Path:
    """Write a partition with a transaction that is committed, by a marker whose value is changed."""
    data = Record(offset=0, timestamp=NOW, value=b"v")
    of: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0, "is_transactional": True}
    (batch,) = read_batches(marker(1, 1, 7))
    (record,) = batch.records
    record.value = change(record.value or b"")
    write_log(folder / "t-0", write_batch([data], base_sequence=0, **of), write_batch([record], is_control=True, **of))
    return folder


def test_a_marker_of_a_later_kafka_is_named_and_ends_its_transaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = marked_log(tmp_path / "later", lambda value: b"\0\7" + value[2:])
    run = partial(call, "transactions", folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    done = run(logs, "-f", "json")
    rows = list(map(json.loads, done.stdout.splitlines()))
    assert done.returncode == 0
    assert [(row["kind"], row["topic"], row["position"]) for row in rows if row["table"] == "left_out"] == [
        ("unknown", "t", 69)
    ]
    assert [row for row in rows if row["table"] == "open"] == []
    logs = marked_log(tmp_path / "damaged", lambda value: value[:-1])
    assert run(logs).returncode == 2
    done = run(logs, "--permissive", "-f", "json")
    rows = list(map(json.loads, done.stdout.splitlines()))
    assert done.returncode == 1
    assert [(row["kind"], row["topic"]) for row in rows if row["table"] == "left_out"] == [("damaged", "t")]
