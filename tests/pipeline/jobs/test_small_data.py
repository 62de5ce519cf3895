"""Commands on little data choose the settings by which Spark ends sooner, by the bytes that their jobs read."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kipjobs.jobs import tiered
from kipspark import commands
from kipspark.spark.session import FOR_FEW_ROWS
from kipwire.tables.errors import JobError
from kipwire.traffic.captures import FRAMES, INDEX

MIB = 2**20
OFFSET = "0" * 20
OF_LOGS = ("offsets", "transactions", "compaction", "share", "tiered", "metadata")
INTERNAL = ("__cluster_metadata", "__consumer_offsets", "__share_group_state", tiered.TOPIC)
"""The topics that these are about."""

Chosen = Callable[..., Mapping[str, str]]


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> Chosen:
    """The settings that a command would start Spark with."""
    found: list[Mapping[str, str]] = []

    def open_session(master: str | None, remote: str | None, settings: Mapping[str, str]) -> Any:
        found.append(settings)
        raise JobError("stop")

    monkeypatch.setattr("kipspark.running.open_session", open_session)

    def settings_of(*arguments: str | Path) -> Mapping[str, str]:
        monkeypatch.setattr(sys, "argv", ["kipspark", *map(str, arguments)])
        with pytest.raises(SystemExit):
            commands.main()
        return found.pop()

    return settings_of


def log_of(root: Path, topic: str, size: int = 100) -> Path:
    """Write the folder of a partition as a live broker has it: with indexes that are allocated in advance."""
    folder = root / f"{topic}-0"
    folder.mkdir(parents=True)
    for ending, length in ((".log", size), (".index", 10 * MIB), (".timeindex", 10 * MIB)):
        (folder / (OFFSET + ending)).touch()
        os.truncate(folder / (OFFSET + ending), length)
    return folder


@pytest.fixture
def live(tmp_path: Path) -> Path:
    for topic in (*INTERNAL, "orders"):
        log_of(tmp_path / "live", topic)
    (tmp_path / "live" / "server.log").touch()
    os.truncate(tmp_path / "live" / "server.log", 100 * MIB)
    return tmp_path / "live"


@pytest.mark.parametrize("command", OF_LOGS)
def test_room_in_indexes_and_files_that_are_not_read_do_not_count(command: str, live: Path, chosen: Chosen) -> None:
    assert chosen(command, live) == FOR_FEW_ROWS


@pytest.mark.parametrize("command", OF_LOGS)
def test_segments_that_the_job_reads_count(command: str, live: Path, chosen: Chosen) -> None:
    log_of(live, "big", 17 * MIB)
    reads_it = command not in ("tiered", "metadata")
    assert chosen(command, live) == ({} if reads_it else FOR_FEW_ROWS)
    assert chosen(command, live / "orders-0", *(live / f"{topic}-0" for topic in INTERNAL)) == FOR_FEW_ROWS
    for topic in ("__cluster_metadata", tiered.TOPIC):
        os.truncate(live / f"{topic}-0" / f"{OFFSET}.log", 17 * MIB)
    assert chosen(command, live) == {}


def test_segments_behind_links_count_if_they_are_read(live: Path, tmp_path: Path, chosen: Chosen) -> None:
    big = log_of(tmp_path / "elsewhere", "__consumer_offsets", 17 * MIB)
    (tmp_path / "linked").symlink_to(big.parent)
    assert chosen("offsets", tmp_path / "linked") == {}
    assert chosen("offsets", live, tmp_path / "linked") == {}
    (live / "big-0").symlink_to(big)  # links to folders below are not followed
    assert chosen("offsets", live) == FOR_FEW_ROWS
    (live / "big-1").mkdir()
    (live / "big-1" / f"{OFFSET}.log").symlink_to(big / f"{OFFSET}.log")
    assert chosen("offsets", live) == {}


def test_several_paths_count_together_and_what_is_twice_in_them_once(tmp_path: Path, chosen: Chosen) -> None:
    one, two = (log_of(tmp_path / name, "__consumer_offsets", 10 * MIB) for name in ("one", "two"))
    assert chosen("offsets", one.parent, one) == FOR_FEW_ROWS
    assert chosen("offsets", one, two) == {}
    assert chosen("offsets", f"{tmp_path}/*/__consumer_offsets-0") == {}


def test_topics_that_are_named_are_those_that_count(live: Path, chosen: Chosen) -> None:
    log_of(live, "big", 17 * MIB)
    assert chosen("compaction", "--topics", "orders", live) == FOR_FEW_ROWS
    assert chosen("compaction", "--topics", "orders,big", live) == {}


def test_captures_count_with_their_frames(tmp_path: Path, chosen: Chosen) -> None:
    own, packets = tmp_path / "own", tmp_path / "packets"
    for folder, name in ((own, INDEX), (own, FRAMES), (packets, "a.pcap"), (packets, "notes")):
        folder.mkdir(exist_ok=True)
        (folder / name).touch()
    os.truncate(packets / "notes", 100 * MIB)
    assert chosen("traffic", own, packets) == FOR_FEW_ROWS
    os.truncate(own / FRAMES, 17 * MIB)
    assert chosen("traffic", packets) == FOR_FEW_ROWS
    assert chosen("traffic", own) == chosen("traffic", own, packets) == {}
    assert chosen("traffic", packets / "notes") == {}, "a file by its own name is read"


@pytest.mark.parametrize("command", ["offsets", "transactions", "compaction", "share", "metadata", "traffic"])
def test_paths_of_a_server_are_not_looked_for_here(
    command: str, monkeypatch: pytest.MonkeyPatch, chosen: Chosen
) -> None:
    def looked(*_: Any) -> Any:
        raise AssertionError("a path of the server is looked for here")

    monkeypatch.setattr("kipwire.tables.files.roots.files_at", looked)
    assert chosen(command, "/of/the/server", "--remote", "sc://localhost") == {}


@pytest.mark.parametrize("command", [*OF_LOGS, "traffic"])
def test_the_samples_are_small(command: str, chosen: Chosen) -> None:
    assert chosen(command) == FOR_FEW_ROWS
