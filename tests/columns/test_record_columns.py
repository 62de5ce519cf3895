"""Records as columns are the records of batches, by the compiled kernel and without it."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipwire import DecodeError, columns, native
from kipwire.columns.python_engine import PythonRecords
from kipwire.drafts.kip_98 import write_set
from kipwire.records import Record, RecordBatch, read_batches, read_segment, write_batch, write_message_set
from kipwire.records.model import bytes_of_key, header_key
from kipwire.records.sections import write_section
from tests.support import native_checks, record_column_checks
from tests.support.golden_data import lines
from tests.support.places import DATA
from tests.support.record_column_checks import batch_of, check_records, rows_of
from tests.support.subjects.batch_bytes import foreign_batch

SEGMENTS = sorted((DATA / "segments").rglob("*.log"))
GOLDEN = b"".join(bytes.fromhex(line["hex"]) for line in lines("record-batches"))
CODECS: Any = ["none", "gzip", "snappy", "lz4", "zstd"]


def ways() -> list[Any]:
    """Return the makers of record columns in this installation, each without and with columns of header keys."""
    if not native.in_use:
        return [PythonRecords, partial(PythonRecords, True)]
    from kipwire.columns.kernel_engine import KernelRecords

    return [KernelRecords, PythonRecords, partial(KernelRecords, True), partial(PythonRecords, True)]


@pytest.fixture(params=["kernel", "python"])
def decode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pa.RecordBatch]:
    """The function, which goes one way after the other."""
    if request.param == "python":
        monkeypatch.setattr(native, "in_use", False)
    elif not native.in_use:
        pytest.skip(f"the kernel is not in use: {native.reason}")
    return columns.decode_records


def rows_of_all(batches: list[RecordBatch]) -> list[dict[str, Any]]:
    return [row for number, batch in enumerate(batches) for row in rows_of(number, batch.records)]


# Values.


def test_golden_batches_have_the_same_records_in_columns(decode: Callable[..., pa.RecordBatch]) -> None:
    batches = list(read_batches(GOLDEN))
    rows = decode(batches)
    rows.validate(full=True)
    assert rows.to_pylist() == rows_of_all(batches)
    assert {batch.magic for batch in batches} == {0, 1, 2}
    assert {batch.timestamp_type for batch in batches if batch.magic == 2} == {"CreateTime", "LogAppendTime"}
    assert rows.schema.equals(columns.RECORD_SCHEMA)


@pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: f"{path.parent.name}/{path.stem.lstrip('0')}")
def test_segments_of_a_broker_have_the_same_records_in_columns(
    decode: Callable[..., pa.RecordBatch], path: Path
) -> None:
    batches = list(read_segment(path))
    assert decode(read_segment(path)).to_pylist() == rows_of_all(batches)


BLOBS = st.none() | st.binary(max_size=200)
HEADER_KEYS = st.text(max_size=10) | st.binary(max_size=10).map(header_key)
HEADERS = st.lists(st.tuples(HEADER_KEYS, BLOBS), max_size=3)


def record_lists(earliest: int) -> st.SearchStrategy[list[Record]]:
    """Return records in the order of their offsets, none with an earlier timestamp."""
    return st.builds(
        lambda gaps, parts: [
            Record(offset=1000 + sum(gaps[: at + 1]), timestamp=timestamp, key=key, value=value, headers=headers)
            for at, (timestamp, key, value, headers) in enumerate(parts)
        ],
        st.lists(st.integers(1, 2**20), min_size=6, max_size=6),
        st.lists(st.tuples(st.integers(earliest, 2**62 - 1), BLOBS, BLOBS, HEADERS), max_size=6),
    )


RECORDS = record_lists(-1)
FOREIGN = record_lists(-(2**62)).map(lambda records: foreign_batch(records) if records else b"")
BATCHES = st.builds(
    write_batch,
    RECORDS,
    compression=st.sampled_from(CODECS),
    base_offset=st.integers(0, 1000),
    max_timestamp=st.integers(-1, 2**63 - 1),
    timestamp_type=st.sampled_from(["CreateTime", "LogAppendTime"]),
    delete_horizon=st.none() | st.integers(0, 2**61),
)


def message_set(records: list[Record], magic: Any, compression: Any) -> bytes:
    plain = [
        Record(offset=one.offset, timestamp=one.timestamp if magic else -1, key=one.key, value=one.value)
        for one in records
    ]
    return write_message_set(plain, magic=magic, compression=compression) if plain else b""


SETS = st.builds(message_set, RECORDS, st.integers(0, 1), st.sampled_from(CODECS[:4]))


@given(parts=st.lists(BATCHES | FOREIGN | SETS, max_size=5))
def test_any_batches_of_all_formats_have_the_same_records_in_columns(parts: list[bytes]) -> None:
    batches = list(read_batches(b"".join(parts)))
    assert columns.decode_records(batches).to_pylist() == rows_of_all(batches)
    keys = columns.decode_records(batches, header_keys=True).column("header_keys").to_pylist()
    assert keys == [[bytes_of_key(key) for key, _ in one.headers] for batch in batches for one in batch.records]
    for way in ways():
        assert check_records(way, [batch for batch in batches if batch.magic == 2]) == 0
    assert check_records(PythonRecords, batches) == 0


def test_columns_are_those_of_the_bytes_and_nothing_is_kept(decode: Callable[..., pa.RecordBatch]) -> None:
    batches = list(read_batches(GOLDEN))
    before = decode(batches)
    assert all(batch._records is None for batch in batches)
    for batch in batches:
        batch.records.clear()
    assert decode(batches).equals(before)


def test_no_batches_and_empty_ones_give_no_rows(decode: Callable[..., pa.RecordBatch]) -> None:
    empty = list(read_batches(write_batch([], base_offset=5)))
    for batches in ([], empty, empty * 2):
        rows = decode(batches)
        assert len(rows) == 0 and rows.schema.equals(columns.RECORD_SCHEMA)
    some = list(read_batches(write_batch([Record(offset=7)])))
    assert decode([*empty, *some, *empty, *some]).column("batch").to_pylist() == [1, 3]


# Errors.


def test_damaged_batches_have_the_errors_of_their_records() -> None:
    chance, broken = random.Random(4), 0
    for _ in range(400):
        batches = record_column_checks.random_batches(chance)
        broken += max([check_records(way, batches) for way in ways()])
    assert broken > 200


def test_damaged_golden_batches_have_the_errors_of_their_records() -> None:
    chance, broken = random.Random(5), 0
    for batch in [one for one in read_batches(GOLDEN) if one.magic == 2]:
        data = GOLDEN[batch.position : batch.position + batch.size]
        found: list[RecordBatch] = []
        for _ in range(5):
            faulty = data[:61] + native_checks.damage(data[61:], chance)
            faulty = faulty[:8] + (len(faulty) - 12).to_bytes(4, "big") + faulty[12:]
            found += read_batches(faulty, check_crcs=False)
        broken += max([check_records(way, found) for way in ways()])
    assert broken > 200


def test_the_error_names_the_place_and_nothing_is_left_behind(decode: Callable[..., pa.RecordBatch]) -> None:
    records = [Record(offset=at, key=b"k", value=b"v", headers=[("h", None)]) for at in range(5)]
    data = write_batch(records)
    section = write_section(records, 0, -1)
    bad = batch_of(section[:-1] + b"\x05", 5)
    place = r"batches\[0\].records\[4\].headers\[0\].value at byte \d+: "
    with pytest.raises(DecodeError, match=place):
        decode([*read_batches(data), bad])
    some = columns.RecordColumns()
    for batch in (*read_batches(data), bad, *read_batches(data), batch_of(section, 4), batch_of(section, 6)):
        try:
            some.add(batch)
        except DecodeError as error:
            with pytest.raises(DecodeError) as expected:
                _ = batch.records
            assert str(error) == str(expected.value)
    assert (some.rows, some.size) == (10, 30)
    assert some.take().to_pylist() == [row for number in (0, 1) for row in rows_of(number, records)]
    assert len(some.take()) == some.rows == 0


def test_a_key_of_a_header_that_is_not_utf8_is_the_text_of_java(decode: Callable[..., pa.RecordBatch]) -> None:
    keys = [b"abc", b"a\xed\xa0\x80", b"\xff" * 3, b""]
    batches = list(
        read_batches(
            write_batch([Record(offset=0, headers=[(header_key(key), b"v") for key in keys]), Record(offset=1)])
        )
    )
    rows = decode(batches)
    assert [header["key"] for header in rows.column("headers")[0].as_py()] == ["abc", "a\ufffd", "\ufffd" * 3, ""]
    assert rows.schema.equals(columns.RECORD_SCHEMA)
    with_keys = decode(batches, header_keys=True)
    with_keys.validate(full=True)
    assert with_keys.column("header_keys").to_pylist() == [keys, []]
    assert with_keys.drop_columns(["header_keys"]).equals(rows)
    assert decode([], header_keys=True).schema.equals(with_keys.schema)


@pytest.mark.parametrize(("base_offset", "base_timestamp"), [(2**63 - 1, 0), (0, 2**63 - 1)])
def test_numbers_of_more_than_64_bits_are_named(
    decode: Callable[..., pa.RecordBatch], base_offset: int, base_timestamp: int
) -> None:
    section = write_section([Record(offset=1, timestamp=1)], 0, 0)
    batch = batch_of(section, 1, base_offset=base_offset, base_timestamp=base_timestamp)
    with pytest.raises(
        columns.ColumnError, match="batch at byte 0: a record has an offset or a timestamp of more than"
    ):
        decode([batch])
    if base_timestamp:  # no matter in a batch whose records all have the broker's time
        appended = batch_of(section, 1, base_timestamp=base_timestamp, max_timestamp=9, timestamp_type=True)
        assert decode([appended]).column("timestamp").to_pylist() == [9]


def test_a_count_that_cannot_be_true_costs_no_memory(decode: Callable[..., pa.RecordBatch]) -> None:
    with pytest.raises(DecodeError, match="the batch declares 2147483647 records, but has 1"):
        decode([batch_of(write_section([Record(offset=0)], 0, -1), 2**31 - 1)])


def test_rows_and_size_go_across_formats() -> None:
    one = Record(offset=3, key=b"key", value=b"value")
    some = columns.RecordColumns()
    for data in (write_batch([one]), write_message_set([one], magic=1), write_batch([one]), write_batch([one])):
        for batch in read_batches(data):
            some.add(batch)
    assert (some.rows, some.size) == (4, 32)
    assert some.take().column("batch").to_pylist() == [0, 1, 2, 3]


@pytest.mark.skipif(not native.in_use, reason=f"the kernel is not in use: {native.reason}")
def test_room_for_what_is_expected_does_not_grow_with_what_came_before() -> None:
    from kipwire.columns.kernel_engine import KernelRecords

    filled = KernelRecords()
    small, large = ([Record(offset=0, value=b"x" * size)] for size in (1, 2**22))
    for records in (large, small, large, [*large, Record(offset=1)]):
        filled.add(0, batch_of(write_section(records, 0, -1), len(records)))
        table = filled.take(columns.RECORD_SCHEMA)
        assert table.column("value").to_pylist() == [record.value for record in records]
        assert table.get_total_buffer_size() < 1.5 * table.nbytes + 2000


@pytest.mark.skipif(not native.in_use, reason=f"the kernel is not in use: {native.reason}")
def test_threads_that_share_columns_cannot_spoil_them() -> None:
    from kipwire._kernel import RecordTable

    count = 50_000
    section = write_section([Record(offset=at, value=b"value") for at in range(count)], 0, -1)
    table = RecordTable()
    added: list[bool] = []

    def work() -> None:
        for _ in range(10):
            with suppress(RuntimeError):  # another thread is adding records
                added.append(table.add(0, section, count, 0, 0, None))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(added)
    assert table.count == count * len(added)
    assert [parts[0] for parts in table.take()] == [count * len(added)] * len(columns.RECORD_SCHEMA)


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_sets_of_the_kip_98_draft_have_their_records_in_columns(codec: Any) -> None:
    records = [Record(offset=1, timestamp=2, key=b"k", value=b"v"), Record(offset=4, timestamp=3)]
    data = write_set(records, compression=codec)
    batches = [*read_batches(data, magic_2="kip-98 draft"), *read_batches(write_batch(records))]
    assert columns.decode_records(batches).to_pylist() == [*rows_of(0, records), *rows_of(1, records)]
