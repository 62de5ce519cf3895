"""Log folders from untrusted sources, or in use by a broker: impossible names, sizes and batches."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kipjobs.engines.embedded.session import EmbeddedSession
from kipspark.sources.log_source import KafkaLogSource
from kipwire import DecodeError
from kipwire.records import Bounds, Record, read_segment, with_offsets, write_batch
from kipwire.tables.errors import ListingError, SourceError
from kipwire.tables.sources import log_rows
from kipwire.tables.sources.batch_heads import RowFilter
from kipwire.tables.sources.batch_rows import BATCH_SCHEMA, read_batch_rows
from kipwire.tables.sources.capture_files import find_captures
from kipwire.tables.sources.captures import FrameFilter, parts, read_frames
from kipwire.tables.sources.changing_logs.checkpoints import Reached
from kipwire.tables.sources.changing_logs.follower import Follower
from kipwire.tables.sources.formats import log_plan
from kipwire.tables.sources.log_columns import LOG_SCHEMA
from kipwire.tables.sources.log_rows import read_rows
from kipwire.tables.sources.partition_files import KINDS, find_files
from kipwire.tables.sources.segments import find_segments
from kipwire.tables.sources.snapshots import snapshots_of
from kipwire.tables.sources.splits import Split, cut_segment, plan_splits
from tests.support.places import DATA
from tests.support.unlisted import forbid

FIRST = "0" * 20 + ".log"
SNAPSHOTS = DATA / "snapshots"


def batch(offset: int, value: bytes = b"v", *, broken: bool = False) -> bytes:
    data = bytearray(write_batch([Record(offset=offset, timestamp=1, value=value)]))
    data[-1] ^= broken
    return bytes(data)


def write(folder: Path, data: bytes, name: str = FIRST) -> Path:
    folder.mkdir(parents=True)
    (folder / name).write_bytes(data)
    return folder


def rows(split: Split, wanted: RowFilter) -> Iterator[dict[str, Any]]:
    for found in read_rows(split, wanted):
        yield from found.to_pylist()


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("t-4294967296", FIRST),
        ("t-2147483648", FIRST),
        ("t-" + "9" * 200, FIRST),
        ("t-\u0663", FIRST),
        ("t-0", "9" * 20 + ".log"),
        ("t-0", "\u0663" * 20 + ".log"),
        (os.fsdecode(b"t\xff-0"), FIRST),
        ("t\n-0", FIRST),
        ("a" * 250 + "-0", FIRST),
    ],
)
def test_names_that_no_broker_gives_are_not_segments(tmp_path: Path, folder: str, name: str) -> None:
    write(tmp_path / folder, batch(0), name)
    with pytest.raises(SourceError, match="no log segments; expected files such as"):
        find_segments(tmp_path)


def test_the_highest_numbers_are_read(tmp_path: Path) -> None:
    write(tmp_path / "t-2147483647", batch(2**63 - 1), f"{2**63 - 1:020}.log")
    (segment,) = find_segments(tmp_path)
    ((row,),) = [list(rows(split, RowFilter())) for split in cut_segment(segment)]
    assert (row["partition"], row["offset"]) == (2**31 - 1, 2**63 - 1)


def test_what_is_not_a_file_is_not_a_segment(tmp_path: Path) -> None:
    folder = write(tmp_path / "t-0", batch(0))
    os.mkfifo(folder / ("1" * 19 + "0.log"))
    (folder / ("1" * 20 + ".log")).mkdir()
    assert [Path(segment.path).name for segment in find_segments(tmp_path)] == [FIRST]


def test_folders_with_undecodable_names_above_are_read(tmp_path: Path) -> None:
    above = tmp_path / os.fsdecode(b"caf\xe9")
    write(above / "t-0", batch(0) + batch(1, broken=True))
    (segment,) = find_segments(tmp_path)
    (split,) = cut_segment(segment)
    first, second = rows(split, RowFilter(permissive=True))
    assert first["segment"] == second["segment"] == f"{tmp_path}/caf\ufffd/t-0/{FIRST}"
    assert "caf\ufffd" in second["error"]


def test_captures_and_snapshots_in_folders_with_undecodable_names_are_read(tmp_path: Path) -> None:
    above = tmp_path / os.fsdecode(b"caf\xe9")
    above.mkdir()
    (above / "frames.bin").write_bytes(b"\0\0\0\1x")
    numbers = '"off": 0, "len": 1, "ts_ns": 0, "conn": 0, "api_key": 0, "api_version": 0, "correlation_id": 0'
    (above / "frames.jsonl").write_text(f'{{{numbers}, "dir": "req"}}')
    (part,) = parts(above / "frames.jsonl", 1 << 20)
    (found,) = read_frames(part, FrameFilter())
    assert found.column("capture").to_pylist() == [f"{tmp_path}/caf\ufffd"]


def test_snapshots_with_numbers_that_cannot_be_are_passed_over(tmp_path: Path) -> None:
    folder = write(tmp_path / "t-0", batch(5), f"{5:020}.log")
    for name in (f"{'9' * 20}-{1:010}", f"{7:020}-{'9' * 10}", f"{9:020}-{1:010}"):
        (folder / f"{name}.checkpoint").write_bytes(b"")
    assert [(one.end_offset, one.epoch) for one in snapshots_of(find_segments(str(tmp_path)))] == [(9, 1)]


@pytest.mark.parametrize("permissive", [False, True])
def test_what_a_broker_has_cut_off_since_it_was_looked_for_has_no_rows(tmp_path: Path, permissive: bool) -> None:
    folder = write(tmp_path / "t-0", batch(0) + batch(1) + batch(2))
    (segment,) = find_segments(tmp_path)
    splits = cut_segment(segment, 1)
    assert len(splits) == 3
    os.truncate(folder / FIRST, len(batch(0)) + 5)
    assert [[row["offset"] for row in rows(split, RowFilter(permissive=permissive))] for split in splits] == [
        [0],
        [],
        [],
    ]


def of_both_levels(folder: Path, wanted: RowFilter) -> Iterator[list[dict[str, Any]]]:
    for read, schema in ((read_rows, LOG_SCHEMA), (read_batch_rows, BATCH_SCHEMA)):
        splits = plan_splits(find_segments(folder), wanted)
        yield [row for split in splits for found in read(split, wanted, schema) for row in found.to_pylist()]


SECOND = f"{3:020}.log"
PART_OF_A_BATCH = [batch(2)[:5] + b"\1", batch(2)[:17], batch(2)[:-1]]


@pytest.mark.parametrize("part", PART_OF_A_BATCH)
@pytest.mark.parametrize("first_offset", [None, 1])
def test_a_segment_with_a_next_one_does_not_end_within_a_batch(
    tmp_path: Path, part: bytes, first_offset: int | None
) -> None:
    folder = write(tmp_path / "t-0", batch(0) + batch(1) + part)
    (folder / SECOND).write_bytes(batch(3))
    position = len(batch(0) + batch(1))
    for level in of_both_levels(folder, RowFilter(Bounds(first_offset=first_offset), permissive=True)):
        assert [row["batch_position"] for row in level if row["error"]] == [position]
        error = level[-2]["error"]
        end = position + len(part)
        assert f"goes beyond byte {end}, where it has to end; copy the file" in error
        assert error.endswith(f"{FIRST}); bytes {position} to {end - 1} are not read")
        assert level[-1]["error"] is None and len(level) == (3 if first_offset else 4)
    said = rf"batch_length at byte {position + 8}: .* where it has to end; copy the file again .*{FIRST}"
    levels = of_both_levels(folder, RowFilter(Bounds(first_offset=first_offset)))
    with pytest.raises(DecodeError, match=said):
        next(levels)
    splits = plan_splits(find_segments(folder), RowFilter())
    with pytest.raises(DecodeError, match=said):
        list(read_batch_rows(splits[0], RowFilter(), BATCH_SCHEMA))


@pytest.mark.parametrize("end", [*PART_OF_A_BATCH, bytes(100)])
def test_the_last_segment_of_a_log_may_end_within_a_batch(tmp_path: Path, end: bytes) -> None:
    folder = write(tmp_path / "t-0", batch(0))
    (folder / SECOND).write_bytes(batch(3) + end)
    assert [len(level) for level in of_both_levels(folder, RowFilter())] == [2, 2]


@pytest.mark.parametrize("end", [*PART_OF_A_BATCH, bytes(100)])
def test_the_bytes_after_the_last_whole_batch_can_be_asked_for(tmp_path: Path, end: bytes) -> None:
    folder = write(tmp_path / "t-0", batch(0) + end)
    what = "a batch that is not complete" if any(end) else "space taken in advance"
    for level in of_both_levels(folder, RowFilter(tail=True)):
        assert [(row["batch_position"], row["error"]) for row in level] == [
            (0, None),
            (len(batch(0)), f"{len(end)} bytes from byte {len(batch(0))} on: {what}"),
        ]


def test_only_the_last_segment_of_a_log_may_end_with_space_taken_in_advance(tmp_path: Path) -> None:
    """Brokers give such space back when they begin a later segment: zeros are what was lost."""
    folder = write(tmp_path / "t-0", batch(0) + bytes(100))
    (folder / SECOND).write_bytes(batch(3))
    for level in of_both_levels(folder, RowFilter(permissive=True)):
        assert [row["error"] is None for row in level] == [True, False, True]
        assert "100 zero bytes up to byte 169, where a batch should be" in level[1]["error"]


def test_a_batch_with_an_offset_of_elsewhere_is_broken(tmp_path: Path) -> None:
    """No checksum covers the offset, and bounds would pass over the batch."""
    folder = write(tmp_path / "t-0", batch(0) + batch(1 << 40) + batch(2))
    (folder / SECOND).write_bytes(batch(3))
    said = f"the batch at byte {len(batch(0))} ends at offset {1 << 40}; offsets there are from 0 to 2"
    for wanted in (RowFilter(), RowFilter(Bounds(end_offset=10)), RowFilter(Bounds(first_offset=1))):
        for level in of_both_levels(folder, wanted._replace(permissive=True)):
            assert [row["error"].partition(": ")[2] for row in level if row["error"]] == [said]
            assert len(level) == 4 - bool(wanted.first_offset)
        with pytest.raises(SourceError, match=said):
            next(of_both_levels(folder, wanted))


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        (4 - 2**63, f"ends at offset {6 - 2**63}; offsets there are from 5 to 8"),
        (-1, "ends at offset 1; offsets there are from 5 to 8"),
        (4, "begins at offset 4; offsets there are from 5 to 8"),
        (7, "ends at offset 9; offsets there are from 5 to 8"),
        (7 + 2**62, f"ends at offset {9 + 2**62}; offsets there are from 5 to 8"),
    ],
)
@pytest.mark.parametrize("split_bytes", [1, 1 << 20])
def test_a_base_offset_that_its_place_contradicts_is_a_broken_batch(
    tmp_path: Path, offset: int, said: str, split_bytes: int
) -> None:
    three = write_batch([Record(offset=at, timestamp=1, value=b"v") for at in (5, 6, 7)])
    folder = write(tmp_path / "t-0", with_offsets(three, offset) + batch(8), f"{5:020}.log")
    (folder / f"{9:020}.log").write_bytes(batch(9))
    said = f"{folder}/{5:020}.log: the batch at byte 0 {said}"
    with EmbeddedSession() as session:
        for level in ("records", "batches"):
            read = session.read.format("kafka_log").options(splitBytes=split_bytes, level=level)
            rows = read.option("mode", "PERMISSIVE").load(str(tmp_path)).toArrow().to_pylist()
            assert [row["error"] for row in rows if row["error"]] == [said]
            assert len(rows) == 3
            with pytest.raises(SourceError) as raised:
                read.load(str(tmp_path)).toArrow()
            assert str(raised.value) == said


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("split_bytes", [1, 1 << 20])
def test_each_flipped_bit_that_its_place_contradicts_is_a_broken_batch(
    tmp_path: Path, number: int, split_bytes: int
) -> None:
    places = [(10, 11), (12, 12), (13, 14)]
    first, last = places[number]
    file = write(tmp_path / "t-0", b"", f"{10:020}.log") / f"{10:020}.log"
    (tmp_path / "t-0" / f"{15:020}.log").write_bytes(b"")
    wanted = RowFilter(permissive=True)
    for bit in range(64):
        offset = int.from_bytes((first ^ 1 << bit).to_bytes(8, "big"), "big", signed=True)
        data = [write_batch([Record(offset=at, value=b"v") for at in range(one, end + 1)]) for one, end in places]
        data[number] = with_offsets(data[number], offset)
        file.write_bytes(b"".join(data))
        errors = []
        for read, schema in ((read_rows, LOG_SCHEMA), (read_batch_rows, BATCH_SCHEMA)):
            splits = plan_splits(find_segments(tmp_path), wanted, split_bytes)
            rows = [row for split in splits for found in read(split, wanted, schema) for row in found.to_pylist()]
            errors.append([(row["batch_position"], row["error"]) for row in rows if row["error"]])
        end = offset + last - first
        is_out = offset < 10 or end >= 15
        goes_back = number > 0 and offset <= places[number - 1][1]
        is_beyond = number < 2 and end >= places[number + 1][0]  # which shows in the next one
        assert errors[0] == errors[1]
        wrong = [number] if is_out or goes_back else [number + 1] * is_beyond
        assert [position for position, _ in errors[0]] == [len(b"".join(data[:one])) for one in wrong], bit


def test_a_segment_that_is_gone_is_named(tmp_path: Path) -> None:
    folder = write(tmp_path / "t-0", batch(0))
    (split,) = cut_segment(find_segments(tmp_path)[0])
    (folder / FIRST).unlink()
    with pytest.raises(SourceError, match=f"{FIRST}: cannot be read: No such file"):
        list(rows(split, RowFilter()))


@pytest.mark.night
def test_a_batch_that_no_broker_takes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    size = 2**31 - 1
    head = bytearray(batch(1))
    head[8:12] = size.to_bytes(4, "big")
    folder = write(tmp_path / "t-0", batch(0) + head)
    file = folder / FIRST
    os.truncate(file, len(batch(0)) + 12 + size)  # sparse
    tracemalloc.start()
    with pytest.raises(DecodeError, match=r"batch_length at byte 77: a batch of 2,147,483,659 bytes; the limit is"):
        list(read_segment(file))
    (segment,) = find_segments(tmp_path)
    found = [row for split in cut_segment(segment, 1 << 40) for row in rows(split, RowFilter(permissive=True))]
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
    assert [(row["offset"], row["batch_position"]) for row in found] == [(0, 0), (None, len(batch(0)))]


def test_a_larger_batch_is_read_where_it_may_be(tmp_path: Path) -> None:
    file = write(tmp_path / "t-0", batch(0)) / FIRST
    size = len(batch(0))
    assert len(list(read_segment(file, max_batch_size=size))) == 1
    with pytest.raises(DecodeError, match=f"a batch of {size} bytes; the limit is {size - 1}"):
        list(read_segment(file, max_batch_size=size - 1))


def test_broken_batches_are_rows_in_their_places_and_not_batches_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = {0, 1, 4, 6, 7, 9}
    write(tmp_path / "t-0", b"".join(batch(offset, broken=offset in broken) for offset in range(10)))
    (split,) = cut_segment(find_segments(tmp_path)[0])
    (found,) = read_rows(split, RowFilter(permissive=True))
    positions = found.column("batch_position").to_pylist()
    assert positions == [number * len(batch(0)) for number in range(10)]
    assert [number for number, error in enumerate(found.column("error").to_pylist()) if error] == sorted(broken)
    assert [offset for offset in found.column("offset").to_pylist() if offset is not None] == [2, 3, 5, 8]
    narrow = RowFilter(Bounds(first_offset=3, end_offset=6), permissive=True)
    assert [row["offset"] for row in rows(split, narrow) if row["error"] is None] == [3, 5]
    monkeypatch.setattr(log_rows, "ROWS", 3)
    assert [row["batch_position"] for row in rows(split, RowFilter(permissive=True))] == positions
    assert all(len(some) <= 2 * 3 for some in read_rows(split, RowFilter(permissive=True)))


def test_columns_of_batches_change_where_the_batches_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    producers = [7, 7, 7, 8, 8, 9, 7, 7, -1, -1, 8, 7]
    batches = [
        write_batch(
            [Record(offset=3 * number + of_batch, timestamp=1, value=b"v") for of_batch in range(3)],
            producer_id=producer,
            producer_epoch=0 if producer >= 0 else -1,
            base_sequence=5 if producer >= 0 else -1,
            compression="lz4" if producer == 7 else "none",
        )
        for number, producer in enumerate(producers)
    ]
    write(tmp_path / "t-0", b"".join(batches))
    (split,) = cut_segment(find_segments(tmp_path)[0])
    of_each = [
        (producer, "lz4" if producer == 7 else "none", 5 + of_batch if producer >= 0 else -1)
        for producer in producers
        for of_batch in range(3)
    ]
    for count in (1, 4, 6, 9, 100):  # rows that complete an Arrow batch, from 1, 2, 2, 3 and all batches
        monkeypatch.setattr(log_rows, "ROWS", count)
        found = list(rows(split, RowFilter()))
        assert [(row["producer_id"], row["compression"], row["sequence"]) for row in found] == of_each
        assert {(row["topic"], row["partition"], row["error"]) for row in found} == {("t", 0, None)}


def test_columns_of_one_value_are_made_once_for_all_arrow_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "t-0", b"".join(batch(offset) for offset in range(12)))
    (split,) = cut_segment(find_segments(tmp_path)[0])
    monkeypatch.setattr(log_rows, "ROWS", 3)
    found = list(read_rows(split, RowFilter()))
    assert [len(some) for some in found] == [3, 3, 3, 3]
    own = {"offset", "timestamp", "key", "value", "headers", "batch_position"}
    for name in set(found[0].schema.names) - own:
        assert len({some.column(name).buffers()[-1].address for some in found}) == 1, name


def test_a_broken_batch_costs_no_look_at_what_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 50
    write(tmp_path / "t-0", b"".join(batch(offset, bytes(2000), broken=True) for offset in range(count)))
    (split,) = cut_segment(find_segments(tmp_path)[0])
    read = 0
    opened = open

    class Counted:
        """A file that counts the bytes that are read."""

        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> Counted:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def read(self, size: int) -> bytes:
            nonlocal read
            data: bytes = self.file.read(size)
            read += len(data)
            return data

    monkeypatch.setattr("kipwire.logs.segments.open", lambda *args: Counted(opened(*args)), raising=False)
    assert len(list(rows(split, RowFilter(permissive=True)))) == count
    assert read < 2 * Path(split.segment.path).stat().st_size


@pytest.mark.parametrize(
    "find",
    [find_segments, find_captures, lambda root: find_files(KINDS["segment"], root)],
    ids=["log", "capture", "files"],
)
@pytest.mark.parametrize("forbidden", [".", "t-1"])
def test_a_folder_that_cannot_be_listed_is_an_error(
    find: Any, forbidden: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        write(tmp_path / f"t-{number}", batch(0))
    forbid(monkeypatch, tmp_path / forbidden)
    with pytest.raises(ListingError) as raised:
        find(str(tmp_path))
    assert str(raised.value) == f"{tmp_path / forbidden}: cannot be listed: Permission denied"


def test_the_folder_of_lost_files_is_left_to_the_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "t-0", batch(0))
    (tmp_path / "lost+found").mkdir()
    forbid(monkeypatch, tmp_path / "lost+found")
    assert [segment.topic for segment in find_segments(tmp_path)] == ["t"]


def test_a_stream_does_not_take_a_folder_that_cannot_be_listed_for_a_deleted_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "t-0", batch(0))
    follower = Follower(lambda: find_segments(tmp_path), RowFilter(), 1, fail_on_data_loss=True)
    forbid(monkeypatch, folder)
    with pytest.raises(ListingError, match="cannot be listed"):
        follower.latest(Reached({str(folder): 1}), None)


def test_a_batch_that_expands_to_more_than_the_limit_is_read_where_it_may_be(tmp_path: Path) -> None:
    data = write_batch([Record(offset=0, timestamp=1, value=bytes(70 << 20))], compression="gzip")
    write(tmp_path / "t-0", data)

    def sizes(**options: str) -> list[int]:
        source = KafkaLogSource({"path": str(tmp_path), "columns": "value", **options})
        reader = source.reader(source.schema())
        return [len(row.as_buffer()) for task in reader.partitions() for rows in reader.read(task) for row in rows[0]]

    with pytest.raises(DecodeError, match=r"67,108,864 bytes .*maxDecompressedSize"):
        sizes()
    assert sizes(maxDecompressedSize=str(80 << 20)) == [70 << 20]


def test_a_limit_has_the_name_of_its_option(tmp_path: Path) -> None:
    folder = write(tmp_path / "t-0", write_batch([Record(offset=0, value=bytes(5000))], compression="gzip"))
    with EmbeddedSession() as session, pytest.raises(DecodeError, match=r"1,000 bytes \(option maxDecompressedSize\)"):
        session.read.format("kafka_log").options(maxDecompressedSize=1000).load(str(folder)).toArrow()


@pytest.mark.parametrize("name", ["location", "option.topics"])
def test_options_of_a_table_are_refused_with_what_to_do(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match=r"Spark does not pass the options of a table .*: create it"):
        log_plan({"path": str(tmp_path), name: "x"})
