"""Logs that change all the time while a stream reads them, without Spark: many more batches than with it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import sleep

import pytest

from kipwire.tables.files.access import FileVersion, is_that_file
from kipwire.tables.sources.segments import find_segments
from tests.support.live.changing_folders import ChangingFolders
from tests.tables.sources.test_streams import Stream, segment

_KEPT = 5
"""Batches whose offsets a checkpoint has."""


def commit(checkpoint: Path, number: int, kept: dict[str, object]) -> None:
    """Say that a batch is done, as Spark does."""
    for name, text in (("offsets", f"v1\n{{}}\n{json.dumps(kept)}"), ("commits", "v1\n{}")):
        folder = checkpoint / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / str(number)).write_text(text)
        (folder / str(number - _KEPT)).unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("seed", "batches"), [(0, 80), *(pytest.param(seed, 250, marks=pytest.mark.night) for seed in (0, 1))]
)
def test_each_record_of_logs_that_change_is_read_once(tmp_path: Path, seed: int, batches: int) -> None:
    random = Random(seed)
    folders = ChangingFolders(tmp_path / "logs", tmp_path / "checkpoint", Random(seed))
    is_over = Event()

    def change() -> None:
        while not is_over.wait(0.0005):
            folders.change()

    def started(kept: dict[str, object] | None = None) -> Stream:
        limit, split_bytes = random.choice((2000, 20_000, 60_000)), random.choice((3000, 20_000))
        return Stream(tmp_path / "logs", kept, maxBytesPerTrigger=str(limit), splitBytes=str(split_bytes))

    changing = Thread(target=change)
    changing.start()
    stream, found, number = started(), Counter[tuple[str, int]](), 0
    try:
        while (planned := stream.plan()) or not is_over.is_set():
            if planned is None:
                assert changing.is_alive()
                continue
            start, end, tasks = planned
            if random.random() < 0.3:  # as if the stream had been killed now
                stream = started(stream.kept)
                tasks = list(stream.reader.partitions(start, end))
            sleep(random.choice((0, 0, random.random() * 0.02)))
            found.update(stream.read(tasks))
            stream.kept = end
            commit(tmp_path / "checkpoint", number, end)
            number += 1
            if number == batches:
                is_over.set()
                changing.join()
                folders.settle()
    finally:
        is_over.set()
        changing.join()
    assert found == Counter((name, offset) for name, offset, _ in folders.records())
    assert folders.done["replace"] > batches // 10


def test_a_file_that_has_grown_is_the_same_and_one_with_its_number_is_not(tmp_path: Path) -> None:
    path = segment(tmp_path, "t-0", range(3))
    (found,) = find_segments(tmp_path)
    assert isinstance(found.version, FileVersion)
    assert is_that_file(found.path, found.version, path.stat())
    sleep(0.02)  # times of files move on in steps
    segment(tmp_path, "t-0", range(3, 5), base=0)
    assert path.stat().st_ctime_ns > found.version.changed
    assert is_that_file(found.path, found.version, path.stat())
    path.rename(f"{path}.away").rename(path)  # it looks like a new file with the number of a deleted one
    assert not is_that_file(found.path, found.version, path.stat())
    (again,) = find_segments(tmp_path)
    assert again.version is not None
    assert is_that_file(again.path, again.version, path.stat())
