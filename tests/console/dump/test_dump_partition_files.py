"""kipwire dump shows the files beside segments, as Kafka's own tool does, and reports the damage of damaged ones."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.console.dump.conftest import Dump
from tests.support.places import DATA, ROOT

FOLDER = DATA / "partition_files" / "payments-0"
NAME = "00000000000000000044"

Objects = Callable[..., list[dict[str, Any]]]

_OF_KAFKA = {
    "producerEpoch": "epoch",
    "lastTimestamp": "timestamp",
    "currentTxnFirstOffset": "current_txn_first_offset",
}
"""Names of Kafka's tool that are not ours in another spelling."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the files of a partition, in the folder in which `dump` runs."""
    return Path(shutil.copytree(FOLDER, tmp_path / "payments-0"))


def test_each_entry_is_a_line(dump: Dump, folder: Path) -> None:
    done = dump(*[f"payments-0/{NAME}{suffix}" for suffix in (".timeindex", ".txnindex", ".snapshot")])
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"payments-0/{NAME}.timeindex: a time index, 60 bytes",
        "timestamp=2026-11-22T15:24:32.913Z offset=49",
        "timestamp=2026-11-22T15:24:33.765Z offset=59",
        "timestamp=2026-11-22T15:24:33.792Z offset=65",
        "timestamp=2026-11-22T15:24:34.619Z offset=76",
        "timestamp=2026-11-22T15:24:35.436Z offset=87",
        f"payments-0/{NAME}.txnindex: an index of aborted transactions, 68 bytes",
        "producer_id=0 first_offset=45 last_offset=54 last_stable_offset=55",
        "producer_id=0 first_offset=82 last_offset=87 last_stable_offset=88",
        f"payments-0/{NAME}.snapshot: a snapshot of the producers, 102 bytes",
        "producer_id=0 epoch=0 last_sequence=19 last_offset=42 offset_delta=4 timestamp=2026-11-22T15:24:32.100Z "
        "coordinator_epoch=0 current_txn_first_offset=-1",
        "producer_id=1 epoch=0 last_sequence=19 last_offset=37 offset_delta=4 timestamp=2026-11-22T15:24:32.080Z "
        "coordinator_epoch=-1 current_txn_first_offset=-1",
    ]


def test_checkpoints_are_shown_too(objects: Objects, folder: Path) -> None:
    leader = "payments-0/leader-epoch-checkpoint"
    assert objects(leader) == [
        {"type": "leader_epoch", "file": leader, "topic": "payments", "partition": 0, "epoch": 0, "start_offset": 0}
    ]
    checkpoint = DATA / "partition_files" / "replication-offset-checkpoint"
    found = {(one["topic"], one["partition"]): one["offset"] for one in objects(checkpoint)}
    assert found["payments", 0] == 133


def test_damage_is_an_error_after_what_could_be_read(dump: Dump, folder: Path) -> None:
    with (folder / f"{NAME}.index").open("ab") as file:
        file.write(b"\0\0\0")
    done = dump(f"payments-0/{NAME}.index")
    assert done.returncode == 1
    assert done.stdout.endswith("offset=87 position=4224\n")
    assert done.stderr == (
        f"error: payments-0/{NAME}.index: entries[5] at byte 40: need 8 bytes, but only 3 are left\n"
    )


def test_an_index_without_its_offset_in_its_name_is_an_error(dump: Dump, folder: Path) -> None:
    (folder / f"{NAME}.index").rename(folder / "some.index")
    done = dump("payments-0/some.index")
    assert (done.returncode, done.stderr) == (
        1,
        "error: payments-0/some.index: the name must be the base offset, as in 00000000000000000612.index\n",
    )


def test_an_index_that_does_not_fit_its_segment_is_an_error(dump: Dump) -> None:
    wrong = DATA / "cases" / "wrong-index" / "orders-0" / ("0" * 20)
    done = dump(f"{wrong}.index", f"{wrong}.timeindex")
    assert done.returncode == 1
    assert done.stderr == (
        f"{wrong}.index: entries[1]: offset 4 is at position 6213, where the batch of offsets 3 to 3 is; "
        "only brokers before 3.9 write such entries\n"
        f"error: {wrong}.timeindex: entries[1]: 1700000000009 is not the highest timestamp up to offset 4: "
        "1700000000004 is\n"
    )


@pytest.mark.parametrize("has_segment", [True, False])
def test_a_wrong_entry_of_an_index_hides_none_after_it(dump: Dump, folder: Path, has_segment: bool) -> None:
    index = folder / f"{NAME}.index"
    data = bytearray(index.read_bytes())
    data[12:16] = (2**20).to_bytes(4, "big")  # the position of entry 1
    index.write_bytes(data)
    if not has_segment:
        (folder / f"{NAME}.log").unlink()
    done = dump(f"payments-0/{NAME}.index")
    assert done.returncode == 1
    assert done.stdout.count("position=") == 5
    (line,) = done.stderr.splitlines()
    expected = "entries[1]: offset 64 is at position 1048576, where no batch begins"
    if not has_segment:
        expected = "entries[2]: offset 65 at position 2073 is not after offset 64 at position 1048576"
    assert line == f"error: payments-0/{NAME}.index: {expected}"


def test_a_transaction_index_that_does_not_fit_its_segment_is_an_error(dump: Dump, folder: Path) -> None:
    index = folder / f"{NAME}.txnindex"
    data = bytearray(index.read_bytes())
    data[9] = 9  # the producer of entry 0
    index.write_bytes(data)
    done = dump(f"payments-0/{NAME}.txnindex")
    assert done.returncode == 1
    assert done.stderr == (
        f"error: payments-0/{NAME}.txnindex: entries[0]: offset 54 is no ABORT marker of producer 9\n"
    )


@pytest.mark.parametrize("folder", ["orders-7-{}", "orders-{}/7"])
def test_files_of_tiered_storage_are_read_by_their_names(dump: Dump, tmp_path: Path, folder: str) -> None:
    there = tmp_path / "tiered" / folder.format("AAAAAAAAAAAAAAAAAAAABw")
    there.mkdir(parents=True)
    for suffix in (".log", ".index", ".timeindex", ".txnindex"):
        shutil.copy(FOLDER / f"{NAME}{suffix}", there / f"44-AAAAAAAAAAAAAAAAAAAACQ{suffix}")
        shutil.copy(FOLDER / f"{88:020}{suffix}", there / f"88-AAAAAAAAAAAAAAAAAAAADQ{suffix}")
    shutil.move(there / "88-AAAAAAAAAAAAAAAAAAAADQ.log", there / "100-AAAAAAAAAAAAAAAAAAAADQ.log")
    done = dump("tiered")
    assert (done.returncode, done.stderr) == (0, "")
    headings = [line.split(": ")[1] for line in done.stdout.splitlines() if "partition" in line]
    assert [one.partition(",")[0] for one in headings] == [
        "orders partition 7 from offset 44",
        "orders partition 7 from offset 100",
    ]
    names = [str(file.relative_to(tmp_path)) for file in sorted(there.glob("44-*index"))]
    done = dump(*names)
    assert (done.returncode, done.stderr) == (0, "")
    assert "offset=87 position=4224\n" in done.stdout


def test_an_index_beside_a_damaged_segment_is_shown_and_cannot_be_compared(dump: Dump, folder: Path) -> None:
    segment = folder / f"{NAME}.log"
    segment.write_bytes(segment.read_bytes()[:100] + b"\0" * 200)
    done = dump(f"payments-0/{NAME}.index")
    assert done.returncode == 1
    assert "offset=87 position=4224\n" in done.stdout
    assert done.stderr.startswith(
        f"error: payments-0/{NAME}.index: cannot be compared with its segment: RecordBatch v2"
    )


@pytest.mark.maven
@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*.*index")) + sorted(FOLDER.glob("*.snapshot")), ids=lambda path: path.name
)
def test_every_entry_is_that_of_kafkas_tool(path: Path, objects: Objects) -> None:
    command = ["bash", str(ROOT / "scripts/broker/broker.sh"), "tool", "org.apache.kafka.tools.DumpLogSegments"]
    text = subprocess.run(
        [*command, "--files", str(path)], capture_output=True, check=True, timeout=300
    ).stdout.decode()
    rows = [dict(re.findall(r"(\w+): (\S+)", line)) for line in text.splitlines()[1:]]
    ours = objects(path)
    assert len(rows) == len(ours)
    for row, one in zip(rows, ours, strict=True):
        names = {name: _OF_KAFKA.get(name) or re.sub(r"(?=[A-Z])", "_", name).lower() for name in row}
        theirs = {names[name]: _number(text) for name, text in row.items() if names[name] in one}
        assert theirs == {name: one[name] for name in theirs}
        assert len(theirs) == len(one.keys() - {"type", "file", "topic", "partition"})


def _number(text: str) -> int:
    if text == "OptionalLong.empty":
        return -1
    return int(text.removeprefix("OptionalLong[").removesuffix("]"))
