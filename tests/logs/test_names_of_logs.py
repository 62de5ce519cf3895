"""The names of partitions' folders and of their files say what brokers mean by them, and nothing else is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipwire.logs.names import base_offset_of, partition_of, segment_after, segments_of, snapshot_end_of


def test_names_of_brokers_are_read() -> None:
    assert partition_of("a.b_c-d-12") == ("a.b_c-d", 12)
    assert base_offset_of("00000000000000000612.log") == 612
    assert snapshot_end_of("00000000000000000612-0000000003.checkpoint") == (612, 3)


@pytest.mark.parametrize("name", ["orders", "orders-", "-1", "orders-2147483648", "a b-0", "orders-0.x-delete"])
def test_other_folders_are_no_partitions(name: str) -> None:
    assert partition_of(name) is None


@pytest.mark.parametrize("name", ["612.log", "9" * 20 + ".log", "00000000000000000612.log.deleted", "x.log"])
def test_other_files_are_no_segments(name: str) -> None:
    assert base_offset_of(name) is None
    assert snapshot_end_of(name) is None


def test_the_segment_after_one_is_the_next_by_offset(tmp_path: Path) -> None:
    names = [f"{offset:020}.log" for offset in (0, 9, 10, 200)]
    for name in (*names, "x.log", "00000000000000000005.index"):
        (tmp_path / name).touch()
    (tmp_path / "00000000000000000300.log").mkdir()
    assert [file.name for file in segments_of(tmp_path)] == names
    found: list[str] = []
    file: Path | None = tmp_path / names[0]
    while file is not None:
        found.append(file.name)
        file = segment_after(file)
    assert found == names
    assert segment_after(tmp_path / "x.log") is None
