"""Kafka's own record formats: fields and bytes are the same as Java's, and bits that Java ignores are kept."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import pytest

import kafka_records
from kafka_records.message_and_offset import v0, v1
from kafka_records.record_batch.v2 import RecordBatch
from kafka_records.records.v2 import Record, RecordHeader, Records
from kipwire import DecodeError, EncodeError
from kipwire.codec import checksums
from kipwire.drafts import proposals
from tests.support import golden_data
from tests.support.hex_tables import expect_fault, octets, with_crc
from tests.support.places import ROOT

FORMAT_0 = octets("""
    0000000000000005 00000010  # Offset 5, MessageSize 16
    1fecd70a 00 00             # Crc, Magic, Attributes
    00000001 6b                # Key "k"
    00000001 76                # Value "v"
""")
FORMAT_1 = octets("""
    0000000000000005 00000017  # Offset 5, MessageSize 23
    a6745f7e 01 0b             # Crc, Magic, Attributes: lz4, time of the broker
    0000000000000001           # Timestamp 1
    ffffffff                   # Key: null
    00000001 76                # Value "v"
""")
RECORDS = octets("""
    1c 00 00 00            # Length 14, Attributes, TimestampDelta 0, OffsetDelta 0
    02 6b 02 76            # Key "k", Value "v"
    04 02 61 01 00 02 78   # Headers: 2: "a" null, "" "x"
    0c 00 01 7e            # Length 6, Attributes, TimestampDelta -1, OffsetDelta 63
    01 01 00               # Key null, Value null, no headers
""")
BATCH = octets("""
    0000000000000009 00000047 00000003  # BaseOffset 9, BatchLength 71, PartitionLeaderEpoch 3
    02 a9edc1f2                         # Magic, Crc
    0078                                # Attributes: time of the broker, transactional, control, delete horizon
    0000003f                            # LastOffsetDelta 63
    0000000000000001 0000000000000001   # BaseTimestamp 1, MaxTimestamp 1
    0000000000000007 0002 00000005      # ProducerId 7, ProducerEpoch 2, BaseSequence 5
    00000002                            # RecordsCount 2
""") + RECORDS
HAND_MADE: dict[str, tuple[Any, bytes]] = {
    "format 0": (v0.MessageAndOffset(offset=5, key=b"k", value=b"v"), FORMAT_0),
    "format 1": (
        v1.MessageAndOffset(offset=5, compression_type=3, timestamp_type=True, timestamp=1, value=b"v"),
        FORMAT_1,
    ),
    "records": (
        Records(
            records=[
                Record(
                    key=b"k",
                    value=b"v",
                    headers=[RecordHeader(key=b"a", value=None), RecordHeader(key=b"", value=b"x")],
                ),
                Record(timestamp_delta=-1, offset_delta=63),
            ]
        ),
        RECORDS,
    ),
    "format 2": (
        RecordBatch(
            base_offset=9,
            partition_leader_epoch=3,
            timestamp_type=True,
            is_transactional=True,
            is_control=True,
            has_delete_horizon=True,
            last_offset_delta=63,
            base_timestamp=1,
            max_timestamp=1,
            producer_id=7,
            producer_epoch=2,
            base_sequence=5,
            records_count=2,
            records=RECORDS,
        ),
        BATCH,
    ),
}


@pytest.mark.parametrize("name", HAND_MADE)
def test_formats_have_the_bytes_of_their_description(name: str) -> None:
    message, data = HAND_MADE[name]
    assert message.encode().hex(" ") == data.hex(" ")
    assert message.encoded_size() == len(data)
    assert type(message).decode(data) == message
    assert type(message).from_json(message.to_json()) == message


@pytest.mark.parametrize("name", HAND_MADE)
def test_formats_cut_short_are_refused(name: str) -> None:
    message, data = HAND_MADE[name]
    between_records = {0, 15}
    for end in range(len(data)):
        if name == "records" and end in between_records:
            assert len(Records.decode(data[:end]).records) == bool(end)
        else:
            with pytest.raises(DecodeError):
                type(message).decode(data[:end])


@pytest.mark.parametrize(
    ("name", "not_covered"),
    [("format 0", range(8)), ("format 1", range(8)), ("format 2", (*range(8), *range(12, 16)))],
)
def test_every_changed_bit_but_those_that_the_broker_sets_is_noticed(name: str, not_covered: Sequence[int]) -> None:
    message, data = HAND_MADE[name]
    for at in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[at] ^= 1 << bit
            if at in not_covered:
                assert type(message).decode(bytes(damaged)) != message
            else:
                with pytest.raises(DecodeError):
                    type(message).decode(bytes(damaged))


def with_right_crc(data: bytes) -> bytes:
    """Return the same entry of a message set, or the same batch, with a checksum that is right."""
    if data[16] == 2:
        return data[:17] + checksums.crc32c(data[21:]).to_bytes(4, "big") + data[21:]
    return with_crc(data)


@pytest.mark.parametrize(
    ("cls", "data", "at", "unused"),
    [
        (v0.MessageAndOffset, FORMAT_0, 17, range(4, 8)),
        (v1.MessageAndOffset, FORMAT_1, 17, range(4, 8)),
        (RecordBatch, BATCH, 22, range(7, 8)),
        (RecordBatch, BATCH, 21, range(8)),
    ],
)
def test_bits_that_kafka_does_not_look_at_are_kept(cls: Any, data: bytes, at: int, unused: range) -> None:
    for bit in unused:
        changed = bytearray(data)
        changed[at] |= 1 << bit
        unknown = with_right_crc(bytes(changed))
        message = cls.decode(unknown)
        assert message.unused_bits
        assert message.encode() == unknown


WRONG_BYTES = {
    "another magic byte": (BATCH, 16, "03", "magic", 16),
    "a length below nothing": (BATCH, 8, "ffffffff", "batch_length", 8),
    "a record longer than its section": (RECORDS, 15, "7e", "records[1].length", 15),
    "a record shorter than what it holds": (RECORDS, 15, "0a", "records[1].headers", 21),
    "a record longer than what it holds": (RECORDS, 0, "1e", "records[0].length", 0),
    "a key of length -2": (RECORDS, 4, "03", "records[0].key", 4),
    "a null header key": (RECORDS, 9, "01", "records[0].headers[0].key", 9),
    "a null list of headers": (RECORDS, 8, "01", "records[0].headers", 8),
    "more headers than there can be": (RECORDS, 8, "7e", "records[0].headers[2]", 15),
    "a delta longer than needed": (RECORDS, 2, "8000", "records[0].timestamp_delta", 2),
}


@pytest.mark.parametrize("name", WRONG_BYTES)
def test_wrong_bytes_are_refused_with_their_place(name: str) -> None:
    data, at, patch, path, offset = WRONG_BYTES[name]
    cls = next(type(message) for message, golden in HAND_MADE.values() if golden == data)
    expect_fault(cls, data, at, patch, path, offset)


WRONG_VALUES: dict[str, tuple[Any, str]] = {
    "a compression that three bits cannot hold": (RecordBatch(compression_type=8), "compression_type"),
    "unused bits beyond the byte": (v1.MessageAndOffset(unused_bits=16), "unused_bits"),
    "an offset beyond 64 bits": (v1.MessageAndOffset(offset=2**63), "offset"),
    "records that are none": (RecordBatch(records=None), "records"),  # type: ignore[arg-type]
    "a null header key": (
        Records(records=[Record(headers=[RecordHeader(key=None)])]),  # type: ignore[arg-type]
        "records[0].headers[0].key",
    ),
}


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_wrong_values_are_refused_with_their_place(name: str) -> None:
    message, path = WRONG_VALUES[name]
    with pytest.raises(EncodeError) as caught:
        message.encode()
    assert caught.value.path == path, caught.value


COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")


def test_batches_of_java_have_its_fields_and_bytes() -> None:
    batches = [line for line in golden_data.lines("record-batches") if line["kind"] == "record_batch"]
    for line in batches:
        data, fields = bytes.fromhex(line["hex"]), line["fields"]
        batch = RecordBatch.decode(data)
        assert batch.encode() == data, line["label"]
        assert (batch.base_offset, batch.partition_leader_epoch) == (
            fields["baseOffset"],
            fields["partitionLeaderEpoch"],
        )
        assert COMPRESSIONS[batch.compression_type] == fields["compression"]
        assert batch.timestamp_type == (fields["timestampType"] == "LogAppendTime")
        assert batch.is_transactional == fields["isTransactional"]
        assert batch.is_control == fields["isControlBatch"]
        assert batch.has_delete_horizon == (fields["deleteHorizonMs"] is not None)
        assert batch.unused_bits == 0
        assert (batch.base_timestamp, batch.max_timestamp) == (fields["baseTimestamp"], fields["maxTimestamp"])
        assert (batch.producer_id, batch.producer_epoch) == (fields["producerId"], fields["producerEpoch"])
        assert (batch.base_sequence, batch.records_count) == (fields["baseSequence"], fields["recordsCount"])
        assert batch.last_offset_delta == fields["lastOffsetDelta"]
    assert len(batches) > 90


def test_records_of_java_have_its_fields_and_bytes() -> None:
    for line in golden_data.lines("record-batches"):
        if line["kind"] != "record_batch":
            continue
        section = bytes.fromhex(line["fields"]["recordsSectionUncompressedHex"])
        records = Records.decode(section)
        assert records.encode() == section, line["label"]
        assert len(records.records) == len(line["fields"]["records"])
        for record, expected in zip(records.records, line["fields"]["records"], strict=True):
            assert record.attributes == expected["attributes"]
            assert record.timestamp_delta == expected["timestampDelta"]
            assert record.offset_delta == expected["offsetDelta"]
            assert (_hex(record.key), _hex(record.value)) == (expected["key"], expected["value"])
            headers = [{"key": header.key.decode(), "value": _hex(header.value)} for header in record.headers]
            assert headers == expected["headers"]


def test_message_sets_of_java_have_its_fields_and_bytes() -> None:
    sets = [line for line in golden_data.lines("record-batches") if line["kind"] == "message_set"]
    for line in sets:
        cls: Any = kafka_records.message("MessageAndOffset", line["magic"])
        data, end = bytes.fromhex(line["hex"]), 0
        for expected in line["entries"]:
            start = end
            entry, end = cls.read(data, start)
            assert entry.encode() == data[start:end], line["label"]
            assert entry.offset == expected["offset"]
            assert getattr(entry, "timestamp", None) == expected["timestamp"]
            assert COMPRESSIONS[entry.compression_type] == expected["compression"]
            assert entry.timestamp_type == (expected["timestampType"] == "LogAppendTime")
            assert (_hex(entry.key), _hex(entry.value)) == (expected["key"], expected["value"])
            inner, inner_end = bytes.fromhex(expected.get("innerUncompressedHex", "")), 0
            while inner_end < len(inner):
                inner_start = inner_end
                message, inner_end = cls.read(inner, inner_start)
                assert message.encode() == inner[inner_start:inner_end], line["label"]
        assert end == len(data)
    assert len(sets) > 30


def _hex(value: bytes | None) -> str | None:
    return None if value is None else value.hex()


@pytest.mark.parametrize("package", [proposals, kafka_records])
def test_every_record_format_is_in_the_table_of_documents(package: Any) -> None:
    text = (ROOT / "docs/record-formats.md").read_text(encoding="utf-8")
    classes = [package.message(name, package.versions(name)[-1]) for name in package.names()]
    layouts = [cls.NAME for cls in classes if cls.TYPE == "layout"]
    assert len(layouts) > 2
    assert [name for name in layouts if f"`{name}`" not in text] == []


def test_a_struct_whose_last_value_goes_on_to_its_end_does_not_look_where_it_ended() -> None:
    assert "pos != limit" not in inspect.getsource(RecordBatch._read)
    short = bytearray(RecordBatch().encode())
    short[8:12] = (48).to_bytes(4, "big")  # the size of the rest, one less than the parts of fixed width take
    with pytest.raises(DecodeError):
        RecordBatch.decode(bytes(short))
