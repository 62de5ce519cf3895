"""Batches are passed over by their heads if, and only if, nothing in them is wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kipwire import DecodeError
from kipwire.records import Bounds, Record, read_batches, read_segment, write_batch, write_message_set
from kipwire.records.bounds import HEAD_BYTES
from tests.support.places import DATA

TIME = 1_700_000_000_000
RECORDS = [Record(offset=10 + i, timestamp=TIME + 10 * i, value=b"v%d" % i) for i in range(5)]
BATCHES = {
    "magic 2": write_batch(RECORDS),
    "magic 2, appended": write_batch(RECORDS, timestamp_type="LogAppendTime", max_timestamp=TIME + 25),
    "magic 2, delete horizon": write_batch(RECORDS, delete_horizon=TIME + 10**6),
    "magic 1": write_message_set(RECORDS, magic=1),
    "magic 1, gzip": write_message_set(RECORDS, magic=1, compression="gzip"),
    "magic 0": write_message_set([Record(offset=10 + i, value=b"v") for i in range(5)], magic=0),
    "magic 0, gzip": write_message_set([Record(offset=10 + i) for i in range(5)], magic=0, compression="gzip"),
}
OFFSETS = (None, 0, 9, 10, 11, 14, 15, 99)
TIMES = (None, 0, TIME - 1, TIME, TIME + 1, TIME + 25, TIME + 40, TIME + 41)


@pytest.mark.parametrize("name", BATCHES)
def test_no_batch_with_wanted_records_is_passed_over(name: str) -> None:
    data = BATCHES[name]
    for first, end in ((first, end) for first in OFFSETS for end in OFFSETS):
        _check(data, Bounds(first_offset=first, end_offset=end))
    for first, end in ((first, end) for first in TIMES for end in TIMES):
        _check(data, Bounds(first_timestamp=first, end_timestamp=end))


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_record_that_is_older_than_the_first_of_its_batch_is_not_passed_over(compression: Any) -> None:
    times = [100, 50, 100]
    data = write_batch(
        [Record(offset=offset, timestamp=time) for offset, time in enumerate(times)], compression=compression
    )
    for end in range(40, 110, 10):
        bounds = Bounds(end_timestamp=end)
        assert bounds.may_have(data[:HEAD_BYTES])
        _check(data, bounds)


def test_records_without_a_timestamp_are_not_wanted_where_a_time_is_given() -> None:
    record = Record(offset=0, timestamp=-1)
    assert Bounds(first_offset=0, end_offset=1).has(record)
    for bounds in (Bounds(end_timestamp=5), Bounds(first_timestamp=-5), Bounds(None, None, -5, 5)):
        assert not bounds.has(record)


def _check(data: bytes, bounds: Bounds) -> None:
    for batch in read_batches(data):
        head = data[batch.position : batch.position + min(HEAD_BYTES, batch.size)]
        if any(bounds.has(record) for record in batch.records):
            assert bounds.may_have(head), bounds


@pytest.mark.parametrize("name", BATCHES)
def test_batches_out_of_bounds_are_passed_over(name: str) -> None:
    data = BATCHES[name]
    assert not Bounds(first_offset=15).may_have(_last(data))
    assert not Bounds(first_timestamp=TIME + 41).may_have(_last(data))
    has_first = "gzip" not in name  # the start of such an entry follows from its content alone
    assert Bounds(end_offset=10).may_have(data[:HEAD_BYTES]) is not has_first
    # Elsewhere the lowest time follows from the content alone: a producer's times may be in any order.
    has_time = name in ("magic 1", "magic 2, appended")
    assert Bounds(end_timestamp=TIME).may_have(data[:HEAD_BYTES]) is not has_time


def _last(data: bytes) -> bytes:
    batch = list(read_batches(data))[-1]
    return data[batch.position :][:HEAD_BYTES]


def test_a_segment_is_read_within_bounds(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    batches = [write_batch([Record(offset=i, timestamp=TIME + i)]) for i in range(10)]
    broken = bytearray(batches[0])
    broken[-1] ^= 1
    path.write_bytes(bytes(broken) + b"".join(batches[1:]))
    with pytest.raises(DecodeError, match="crc"):
        list(read_segment(path))
    for bounds in (Bounds(first_offset=3, end_offset=6), Bounds(first_timestamp=TIME + 3, end_timestamp=TIME + 6)):
        found = [record for batch in read_segment(path, bounds=bounds) for record in batch.records]
        assert [record.offset for record in filter(bounds.has, found)] == [3, 4, 5]
        assert found[0].offset == 3
    path.write_bytes(path.read_bytes()[:-1])  # the batch that is cut short is neither read nor passed over
    assert [batch.base_offset for batch in read_segment(path, bounds=Bounds(first_offset=8))] == [8]


def test_a_wrong_length_is_an_error_even_out_of_bounds(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(BATCHES["magic 2"] + b"\0" * 8 + b"\0\0\0\1" + b"\1" * 80)
    with pytest.raises(DecodeError, match=r"batches\[1\].*a batch cannot have 1 bytes"):
        list(read_segment(path, bounds=Bounds(first_offset=1000)))


def test_bounds_of_a_real_log_leave_out_nothing() -> None:
    for file in sorted((DATA / "segments").glob("*/*.log")):
        whole = [record for batch in read_segment(file) for record in batch.records]
        for bounds in (Bounds(5, 20), Bounds(None, None, whole[-1].timestamp - 50, whole[-1].timestamp)):
            found = [record for batch in read_segment(file, bounds=bounds) for record in batch.records]
            assert list(filter(bounds.has, found)) == list(filter(bounds.has, whole)), file
