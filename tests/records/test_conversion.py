"""Records in other message formats: hand-derived bytes, everything that is lost, and what cannot be converted."""

from __future__ import annotations

import gzip
import mmap
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_records.message_and_offset import v0, v1
from kafka_records.record_batch.v2 import RecordBatch as RecordBatchV2
from kipwire import Message
from kipwire.records import Loss, Record, down_convert, read_batches, up_convert, write_batch, write_message_set
from kipwire.records.heads import KNOWN_ATTRIBUTES
from tests.support.converted_records import with_crcs
from tests.support.hex_tables import octets
from tests.support.places import DATA
from tests.support.subjects.batch_bytes import with_bytes
from tests.support.subjects.converted_examples import ENTRIES, FIRST_SIZE, MAGIC_2, RECORDS, lowered, records_of

# Bytes


def test_the_batch_is_that_of_the_text() -> None:
    assert write_batch(RECORDS).hex(" ") == MAGIC_2.hex(" ")


@pytest.mark.parametrize("magic", [1, 0])
def test_plain_batches_become_an_entry_for_each_record(magic: Any) -> None:
    assert down_convert(MAGIC_2, magic).data.hex(" ") == with_crcs(ENTRIES[magic]).hex(" ")


@pytest.mark.parametrize("magic", [1, 0])
def test_compressed_batches_become_one_entry_with_offsets_of_the_format(magic: Any) -> None:
    """Inside of magic 1 they count from the first record, inside of magic 0 from the start of the log."""
    data = down_convert(write_batch(RECORDS, compression="gzip"), magic).data
    inner = bytearray(ENTRIES[magic])
    if magic == 1:
        inner[0:8] = (0).to_bytes(8, "big")
        inner[FIRST_SIZE[1] : FIRST_SIZE[1] + 8] = (2).to_bytes(8, "big")
    value_at = 34 if magic else 26
    assert gzip.decompress(data[value_at:]).hex(" ") == with_crcs(bytes(inner)).hex(" ")
    assert data[:8] == (7).to_bytes(8, "big")  # the last one's
    assert data[17] == 1  # gzip
    assert (
        data[18:value_at] == octets(("0000000000000100" if magic else "") + "ffffffff") + data[value_at - 4 : value_at]
    )


def test_message_sets_become_one_batch() -> None:
    without_headers = write_batch(lowered(1))
    assert up_convert(with_crcs(ENTRIES[1]), 2).data.hex(" ") == without_headers.hex(" ")
    assert up_convert(with_crcs(ENTRIES[0]), 2).data.hex(" ") == write_batch(lowered(0)).hex(" ")


def test_messages_without_timestamps_get_none() -> None:
    expected = bytearray(ENTRIES[1])
    for start in (18, FIRST_SIZE[1] + 18):
        expected[start : start + 8] = b"\xff" * 8
    assert up_convert(with_crcs(ENTRIES[0]), 1).data.hex(" ") == with_crcs(bytes(expected)).hex(" ")


def test_what_is_old_or_new_enough_stays_as_it_is() -> None:
    old, middle = with_crcs(ENTRIES[0]), write_message_set(RECORDS[1:], magic=1, compression="gzip")
    new = write_batch(RECORDS, compression="zstd", partition_leader_epoch=3)
    assert down_convert(old + middle, 1) == (old + middle, [])
    assert down_convert(old, 0) == (old, [])
    assert up_convert(middle + new, 1) == (middle + new, [])
    assert up_convert(new, 2) == (new, [])
    assert up_convert(old + new, 2).data == write_batch(lowered(0)) + new


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_any_buffer_is_converted(wrap: Callable[[bytes], Any]) -> None:
    assert records_of(down_convert(wrap(MAGIC_2), 1).data) == lowered(1)
    assert records_of(up_convert(wrap(with_crcs(ENTRIES[1])), 2).data) == lowered(1)


def test_mapped_files_are_converted_and_can_be_closed(tmp_path: Path) -> None:
    file = tmp_path / "orders.log"
    file.write_bytes(with_crcs(ENTRIES[1]) + MAGIC_2)
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        found = down_convert(mapped, 1)
    assert found.data == with_crcs(ENTRIES[1]) * 2


def test_a_batch_that_is_cut_short_ends_the_conversion() -> None:
    assert down_convert(MAGIC_2 + MAGIC_2[:-1], 1).data == with_crcs(ENTRIES[1])
    assert down_convert(MAGIC_2[:-1], 1) == up_convert(b"", 2) == (b"", [])


def test_records_before_those_that_are_asked_for_are_left_out_of_plain_batches_only() -> None:
    plain, packed = write_batch(RECORDS), write_batch(RECORDS, compression="lz4")
    found = down_convert(plain + packed, 1, first_offset=7)
    assert records_of(found.data) == lowered(1)[1:] + lowered(1)
    assert found.lost == [Loss("headers", 1, 5, 7, 1)]
    assert down_convert(write_batch(RECORDS, partition_leader_epoch=3), 0, first_offset=8) == (b"", [])


# Losses


LOSSES: dict[str, tuple[bytes, dict[int, list[tuple[str, int]]]]] = {
    "headers and timestamps": (MAGIC_2, {1: [("headers", 1)], 0: [("headers", 1), ("timestamps", 2)]}),
    "no timestamp is not lost": (write_batch([Record(offset=5)]), {1: [], 0: []}),
    "markers": (
        write_batch(RECORDS[:1], producer_id=1, producer_epoch=0, is_transactional=True, is_control=True),
        {1: [("control records", 1)], 0: [("control records", 1)]},
    ),
    "markers under zstd": (
        write_batch(RECORDS, is_control=True, compression="zstd"),
        {1: [("control records", 2)], 0: [("control records", 2)]},
    ),
    "compaction left nothing": (
        write_batch([], base_offset=5, last_offset_delta=9, producer_id=1, producer_epoch=0, base_sequence=0),
        {1: [("empty batch", 1)], 0: [("empty batch", 1)]},
    ),
    "compaction took the ends": (
        write_batch(RECORDS[1:], base_offset=3, last_offset_delta=10),
        {1: [("offset range", 10)], 0: [("offset range", 10), ("timestamps", 1)]},
    ),
    "compaction took the latest": (
        write_batch(RECORDS[1:], max_timestamp=999), {1: [("max timestamp", 1)], 0: [("timestamps", 1)]},
    ),
    "a transaction": (
        write_batch(RECORDS[1:], producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True),
        {
            1: [("transaction", 1), ("producer state", 1)],
            0: [("transaction", 1), ("producer state", 1), ("timestamps", 1)],
        },
    ),
    "an idempotent producer": (
        write_batch(RECORDS[1:], producer_id=7, producer_epoch=0, base_sequence=0),
        {1: [("producer state", 1)], 0: [("producer state", 1), ("timestamps", 1)]},
    ),
    "the leader": (
        write_batch(RECORDS[1:], partition_leader_epoch=0),
        {1: [("leader epoch", 1)], 0: [("leader epoch", 1), ("timestamps", 1)]},
    ),
    "the delete horizon": (
        write_batch(RECORDS[1:], delete_horizon=0),
        {1: [("delete horizon", 1)], 0: [("delete horizon", 1), ("timestamps", 1)]},
    ),
    "append time": (
        write_batch(RECORDS[1:], timestamp_type="LogAppendTime", max_timestamp=9, compression="gzip"),
        {1: [], 0: [("timestamps", 1), ("timestamp type", 1)]},
    ),
    "bits without a meaning": (
        RecordBatchV2(
            base_timestamp=9, max_timestamp=9, unused_bits=1, records_count=1, records=bytes.fromhex("0c000000010100")
        ).encode(),
        {1: [("unknown attributes", 1)], 0: [("timestamps", 1), ("unknown attributes", 1)]},
    ),
    "bits without a meaning in magic 1": (
        v1.MessageAndOffset(offset=5, unused_bits=8).encode(), {1: [], 0: [("unknown attributes", 1)]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("magic", [1, 0])
def test_losses_are_named_with_their_batch_and_count(name: str, magic: Any) -> None:
    data, expected = LOSSES[name]
    (batch,) = read_batches(data)
    losses = [Loss(what, 1, batch.base_offset, batch.last_offset, count) for what, count in expected[magic]]  # type: ignore[arg-type]
    found = down_convert(with_crcs(ENTRIES[0])[: FIRST_SIZE[0]] + data, magic)
    assert found.lost == losses
    dropped = any(what in {"control records", "empty batch"} for what, _ in expected[magic])
    assert records_of(found.data)[1:] == ([] if dropped else lowered(magic, batch.records))


@pytest.mark.parametrize("magic", [1, 2])
def test_up_conversion_names_bits_without_a_meaning(magic: Any) -> None:
    data = v0.MessageAndOffset(offset=5).encode() + v0.MessageAndOffset(offset=6, unused_bits=8).encode()
    assert up_convert(data, magic).lost == [Loss("unknown attributes", 1, 6, 6, 1)]


def test_up_conversion_names_a_wrong_timestamp_of_a_compressed_entry() -> None:
    data = write_message_set(lowered(1), magic=1, compression="gzip", max_timestamp=999)
    found = up_convert(data, 2)
    assert found.lost == [Loss("max timestamp", 0, 5, 7, 1)]
    assert [batch.max_timestamp for batch in read_batches(found.data)] == [256]


@pytest.mark.parametrize("layout", [v0.MessageAndOffset, v1.MessageAndOffset, RecordBatchV2])
def test_known_attributes_are_those_of_the_specs(layout: type[Message]) -> None:
    bits = {field.name: ((1 << (field.bits or 1)) - 1) << field.bit for field in layout.FIELDS if field.bit is not None}
    without_meaning = {"unused_bits"} | ({"timestamp_type"} if layout.VERSION == 0 else set())
    assert KNOWN_ATTRIBUTES[layout.VERSION] == sum(mask for name, mask in bits.items() if name not in without_meaning)


def test_a_compacted_log_of_a_broker_is_reported_on() -> None:
    """The log has transactions and headers, and is compacted by the rules of Kafka's log cleaner."""
    data = (DATA / "segments" / "orders-2" / "00000000000000000000.log").read_bytes()
    log = compacted(data)
    totals: dict[int, Counter[str]] = {1: Counter(), 0: Counter()}
    for magic in (1, 0):
        found = down_convert(log, magic)
        for loss in found.lost:
            totals[magic][loss.what] += loss.count
        kept = [record for batch in read_batches(log) if not batch.is_control for record in batch.records]
        assert records_of(found.data) == lowered(magic, kept)
        back = up_convert(found.data, 2)
        assert (records_of(back.data), back.lost) == (lowered(magic, kept), [])
    batches = list(read_batches(log))
    shown = [batch for batch in batches if not batch.is_control and batch.records]
    expected = {
        "control records": sum(len(batch.records) for batch in batches if batch.is_control),
        "empty batch": sum(not batch.records for batch in batches),
        "headers": sum(len(record.headers) for batch in shown for record in batch.records),
        "offset range": sum(
            (batch.last_offset - batch.base_offset) - (batch.records[-1].offset - batch.records[0].offset)
            for batch in shown
        ),
        "transaction": sum(len(batch.records) for batch in shown if batch.is_transactional),
        "producer state": sum(batch.producer_id != -1 for batch in shown),
        "leader epoch": len(shown),
    }
    assert totals[1] == expected
    assert all(expected.values()), expected
    assert totals[0] == expected | {"timestamps": sum(len(batch.records) for batch in shown)}


def compacted(data: bytes) -> bytes:
    """Compact a log as Kafka's cleaner does, in plain form: up to the first transaction, keep each key's last record.

    Records without a key go, batches stay. What follows is as in an active segment, which the cleaner leaves alone.
    """
    batches = list(read_batches(data))
    first = next(batch.base_offset for batch in batches if batch.is_transactional)
    last = {record.key: record.offset for batch in batches for record in batch.records if record.offset < first}
    return b"".join(
        write_batch(
            [one for one in batch.records if one.offset >= first or (one.key and last[one.key] == one.offset)],
            base_offset=batch.base_offset,
            last_offset_delta=batch.last_offset_delta,
            partition_leader_epoch=batch.partition_leader_epoch,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            is_transactional=batch.is_transactional,
            is_control=batch.is_control,
        )
        for batch in batches
    )


# Entries that become one batch


def message(offset: int, magic: int = 1, **values: Any) -> bytes:
    return write_message_set([Record(offset=offset, **values)], magic=magic)  # type: ignore[arg-type]


def appended(offset: int, time: int) -> bytes:
    return write_message_set([Record(offset=offset, timestamp=time)], magic=1, timestamp_type="LogAppendTime")


RUNS: dict[str, tuple[list[bytes], list[list[int]]]] = {
    "plain messages": ([message(1), message(2), message(9)], [[1, 2, 9]]),
    "a magic ends it": ([message(1, 0), message(2, 0), message(3)], [[1, 2], [3]]),
    "a compressed entry ends it": (
        [message(1), write_message_set([Record(offset=2), Record(offset=3)], magic=1, compression="gzip"), message(4)],
        [[1], [2, 3], [4]],
    ),
    "append times differ": ([appended(1, 7), appended(2, 7), appended(3, 8), message(4)], [[1, 2], [3], [4]]),
    "offsets descend": ([message(5), message(6), message(6), message(2)], [[5, 6], [6], [2]]),
    "a batch spans 2^31 offsets": ([message(1), message(2**31), message(2**31 + 1)], [[1, 2**31], [2**31 + 1]]),
    "a batch is of 1 MiB": (
        [message(at, value=bytes(300_000)) for at in range(5)],
        [[0, 1, 2], [3, 4]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_plain_messages_in_a_row_become_one_batch(name: str) -> None:
    messages, expected = RUNS[name]
    found = list(read_batches(up_convert(b"".join(messages), 2).data))
    assert [[record.offset for record in batch.records] for batch in found] == expected
    assert [record for batch in found for record in batch.records] == records_of(b"".join(messages))


# Refusals


def unordered() -> bytes:
    """Return an entry of magic 0 whose messages do not ascend."""
    inner = message(3, 0) + message(3, 0)
    return v0.MessageAndOffset(offset=3, compression_type=1, value=gzip.compress(inner)).encode()


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "down to 2": (lambda: down_convert(b"", 2), "cannot convert down to magic 2; give 0 or 1"),  # type: ignore[arg-type]
    "up to 0": (lambda: up_convert(b"", 0), "cannot convert up to magic 0; give 1 or 2"),  # type: ignore[arg-type]
    "another magic 2": (
        lambda: up_convert(b"", 2, magic_2="kip-98"),  # type: ignore[arg-type]
        "'kip-98' is not a format with magic 2; give one of kafka, kip-82, kip-98 draft",
    ),
    "zstd": (
        lambda: down_convert(MAGIC_2 + write_batch(RECORDS, compression="zstd"), 1),
        r"RecordBatch v1: batches\[1\].compression: magic 1 has no zstd; consumers of this batch need magic 2",
    ),
    "offsets do not ascend": (
        lambda: up_convert(message(1, 0) + unordered(), 2),
        r"RecordBatch v2: batches\[1\].records\[1\].offset: 3 is not above 3; offsets must ascend",
    ),
    "time before 1970": (
        lambda: down_convert(v1.MessageAndOffset(timestamp=-5).encode() + RecordBatchV2(
            base_timestamp=-5, records_count=1, records=bytes.fromhex("0c000000010100")).encode(), 1),
        r"RecordBatch v1: batches\[1\].records\[0\].timestamp: -5 is before 1970",
    ),
    "too many bytes": (
        lambda: down_convert(write_batch([Record(offset=0, value=bytes(999))], compression="gzip"), 1,
                             max_decompressed_size=998),
        r"batches\[0\].records at byte 61: .* more than 998 bytes \(max_decompressed_size\)",
    ),
    "too many records": (
        lambda: down_convert(write_batch([Record(offset=at) for at in range(9)]), 0, max_items=8),
        r"batches\[0\].records at byte 61: the batch has more than 8 records and headers \(max_items\)",
    ),
    "too many messages": (
        lambda: up_convert(
            write_message_set([Record(offset=at) for at in range(9)], magic=1, compression="gzip"), 2, max_items=8),
        r"batches\[0\].value at byte 34: the batch has more than 8 records and headers \(max_items\)",
    ),
    "damage": (lambda: down_convert(with_bytes(MAGIC_2, 70, b"x"), 1), r"batches\[0\].crc at byte 17"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_converted_is_refused_with_its_place(name: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises(ValueError, match=text):
        call()


def test_damage_is_converted_if_nobody_asks_for_checksums() -> None:
    damaged = with_bytes(MAGIC_2, MAGIC_2.index(b"\x02v") + 1, b"x")
    assert [record.value for record in records_of(down_convert(damaged, 1, check_crcs=False).data)] == [b"x", None]
    old = with_bytes(with_crcs(ENTRIES[1]), FIRST_SIZE[1] - 1, b"x")
    assert [record.value for record in records_of(up_convert(old, 2, check_crcs=False).data)] == [b"x", None]
