"""The share of dead records in compacted topics, from logs made for it."""

from __future__ import annotations

from pathlib import Path
from struct import pack

import pytest

from kipjobs.engines import Session, functions_of
from kipjobs.jobs import compaction, transactions
from kipjobs.jobs.compaction.command import compaction_report
from kipjobs.jobs.shared.reading import files, heads, log, removed_to
from kipjobs.report.report import chart_rows, total_row
from kipwire.records import Record, write_batch
from kipwire.tables.errors import JobError
from tests.support.subjects.broker_logs import NOW, marker, table, write_log
from tests.support.subjects.spark_tables import SEGMENTS

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def keyed(offset: int, pairs: list[tuple[str | None, str | None]], producer: int | None = None) -> bytes:
    some = [
        Record(
            offset=offset + at,
            timestamp=NOW,
            key=key.encode() if key else None,
            value=value.encode() if value else None,
        )
        for at, (key, value) in enumerate(pairs)
    ]
    if producer is None:
        return write_batch(some, compression="gzip")
    return write_batch(some, producer_id=producer, producer_epoch=0, base_sequence=offset, is_transactional=True)


def write_compacted(logs: Path, checkpoint: str) -> None:
    """Write a log folder of a broker, with the checkpoint of its cleaner."""
    folder = logs / "stock-0"
    write_log(folder, keyed(0, [("a", "11"), ("b", "22"), ("a", "333"), (None, "x")]))
    # The transaction of 7 was aborted, so that its records replace no earlier ones.
    write_log(folder, keyed(4, [("b", "4444")], producer=7), marker(5, 7, 1), keyed(6, [("c", None)]), base=4)
    (folder / f"{4:020}.txnindex").write_bytes(pack(">hqqqq", 0, 7, 4, 5, 6))
    write_log(folder, keyed(7, [("a", "5"), ("d", "66")]), base=7)
    write_log(folder, keyed(9, [("b", "7")], producer=8), keyed(10, [("d", "8")]), base=9)  # not decided yet
    lines = [checkpoint] if checkpoint else []
    (logs / "cleaner-offset-checkpoint").write_text("\n".join(["0", str(len(lines)), *lines, ""]))
    write_log(logs / "plain-0", keyed(0, [("a", "1"), ("a", "2")]))


def test_dead_is_what_a_later_record_replaces_and_dirty_what_the_cleaner_would_take(
    session: Session, tmp_path: Path
) -> None:
    checkpoints = {
        "cleaned": "stock 0 4",
        "new": "",
        "later": "stock 0 99",  # after the end, so that the cleaner begins anew
        "within": "stock 0 5",  # it counts a segment in which it has stopped as clean and as dirty
        "done": "stock 0 9",
    }
    for name, checkpoint in checkpoints.items():
        write_compacted(tmp_path / name, checkpoint)
    report = compaction_report(session, tmp_path, ["stock"])
    keys = ("base_offset", "records", "bytes", "dead_records", "dead_bytes", "aborted_records", "tombstones")
    segments = table(report, "segments")
    assert {row["topic"] for row in segments} == {"stock"}
    for name in checkpoints:
        of_replica = [row for row in segments if row["folder"] == str(tmp_path / name / "stock-0")]
        assert sorted(tuple(row[key] for key in keys) for row in of_replica) == [
            (0, 4, 11, 3, 8, 0, 0),  # both of a, and the one without a key
            (4, 2, 6, 1, 5, 1, 1),
            (7, 2, 5, 0, 0, 0, 0),
            (9, 2, 4, 0, 0, 0, 0),
        ]
    replicas = {Path(row["folder"]).parent.name: row for row in table(report, "partitions")}
    assert {name: row["cleaned_to"] for name, row in replicas.items()} == {
        name: int(text.split()[-1]) if text else None for name, text in checkpoints.items()
    }
    whole = replicas["cleaned"]
    assert (whole["segments"], whole["records"], whole["dead_records"], whole["tombstones"]) == (4, 10, 4, 1)
    assert whole["dead_percent"] == pytest.approx(100 * 13 / 26)
    size = {int(file.stem): file.stat().st_size for file in (tmp_path / "new" / "stock-0").glob("*.log")}
    dirty = size[4] + size[7]
    assert {name: row["dirty_ratio"] for name, row in replicas.items()} == {
        "cleaned": pytest.approx(dirty / (size[0] + dirty)),
        "new": 1.0,
        "later": 1.0,
        "within": pytest.approx(dirty / (size[0] + size[4] + dirty)),
        "done": 0.0,
    }
    uncleaned = {Path(row["folder"]).parent.name for row in table(report, "uncleaned")}
    assert uncleaned == {name for name, row in replicas.items() if row["dirty_ratio"] > 0.5} > {"new", "later"}
    assert total_row(report) == {
        "replicas": 5,
        "uncleaned": len(uncleaned),
        "bytes_on_disk": 5 * sum(file.stat().st_size for file in (tmp_path / "new" / "stock-0").glob("*.log")),
        "records": 50,
        "dead_records": 20,
        "dead_bytes": 65,
    }


@pytest.mark.parametrize(
    ("cleaned", "start", "clean", "dirty"),
    [
        (0, 0, (), (0, 4, 7)),
        (0, 7, (0, 4), (7,)),  # the cleaner begins at the log start, after where it has come
        (4, 2, (0,), (4, 7)),
        (99, 4, (0,), (4, 7)),  # after the end, so that it begins anew, at the log start
    ],
)
def test_the_cleaner_begins_no_earlier_than_the_log_starts(
    session: Session, tmp_path: Path, cleaned: int, start: int, clean: tuple[int, ...], dirty: tuple[int, ...]
) -> None:
    write_compacted(tmp_path, f"stock 0 {cleaned}")
    (tmp_path / "log-start-offset-checkpoint").write_text(f"0\n1\nstock 0 {start}\n")
    (row,) = table(compaction_report(session, tmp_path, ["stock"]), "partitions")
    size = {int(file.stem): file.stat().st_size for file in (tmp_path / "stock-0").glob("*.log")}
    of_dirty = sum(size[base] for base in dirty)
    assert row["dirty_ratio"] == pytest.approx(of_dirty / (of_dirty + sum(size[base] for base in clean)))


def test_compacted_topics_are_those_of_the_metadata_log_and_of_brokers(session: Session) -> None:
    found = {row["topic"] for row in table(compaction_report(session, SEGMENTS, []), "partitions")}
    assert found == {"__consumer_offsets", "__transaction_state", "__share_group_state", "compacted"}


@pytest.mark.parametrize(
    ("wanted", "wrong"),
    [(["orders"], "--topics: no topic 'orders' in "), ([], "no topic is known to be compacted; name some with")],
)
def test_topics_that_are_not_there_are_named(session: Session, tmp_path: Path, wanted: list[str], wrong: str) -> None:
    write_compacted(tmp_path, "")
    with pytest.raises(JobError, match=wrong):
        compaction_report(session, tmp_path, wanted)


def test_why_a_partition_is_not_cleaned_is_said(session: Session, tmp_path: Path) -> None:
    def segments_of(name: str, *batches: bytes) -> None:
        for batch, base in zip(batches, range(0, 2 * len(batches), 2), strict=True):
            write_log(tmp_path / f"{name}-0", batch, base=base)

    pairs: list[tuple[str | None, str | None]] = [("a", "1"), ("a", "2")]
    plain = [keyed(base, pairs) for base in range(0, 10, 2)]
    segments_of("open", plain[0], keyed(2, pairs, producer=8), plain[2], plain[3])
    segments_of("late", plain[0], plain[1], keyed(4, pairs, producer=8))  # open in the last segment alone
    segments_of("alone", plain[0])
    segments_of("cleaned", plain[0], plain[1])
    segments_of("little", *plain)
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n2\ncleaned 0 2\nlittle 0 6\n")
    names = ["open", "late", "alone", "cleaned", "little"]
    report = compaction_report(session, tmp_path, names)
    assert {row["topic"]: row["waits_for"] for row in table(report, "partitions")} == {
        "open": "open transaction",
        "late": None,  # it should run
        "alone": "active segment",
        "cleaned": "active segment",
        "little": "min.cleanable.dirty.ratio",
    }
    (chart,) = report.charts
    bars = {row["name"]: (row["dead_bytes"], row["live_bytes"]) for row in chart_rows(chart)}
    assert bars == {f"{name}-0": bars[f"{name}-0"] for name in names}
    assert bars["alone-0"] == (2, 2)


def test_recent_segments_wait_for_min_compaction_lag(session: Session, tmp_path: Path) -> None:
    for base in (0, 2, 4, 6):
        write_log(tmp_path / "stock-0", keyed(base, [("a", "1"), ("a", "2")]), base=base)
    (tmp_path / "cleaner-offset-checkpoint").write_text("0\n0\n")
    sf = functions_of(session)
    batches = heads(session, tmp_path, (*transactions.OF_BATCHES, "max_timestamp_ms"), ["stock"])
    listed = files(session, tmp_path, "segment", ["stock"])
    for lag, count in ((1000, 4), (10, 0)):
        lags = listed.select("topic").distinct().withColumn("min_lag_ms", sf.lit(lag).cast("bigint"))
        recent = compaction.recent_segments(batches, listed, lags, NOW + 500)
        assert len(recent.toArrow()) == count
        checkpoints = files(session, tmp_path, "partition_offset", ["stock"])
        nothing = files(session, tmp_path, "producer", ["stock"])
        known = transactions.producers(batches, transactions.known_producers(batches, listed, nothing))
        held = transactions.partitions(batches, listed, removed_to(checkpoints), known)
        records = log(session, tmp_path, ["stock"], columns=compaction.OF_RECORDS)
        judged = compaction.segments(records, listed, files(session, tmp_path, "aborted_transaction", ["stock"]), held)
        (row,) = compaction.partitions(judged, checkpoints, held, recent).toArrow().to_pylist()
        assert (row["waits_for"], row["dirty_ratio"]) == (("min.compaction.lag.ms", None) if count else (None, 1.0))
