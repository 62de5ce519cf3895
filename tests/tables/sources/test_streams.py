"""Streams over logs that grow, are cut and replaced, and come and go: what the reader gives Spark, without Spark."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit

from kipspark.sources.log_source import KafkaLogSource
from kipwire.logs.accounting import batch_heads
from kipwire.records import Record, write_batch
from kipwire.tables.errors import ListingError, SourceError
from kipwire.tables.files import access
from kipwire.tables.sources import log_rows, splits
from kipwire.tables.sources.changing_logs import losses, positions
from kipwire.tables.sources.segments import Segment, find_segments
from kipwire.tools.io import files_below

Offset = dict[str, Any]
SIZE = len(write_batch([Record(offset=0, timestamp=1, value=b"0")]))
"""Bytes of a batch of these tests, with one record."""


def data(offsets: Sequence[int], padding: int = 0) -> bytes:
    """Return batches of one record each, all of the same size."""
    values = [(at, b"%d" % (at % 10) + b" " * padding) for at in offsets]
    return b"".join(write_batch([Record(offset=at, timestamp=1, value=value)]) for at, value in values)


DOUBLE = next(padding for padding in range(SIZE) if len(data([0], padding)) == 2 * SIZE)
"""The padding with which a batch has twice that size."""


def segment(logs: Path, name: str, offsets: Sequence[int], base: int | None = None) -> Path:
    """Append to the segment of a folder that starts at `base`, or at the first of the offsets."""
    path = logs / name / f"{offsets[0] if base is None else base:020}.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(data(offsets))
    return path


class Stream:
    """A stream as Spark 4.2 and later run it: what was read is known from the offset alone, which is kept as JSON."""

    def __init__(self, logs: Path, kept: Offset | None = None, **options: str) -> None:
        source = KafkaLogSource({"path": str(logs), **options})
        self.reader: Any = source.streamReader(source.schema())
        self.kept: Offset = self.reader.initialOffset() if kept is None else kept

    def plan(self, limit: ReadLimit | None = None) -> tuple[Offset, Offset, list[Any]] | None:
        """Return the offsets and the tasks of the next batch; None if nothing is new."""
        latest = self.reader.latestOffset(self.kept, limit or self.reader.getDefaultReadLimit())
        start, end = self.kept, json.loads(json.dumps(latest))
        return None if end == start else (start, end, list(self.reader.partitions(start, end)))

    def read(self, tasks: list[Any]) -> list[tuple[str, int]]:
        rows = (row for task in tasks for batch in self.reader.read(task) for row in batch.to_pylist())
        return [(f"{row['topic']}-{row['partition']}", row["offset"]) for row in rows]

    def batch(self, limit: ReadLimit | None = None) -> list[tuple[str, int]]:
        """Return the rows of the next batch, and commit it."""
        planned = self.plan(limit)
        if planned is None:
            return []
        _, end, tasks = planned
        found = self.read(tasks)
        self.kept = end
        return found

    def batches(self) -> Iterator[list[tuple[str, int]]]:
        """Yield batches until nothing is new."""
        for _ in range(1000):
            before = self.kept
            found = self.batch()
            if self.kept == before:
                return
            yield found
        raise AssertionError("it does not end")

    def all(self) -> list[tuple[str, int]]:
        return sorted(row for batch in self.batches() for row in batch)


def rows(name: str, offsets: Sequence[int]) -> list[tuple[str, int]]:
    return [(name, offset) for offset in offsets]


# Limits.


def test_a_limit_bounds_the_bytes_of_each_batch(tmp_path: Path) -> None:
    segment(tmp_path, "t-0", range(40))
    segment(tmp_path, "t-0", range(40, 60))
    segment(tmp_path, "t-1", range(5))
    stream = Stream(tmp_path, maxBytesPerTrigger=str(10 * SIZE))
    batches = list(stream.batches())
    assert all(0 < len(batch) <= 10 for batch in batches)
    assert len(batches) <= 8
    assert sorted(row for batch in batches for row in batch) == rows("t-0", range(60)) + rows("t-1", range(5))


def test_a_batch_that_exceeds_the_limit_is_read_alone(tmp_path: Path) -> None:
    for name in ("t-0", "t-1"):
        segment(tmp_path, name, range(3))
    assert [len(batch) for batch in Stream(tmp_path, maxBytesPerTrigger="1").batches()] == [1] * 6


def test_no_log_waits_forever_for_larger_ones(tmp_path: Path) -> None:
    for name in range(30):
        segment(tmp_path, f"t-{name}", range(30))
    stream = Stream(tmp_path, maxBytesPerTrigger=str(4 * SIZE))
    seen = {name for _ in range(8) for name, _ in stream.batch()}
    assert len(seen) == 30


def test_logs_share_a_limit_by_what_they_have(tmp_path: Path) -> None:
    segment(tmp_path, "t-0", range(300))
    segment(tmp_path, "t-1", range(100))
    found = Stream(tmp_path, maxBytesPerTrigger=str(82 * SIZE)).batch()
    assert 80 <= len(found) <= 82
    assert 59 <= len([row for row in found if row[0] == "t-0"]) <= 63


def test_a_limit_holds_across_segments_that_are_empty_or_compacted(tmp_path: Path) -> None:
    segment(tmp_path, "t-0", [2, 3, 7], base=0)
    segment(tmp_path, "t-0", [], base=10)
    segment(tmp_path, "t-0", [30, 31], base=25)
    segment(tmp_path, "t-0", [], base=40)
    stream = Stream(tmp_path, maxBytesPerTrigger=str(SIZE))
    assert [[offset for _, offset in batch] for batch in stream.batches()] == [[2], [3], [7], [30], [31]]
    assert list(stream.kept["next_offsets"].values()) == [40]


@pytest.mark.parametrize("level", ["records", "batches"])
@pytest.mark.parametrize("damage", ["length", "codec"])
def test_what_is_broken_is_reported_once(tmp_path: Path, level: str, damage: str) -> None:
    path = segment(tmp_path, "t-0", range(10))
    broken = bytearray(path.read_bytes())
    at = 4 * SIZE + (8 if damage == "length" else 22)
    broken[at] ^= 0xFF if damage == "length" else 7
    path.write_bytes(broken)
    segment(tmp_path, "t-0", range(10, 14))
    for limit in (SIZE, 1 << 20):
        stream = Stream(tmp_path, maxBytesPerTrigger=str(limit), mode="PERMISSIVE", level=level)
        found: list[dict[str, Any]] = []
        while (planned := stream.plan()) is not None:
            _, stream.kept, tasks = planned
            found += [row for task in tasks for batch in stream.reader.read(task) for row in batch.to_pylist()]
        column = "offset" if level == "records" else "base_offset"
        good = [row[column] for row in found if row["error"] is None]
        assert good == [0, 1, 2, 3, *range(5, 14)]
        assert [row["batch_position"] for row in found if row["error"] is not None] == [4 * SIZE]


def test_spark_may_ask_for_everything_in_spite_of_a_limit(tmp_path: Path) -> None:
    segment(tmp_path, "t-0", range(40))
    assert len(Stream(tmp_path, maxBytesPerTrigger="1").batch(ReadAllAvailable())) == 40


def test_a_run_that_ends_reads_what_was_there_when_it_began(tmp_path: Path) -> None:
    segment(tmp_path, "t-0", range(30))
    stream = Stream(tmp_path, maxBytesPerTrigger=str(7 * SIZE))
    first = stream.batch()
    stream.reader.prepareForTriggerAvailableNow()
    segment(tmp_path, "t-0", range(30, 50), base=0)
    segment(tmp_path, "t-1", range(5))
    assert sorted(first + stream.all()) == rows("t-0", range(30))
    assert Stream(tmp_path, stream.kept).all() == rows("t-0", range(30, 50)) + rows("t-1", range(5))


def test_a_log_that_was_away_when_a_run_that_ends_began_is_not_read_again(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    segment(logs, "t-0", range(10))
    segment(logs, "t-1", range(5))
    stream = Stream(logs)
    assert sorted(stream.batch()) == rows("t-0", range(10)) + rows("t-1", range(5))
    away = (logs / "t-0").rename(tmp_path / "away")
    stream.reader.prepareForTriggerAvailableNow()
    away.rename(logs / "t-0")
    assert stream.all() == []
    assert Stream(logs, stream.kept).all() == []


def test_before_spark_4_2_the_reader_limits_batches_itself(tmp_path: Path) -> None:
    segment(tmp_path, "t-0", range(30))
    stream = Stream(tmp_path, maxBytesPerTrigger=str(12 * SIZE))
    kept, counts = stream.kept, []
    for restarts in (False, False, True, False):
        if restarts:
            stream = Stream(tmp_path, maxBytesPerTrigger=str(12 * SIZE))
            assert stream.reader.partitions(kept, kept) == []  # as Spark calls it with the checkpoint's last offset
        latest = stream.reader.latestOffset()
        counts.append(len(stream.read(stream.reader.partitions(kept, latest))))
        kept = latest
    assert counts == [12, 12, 6, 0]


@pytest.mark.parametrize("text", ["0", "-1", "1k"])
def test_limits_that_are_not_valid_are_refused(tmp_path: Path, text: str) -> None:
    segment(tmp_path, "t-0", range(1))
    with pytest.raises(SourceError, match=r"option maxBytesPerTrigger is '.*'; it must be a whole number"):
        Stream(tmp_path, maxBytesPerTrigger=text)


# Folders that come and go.


def test_folders_that_appear_later_are_read_from_their_start(tmp_path: Path) -> None:
    segment(tmp_path, "t-0", range(3))
    stream = Stream(tmp_path)
    stream.batch()
    segment(tmp_path, "late-0", range(500, 505))
    assert stream.batch() == rows("late-0", range(500, 505))


def test_a_folder_that_vanishes_ends_and_one_that_comes_back_goes_on(tmp_path: Path) -> None:
    segment(tmp_path, "t-0", range(3))
    segment(tmp_path, "gone-0", range(5))
    stream = Stream(tmp_path)
    stream.batch()
    (tmp_path / "gone-0").rename(tmp_path / "away")
    segment(tmp_path, "t-0", range(3, 5), base=0)
    assert stream.batch() == rows("t-0", range(3, 5))
    stream = Stream(tmp_path, stream.kept)
    assert stream.batch() == []
    (tmp_path / "away").rename(tmp_path / "gone-0")
    assert stream.batch() == []
    segment(tmp_path, "gone-0", range(5, 7), base=0)
    assert stream.batch() == rows("gone-0", range(5, 7))


def test_a_stream_outlives_all_of_its_folders(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    segment(logs, "t-0", range(3))
    stream = Stream(logs)
    stream.batch()
    shutil.rmtree(logs)
    assert stream.batch() == []
    stream = Stream(logs, stream.kept)
    stream.reader.prepareForTriggerAvailableNow()
    assert stream.batch() == []
    with pytest.raises(SourceError, match="there is no such file or folder"):
        Stream(logs).batch()


def test_folders_that_a_broker_removes_while_they_are_listed_do_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a-0", "b-0", "c-0"):
        segment(tmp_path, name, range(2))
    scanned = os.scandir

    def scan(path: Any = ".") -> Any:
        if str(path) == str(tmp_path / "b-0"):  # the folder above still has it
            (tmp_path / "b-0" / f"{0:020}.log").unlink()
            (tmp_path / "b-0").rmdir()
        return scanned(path)

    monkeypatch.setattr(os, "scandir", scan)
    assert sorted(Stream(tmp_path).batch()) == rows("a-0", range(2)) + rows("c-0", range(2))
    assert not (tmp_path / "b-0").exists()


def test_a_log_that_ends_before_what_was_read_is_an_error_or_is_read_again(tmp_path: Path) -> None:
    segment(tmp_path, "t-0", range(9))
    stream = Stream(tmp_path)
    stream.batch()
    shutil.rmtree(tmp_path / "t-0")
    segment(tmp_path, "t-0", range(4))
    expected = r"t-0: the log ends at offset 4, before offset 9, up to which it was read: .*set failOnDataLoss to false"
    with pytest.raises(SourceError, match=expected):
        stream.batch()
    stream = Stream(tmp_path, stream.kept, failOnDataLoss="false")
    with pytest.warns(UserWarning, match="t-0: the log ends at offset 4, before offset 9"):
        assert stream.batch() == rows("t-0", range(4))
    segment(tmp_path, "t-0", range(4, 20), base=0)
    assert stream.batch() == rows("t-0", range(4, 20))


def test_a_log_that_is_made_again_during_a_run_that_ends_is_read_as_far_as_it_was(tmp_path: Path) -> None:
    segment(tmp_path, "t-0", range(9))
    stream = Stream(tmp_path, failOnDataLoss="false", maxBytesPerTrigger=str(3 * SIZE))
    stream.reader.prepareForTriggerAvailableNow()
    assert len(stream.all()) == 9
    shutil.rmtree(tmp_path / "t-0")
    segment(tmp_path, "t-0", range(4))
    with pytest.warns(UserWarning, match="it was cut off, or deleted and made again"):
        assert stream.batch() == rows("t-0", range(3))
    segment(tmp_path, "t-0", range(4, 8), base=0)
    assert stream.all() == rows("t-0", range(3, 4))


def test_a_log_that_is_made_again_and_empty_is_read_from_its_start(tmp_path: Path) -> None:
    segment(tmp_path, "t-0", range(9))
    stream = Stream(tmp_path, failOnDataLoss="false", maxBytesPerTrigger="1000000")
    stream.batch()
    shutil.rmtree(tmp_path / "t-0")
    segment(tmp_path, "t-0", [], base=0)
    with pytest.warns(UserWarning, match="the log ends at offset 0"):
        assert stream.batch() == []
    segment(tmp_path, "t-0", range(9), base=0)
    assert stream.batch() == rows("t-0", range(9))


# Records that are deleted before they are read.


def test_what_retention_removed_before_it_was_read_is_an_error_or_left_out(tmp_path: Path) -> None:
    first = segment(tmp_path, "t-0", range(10))
    second = segment(tmp_path, "t-0", range(10, 20))
    stream = Stream(tmp_path, maxBytesPerTrigger=str(4 * SIZE))
    assert stream.batch() == rows("t-0", range(4))
    segment(tmp_path, "t-0", range(20, 30))
    first.unlink()
    second.unlink()
    expected = r"t-0: offsets 4 to 19 were deleted before they were read: the log now starts at offset 20; to continue"
    with pytest.raises(SourceError, match=expected):
        Stream(tmp_path, stream.kept).batch()
    with pytest.raises(SourceError, match="offsets 4 to "):
        list(stream.batches())
    stream = Stream(tmp_path, stream.kept, failOnDataLoss="false")
    with pytest.warns(UserWarning, match="offsets 4 to 19 were deleted before they were read.*continues without them"):
        assert stream.batch() == rows("t-0", range(20, 30))


def test_what_is_not_wanted_may_be_deleted(tmp_path: Path) -> None:
    first = segment(tmp_path, "t-0", range(10))
    stream = Stream(tmp_path, startingOffset="15")
    stream.batch()
    segment(tmp_path, "t-0", range(15, 20))
    segment(tmp_path, "t-0", range(10, 15))
    first.unlink()
    (tmp_path / "t-0" / f"{10:020}.log").unlink()
    assert stream.batch() == rows("t-0", range(15, 20))


@pytest.mark.parametrize("when", ["planned", "read"])
def test_a_folder_that_vanishes_with_what_a_batch_has_to_read_is_a_loss(tmp_path: Path, when: str) -> None:
    segment(tmp_path, "t-0", range(3))
    segment(tmp_path, "gone-0", range(5))
    stream = Stream(tmp_path)
    start, end, tasks = stream.plan() or ({}, {}, [])
    shutil.rmtree(tmp_path / "gone-0")
    expected = r"gone-0: offsets 0 to 4 were deleted before they were read: the folder is gone"
    with pytest.raises(SourceError, match=expected):
        stream.read(tasks if when == "read" else stream.reader.partitions(start, end))
    lenient = Stream(tmp_path, stream.kept, failOnDataLoss="false")
    with pytest.warns(UserWarning, match=expected):
        assert lenient.read(tasks if when == "read" else lenient.reader.partitions(start, end)) == rows("t-0", range(3))


def test_what_was_cut_off_before_it_was_read_is_a_loss(tmp_path: Path) -> None:
    path = segment(tmp_path, "t-0", range(5))
    stream = Stream(tmp_path)
    start, end, _ = stream.plan() or ({}, {}, [])
    os.truncate(path, 3 * SIZE)
    with pytest.raises(SourceError, match="offsets 3 to 4 were cut off before they were read: the log now ends"):
        Stream(tmp_path).reader.partitions(start, end)


@pytest.mark.parametrize(
    ("present", "end", "said"),
    [
        (None, None, "t-0: offsets from 5 on were deleted before they were read: the folder is gone"),
        (losses.Present(7, 9), None, "t-0: offsets 5 to 6 were deleted before they were read: the log now starts at"),
        (
            losses.Present(0, 3),
            8,
            "t-0: offsets 5 to 7 were cut off before they were read: the log now ends at offset 3",
        ),
    ],
)
def test_a_loss_says_which_offsets_are_lost(present: losses.Present | None, end: int | None, said: str) -> None:
    with pytest.raises(SourceError, match=f"^{said}"):
        losses.check_is_there("t-0", present, 5, end, fails=True)
    with pytest.warns(UserWarning, match=f"^{said}"):
        losses.check_is_there("t-0", present, 5, end, fails=False)


def test_a_folder_that_cannot_be_listed_when_its_records_have_moved_is_an_error(tmp_path: Path) -> None:
    path = segment(tmp_path, "t-0", range(5))
    stream = Stream(tmp_path)
    _, _, tasks = stream.plan() or ({}, {}, [])
    path.unlink()
    (tmp_path / "t-0" / f"{5:020}.log").symlink_to("nothing")
    with pytest.raises(ListingError, match="or is a broken link"):
        stream.read(tasks)


# Segments that are replaced.


def replace(
    folder: Path, segments: Sequence[Path], offsets: Sequence[int], *, until: str = "", padding: int = 0
) -> None:
    """Replace segments by one, step by step as brokers do; up to the step `until`."""
    swap = folder / f"{segments[0].name}.swap"
    swap.write_bytes(data(offsets, padding))
    for old in segments:
        old.rename(f"{old}.deleted")
        if until == old.stem:
            return
    if until != "renamed":
        swap.rename(segments[0])


@pytest.mark.parametrize("split_bytes", [SIZE, 3 * SIZE, 1 << 20])
@pytest.mark.parametrize("level", ["records", "batches"])
def test_segments_that_are_replaced_after_they_were_listed_are_read_once(
    tmp_path: Path, split_bytes: int, level: str
) -> None:
    olds = [segment(tmp_path, "t-0", range(first, first + 10)) for first in (0, 10, 20)]
    segment(tmp_path, "t-0", range(30, 40))
    stream = Stream(tmp_path, splitBytes=str(split_bytes), level=level)
    _, _, tasks = stream.plan() or ({}, {}, [])
    column = "offset" if level == "records" else "base_offset"
    found: list[int] = []

    def read(some: list[Any]) -> None:
        found.extend(row[column] for task in some for batch in stream.reader.read(task) for row in batch.to_pylist())

    read(tasks[: len(tasks) // 3])
    kept = [offset for offset in range(30) if offset % 3]
    replace(tmp_path / "t-0", olds, kept)
    read(tasks[len(tasks) // 3 :])
    assert sorted(found) == sorted(set(found)) and set(kept) <= set(found)
    assert set(range(30, 40)) <= set(found)


@pytest.mark.parametrize(("first", "padding"), [(12, 0), (5, 0), (5, DOUBLE)])
@pytest.mark.parametrize("call", range(4))
def test_segments_that_are_replaced_just_after_they_were_listed_do_not_end_a_run(
    tmp_path: Path, call: int, first: int, padding: int
) -> None:
    olds = [segment(tmp_path, "t-0", range(start, start + 10)) for start in (0, 10)]
    segment(tmp_path, "t-0", range(20, 25))
    stream = Stream(tmp_path, maxBytesPerTrigger=str(first * SIZE))
    assert stream.batch() == rows("t-0", range(first))
    stream = Stream(tmp_path, stream.kept, maxBytesPerTrigger=str(first * SIZE))
    listed, calls = stream.reader.follower._segments, 0

    def segments() -> list[Segment]:
        nonlocal calls
        found: list[Segment] = listed()
        if calls == call:
            replace(tmp_path / "t-0", olds, range(20), padding=padding)
        calls += 1
        return found

    stream.reader.follower._segments = segments
    stream.reader.prepareForTriggerAvailableNow()
    assert stream.all() == rows("t-0", range(first, 25))
    assert calls > call


@pytest.mark.parametrize("call", range(3))
def test_segments_that_are_replaced_while_they_are_listed_are_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    olds = [segment(tmp_path, "t-0", range(first, first + 10)) for first in (0, 10)]
    segment(tmp_path, "t-0", range(20, 25))
    stream = Stream(tmp_path, maxBytesPerTrigger=str(10 * SIZE))
    assert stream.batch() == rows("t-0", range(10))
    _, end, _ = stream.plan() or ({}, {}, [])
    assert end["next_offsets"] == {str(tmp_path / "t-0"): 20}
    of_path, calls = os.stat, 0

    def stat(path: Any, **options: Any) -> os.stat_result:
        nonlocal calls
        if str(path).endswith(".log"):
            if calls == call:
                replace(tmp_path / "t-0", olds, range(20))
            calls += 1
        return of_path(path, **options)

    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(access, "files_below", lambda folder: sorted(files_below(folder)))
    again = Stream(tmp_path, stream.kept)
    assert again.read(list(again.reader.partitions(stream.kept, end))) == rows("t-0", range(10, 20))
    assert calls > 3


def test_a_file_that_is_listed_but_never_there_is_an_error(tmp_path: Path) -> None:
    path = segment(tmp_path, "t-0", range(3))
    link = path.with_name(f"{9:020}.log")
    link.symlink_to("nothing")
    with pytest.raises(ListingError, match=f"^{link}: was removed .*, or is a broken link"):
        find_segments(tmp_path)


def test_a_folder_whose_files_never_stay_is_an_error(tmp_path: Path) -> None:
    path = segment(tmp_path, "t-0", range(3))
    stream = Stream(tmp_path)
    found = stream.reader.follower._segments()
    stream.reader.follower._segments = lambda: found
    path.unlink()
    with pytest.raises(SourceError, match=r"0\.log: was removed or replaced 20 times just after it was found"):
        stream.batch()


def test_columns_do_not_matter_for_segments_that_are_replaced(tmp_path: Path) -> None:
    olds = [segment(tmp_path, "t-0", range(first, first + 10)) for first in (0, 10)]
    stream = Stream(tmp_path, columns="value", splitBytes=str(3 * SIZE))
    _, _, tasks = stream.plan() or ({}, {}, [])
    replace(tmp_path / "t-0", olds, range(20))
    found = [row for task in tasks for batch in stream.reader.read(task) for row in batch.to_pylist()]
    assert found == [{"value": b"%d" % (at % 10)} for at in range(20)]


def test_a_segment_that_is_replaced_while_it_is_read_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_rows, "ROWS", 4)
    olds = [segment(tmp_path, "t-0", range(first, first + 10)) for first in (0, 10)]
    stream = Stream(tmp_path)
    _, _, (task,) = stream.plan() or ({}, {}, [])
    found = []
    for number, batch in enumerate(stream.reader.read(task)):
        found += batch.column("offset").to_pylist()
        if number == 1:
            replace(tmp_path / "t-0", olds, [0, 3, 7, 9, *range(10, 20)])
    assert found == [*range(8), 9, *range(10, 20)]


@pytest.mark.parametrize("until", ["0" * 20, f"{10:020}", "renamed", ""])
def test_at_every_step_of_a_replacement_each_record_is_read_once(tmp_path: Path, until: str) -> None:
    olds = [segment(tmp_path, "t-0", range(first, first + 10)) for first in (0, 10)]
    segment(tmp_path, "t-0", range(20, 25))
    replace(tmp_path / "t-0", olds, range(20), until=until)
    assert Stream(tmp_path).all() == rows("t-0", range(25))
    for batches in (1, 3, 14, 33):
        stream = Stream(tmp_path, maxBytesPerTrigger=str(batches * SIZE))
        ends = []
        for found in stream.batches():
            assert len(found) <= batches
            ends += stream.kept["next_offsets"].values()
        assert ends == sorted(ends)
        assert Stream(tmp_path, maxBytesPerTrigger=str(batches * SIZE)).all() == rows("t-0", range(25))


def test_a_replacement_beside_the_segment_of_its_name_is_not_read_yet(tmp_path: Path) -> None:
    path = segment(tmp_path, "t-0", range(5))
    path.with_name(f"{path.name}.swap").write_bytes(data([1, 3]))
    assert [one.path for one in find_segments(tmp_path)] == [str(path)]
    assert Stream(tmp_path).all() == rows("t-0", range(5))


def test_a_segment_whose_replacement_is_done_after_it_was_listed_is_read_once(tmp_path: Path) -> None:
    olds = [segment(tmp_path, "t-0", range(first, first + 10)) for first in (0, 10)]
    segment(tmp_path, "t-0", range(20, 25))
    replace(tmp_path / "t-0", olds, range(20), until="renamed")
    stream = Stream(tmp_path)
    _, _, tasks = stream.plan() or ({}, {}, [])
    (tmp_path / "t-0" / f"{olds[0].name}.swap").rename(olds[0])
    assert stream.read(tasks) == rows("t-0", range(25))


def test_a_file_that_never_stays_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment(tmp_path, "t-0", range(3))
    stream = Stream(tmp_path)
    _, _, tasks = stream.plan() or ({}, {}, [])
    monkeypatch.setattr(Segment, "is_replaced_by", lambda *_: True)
    with pytest.raises(SourceError, match=r"0\.log: was replaced 20 times while it was read"):
        stream.read(tasks)


# Ends.


def test_an_end_that_was_cut_off_and_written_again_is_found(tmp_path: Path) -> None:
    path = segment(tmp_path, "t-0", range(5))
    stream = Stream(tmp_path)
    stream.batch()
    os.truncate(path, 4 * SIZE)
    with path.open("ab") as file:  # the batches start at other bytes than the old ones
        for at in range(4, 9):
            file.write(write_batch([Record(offset=at, timestamp=1, value=b"longer than before" * at)]))
    assert stream.batch() == rows("t-0", range(5, 9))


def test_an_end_in_the_middle_of_a_batch_is_that_of_the_batch_before(tmp_path: Path) -> None:
    path = segment(tmp_path, "t-0", range(5))
    index = path.with_suffix(".index")
    index.write_bytes(b"".join(at.to_bytes(4, "big") + (at * SIZE).to_bytes(4, "big") for at in (1, 3, 4)))
    os.truncate(path, 5 * SIZE - 1)
    assert Stream(tmp_path).batch() == rows("t-0", range(4))


def test_a_broken_batch_at_the_end_whose_offset_cannot_be_right_is_reported_when_others_follow(tmp_path: Path) -> None:
    """A stream that goes on from its offset would read nothing, or take the next additions for old records."""
    path = segment(tmp_path, "t-0", range(5))
    broken = bytearray(data([2]))
    broken[30] ^= 1
    with path.open("ab") as file:
        file.write(broken)
    stream = Stream(tmp_path, mode="PERMISSIVE")
    assert stream.all() == rows("t-0", range(5))
    segment(tmp_path, "t-0", range(5, 8), base=0)
    planned = stream.plan()
    assert planned is not None
    found = [row for task in planned[2] for batch in stream.reader.read(task) for row in batch.to_pylist()]
    assert [row["offset"] for row in found] == [None, 5, 6, 7]
    assert found[0]["batch_position"] == 5 * SIZE and "crc" in found[0]["error"]


def test_the_index_of_a_segment_finds_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = segment(tmp_path, "t-0", range(500))
    path.with_suffix(".index").write_bytes((490).to_bytes(4, "big") + (490 * SIZE).to_bytes(4, "big"))
    scanned: list[int] = []

    def counted(file: Any, start: int, end: int) -> Iterator[Any]:
        scanned.append((end - start) // SIZE)
        return batch_heads(file, start, end)

    monkeypatch.setattr(positions, "batch_heads", counted)
    assert len(Stream(tmp_path).batch()) == 500
    assert sum(scanned) < 12 * 3


# Ranges.


def test_ranges_say_their_offsets(tmp_path: Path) -> None:
    path = segment(tmp_path, "t-0", range(100, 110))
    index = [(at - 100, (at - 100) * SIZE) for at in range(102, 110, 2)]
    for with_index in (False, True):
        if with_index:
            path.with_suffix(".index").write_bytes(
                b"".join(a.to_bytes(4, "big") + b.to_bytes(4, "big") for a, b in index)
            )
        found = splits.cut_segment(find_segments(tmp_path)[0], 4 * SIZE, 0, 200)
        assert [(one.first_offset, one.end_offset) for one in found] == [(100, 104), (104, 108), (108, 200)]


@pytest.mark.parametrize("call", ["initialOffset", "latestOffset", "prepareForTriggerAvailableNow"])
def test_a_url_is_refused_in_the_first_call_of_a_stream(call: str) -> None:
    source = KafkaLogSource({"path": "s3://bucket/logs"})
    with pytest.raises(SourceError, match="s3://bucket/logs: kafka_log follows files that grow"):
        getattr(source.streamReader(source.schema()), call)()
