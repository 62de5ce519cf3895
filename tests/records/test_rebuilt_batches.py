"""A batch of any format is made again from its head and its records."""

from __future__ import annotations

from typing import Any

import pytest

from kipwire import EncodeError
from kipwire.drafts import kip_82, kip_98
from kipwire.records import Record, RecordBatch, read_batches, write_batch, write_message_set
from kipwire.records.reading import MagicTwo
from kipwire.records.rebuilding import BatchHead, rebuilt_batch

RECORDS = [Record(offset=number, timestamp=1000 + number, key=b"k", value=b"v" * 9) for number in (40, 42)]
ONE = [Record(offset=0, timestamp=-1, value=b"v")]
HEADERS = [kip_82.ProducerRecord(offset=7, timestamp=5, value=b"v", headers={1: b"one"})]
BATCHES: list[tuple[MagicTwo, bytes]] = [
    ("kafka", write_batch(RECORDS)),
    ("kafka", write_batch(RECORDS, compression="gzip", base_offset=30, last_offset_delta=20, base_timestamp=5)),
    ("kafka", write_batch(RECORDS, producer_id=5, producer_epoch=1, base_sequence=9, is_transactional=True)),
    ("kafka", write_message_set(ONE, magic=0)),
    ("kafka", write_message_set(ONE, magic=0, compression="lz4")),
    ("kafka", write_message_set(RECORDS, magic=1, compression="gzip")),
    ("kip-82", kip_82.write_records(HEADERS)),
    ("kip-82", kip_82.write_records(HEADERS, compression="gzip")),
    ("kip-98 draft", kip_98.write_set(RECORDS)),
    ("kip-98 draft", kip_98.write_set(RECORDS, compression="gzip", producer_id=5, producer_epoch=1, base_sequence=9)),
]


def head_of(batch: RecordBatch) -> BatchHead:
    return BatchHead(*(getattr(batch, name) for name in BatchHead._fields))


@pytest.mark.parametrize(("magic_2", "data"), BATCHES)
def test_a_batch_is_made_again_byte_for_byte(magic_2: MagicTwo, data: bytes) -> None:
    (batch,) = read_batches(data, magic_2=magic_2)
    assert rebuilt_batch(head_of(batch), batch.records, magic_2) == data


def test_a_span_of_offsets_that_has_no_room_is_an_error_with_its_place() -> None:
    (batch,) = read_batches(write_batch(RECORDS))
    for delta in (2**31 - 1, -(2**31)):
        rebuilt_batch(head_of(batch)._replace(last_offset=batch.base_offset + delta), batch.records)
    for delta in (2**31, -(2**31) - 1):
        with pytest.raises(EncodeError, match="too far from the base offset, 40") as caught:
            rebuilt_batch(head_of(batch)._replace(last_offset=batch.base_offset + delta), batch.records)
        assert caught.value.path == "last_offset"


def test_sequence_numbers_count_from_0_too() -> None:
    producer: dict[str, Any] = {"producer_id": 1, "producer_epoch": 0}
    (batch,) = read_batches(write_batch(RECORDS, base_sequence=0, **producer))
    assert [batch.sequence(record) for record in batch.records] == [0, 2] and batch.last_sequence == 2
    (batch,) = read_batches(write_batch(RECORDS, base_sequence=2**31 - 1, **producer))
    assert batch.last_sequence == 1
    (batch,) = read_batches(write_batch(RECORDS))
    assert batch.last_sequence == batch.sequence(RECORDS[1]) == -1
