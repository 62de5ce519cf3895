"""Whatever is written is read, and damage gives an error or equal records: never another exception, never a wait."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipwire import DecodeError
from kipwire.records import Record, RecordBatch, read_batches, write_batch, write_message_set
from kipwire.records.model import header_key
from tests.support.cost import cost_of
from tests.support.golden_data import lines

INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
TIMESTAMPS = st.integers(-1, 2**62)
BYTES = st.none() | st.binary(max_size=40)
HEADER_KEYS = st.text(max_size=10) | st.binary(max_size=10).map(header_key)
HEADERS = st.lists(st.tuples(HEADER_KEYS, BYTES), max_size=3)
CODECS = st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"])


@st.composite
def records(draw: st.DrawFn, *, headers: bool = True, timestamps: bool = True, at_least: int = 0) -> list[Record]:
    """Return records in the order of their offsets."""
    offset = draw(st.integers(0, 2**40))
    made = []
    for step in draw(st.lists(st.integers(1, 1000), min_size=at_least, max_size=8)):
        record = Record(
            offset=offset,
            timestamp=draw(TIMESTAMPS) if timestamps else -1,
            key=draw(BYTES),
            value=draw(BYTES),
            headers=draw(HEADERS) if headers else (),
        )
        made.append(record)
        offset += step
    return made


@st.composite
def producer_states(draw: st.DrawFn) -> dict[str, Any]:
    """Everything that Kafka's builder accepts of a producer."""
    has_id, is_control = draw(st.booleans()), draw(st.booleans())
    return {
        "producer_id": draw(INT64.filter(lambda producer_id: producer_id != -1)) if has_id else -1,
        "producer_epoch": draw(INT16.filter(lambda epoch: epoch != -1)) if has_id else draw(INT16),
        "base_sequence": draw(st.integers(0, 2**31 - 1)) if has_id and not is_control else draw(INT32),
        "is_transactional": has_id and draw(st.booleans()),
        "is_control": is_control,
    }


@given(records=records(at_least=1), codec=CODECS, back=st.integers(0, 1000), more=st.integers(0, 1000), data=st.data())
def test_batches_are_read_as_they_were_written(
    records: list[Record], codec: Any, back: int, more: int, data: st.DataObject
) -> None:
    fields: dict[str, Any] = {
        **data.draw(producer_states()),
        "partition_leader_epoch": data.draw(INT32),
        "base_offset": records[0].offset - back,
    }
    end = records[-1].offset - fields["base_offset"] + more
    batch = next(read_batches(write_batch(records, compression=codec, last_offset_delta=end, **fields)))
    assert {name: getattr(batch, name) for name in fields} == fields
    assert (batch.compression, batch.last_offset_delta, batch.records_count) == (codec, end, len(records))
    assert batch.base_timestamp == records[0].timestamp
    assert batch.max_timestamp == max(record.timestamp for record in records)
    assert batch.records == records


@given(records=records(at_least=1), codec=CODECS, base=st.none() | st.integers(0, 2**40), has_gap=st.booleans())
def test_records_to_produce_get_their_positions_as_offsets(
    records: list[Record], codec: Any, base: int | None, has_gap: bool
) -> None:
    placed = [
        Record(offset=offset, timestamp=one.timestamp, key=one.key, value=one.value, headers=one.headers)
        for offset, one in enumerate(records, base or 0)
    ]
    unplaced = [Record(timestamp=one.timestamp, key=one.key, value=one.value, headers=one.headers) for one in records]
    more: dict[str, Any] = {"base_offset": base, "last_offset_delta": len(records) + 3 if has_gap else None}
    for _ in range(2):  # writing them changes nothing
        assert write_batch(unplaced, compression=codec, **more) == write_batch(placed, compression=codec, **more)


@given(records=records(headers=False, at_least=1), codec=CODECS.filter(lambda codec: codec != "zstd"))
def test_records_to_produce_get_their_positions_in_message_sets(records: list[Record], codec: Any) -> None:
    for offset, one in enumerate(records):
        one.offset = offset
    placed = write_message_set(records, magic=1, compression=codec)
    for one in records:
        one.offset = -1
    assert write_message_set(records, magic=1, compression=codec) == placed


def test_records_to_produce_have_the_time_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_123_999_999)
    (batch,) = read_batches(write_batch([Record(value=b"a"), Record(value=b"b", timestamp=5), Record(value=b"c")]))
    assert [(one.offset, one.timestamp) for one in batch.records] == [
        (0, 1_700_000_000_123),
        (1, 5),
        (2, 1_700_000_000_123),
    ]
    assert Record(offset=0).timestamp == -1  # such as a record that is made to be compared with one that was read


@given(records=records(at_least=1), codec=CODECS, time=TIMESTAMPS, horizon=TIMESTAMPS)
def test_broker_times_hold_for_all_records(records: list[Record], codec: Any, time: int, horizon: int) -> None:
    written = write_batch(
        records, compression=codec, timestamp_type="LogAppendTime", max_timestamp=time, delete_horizon=horizon
    )
    batch = next(read_batches(written))
    assert (batch.timestamp_type, batch.max_timestamp, batch.delete_horizon) == ("LogAppendTime", time, horizon)
    assert {record.timestamp for record in batch.records} == {time}
    assert [record.value for record in batch.records] == [record.value for record in records]


@given(records=records(headers=False, at_least=1), codec=CODECS.filter(lambda codec: codec != "zstd"))
def test_message_sets_of_magic_1_are_read_as_they_were_written(records: list[Record], codec: Any) -> None:
    batches = list(read_batches(write_message_set(records, magic=1, compression=codec)))
    assert [record for batch in batches for record in batch.records] == records
    assert len(batches) == (len(records) if codec == "none" else 1)
    assert (batches[0].base_offset, batches[-1].last_offset) == (records[0].offset, records[-1].offset)


@given(records=records(headers=False, timestamps=False, at_least=1), codec=CODECS.filter(lambda codec: codec != "zstd"))
def test_message_sets_of_magic_0_are_read_as_they_were_written(records: list[Record], codec: Any) -> None:
    batches = list(read_batches(write_message_set(records, magic=0, compression=codec)))
    assert [record for batch in batches for record in batch.records] == records
    assert {batch.timestamp_type for batch in batches} == {"NoTimestampType"}


@given(data=st.binary(max_size=200))
def test_random_bytes_give_an_error_or_end(data: bytes) -> None:
    for check_crcs in (True, False):
        try:
            for batch in read_batches(data, check_crcs=check_crcs):
                assert batch.records is not None
        except DecodeError as error:
            assert 0 <= error.offset <= len(data)


SMALL = [line for line in lines("record-batches") if len(line["hex"]) < 1500]


def facts(batch: RecordBatch) -> dict[str, Any]:
    return {
        name: getattr(batch, name)
        for name in (*RecordBatch.__slots__, "records", "base_offset")
        if not name.startswith("_")
    }


@pytest.mark.parametrize("number", range(len(SMALL)), ids=lambda number: f"{number} {SMALL[number]['label'][:30]}")
def test_flipped_bytes_give_an_error_or_the_same_records(number: int) -> None:
    """Checksums are checked; fields that none covers (offset, size, leader epoch of the header) may differ."""
    data = bytes.fromhex(SMALL[number]["hex"])
    good = [facts(batch) for batch in read_batches(data)]
    chance = random.Random(number)
    covered = 21 if SMALL[number]["magic"] == 2 else 16
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= chance.randint(1, 255)
        try:
            found = [facts(batch) for batch in read_batches(damaged)]
        except DecodeError as error:
            assert error.path.startswith("batches[")
            assert 0 <= error.offset <= len(data)
            continue
        if len(found) == len(good) and at >= good[-1]["position"] + covered:
            assert found == good
        assert len(found) <= len(good)


@pytest.mark.parametrize("number", range(len(SMALL)), ids=lambda number: f"{number} {SMALL[number]['label'][:30]}")
def test_damage_that_no_checksum_finds_gives_an_error_or_records(number: int) -> None:
    data = bytes.fromhex(SMALL[number]["hex"])
    chance = random.Random(number)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(data))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        try:
            for batch in read_batches(damaged, check_crcs=False, max_decompressed_size=1 << 20):
                assert all(type(record.offset) is int for record in batch.records)
        except DecodeError as error:
            assert error.path.startswith("batches[")
            assert 0 <= error.offset <= len(data)


@settings(max_examples=30)
@given(count=st.integers(0, 2**31 - 1))
def test_lying_counts_take_no_time_and_no_memory(count: int) -> None:
    batch = bytearray(write_batch([Record(offset=0)]))
    batch[57:61] = count.to_bytes(4, "big")
    if count == 1:
        assert len(next(read_batches(batch, check_crcs=False)).records) == 1
        return

    def refuse() -> None:
        with pytest.raises(DecodeError, match="records_count"):
            assert next(read_batches(batch, check_crcs=False)).records

    cost = cost_of(refuse)
    assert cost.steps < 10_000
    assert cost.memory < 100_000
