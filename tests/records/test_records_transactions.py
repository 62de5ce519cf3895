"""Control records, and what a consumer that reads committed records only is shown."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from kafka_messages.end_txn_marker.v0 import EndTxnMarker
from kipwire import DecodeError, UnsupportedVersionError
from kipwire.records import Record, RecordBatch, control_record, read_batches, read_committed, write_batch

COMMIT, ABORT = b"\0\0\0\1", b"\0\0\0\0"
MARKER = b"\0\0" + EndTxnMarker(coordinator_epoch=7).encode()


class Aborted(NamedTuple):
    producer_id: int
    first_offset: int


def data_batch(offset: int, producer: int = -1, *, transactional: bool = True) -> bytes:
    return write_batch(
        [Record(offset=offset)],
        producer_id=producer,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=transactional,
    )


def marker(offset: int, producer: int, key: bytes) -> bytes:
    record = Record(offset=offset, key=key, value=MARKER)
    return write_batch([record], producer_id=producer, producer_epoch=0, is_transactional=True, is_control=True)


def shown(*batches: bytes, aborted: list[Aborted]) -> list[int]:
    return [batch.base_offset for batch in read_committed(read_batches(b"".join(batches)), aborted)]


def test_aborted_transactions_and_markers_are_left_out() -> None:
    log = [
        data_batch(0, 1),
        data_batch(1, 2),
        data_batch(2, transactional=False),
        data_batch(3, 1),
        marker(4, 1, ABORT),
        data_batch(5, 1),
        marker(6, 2, COMMIT),
        marker(7, 1, COMMIT),
    ]
    assert shown(*log, aborted=[Aborted(1, 0)]) == [1, 2, 5]
    assert shown(*log, aborted=[]) == [0, 1, 2, 3, 5]


def test_transaction_that_began_before_the_fetch_is_left_out() -> None:
    assert shown(data_batch(10, 1), marker(11, 1, ABORT), data_batch(12, 1), aborted=[Aborted(1, 3)]) == [12]


def test_producer_that_aborts_twice_is_left_out_twice() -> None:
    log = [data_batch(0, 1), marker(1, 1, ABORT), data_batch(2, 1), marker(3, 1, COMMIT), data_batch(4, 1)]
    assert shown(*log, aborted=[Aborted(1, 4), Aborted(1, 0)]) == [2]


def test_what_the_producer_sends_outside_of_transactions_is_shown() -> None:
    log = [data_batch(0, 1), data_batch(1, 1, transactional=False), marker(2, 1, ABORT)]
    assert shown(*log, aborted=[Aborted(1, 0)]) == [1]


def test_batches_before_the_aborted_transaction_are_shown() -> None:
    assert shown(data_batch(0, 1), data_batch(1, 1), aborted=[Aborted(1, 1)]) == [0]


def test_control_batch_without_records_ends_nothing() -> None:
    emptied = write_batch([], base_offset=1, producer_id=1, producer_epoch=0, is_transactional=True, is_control=True)
    assert shown(data_batch(0, 1), emptied, data_batch(2, 1), aborted=[Aborted(1, 0)]) == []


def control_batch(key: bytes | None, value: bytes | None) -> RecordBatch:
    return next(read_batches(write_batch([Record(offset=0, key=key, value=value)], is_control=True)))


def test_transaction_marker_names_the_coordinators_epoch() -> None:
    record = control_record(control_batch(COMMIT, MARKER).records[0])
    assert record == ("COMMIT", 1, EndTxnMarker(coordinator_epoch=7))


@pytest.mark.parametrize("type_id", [-1, 7, 300])
def test_unknown_type_has_no_value(type_id: int) -> None:
    key = b"\0\0" + type_id.to_bytes(2, "big", signed=True)
    assert control_record(Record(offset=0, key=key, value=b"anything")) == ("UNKNOWN", type_id, None)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, MARKER, "ControlRecordTypeSchema v0: message at byte 0: may not be null"),
        (b"\0", MARKER, "ControlRecordTypeSchema v0: version at byte 0: need 2 bytes, but only 1 is left"),
        (b"\0\0\0", MARKER, "ControlRecordTypeSchema v0: type at byte 0: need 2 bytes, but only 1 is left"),
        (b"\0\0\0\1\0", MARKER, "1 trailing byte"),
        (COMMIT, None, "EndTxnMarker v0: message at byte 0: may not be null"),
        (COMMIT, MARKER[:-1], "EndTxnMarker v0: coordinator_epoch at byte 0: need 4 bytes, but only 3 are left"),
    ],
)
def test_broken_control_records_are_errors(key: bytes | None, value: bytes | None, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        control_record(Record(offset=0, key=key, value=value))
    assert reason in str(caught.value)


def test_later_version_of_a_value_is_named() -> None:
    with pytest.raises(UnsupportedVersionError, match="EndTxnMarker"):
        control_record(Record(offset=0, key=COMMIT, value=b"\0\x63" + MARKER[2:]))
