"""Records are changed within their batches, of which all else stays."""

from __future__ import annotations

from typing import Any

import pytest

from kipwire.records import Record, change_records, read_batches, write_batch, write_message_set


def louder(record: Record) -> None:
    record.value = record.value and record.value.upper()


def batch(value: bytes = b"v", **options: Any) -> bytes:
    records = [Record(offset=number, timestamp=1000 + number, key=b"k", value=value) for number in (40, 42)]
    return write_batch(records, **options)


KEPT = (
    "magic compression base_offset last_offset base_timestamp max_timestamp timestamp_type partition_leader_epoch "
    "producer_id producer_epoch base_sequence is_transactional is_control delete_horizon records_count"
).split()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "zstd"},
        {"compression": "gzip", "base_offset": 30, "last_offset_delta": 20, "partition_leader_epoch": 3},
        {"producer_id": 5, "producer_epoch": 1, "base_sequence": 9, "is_transactional": True},
        {"timestamp_type": "LogAppendTime", "max_timestamp": 5000},
        {"delete_horizon": 900, "base_timestamp": 900},
    ],
)
def test_all_else_of_a_batch_stays(options: dict[str, Any]) -> None:
    data = batch(**options)
    (before,), (after,) = read_batches(data), read_batches(change_records(data, louder))
    assert [getattr(before, name) for name in KEPT] == [getattr(after, name) for name in KEPT]
    assert [(one.offset, one.timestamp, one.key) for one in before.records] == [
        (one.offset, one.timestamp, one.key) for one in after.records
    ]
    assert [one.value for one in after.records] == [b"V", b"V"]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_entries_of_message_sets_stay_such(magic: Any, compression: Any) -> None:
    records = [Record(offset=number, timestamp=1000 if magic else -1, value=b"v") for number in (40, 42)]
    data = write_message_set(records, magic=magic, compression=compression)
    after = [*read_batches(change_records(data, louder))]
    assert {one.magic for one in after} == {magic} and {one.compression for one in after} == {compression}
    found = [record for one in after for record in one.records]
    assert [(one.offset, one.timestamp, one.value) for one in found] == [
        (one.offset, one.timestamp, b"V") for one in records
    ]


def test_what_does_not_change_is_copied() -> None:
    control = write_batch(
        [Record(offset=7, key=b"\0\0\0\1", value=bytes(6))],
        producer_id=1, producer_epoch=0, is_transactional=True, is_control=True,
    )  # fmt: skip
    quiet, tail = batch(b"V", compression="gzip"), batch()[:50]
    seen: list[bytes | None] = []

    def change(record: Record) -> None:
        seen.append(record.value)
        louder(record)

    data = quiet + control + batch() + tail
    changed = change_records(data, change)
    assert changed == quiet + control + batch(b"V") + tail
    assert seen == [b"V", b"V", b"v", b"v"]
    assert change_records(b"", louder) == b""


def test_a_header_that_is_changed_in_its_list_counts() -> None:
    data = write_batch([Record(offset=0, headers=[("card", b"4111")])])
    (after,) = read_batches(change_records(data, lambda record: record.headers.clear()))
    assert after.records[0].headers == []
