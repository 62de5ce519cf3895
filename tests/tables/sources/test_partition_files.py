"""The files that brokers keep next to segments, as rows: what tasks do, without Spark itself."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kipjobs.jobs.shared.options import folders_of_brokers
from kipspark.arrow import struct_type
from kipspark.sources.file_sources import KafkaPartitionFilesSource
from kipwire.tables.errors import JobError, SourceError
from kipwire.tables.sources.partition_files import KINDS, find_files, read_file
from tests.support.places import DATA

FILES = DATA / "partition_files"
PAYMENTS = FILES / "payments-0"


def read(kind: str, root: Path, *, permissive: bool = False, **chosen: Any) -> list[dict[str, Any]]:
    files = find_files(KINDS[kind], str(root), **chosen)
    return [row for file in files for batch in read_file(KINDS[kind], file, permissive) for row in batch.to_pylist()]


def without_file(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Return the values of rows, without the path and the error, which is null."""
    assert {row["error"] for row in rows} <= {None}
    return [tuple(row.values())[:-2] for row in rows]


def test_segments_have_their_sizes() -> None:
    expected = [("payments", 0, base, (PAYMENTS / f"{base:020}.log").stat().st_size) for base in (44, 88)]
    assert without_file(read("segment", FILES)) == expected


def test_indexes_have_their_entries() -> None:
    assert without_file(read("offset_index", FILES))[:2] == [
        ("payments", 0, 44, 53, 735),
        ("payments", 0, 44, 64, 1457),
    ]
    first = ("payments", 0, 44, datetime(2026, 11, 22, 15, 24, 32, 913000, tzinfo=UTC), 49)
    assert without_file(read("time_index", FILES))[0] == first
    assert without_file(read("aborted_transaction", FILES)) == [
        ("payments", 0, 44, 0, 45, 54, 55),
        ("payments", 0, 44, 0, 82, 87, 88),
        ("payments", 0, 88, 0, 111, 120, 121),
    ]


def test_producer_snapshots_have_their_producers() -> None:
    found = read("producer", PAYMENTS)
    assert [
        (row["snapshot_offset"], row["producer_id"], row["last_sequence"], row["last_offset"]) for row in found
    ] == [
        (44, 0, 19, 42),
        (44, 1, 19, 37),
        (88, 0, 39, 86),
        (88, 1, 39, 81),
    ]
    assert {(row["producer_id"], row["coordinator_epoch"], row["current_txn_first_offset"]) for row in found} == {
        (0, 0, -1),
        (1, -1, -1),
    }


def test_checkpoints_have_their_lines() -> None:
    assert without_file(read("leader_epoch", FILES)) == [("payments", 0, 0, 0)]
    assert without_file(read("partition_offset", FILES))[0][0] == "replication-offset-checkpoint"


@pytest.mark.parametrize("root", ["logs", "logs/orders-3", "logs/cleaner-offset-checkpoint"])
def test_a_checkpoint_of_a_broker_is_found_from_its_folders(root: str, tmp_path: Path) -> None:
    (tmp_path / "logs" / "orders-3").mkdir(parents=True)
    (tmp_path / "logs" / "cleaner-offset-checkpoint").write_text("0\n1\norders 3 17\n")
    expected = [("cleaner-offset-checkpoint", "orders", 3, 17)]
    assert without_file(read("partition_offset", tmp_path / root)) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_rows_have_the_schema_of_their_kind(kind: str) -> None:
    for file in find_files(KINDS[kind], str(FILES)):
        for batch in read_file(KINDS[kind], file, permissive=False):
            assert batch.schema == KINDS[kind].schema()
            batch.validate(full=True)
    assert struct_type(KINDS[kind].schema()) == KafkaPartitionFilesSource({"kind": kind}).schema()


def test_only_folders_of_wanted_partitions_are_read(tmp_path: Path) -> None:
    for name in ("payments-0", "payments-1", "orders-0", "orders-0.5ab0-delete"):
        shutil.copytree(PAYMENTS, tmp_path / name)
    (tmp_path / "payments-1" / "00000000000000000044.index").write_bytes(b"damaged")
    assert {row["topic"] for row in read("offset_index", tmp_path, topics=["orders"])} == {"orders"}
    assert {(row["topic"], row["partition"]) for row in read("offset_index", tmp_path, partitions=[0])} == {
        ("orders", 0),
        ("payments", 0),
    }


def test_what_is_damaged_is_named_or_is_a_row(tmp_path: Path) -> None:
    folder = tmp_path / "payments-0"
    shutil.copytree(PAYMENTS, folder)
    snapshot = folder / "00000000000000000044.snapshot"
    data = bytearray(snapshot.read_bytes())
    data[-1] ^= 1
    snapshot.write_bytes(data)
    (folder / "00000000000000000044.txnindex").write_bytes(
        (PAYMENTS / "00000000000000000044.txnindex").read_bytes()[:40]
    )
    (folder / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n")
    for kind, before, wrong in (
        ("producer", 0, "crc at byte 2"),
        ("aborted_transaction", 1, r"entries\[1\] at byte 34: need 34 bytes, but only 6 are left"),
        ("leader_epoch", 0, "line 2: expected 2 lines after it, found 1"),
    ):
        with pytest.raises(SourceError, match=wrong):
            read(kind, folder)
        found = read(kind, folder, permissive=True)
        assert [row["error"] is None for row in found][: before + 1] == [True] * before + [False]


def test_a_file_that_the_broker_has_removed_has_no_entries(tmp_path: Path) -> None:
    folder = tmp_path / "payments-0"
    shutil.copytree(PAYMENTS, folder)
    for kind in set(KINDS) - {"segment"}:
        files = find_files(KINDS[kind], str(folder))
        for file in files:
            Path(file.path).unlink()
        assert [batch for file in files for batch in read_file(KINDS[kind], file, permissive=False)] == []


def test_many_entries_are_several_batches(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    lines = "".join(f"{epoch} {epoch * 10}\n" for epoch in range(40_000))
    (folder / "leader-epoch-checkpoint").write_text(f"0\n40000\n{lines}")
    (file,) = find_files(KINDS["leader_epoch"], str(tmp_path))
    batches = list(read_file(KINDS["leader_epoch"], file, permissive=False))
    assert len(batches) > 1
    assert pa.Table.from_batches(batches).column("epoch").to_pylist() == list(range(40_000))


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({}, "needs the option kind, which is one of segment, offset_index, time_index, aborted_transaction, producer"),
        ({"kind": "log"}, "option kind is 'log'; it must be segment or offset_index"),
        (
            {"kind": "segment", "level": "records"},
            "has no option 'level'; it has kind, topics, partitions, failOnMissingTopics, mode",
        ),
    ],
)
def test_wrong_options_are_refused(options: dict[str, str], wrong: str) -> None:
    with pytest.raises(SourceError, match=wrong):
        KafkaPartitionFilesSource(options).schema()


def test_a_path_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="none: there is no such file or folder"):
        find_files(KINDS["segment"], str(tmp_path / "none"))


def test_a_store_is_refused_in_one_sentence() -> None:
    said = "s3://bucket/logs: files beside segments are read in the folders of brokers, not in stores"
    with pytest.raises(SourceError, match=said):
        find_files(KINDS["producer"], "s3://bucket/logs")
    with pytest.raises(JobError, match=said):
        folders_of_brokers(["s3://bucket/logs"], True)
