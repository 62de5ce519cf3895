"""The log of a partition: offsets, whole batches, idempotent producers, transactions."""

from __future__ import annotations

from typing import Literal

import pytest

from kafka_messages.enums import ErrorCode
from kipwire.records import RawHeaderKey, Record, read_batches, write_batch
from kipwire.records.control import end_marker_key
from kipwire.testing.broker.state import Refused
from kipwire.testing.broker.state.logs import Log
from tests.support.subjects.fake_broker_requests import batch

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def refused(log: Log, data: bytes) -> int:
    with pytest.raises(Refused) as caught:
        log.append(data)
    return caught.value.error


def sent(*values: bytes, sequence: int, epoch: int = 0, producer_id: int = 7, is_transactional: bool = False) -> bytes:
    """Return a batch of an idempotent producer."""
    return batch(
        *values,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )


def marker(type_: Literal["ABORT", "COMMIT"], epoch: int = 0) -> bytes:
    """Return the control batch that ends a transaction of the producer with the id 7."""
    record = Record(offset=0, key=end_marker_key(type_), value=bytes(6))
    return write_batch([record], is_control=True, is_transactional=True, producer_id=7, producer_epoch=epoch)


def test_batches_get_the_next_offsets_and_the_leaders_epoch() -> None:
    log = Log()
    assert [log.append(batch(*[b"v"] * count)) for count in (2, 3, 1)] == [0, 2, 5]
    found = list(read_batches(log.read(0, 10_000, log.end_offset)))
    assert [(one.base_offset, one.last_offset, one.partition_leader_epoch) for one in found] == [
        (0, 1, 0),
        (2, 4, 0),
        (5, 5, 0),
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_bytes_are_kept(codec: str) -> None:
    log = Log()
    data = batch(b"v" * 500, compression=codec)
    log.append(data)
    assert log.read(0, 10_000, 1)[16:] == data[16:]  # all after the offset, the size and the epoch
    assert [(record.offset, record.value) for record in log.records(is_committed=False)] == [(0, b"v" * 500)]


def test_keys_of_headers_that_are_not_utf8_are_taken_and_kept() -> None:
    log = Log()
    data = write_batch([Record(offset=0, headers=[(RawHeaderKey(b"caf\xe9"), b"v")]), Record(offset=1, timestamp=9)])
    log.append(data)
    assert log.read(0, 10_000, 2)[16:] == data[16:]
    assert [record.headers for record in log.records(is_committed=False)] == [[("caf\ufffd", b"v")], []]


def test_reading_begins_with_the_batch_that_has_the_offset_and_gives_whole_batches() -> None:
    log = Log()
    for count in (2, 3, 1):
        log.append(batch(*[b"v" * 100] * count))
    sizes = [len(one.data) for one in log.stored]

    def first_and_last(data: bytes) -> tuple[int, int]:
        found = list(read_batches(data))
        assert sum(one.size for one in found) == len(data)
        return found[0].base_offset, found[-1].last_offset

    assert first_and_last(log.read(3, 10_000, 6)) == (2, 5)
    assert first_and_last(log.read(0, sizes[0] + sizes[1] + sizes[2] - 1, 6)) == (0, 4)
    assert first_and_last(log.read(3, 1, 6)) == (2, 4)  # one batch at least, however large
    assert first_and_last(log.read(0, 10_000, 5)) == (0, 4)
    assert log.read(6, 10_000, 6) == b""


def test_what_is_not_one_whole_batch_is_refused() -> None:
    log = Log()
    good = batch(b"v")
    assert refused(log, good[:-1] + b"\7") == ErrorCode.CORRUPT_MESSAGE  # the checksum is wrong
    for wrong in (b"", good + good, good[:-1], batch(b"v", is_control=True), batch(b"v", last_offset_delta=3)):
        assert refused(log, wrong) == ErrorCode.INVALID_RECORD
    assert log.end_offset == 0


def test_a_batch_that_is_sent_again_is_not_appended_again() -> None:
    log = Log()
    first, second = sent(b"a", b"b", sequence=0), sent(b"c", sequence=2)
    assert [log.append(one) for one in (first, second, first, second)] == [0, 2, 0, 2]
    assert [record.value for record in log.records(is_committed=False)] == [b"a", b"b", b"c"]


def test_batches_of_a_producer_have_to_follow_each_other() -> None:
    log = Log()
    for number in range(7):
        log.append(sent(b"v", sequence=number))
    assert refused(log, sent(b"v", sequence=8)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(log, sent(b"v", sequence=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER  # too old to be remembered
    assert log.append(sent(b"v", sequence=2)) == 2  # the last five are
    assert log.append(sent(b"v", sequence=7)) == 7


def test_the_sequence_goes_on_at_0_after_its_highest_number() -> None:
    log = Log()
    log.append(sent(b"a", sequence=2**31 - 1))
    assert log.append(sent(b"b", sequence=0)) == 1


def test_a_newer_producer_fences_the_one_before_it() -> None:
    log = Log()
    log.append(sent(b"a", sequence=0, epoch=1))
    assert refused(log, sent(b"b", sequence=1, epoch=0)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(log, sent(b"b", sequence=1, epoch=2)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append(sent(b"b", sequence=0, epoch=2)) == 1


def test_a_marker_with_a_raised_epoch_fences_the_producer_before_it() -> None:
    log = Log()
    log.append(sent(b"a", sequence=0, is_transactional=True))
    log.append_marker(marker("ABORT", 1), 7, 1, is_commit=False)
    for is_transactional in (True, False):
        late = sent(b"late", sequence=1, is_transactional=is_transactional)
        assert refused(log, late) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(log, sent(b"b", sequence=1, epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.append(sent(b"b", sequence=0, epoch=1)) == 2


def test_a_refused_batch_changes_nothing() -> None:
    log = Log()
    log.append(sent(b"a", sequence=0, epoch=1))
    refused(log, sent(b"b", sequence=5, epoch=2))
    assert log.append(sent(b"b", sequence=1, epoch=1)) == 1


def test_offsets_are_found_by_timestamp() -> None:
    log = Log()
    for timestamp in (10, 40, 20):
        log.append(batch(b"v", timestamp=timestamp))
    found = [log.first_since(timestamp) for timestamp in (0, 11, 40, 41)]
    assert [one and one.offset for one in found] == [0, 1, 1, None]
    newest = log.newest()
    assert newest is not None and (newest.offset, newest.timestamp) == (1, 40)
    assert Log().newest() is None


def test_open_and_aborted_transactions_are_left_out_of_what_is_committed() -> None:
    log = Log()
    log.append(batch(b"plain"))
    log.append(sent(b"aborted", sequence=0, is_transactional=True))
    log.append(batch(b"between"))
    assert log.last_stable_offset == 1
    assert [record.value for record in log.records(is_committed=True)] == [b"plain"]
    log.append_marker(marker("ABORT"), 7, 0, is_commit=False)
    log.append(sent(b"committed", sequence=1, is_transactional=True))
    log.append_marker(marker("COMMIT"), 7, 0, is_commit=True)
    assert log.last_stable_offset == log.end_offset == 6
    assert [record.value for record in log.records(is_committed=True)] == [b"plain", b"between", b"committed"]
    assert [record.value for record in log.records(is_committed=False)] == [
        b"plain",
        b"aborted",
        b"between",
        b"committed",
    ]
    assert [tuple(one) for one in log.aborted_between(0, 6)] == [(7, 1, 3)]
    assert log.aborted_between(4, 6) == []


def test_deleted_records_are_gone_and_their_offsets_stay() -> None:
    log = Log()
    for values in ((b"a", b"b"), (b"c", b"d")):
        log.append(batch(*values, timestamp=log.end_offset))
    size = log.size
    log.delete_before(3)
    log.delete_before(1)  # it is deleted already
    assert (log.start_offset, log.end_offset, log.last_stable_offset) == (3, 4, 4)
    assert [record.value for record in log.records(is_committed=False)] == [b"d"]
    assert [one.base_offset for one in log.batches] == [2]
    first, newest = log.first_since(0), log.newest()
    assert first is not None and newest is not None and (first.offset, newest.offset) == (3, 3)
    for wrong in (-2, 5):
        with pytest.raises(Refused, match="OFFSET_OUT_OF_RANGE"):
            log.delete_before(wrong)
    log.append(sent(b"open", sequence=0, is_transactional=True))
    log.delete_before(-1)
    assert (log.start_offset, log.last_stable_offset, log.batches, log.newest()) == (5, 5, [], None)
    assert log.append(batch(b"e")) == 5 and log.size > size
