"""Rows of batches from their heads alone, and what heads and time indexes let a reader of records pass over."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, StructField, StructType

from kafka_records.record_batch.v2 import RecordBatch as BatchLayout
from kipspark.sources.log_source import KafkaLogSource
from kipwire import DecodeError
from kipwire.records import Bounds, Record, RecordBatch, read_segment, write_batch, write_message_set
from kipwire.records.model import header_key
from kipwire.tables.arrow import microseconds
from kipwire.tables.errors import SourceError
from kipwire.tables.sources import batch_heads
from kipwire.tables.sources.batch_heads import RowFilter, batch_heads_in
from kipwire.tables.sources.batch_rows import BATCH_SCHEMA, read_batch_rows
from kipwire.tables.sources.log_columns import ALL_LOG_COLUMNS, DEFAULT_LOG_SCHEMA, LOG_SCHEMA
from kipwire.tables.sources.log_rows import read_rows
from kipwire.tables.sources.logs import request_of
from kipwire.tables.sources.segments import Segment, find_segments
from kipwire.tables.sources.splits import Split, cut_segment, ends_before, narrow
from tests.support.places import DATA
from tests.support.subjects.batch_bytes import with_bytes

SEGMENTS = DATA / "segments"
EVERYTHING = RowFilter(control=True)


def segment_of(folder: Path, *batches: bytes, base_offset: int = 0) -> Segment:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{base_offset:020}.log").write_bytes(b"".join(batches))
    return next(one for one in find_segments(folder) if one.base_offset == base_offset)


def whole(segment: Segment) -> Split:
    return Split(segment, 0, segment.size)


def batch_rows(
    segment: Segment, wanted: RowFilter = EVERYTHING, schema: pa.Schema = BATCH_SCHEMA
) -> list[dict[str, Any]]:
    return [row for batch in read_batch_rows(whole(segment), wanted, schema) for row in batch.to_pylist()]


def plain(offset: int, timestamp: int = 1000, **fields: Any) -> bytes:
    """Return a batch of two records."""
    records = [Record(offset=offset + one, timestamp=timestamp + one, value=b"v" * 50) for one in (0, 1)]
    return write_batch(records, **fields)


def of_every_format(folder: Path) -> Segment:
    return segment_of(
        folder,
        write_message_set([Record(offset=0, value=b"a")], magic=0),
        write_message_set([Record(offset=1), Record(offset=2)], magic=0, compression="gzip"),
        write_message_set([Record(offset=3, timestamp=77)], magic=1),
        write_message_set([Record(offset=4, timestamp=78)], magic=1, timestamp_type="LogAppendTime"),
        write_message_set([Record(offset=5), Record(offset=6, timestamp=90)], magic=1, compression="snappy"),
        plain(7, compression="zstd", producer_id=2**62, producer_epoch=32767, base_sequence=2**31 - 1),
        plain(9, is_transactional=True, producer_id=5, producer_epoch=0, base_sequence=0, partition_leader_epoch=8),
        plain(11, timestamp_type="LogAppendTime", max_timestamp=5000),
        plain(13, delete_horizon=123_456),
        write_batch([], base_offset=15, last_offset_delta=4),
        write_batch([Record(offset=20, key=b"\0\0\0\1", value=bytes(6))], is_control=True),
        plain(2**31 - 2),
    )


def expected_row(segment: Segment, batch: RecordBatch) -> dict[str, Any]:
    has_base = batch.magic == 2 or batch.compression == "none"
    times = {
        "base_timestamp": -1 if batch.delete_horizon is not None else batch.base_timestamp,
        "max_timestamp": batch.max_timestamp,
        "delete_horizon": -1 if batch.delete_horizon is None else batch.delete_horizon,
    }
    same = ("last_offset", "timestamp_type", "records_count", "compression", "producer_id", "producer_epoch")
    more = ("base_sequence", "is_transactional", "is_control", "magic")
    return {
        "topic": segment.topic,
        "partition": segment.partition,
        "base_offset": batch.base_offset if has_base else None,
        **{name: getattr(batch, name) for name in (*same, *more)},
        **{name: microseconds(pa.array([time], pa.int64()))[0].as_py() for name, time in times.items()},
        "batch_size": batch.size,
        "leader_epoch": batch.partition_leader_epoch,
        "segment": segment.path,
        "batch_position": batch.position,
        "base_timestamp_ms": times["base_timestamp"],
        "max_timestamp_ms": times["max_timestamp"],
        "error": None,
    }


# Values of a row.


def test_a_row_says_of_a_real_batch_what_reading_it_says() -> None:
    for segment in find_segments(SEGMENTS):
        found = batch_rows(segment)
        assert found == [expected_row(segment, batch) for batch in read_segment(segment.path)], segment.path


def test_a_row_says_of_batches_of_every_format_what_reading_them_says(tmp_path: Path) -> None:
    segment = of_every_format(tmp_path / "t-1")
    expected = [expected_row(segment, batch) for batch in read_segment(segment.path)]
    assert len(expected) == 12
    assert batch_rows(segment) == expected


def test_the_highest_offsets_are_read(tmp_path: Path) -> None:
    segment = segment_of(tmp_path / "t-0", plain(2**63 - 4), plain(2**63 - 2), base_offset=2**63 - 9)
    assert [row["last_offset"] for row in batch_rows(segment)] == [2**63 - 3, 2**63 - 1]


def test_fields_of_a_head_are_where_the_spec_has_them() -> None:
    batch = BatchLayout(
        base_offset=1,
        partition_leader_epoch=2,
        last_offset_delta=3,
        base_timestamp=4,
        max_timestamp=5,
        producer_id=6,
        producer_epoch=7,
        base_sequence=8,
        records_count=9,
        records=b"",
    )
    data = batch.encode()
    (head,) = np.frombuffer(data, batch_heads.HEADS, 1)
    for name in batch_heads.HEADS.names or ():
        if hasattr(batch, {"leader_epoch": "partition_leader_epoch"}.get(name, name)):
            assert head[name] == getattr(batch, {"leader_epoch": "partition_leader_epoch"}.get(name, name)), name


@pytest.mark.parametrize("split_bytes", [1, 150, 1000])
def test_ranges_have_every_batch_once(tmp_path: Path, split_bytes: int) -> None:
    segment = of_every_format(tmp_path / "t-1")
    rows = [
        row
        for split in cut_segment(segment, split_bytes)
        for batch in read_batch_rows(split, EVERYTHING, BATCH_SCHEMA)
        for row in batch.to_pylist()
    ]
    assert rows == batch_rows(segment)


def test_many_batches_are_more_than_one_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_heads, "COUNT", 7)
    segment = segment_of(tmp_path / "t-0", *[plain(2 * at) for at in range(50)])
    assert [len(heads.position) for heads in batch_heads_in(segment.path, 0, segment.size)] == [7] * 7 + [1]
    assert [row["base_offset"] for row in batch_rows(segment)] == list(range(0, 100, 2))


# Bytes that are read, and bytes that are not.


@pytest.fixture
def bytes_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The number of bytes of each read of heads."""
    sizes: list[int] = []
    read = os.pread

    def counted(file: int, size: int, position: int) -> bytes:
        data = read(file, size, position)
        sizes.append(len(data))
        return data

    monkeypatch.setattr(os, "pread", counted)
    yield sizes


def test_large_batches_cost_their_heads_alone(tmp_path: Path, bytes_read: list[int]) -> None:
    batches = [write_batch([Record(offset=at, value=bytes(100_000))]) for at in range(20)]
    segment = segment_of(tmp_path / "t-0", *batches)
    assert len(batch_rows(segment)) == 20
    assert sum(bytes_read) == 20 * 64


def test_small_batches_are_read_many_at_once(tmp_path: Path, bytes_read: list[int]) -> None:
    segment = segment_of(tmp_path / "t-0", *[plain(2 * at) for at in range(5000)])
    assert len(batch_rows(segment)) == 5000
    assert len(bytes_read) < 100
    assert sum(bytes_read) < 1.1 * segment.size


def test_what_comes_after_a_head_is_not_looked_at(tmp_path: Path) -> None:
    data = plain(0)
    broken = data[:61] + bytes(len(data) - 61)
    segment = segment_of(tmp_path / "t-0", broken, plain(2))
    assert [row["base_offset"] for row in batch_rows(segment)] == [0, 2]


@pytest.mark.parametrize(
    ("wanted", "offsets"),
    [
        (RowFilter(), [0, 2, 4, 6]),
        (EVERYTHING, [0, 2, 4, 6, 8]),
        (RowFilter(Bounds(first_offset=3, end_offset=6)), [2, 4]),
        (RowFilter(Bounds(first_timestamp=3001)), [4, 6]),
        (RowFilter(Bounds(first_timestamp=3002)), [6]),
        (RowFilter(Bounds(end_timestamp=5000)), [0, 2, 4]),
        (RowFilter(Bounds(end_timestamp=1000)), [0, 2, 4]),
    ],
)
def test_batches_are_left_out_that_cannot_have_wanted_records(
    tmp_path: Path, wanted: RowFilter, offsets: list[int]
) -> None:
    segment = segment_of(
        tmp_path / "t-0",
        plain(0, 1000),
        plain(2, 2000),
        plain(4, 3000),
        plain(6, 4000, timestamp_type="LogAppendTime", max_timestamp=5000),
        write_batch([Record(offset=8, key=b"\0\0\0\1", value=bytes(6), timestamp=1)], is_control=True),
    )
    assert [row["base_offset"] for row in batch_rows(segment, wanted)] == offsets


# Damage.


@pytest.mark.parametrize(
    ("at", "new", "has_size"),
    [
        (16, b"\x07", False),  # magic
        (8, pack(">i", 3), False),  # size
        (8, pack(">i", -1), False),
        (22, b"\x07", True),  # codec
    ],
)
def test_a_broken_head_is_reported_as_reading_the_batch_reports_it(
    tmp_path: Path, at: int, new: bytes, has_size: bool
) -> None:
    first, data = plain(0), with_bytes(plain(2), at, new)
    segment = segment_of(tmp_path / "t-0", first, data, plain(4))
    with pytest.raises(DecodeError) as expected:
        list(read_segment(segment.path, start=len(first), check_crcs=False))
    with pytest.raises(DecodeError) as found:
        batch_rows(segment)
    text = str(expected.value).replace("batches[0].", "")  # a range of a log does not know the number of a batch
    assert str(found.value) == text
    rows = batch_rows(segment, RowFilter(permissive=True))
    known = [(row["base_offset"], row["batch_position"], row["error"]) for row in rows]
    positions = {
        row["batch_position"]
        for batch in read_rows(whole(segment), RowFilter(permissive=True, check_crcs=False))
        for row in batch.to_pylist()
    }
    lost = "" if has_size else f"; bytes {len(first)} to {len(first + data) - 1} are not read"
    bad = (None, len(first), text + lost)
    assert known[:2] == [(0, 0, None), bad]
    # Reading of batches goes on at the same positions as reading of records.
    assert {position for _, position, _ in known} == positions
    assert len(known) == 3


def test_offsets_beyond_64_bits_are_an_error(tmp_path: Path) -> None:
    data = plain(0)
    segment = segment_of(tmp_path / "t-0", (2**63 - 1).to_bytes(8) + data[8:], plain(2))
    with pytest.raises(SourceError, match="batch at byte 0 ends at offset 9223372036854775808, which exceeds 64 bits"):
        batch_rows(segment)
    rows = batch_rows(segment, RowFilter(permissive=True))
    assert [row["base_offset"] for row in rows] == [None, 2]


@pytest.mark.parametrize("end", [bytes(5000), plain(4)[:-1], plain(4)[:30], plain(4)[:5], b""])
def test_a_log_ends_before_zeros_and_a_batch_that_is_cut_short(tmp_path: Path, end: bytes) -> None:
    segment = segment_of(tmp_path / "t-0", plain(0), plain(2), end)
    assert [row["base_offset"] for row in batch_rows(segment)] == [0, 2]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    segment = segment_of(tmp_path / "t-0", plain(0))
    Path(segment.path).unlink()
    for read in (
        lambda: batch_rows(segment),
        lambda: list(read_rows(whole(segment), RowFilter(Bounds(first_offset=1)))),
    ):
        with pytest.raises(SourceError, match=r"0\.log: cannot be read: No such file"):
            read()


# Records: batches that are passed over.


@pytest.mark.parametrize("permissive", [False, True])
def test_passing_over_batches_changes_no_row(tmp_path: Path, permissive: bool) -> None:
    segment = of_every_format(tmp_path / "t-1")
    every = RowFilter(control=True, permissive=permissive)
    rows = [row for batch in read_rows(whole(segment), every) for row in batch.to_pylist()]
    bounds = [None, 0, 2, 5, 6, 7, 10, 12, 16, 20, 21, 2**63 - 2, 2**63 - 1]
    for first in bounds:
        for end in bounds:
            wanted = every._replace(bounds=Bounds(first, end))
            found = [row for batch in read_rows(whole(segment), wanted) for row in batch.to_pylist()]
            expected = [
                row
                for row in rows
                if (first is None or row["offset"] >= first) and (end is None or row["offset"] < end)
            ]
            assert found == expected, (first, end)


def test_a_batch_outside_the_bounds_is_not_read(tmp_path: Path) -> None:
    broken = bytearray(plain(2, 2000))
    broken[-1] ^= 1
    segment = segment_of(tmp_path / "t-0", plain(0, 1000), bytes(broken), plain(4, 3000))
    with pytest.raises(DecodeError, match="crc"):
        list(read_rows(whole(segment), RowFilter()))
    for wanted in (
        RowFilter(Bounds(first_offset=4)),
        RowFilter(Bounds(end_offset=2)),
        RowFilter(Bounds(first_timestamp=3000)),
    ):
        (batch,) = read_rows(whole(segment), wanted)
        assert batch.num_rows == 2
    with pytest.raises(DecodeError, match="crc"):
        list(read_rows(whole(segment), RowFilter(Bounds(first_offset=3))))


def test_ranges_are_narrowed_to_runs_of_batches(tmp_path: Path) -> None:
    times = [1000, 5000, 5000, 1000, 5000, 1000]
    batches = [plain(2 * at, time) for at, time in enumerate(times)]
    segment = segment_of(tmp_path / "t-0", *batches, b"\x01" * 70)
    starts = [sum(map(len, batches[:at])) for at in range(len(batches) + 1)]
    parts = narrow(whole(segment), RowFilter(Bounds(first_timestamp=5000)))
    assert [(part.start, part.end) for part in parts] == [
        (starts[1], starts[3]),
        (starts[4], starts[5]),
        (starts[6], segment.size),  # no head: kept, so that reading reports it
    ]
    assert narrow(whole(segment), RowFilter()) == [whole(segment)]


# The time index.


def timed(tmp_path: Path, entries: list[tuple[int, int]] | bytes) -> Segment:
    """Write a segment from offset 10 on, whose last batch is older than the one before, with a time index beside it."""
    segment = segment_of(tmp_path / "t-0", plain(10, 1000), plain(12, 4000), plain(14, 2000), base_offset=10)
    data = entries if isinstance(entries, bytes) else b"".join(pack(">qi", *entry) for entry in entries)
    Path(segment.path).with_suffix(".timeindex").write_bytes(data)
    return segment


def test_a_time_index_says_that_all_records_are_older(tmp_path: Path) -> None:
    segment = timed(tmp_path, [(1001, 1), (4001, 3)])
    assert ends_before(segment, 4002)
    assert not ends_before(segment, 4001)


@pytest.mark.parametrize(
    "entries",
    [
        [],
        [(1001, 1), (4000, 3)],  # no batch has that time
        [(1001, 1)],  # fits, but ...
        [(4001, 3), (1001, 1)],
        [(1001, 1), (4001, 99)],
        [(1001, 1), (4001, 3), (0, 0)],  # zeros, as in an index that grows
        pack(">qi", 4001, 3) + b"\0",
    ],
)
def test_a_time_index_that_does_not_fit_is_not_believed(tmp_path: Path, entries: list[tuple[int, int]] | bytes) -> None:
    segment = timed(tmp_path, entries)
    if entries == [(1001, 1)]:
        assert not ends_before(segment, 1001)  # only a growing segment, the last, has such an index
    else:
        assert not ends_before(segment, 10_000)


def test_a_segment_without_a_time_index_may_have_any_time(tmp_path: Path) -> None:
    assert not ends_before(segment_of(tmp_path / "t-0", plain(0)), 10_000)


def splits_of(root: Path, **options: str) -> list[Split]:
    source = KafkaLogSource({"path": str(root), **options})
    tasks: Any = source.reader(source.schema()).partitions()
    return [split for task in tasks for split, _ in getattr(task, "work", [])]


def test_old_segments_are_not_opened_by_tasks(tmp_path: Path) -> None:
    timed(tmp_path, [(1001, 1), (4001, 3)])
    last = segment_of(tmp_path / "t-0", plain(16, 1000), base_offset=16)
    Path(last.path).with_suffix(".timeindex").write_bytes(pack(">qi", 1001, 1))
    assert [split.segment.base_offset for split in splits_of(tmp_path)] == [10, 16]
    # The last segment grows, and its index after it.
    assert [split.segment.base_offset for split in splits_of(tmp_path, startingTimestamp="5000")] == [16]
    assert [split.segment.base_offset for split in splits_of(tmp_path, startingTimestamp="4001")] == [10, 16]
    assert [split.segment.base_offset for split in splits_of(tmp_path, startingOffset="16")] == [16]
    assert [split.segment.base_offset for split in splits_of(tmp_path, endingOffset="16")] == [10]


# Columns.


@pytest.mark.parametrize("schema", [ALL_LOG_COLUMNS, BATCH_SCHEMA], ids=["records", "batches"])
def test_each_column_alone_is_as_among_all(schema: pa.Schema) -> None:
    read: Any = read_rows if schema is ALL_LOG_COLUMNS else read_batch_rows
    for segment in find_segments(SEGMENTS):
        everything = pa.Table.from_batches(read(whole(segment), EVERYTHING, schema), schema)
        for before, name in pairwise(schema.names):
            chosen = pa.schema([schema.field(name), schema.field(before)])
            some = pa.Table.from_batches(read(whole(segment), EVERYTHING, chosen), chosen)
            assert some.equals(everything.select([name, before])), name


@pytest.mark.parametrize("level", ["records", "batches"])
def test_broken_batches_have_the_chosen_columns_alone(tmp_path: Path, level: str) -> None:
    whole_schema, read = (LOG_SCHEMA, read_rows) if level == "records" else (BATCH_SCHEMA, read_batch_rows)
    segment = segment_of(tmp_path / "t-0", plain(0), with_bytes(plain(2), 22, b"\x07"), plain(4))
    schema = pa.schema([whole_schema.field(name) for name in ("error", "topic")])
    table = pa.Table.from_batches(read(whole(segment), RowFilter(permissive=True, check_crcs=False), schema), schema)
    assert [error is None for error in table["error"].to_pylist()].count(False) == 1
    assert set(table["topic"].to_pylist()) == {"t"}


@pytest.mark.parametrize("permissive", [False, True])
def test_a_header_key_that_is_not_utf8_is_the_text_of_java_and_costs_no_row(tmp_path: Path, permissive: bool) -> None:
    keys = [[b"good"], [b"caf\xe9", b"\xed\xa0\x80"], []]
    records = [
        Record(offset=at, value=b"v", headers=[(header_key(key), b"h") for key in some]) for at, some in enumerate(keys)
    ]
    segment = segment_of(tmp_path / "t-0", write_batch(records, compression="gzip"), plain(3))
    wanted = RowFilter(Bounds(first_offset=0, end_offset=3), permissive=permissive)
    table = pa.Table.from_batches(read_rows(whole(segment), wanted, ALL_LOG_COLUMNS), ALL_LOG_COLUMNS)
    table.validate(full=True)
    assert table["offset"].to_pylist() == [0, 1, 2]
    texts = [[header["key"] for header in headers] for headers in table["headers"].to_pylist()]
    assert texts == [["good"], ["caf\ufffd", "\ufffd"], []]
    assert table["header_keys"].to_pylist() == keys
    assert table["error"].null_count == 3
    default = pa.Table.from_batches(read_rows(whole(segment), wanted), LOG_SCHEMA)
    assert default.equals(table.drop_columns(["header_keys"]))


def test_the_bytes_of_header_keys_are_a_column_only_if_it_is_named(tmp_path: Path) -> None:
    assert "header_keys" not in KafkaLogSource({}).schema().names
    assert "header_keys" not in KafkaLogSource({"mode": "PERMISSIVE"}).schema().names
    chosen = KafkaLogSource({"columns": "header_keys,headers"}).schema()
    assert chosen["header_keys"].dataType == ArrayType(BinaryType())
    reader = KafkaLogSource({"path": str(SEGMENTS)}).reader(StructType([chosen["header_keys"]]))
    found: list[Any] = [batch for part in reader.partitions() for batch in reader.read(part)]
    assert {"header_keys": [b"trace"]} in [row for batch in found for row in batch.to_pylist()]
    segment = of_every_format(tmp_path / "t-0")
    schema = pa.schema([ALL_LOG_COLUMNS.field("header_keys")])
    table = pa.Table.from_batches(read_rows(whole(segment), EVERYTHING, schema), schema)
    assert table["header_keys"].to_pylist() == [[]] * len(table)
    broken = segment_of(tmp_path / "u-0", with_bytes(plain(0), 22, b"\x07"))
    wanted = RowFilter(permissive=True, check_crcs=False)
    assert [row for rows in read_rows(whole(broken), wanted, schema) for row in rows.to_pylist()] == [
        {"header_keys": None}
    ]


def test_columns_are_chosen_in_the_order_of_the_option() -> None:
    assert KafkaLogSource({"columns": "value, offset"}).schema().names == ["value", "offset"]
    assert KafkaLogSource({"columns": "topic", "level": "Batches"}).schema().names == ["topic"]
    assert KafkaLogSource({"level": "batches"}).schema().names == BATCH_SCHEMA.names
    assert KafkaLogSource({}).schema().names == DEFAULT_LOG_SCHEMA.names


@pytest.mark.parametrize("given", [["orders", "a.b-c"], ("orders", "a.b-c"), "orders, a.b-c"])
def test_a_list_of_python_is_a_list(given: Any) -> None:
    """PySpark passes the text of a list as the value of an option."""
    options = {"path": "/logs", "topics": str(given), "partitions": str([0, 12]), "columns": str(["value", "offset"])}
    request = request_of(options)
    assert request.chosen.topics == ("orders", "a.b-c")
    assert request.chosen.partitions == (0, 12)
    assert request.schema.names == ["value", "offset"]


def test_the_place_of_a_batch_is_a_column_where_damage_is_rows_or_if_it_is_named() -> None:
    assert [name for name in LOG_SCHEMA.names if name not in DEFAULT_LOG_SCHEMA.names] == ["segment", "batch_position"]
    for options in ({}, {"mode": "FailFast"}, {"includeTail": "false"}, {"includeControl": "true"}):
        assert KafkaLogSource(options).schema().names == DEFAULT_LOG_SCHEMA.names
    for options in ({"mode": "permissive"}, {"includeTail": "true"}):
        assert KafkaLogSource(options).schema().names == LOG_SCHEMA.names
    assert KafkaLogSource({"columns": "segment", "mode": "permissive"}).schema().names == ["segment"]
    assert KafkaLogSource({"level": "batches"}).schema().names == BATCH_SCHEMA.names


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"columns": "offset,time"}, "option columns: unknown column 'time'; the columns are topic, partition, offset"),
        (
            {"columns": "offset", "level": "batches"},
            "unknown column 'offset'; the columns are topic, partition, base_offset",
        ),
        ({"columns": "offset,offset"}, "option columns: 'offset' is duplicated; name it once"),
        ({"columns": " , "}, "option columns is empty; name some of topic, partition"),
        ({"level": "topics"}, "option level is 'topics'; it must be records or batches"),
    ],
)
def test_columns_and_levels_that_do_not_exist_are_named(given: dict[str, str], wrong: str) -> None:
    with pytest.raises(SourceError, match=wrong):
        KafkaLogSource({"path": "x", **given}).schema()


def test_a_users_schema_chooses_columns_of_their_own_types() -> None:
    source = KafkaLogSource({"path": str(SEGMENTS)})
    source.reader(StructType([StructField("offset", LongType())]))
    with pytest.raises(SourceError, match="the column 'offset' cannot be int; it is bigint"):
        source.reader(StructType([StructField("offset", IntegerType())]))
    with pytest.raises(SourceError, match="unknown column 'time'; the columns are topic, partition"):
        source.reader(StructType([StructField("time", LongType())]))
