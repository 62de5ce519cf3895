"""Log folders with very many segments: planning them looks at nothing that it does not need."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kipspark.sources.log_source import KafkaLogSource
from kipwire.logs.partition_files import OffsetIndexEntry
from kipwire.tables.errors import SourceError
from kipwire.tables.sources.segments import find_segments

NAME = f"{0:020d}.log"


def folder_of(root: Path, topic: str, count: int) -> None:
    for partition in range(count):
        folder = root / f"{topic}-{partition}"
        folder.mkdir()
        (folder / NAME).write_bytes(b"x" * 100)


def test_many_small_segments_are_planned_as_few_tasks_without_their_indexes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder_of(tmp_path, "orders", 500)

    def unused(*_: Any) -> list[OffsetIndexEntry]:
        raise AssertionError("an index is read")

    monkeypatch.setattr("kipwire.tables.sources.splits.offset_index", unused)
    for index in (folder / f"{0:020d}.index" for folder in tmp_path.iterdir()):
        index.write_bytes(bytes(8))
    source = KafkaLogSource({"path": str(tmp_path)})
    (task,) = source.reader(source.schema()).partitions()
    assert len(vars(task)["work"]) == 500


def test_segments_of_other_topics_cost_no_look_at_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of(tmp_path, "orders", 200)
    folder_of(tmp_path, "wanted", 3)
    looked: list[str] = []
    stat = os.stat

    def counted(path: Any, *args: Any, **names: Any) -> os.stat_result:
        looked.append(str(path))
        return stat(path, *args, **names)

    monkeypatch.setattr("os.stat", counted)
    found = find_segments(tmp_path, ["wanted"])
    monkeypatch.undo()
    assert {segment.path for segment in found} == {str(tmp_path / f"wanted-{number}" / NAME) for number in range(3)}
    assert sum(path.endswith(".log") and "orders" in path for path in looked) <= 1


def test_a_folder_with_only_other_topics_has_no_segments_and_no_error(tmp_path: Path) -> None:
    folder_of(tmp_path, "orders", 2)
    assert find_segments(tmp_path, ["wanted"]) == []
    assert find_segments(tmp_path, partitions=[7]) == []
    with pytest.raises(SourceError, match="no log segments"):
        find_segments(_empty(tmp_path))


def _empty(tmp_path: Path) -> Path:
    folder = tmp_path / "nothing"
    folder.mkdir()
    return folder


def test_links_to_folders_are_not_followed_and_links_to_segments_are(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    folder_of(there, "orders", 1)
    root = tmp_path / "root"
    (root / "orders-1").mkdir(parents=True)
    (root / "orders-0").symlink_to(there / "orders-0")
    (root / "orders-1" / NAME).symlink_to(there / "orders-0" / NAME)
    (only,) = find_segments(root)
    assert (only.partition, only.size) == (1, 100)
    (linked,) = find_segments(root / "orders-0")
    assert (linked.partition, linked.path) == (0, str(root / "orders-0" / NAME))
