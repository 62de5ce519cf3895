"""Reading logs and captures in ranges, and columns of messages: what tasks do, without Spark itself."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from struct import pack
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kafka_records.record_batch.v2 import RecordBatch as BatchLayout
from kipspark.sources.file_sources import KafkaFramesSource, KafkaPartitionFilesSource, KafkaSnapshotSource
from kipspark.sources.log_source import KafkaLogSource
from kipwire import DecodeError, columns
from kipwire.logs import partition_files
from kipwire.records import Bounds, Record, read_batches, read_segment, with_offsets, write_batch
from kipwire.records.sections import write_section
from kipwire.tables.errors import SourceError
from kipwire.tables.messages.records import Records, decode_metadata
from kipwire.tables.sources.batch_heads import RowFilter
from kipwire.tables.sources.log_columns import LOG_SCHEMA
from kipwire.tables.sources.log_rows import read_rows
from kipwire.tables.sources.options import Options
from kipwire.tables.sources.segments import Segment, find_segments
from kipwire.tables.sources.snapshots import read_snapshot, snapshots_of
from kipwire.tables.sources.splits import Split, cut_segment, position_before
from tests.support import golden_data
from tests.support.places import DATA, ROOT
from tests.support.subjects.batch_bytes import foreign_batch

SEGMENTS = DATA / "segments"
SNAPSHOTS = DATA / "snapshots"


@pytest.fixture
def segment(tmp_path: Path) -> Segment:
    """A segment from offset 100 on, with 50 batches of two records."""
    folder = tmp_path / "t-3"
    folder.mkdir()
    batches = [
        write_batch([Record(offset=at + one, timestamp=1000 * at, value=b"v" * (at % 7)) for one in (0, 1)])
        for at in range(100, 200, 2)
    ]
    (folder / f"{100:020}.log").write_bytes(b"".join(batches))
    return find_segments(tmp_path)[0]


def index(segment: Segment, entries: list[tuple[int, int]]) -> None:
    """Put an offset index beside a segment, with room that was taken in advance."""
    data = b"".join(pack(">ii", *entry) for entry in entries) + bytes(80)
    Path(segment.path).with_suffix(".index").write_bytes(data)


def offsets_in(splits: list[Split], wanted: RowFilter | None = None) -> list[list[int]]:
    return [
        [offset for batch in read_rows(split, wanted or RowFilter()) for offset in batch.column("offset").to_pylist()]
        for split in splits
    ]


def batch_starts(segment: Segment) -> list[int]:
    return [split.start for split in cut_segment(segment, 1)]


# Spark's requirements for every source.


def in_another_process(sent: Any) -> Any:
    """Return an object as another process gets it: pickled and loaded as by Spark."""
    return cloudpickle.loads(cloudpickle.dumps(sent))  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (KafkaLogSource, {"path": str(SEGMENTS)}),
        (KafkaSnapshotSource, {"path": str(SNAPSHOTS)}),
        (KafkaPartitionFilesSource, {"path": str(SEGMENTS), "kind": "segment"}),
        (KafkaFramesSource, {"path": str(ROOT / "examples" / "capture")}),
    ],
    ids=["log", "snapshot", "partition files", "frames"],
)
def test_readers_and_tasks_work_in_another_process_and_a_task_without_work_has_no_rows(
    source: type[DataSource], options: dict[str, str]
) -> None:
    made = source(options)
    reader = made.reader(cast("StructType", made.schema()))
    sent: DataSourceReader = in_another_process(reader)
    tasks = list(reader.partitions())
    rows: list[list[Any]] = [list(reader.read(task)) for task in tasks]
    assert sum(batch.num_rows for task in rows for batch in task) > 0
    assert [list(sent.read(in_another_process(task))) for task in tasks] == rows
    assert list(sent.read(InputPartition(None))) == []


# Segments and their ranges.


@pytest.mark.parametrize("split_bytes", [1, 100, 500, 2000, 1 << 30])
def test_ranges_of_a_segment_have_every_record_once(segment: Segment, split_bytes: int) -> None:
    found = offsets_in(cut_segment(segment, split_bytes))
    assert [offset for part in found for offset in part] == list(range(100, 200))
    assert all(found)


def test_an_index_gives_the_ranges(segment: Segment) -> None:
    starts = batch_starts(segment)
    index(segment, [(21, starts[10]), (61, starts[30])])
    assert [split.start for split in cut_segment(segment, 1)] == [0, starts[10], starts[30]]
    assert position_before(segment, 120) == 0
    assert position_before(segment, 121) == starts[10]
    assert position_before(segment, 10_000) == starts[30]


@pytest.mark.parametrize("entry", [(21, 5), (21, 1 << 30), (5, 2000), (-7, -9)])
def test_an_index_that_does_not_fit_is_not_trusted(segment: Segment, entry: tuple[int, int]) -> None:
    index(segment, [entry])
    assert [offset for part in offsets_in(cut_segment(segment, 500)) for offset in part] == list(range(100, 200))
    assert position_before(segment, 150) == 0


def test_an_index_is_used_up_to_where_it_is_damaged(segment: Segment) -> None:
    starts = batch_starts(segment)
    index(segment, [(21, starts[10]), (61, starts[30]), (41, starts[40])])
    assert [split.start for split in cut_segment(segment, 1)] == [0, starts[10], starts[30]]
    assert position_before(segment, 199) == starts[30]
    file = Path(segment.path).with_suffix(".index")
    file.write_bytes(pack(">iiii", 21, starts[10], 61, starts[30])[:-1])
    assert position_before(segment, 199) == starts[10]
    file.unlink()
    file.mkdir()
    assert position_before(segment, 199) == 0


def test_room_that_an_index_has_in_advance_is_not_read(segment: Segment, monkeypatch: pytest.MonkeyPatch) -> None:
    starts = batch_starts(segment)
    index(segment, [(21, starts[10])])
    with Path(segment.path).with_suffix(".index").open("r+b") as file:
        file.truncate(10 << 20)
    read = []
    entries = partition_files.offset_index

    def measured(file: BinaryIO, base_offset: int) -> Iterator[partition_files.OffsetIndexEntry]:
        yield from entries(file, base_offset)
        read.append(file.tell())

    monkeypatch.setattr("kipwire.tables.sources.splits.offset_index", measured)
    assert position_before(segment, 199) == starts[10]
    assert 0 < read[0] <= 1 << 16


def test_records_are_left_out_by_offset_and_time(segment: Segment) -> None:
    whole = cut_segment(segment)
    assert offsets_in(whole, RowFilter(Bounds(first_offset=103, end_offset=107))) == [[103, 104, 105, 106]]
    assert offsets_in(whole, RowFilter(Bounds(first_timestamp=104_000, end_timestamp=108_000))) == [
        [104, 105, 106, 107]
    ]


@pytest.mark.parametrize("damage", ["crc", "length", "cut"])
def test_a_broken_batch_costs_no_other_one(segment: Segment, damage: str) -> None:
    starts = batch_starts(segment)
    data = bytearray(Path(segment.path).read_bytes())
    if damage == "crc":
        data[starts[7] + 20] ^= 1
    elif damage == "length":
        data[starts[7] + 8 : starts[7] + 12] = pack(">i", 3)
    else:
        data = data[: starts[7] + 30]
    Path(segment.path).write_bytes(data)
    splits = [Split(segment, 0, segment.size)]
    if damage == "cut":
        assert offsets_in(splits) == [list(range(100, 114))]
        return
    with pytest.raises(DecodeError, match=rf"at byte {starts[7]}|at byte {starts[7] + 8}|at byte {starts[7] + 17}"):
        offsets_in(splits)
    found = offsets_in(splits, RowFilter(permissive=True))[0]
    assert found == [*range(100, 114), None, *range(116, 200)]


def test_places_without_segments_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="there is no such file or folder"):
        find_segments(tmp_path / "none")
    (tmp_path / "some.log").write_text("text")
    with pytest.raises(SourceError, match=r"no log segments; expected files such as orders-0/0+\.log"):
        find_segments(tmp_path)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"topic": "a"}, "has no option 'topic'; it has topics"),
        ({"startingOffset": "x"}, "option startingOffset is 'x'; it must be a whole number"),
        ({"checkCrc": "maybe"}, "it must be true or false"),
        ({"mode": "loose"}, "it must be FAILFAST or PERMISSIVE"),
        ({}, "needs a path"),
    ],
)
def test_wrong_options_are_named(given: dict[str, str], wrong: str) -> None:
    pytest.importorskip("pyspark")
    from kipspark.sources.log_source import KafkaLogSource

    source = KafkaLogSource({"path": "x", **given} if given else {})
    with pytest.raises(SourceError, match=wrong):
        source.reader(source.schema())


def test_options_are_found_in_any_case() -> None:
    assert Options("s", {"TOPICS": "a, b"}, ("topics",)).texts("topics") == ("a", "b")


# Snapshots.


@pytest.mark.parametrize(
    ("starts", "ends", "needed"),
    [
        ([142, 150], [146, 167, 254], 146),
        ([142, 150], [142, 167], 142),
        ([150, 190], [146, 187], 187),
        ([190], [146, 187], None),
        ([0, 100], [0, 90], 0),
        ([0, 100], [90], None),  # the log says everything
        ([190], [], None),
    ],
)
def test_a_log_begins_with_the_oldest_snapshot_that_ends_in_it(
    tmp_path: Path, starts: list[int], ends: list[int], needed: int | None
) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    folder.mkdir()
    for start in starts:
        (folder / f"{start:020}.log").write_bytes(b"")
    for name in (*[f"{end:020}-{1:010}.checkpoint" for end in ends], f"{150:020}-{1:010}.checkpoint.deleted"):
        (folder / name).write_bytes(b"")
    found = snapshots_of(find_segments(str(tmp_path)))
    assert [one.end_offset for one in found] == ([] if needed is None else [needed])
    assert snapshots_of(find_segments(str(tmp_path), topics=["orders"])) == []


def test_folders_of_replicas_have_one_snapshot_together(tmp_path: Path) -> None:
    for replica, start, end in (("a", 150, 167), ("b", 100, 120)):
        folder = tmp_path / replica / "__cluster_metadata-0"
        folder.mkdir(parents=True)
        (folder / f"{start:020}.log").write_bytes(b"")
        (folder / f"{end:020}-{1:010}.checkpoint").write_bytes(b"")
    (found,) = snapshots_of(find_segments(str(tmp_path)))
    assert (Path(found.path).parent.parent.name, found.end_offset) == ("b", 120)


def test_a_snapshot_has_its_records_without_those_around_them() -> None:
    (snapshot,) = snapshots_of(find_segments(str(SNAPSHOTS)))
    rows = read_snapshot(snapshot)
    assert (snapshot.end_offset, snapshot.epoch, rows.num_rows) == (146, 1, 22)
    assert {str(time) for time in rows.column("timestamp").to_pylist()} == {"2026-11-21 16:05:32.091000+00:00"}
    decoded, errors = decode_metadata(Records("metadata"), rows.column("value"))
    assert errors == {}
    assert sum(row["type"] == "TopicRecord" for row in decoded.to_pylist()) == 3


@pytest.mark.parametrize(
    ("damage", "wrong"),
    [
        (lambda data: data[:-1], "goes beyond byte 1672, where it has to end; copy the file again"),
        (lambda data: b"", "is not a snapshot: it does not begin with a snapshot header"),
        (lambda data: data[:200] + b"!" + data[201:], r"crc at byte \d+"),
    ],
)
def test_a_damaged_snapshot_is_named(tmp_path: Path, damage: Callable[[bytes], bytes], wrong: str) -> None:
    folder = tmp_path / "__cluster_metadata-0"
    shutil.copytree(SNAPSHOTS / folder.name, folder)
    (snapshot,) = snapshots_of(find_segments(str(tmp_path)))
    Path(snapshot.path).write_bytes(damage(Path(snapshot.path).read_bytes()))
    with pytest.raises(SourceError, match=rf"{1:010}\.checkpoint: .*{wrong}"):
        read_snapshot(snapshot)


# Columns of logs.


def rows_of(path: Path) -> list[dict[str, object]]:
    """Return the rows of a whole segment by the records of its batches, one after the other."""
    return [
        {
            "topic": path.parent.name.rpartition("-")[0],
            "partition": int(path.parent.name.rpartition("-")[2]),
            "offset": record.offset,
            "timestamp": microseconds(record.timestamp),
            "timestamp_type": batch.timestamp_type,
            "key": record.key,
            "value": record.value,
            "headers": [{"key": key, "value": value} for key, value in record.headers],
            "producer_id": batch.producer_id,
            "producer_epoch": batch.producer_epoch,
            "sequence": batch.sequence(record),
            "is_transactional": batch.is_transactional,
            "is_control": batch.is_control,
            "leader_epoch": batch.partition_leader_epoch,
            "magic": batch.magic,
            "compression": batch.compression,
            "segment": str(path),
            "batch_position": batch.position,
            "error": None,
        }
        for batch in read_segment(path)
        for record in batch.records
    ]


def microseconds(milliseconds: int) -> int | None:
    return None if milliseconds == -1 or not -(2**63) <= milliseconds * 1000 < 2**63 else milliseconds * 1000


def found_rows(path: Path, wanted: RowFilter) -> list[dict[str, object]]:
    """Return the rows of a whole segment, timestamps as plain numbers, since datetime ends with the year 9999."""
    whole = Split(find_segments(path)[0], 0, path.stat().st_size)
    found: list[dict[str, object]] = []
    for batch in read_rows(whole, wanted):
        batch.validate(full=True)
        assert batch.schema == LOG_SCHEMA
        numbers = batch.column("timestamp").cast(pa.int64())
        found += batch.set_column(batch.schema.get_field_index("timestamp"), "timestamp", numbers).to_pylist()
    return found


@pytest.mark.parametrize(
    "path", sorted(SEGMENTS.rglob("*.log")), ids=lambda path: f"{path.parent.name}/{path.stem[-6:]}"
)
def test_rows_of_a_segment_are_its_records(path: Path) -> None:
    assert found_rows(path, RowFilter(control=True)) == rows_of(path)


def test_rows_of_all_formats_are_their_records(tmp_path: Path) -> None:
    magics = set()
    for number, line in enumerate(golden_data.lines("record-batches")):
        data = bytes.fromhex(line["hex"])
        path = tmp_path / f"g-{number}" / f"{next(read_batches(data)).base_offset:020}.log"
        path.parent.mkdir()
        path.write_bytes(data)
        expected = rows_of(path)
        magics |= {row["magic"] for row in expected}
        assert found_rows(path, RowFilter(control=True)) == expected
        for wanted in (
            RowFilter(Bounds(first_timestamp=10**40)),
            RowFilter(Bounds(first_offset=2**63)),
            RowFilter(Bounds(end_timestamp=-(10**40))),
        ):
            assert found_rows(path, wanted) == []
        assert found_rows(
            path, RowFilter(Bounds(first_offset=1, first_timestamp=-(10**40), end_offset=10**40), control=True)
        ) == [row for row in expected if int(str(row["offset"])) >= 1 and row["timestamp"] is not None]
    assert magics == {0, 1, 2}


def test_sequences_and_timestamps_at_their_ends(tmp_path: Path) -> None:
    times = [-1, 0, -5, (2**63 - 1) // 1000, (2**63 - 1) // 1000 + 1, -((2**63 - 1) // 1000) - 1, 2**62]
    records = [Record(offset=100 + at, timestamp=time) for at, time in enumerate(times)]
    more = [Record(offset=200 + at, timestamp=time) for at, time in enumerate(times)]
    last = [Record(offset=100 + 2**31 - 3 + at, timestamp=0) for at in range(3)]
    path = tmp_path / "t-0" / f"{100:020}.log"
    path.parent.mkdir()
    path.write_bytes(
        foreign_batch(records, base_sequence=2**31 - 3, producer_id=1, producer_epoch=0)
        + foreign_batch(more)
        + write_batch(last, base_sequence=2**31 - 2, producer_id=1, producer_epoch=0)
    )
    found = found_rows(path, RowFilter())
    assert found == rows_of(path)
    assert [row["sequence"] for row in found] == [
        2**31 - 3,
        2**31 - 2,
        2**31 - 1,
        0,
        1,
        2,
        3,
        *7 * [-1],
        2**31 - 2,
        2**31 - 1,
        0,
    ]


def test_broken_records_cost_no_other_batch(tmp_path: Path) -> None:
    good = write_batch([Record(offset=0, timestamp=0)])
    section = write_section([Record(offset=1, timestamp=1)], 0, 0)
    bad = BatchLayout(base_offset=1, last_offset_delta=1, records=section[:-1] + b"\7", records_count=1).encode()
    beyond = BatchLayout(
        base_offset=5, last_offset_delta=1, base_timestamp=2**63 - 1, records=section, records_count=1
    ).encode()
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(good + bad + with_offsets(good, 3) + with_offsets(good, 4) + beyond + with_offsets(good, 7))
    found = found_rows(path, RowFilter(permissive=True))
    assert [row["offset"] for row in found] == [0, None, 3, 4, None, 7]
    assert [row["batch_position"] for row in found[:2]] == [0, len(good)]
    assert f": records[0].headers at byte {len(good + bad) - 1}: " in str(found[1]["error"])
    assert f"batch at byte {len(good + bad + good + good)}: " in str(found[4]["error"])
    assert found[1]["segment"] == str(path) and found[1]["topic"] == "t"
    with pytest.raises(DecodeError, match=r"v2: records\[0\].headers"):
        found_rows(path, RowFilter())
    path.write_bytes(good + beyond)
    with pytest.raises(columns.ColumnError, match="more than 64 bits"):
        found_rows(path, RowFilter())


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_what_is_in_memory_is_bounded(tmp_path: Path, compression: Any) -> None:
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    value = bytes(3 * 2**20)
    batches = [write_batch([Record(offset=at, value=value)], compression=compression) for at in range(20)]
    path.write_bytes(b"".join(batches))
    sizes = [len(batch) for batch in read_rows(Split(find_segments(path)[0], 0, path.stat().st_size), RowFilter())]
    assert sizes == [6, 6, 6, 2]


def test_many_batches_without_records_are_not_rows(tmp_path: Path) -> None:
    path = tmp_path / "t-0" / f"{0:020}.log"
    path.parent.mkdir()
    empty = write_batch([], base_offset=0)
    batches = [with_offsets(empty, at) for at in range(20_000)]
    path.write_bytes(b"".join(batches) + write_batch([Record(offset=20_000)]))
    assert [row["offset"] for row in found_rows(path, RowFilter())] == [20_000]
