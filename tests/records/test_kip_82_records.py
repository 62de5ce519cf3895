"""Records with numbered headers in one call: read from magic 0, 1 and 2, written, and converted both ways."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_records.message_and_offset import v0, v1
from kipwire import DecodeError, EncodeError
from kipwire.drafts.kip_82 import (
    ConsumerRecord,
    Headers,
    MutableHeaders,
    ProducerRecord,
    headers_of,
    read_records,
    to_magic_2,
    write_records,
)
from kipwire.drafts.proposals.message_and_offset.v2 import Header, MessageAndOffset
from kipwire.records import Loss, Record, down_convert, read_batches, write_message_set
from tests.support.hex_tables import octets, with_crc

OF_MAGIC_0 = octets("""
    0000000000000001 00000010   # Offset 1, MessageSize 16
    9628af00 00 00              # CRC, MagicByte, Attributes
    00000001 6b                 # Key "k"
    00000001 61                 # Value "a"
""")
OF_MAGIC_1 = octets("""
    0000000000000002 00000018   # Offset 2, MessageSize 24
    00000000 01 08              # CRC (put in below), MagicByte, Attributes: LogAppendTime
    0000000000000008            # Timestamp 8
    00000001 6b                 # Key "k"
    00000001 62                 # Value "b"
""")
OF_MAGIC_2 = octets("""
    0000000000000007 0000002e   # Offset 7, MessageSize 46
    13172d9b 02 10              # CRC, MagicByte, Attributes: headers
    0000000000000009            # Timestamp 9
    00000001 6b                 # Key "k"
    00000012                    # HeadersLength 18
    00000001 00000002 6162      # 1: "ab"
    00100010 00000000           # 0x00100010: ""
    00000001 76                 # Value "v"
""")
TOMBSTONE = octets("""
    0000000000000009 0000002a   # Offset 9, MessageSize 42
    00000000 02 10              # CRC (put in below), MagicByte, Attributes: headers
    ffffffffffffffff            # Timestamp -1
    00000001 6b                 # Key "k"
    0000000f                    # HeadersLength 15
    00000001 00000007 64656c65746564  # 1: "deleted"
    ffffffff                    # Value null
""")


OF_MAGIC_0, OF_MAGIC_1, TOMBSTONE = with_crc(OF_MAGIC_0), with_crc(OF_MAGIC_1), with_crc(TOMBSTONE)
LOG = OF_MAGIC_0 + OF_MAGIC_1 + OF_MAGIC_2 + TOMBSTONE
RECORDS = [
    ConsumerRecord(offset=1, key=b"k", value=b"a"),
    ConsumerRecord(offset=2, timestamp=8, key=b"k", value=b"b"),
    ConsumerRecord(offset=7, timestamp=9, key=b"k", value=b"v", headers=Headers({1: b"ab", 0x00100010: b""})),
    ConsumerRecord(offset=9, key=b"k", headers=Headers({1: b"deleted"})),
]
BYTES = st.none() | st.binary(max_size=20)
KEYS = st.integers(0, 3) | st.integers(0, 2**32 - 1)


@st.composite
def producer_records(draw: st.DrawFn) -> list[ProducerRecord]:
    offset = draw(st.integers(0, 2**40))
    made = []
    for step in draw(st.lists(st.integers(1, 1000), min_size=1, max_size=6)):
        made.append(
            ProducerRecord(
                offset=offset,
                timestamp=draw(st.integers(-1, 2**62)),
                key=draw(BYTES),
                value=draw(BYTES),
                headers=draw(st.dictionaries(KEYS, st.binary(max_size=20), max_size=4)),
            )
        )
        offset += step
    return made


def test_records_of_magic_0_1_and_2_are_read_from_one_buffer() -> None:
    assert list(read_records(LOG)) == RECORDS
    assert list(read_records(memoryview(LOG)[: -len(TOMBSTONE) // 2])) == RECORDS[:-1]


def test_what_older_producers_send_has_empty_headers() -> None:
    packed = write_message_set([Record(offset=3, value=b"a"), Record(offset=5)], magic=1, compression="gzip")
    for record in read_records(OF_MAGIC_0 + OF_MAGIC_1 + packed):
        assert record.headers == {}
        assert record.get_header(1) is None


def test_records_are_written_with_the_bytes_derived_by_hand() -> None:
    assert write_records(RECORDS[2:]) == OF_MAGIC_2 + TOMBSTONE
    record = ProducerRecord(offset=7, timestamp=9, key=b"k", value=b"v")
    record.set_header(0x00100010, b"")
    record.set_header(1, b"ab")
    assert write_records([record]) == OF_MAGIC_2
    record.headers.clear()
    assert write_records([record]) == MessageAndOffset(offset=7, timestamp=9, key=b"k", value=b"v").encode()


def test_a_compressed_message_has_relative_offsets_and_the_latest_timestamp() -> None:
    data = write_records(RECORDS[2:], compression="gzip")
    wrapper = MessageAndOffset.decode(data)
    assert (wrapper.offset, wrapper.compression_type, wrapper.timestamp) == (9, 1, 9)
    inner = [
        ProducerRecord(
            offset=one.offset - 7, timestamp=one.timestamp, key=one.key, value=one.value, headers=one.headers
        )
        for one in RECORDS[2:]
    ]
    assert gzip.decompress(wrapper.value or b"") == write_records(inner)
    assert list(read_records(data)) == RECORDS[2:]


def test_append_time_is_that_of_the_broker() -> None:
    data = write_records(RECORDS[2:], compression="gzip", timestamp_type="LogAppendTime", max_timestamp=77)
    assert [record.timestamp for record in read_records(data)] == [77, 77]
    assert MessageAndOffset.decode(write_records(RECORDS[2:3], timestamp_type="LogAppendTime")).timestamp_type is True


@given(records=producer_records(), codec=st.sampled_from(["none", "gzip", "snappy", "lz4"]))
def test_what_is_written_is_read(records: list[ProducerRecord], codec: Any) -> None:
    assert [one.to_producer_record() for one in read_records(write_records(records, compression=codec))] == records


@pytest.mark.parametrize(
    ("records", "options", "path", "reason"),
    [
        ([ProducerRecord(), ProducerRecord()], {}, "records[1].offset", "0 is not above 0; offsets ascend"),
        ([ProducerRecord(), ProducerRecord(offset=1, timestamp=-2)], {}, "records[1].timestamp", "-2 is before 1970"),
        ([ProducerRecord(offset=1 << 63)], {}, "records[0].offset", ""),
        ([ProducerRecord(key="k")], {}, "records[0].key", "str"),  # type: ignore[arg-type]
        ([], {"compression": "gzip"}, "value", "a compressed message needs at least one record"),
        ([], {"compression": "zstd"}, "compression", "has none, gzip, snappy, lz4"),
        ([], {"timestamp_type": "NoTimestampType"}, "timestamp_type", "has CreateTime, LogAppendTime"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_named(records: Any, options: Any, path: str, reason: str) -> None:
    with pytest.raises(EncodeError) as caught:
        write_records(records, **options)
    assert caught.value.path == path
    assert reason in caught.value.reason


def test_limits_and_checksums_are_those_of_batches() -> None:
    data = write_records(RECORDS[2:], compression="gzip")
    assert len(list(read_records(data, max_items=5))) == 2
    with pytest.raises(DecodeError, match="more than 4 records and headers"):
        list(read_records(data, max_items=4))
    with pytest.raises(DecodeError, match="more than 50 bytes"):
        list(read_records(data, max_decompressed_size=50))
    damaged = OF_MAGIC_2[:-1] + b"w"
    with pytest.raises(DecodeError, match=r"batches\[1\].crc at byte 40"):
        list(read_records(OF_MAGIC_0 + damaged))
    assert next(read_records(damaged, check_crcs=False)).value == b"w"


def test_records_of_batches_have_their_headers_by_number() -> None:
    (batch,) = read_batches(OF_MAGIC_2, magic_2="kip-82")
    assert headers_of(batch.records[0]) == RECORDS[2].headers
    with pytest.raises(ValueError, match="invalid literal"):
        headers_of(Record(offset=0, headers=[("trace", b"")]))


# Conversion


def test_older_messages_become_magic_2_with_empty_headers() -> None:
    as_2 = octets("0000000000000001 00000018 00000000 02 00 ffffffffffffffff 00000001 6b 00000001 61")
    of_1 = octets("0000000000000002 00000018 00000000 02 08 0000000000000008 00000001 6b 00000001 62")
    converted = to_magic_2(LOG)
    assert converted.data == with_crc(as_2) + with_crc(of_1) + OF_MAGIC_2 + TOMBSTONE
    assert converted.lost == []
    assert list(read_records(converted.data)) == RECORDS
    assert to_magic_2(converted.data) == converted
    assert to_magic_2(b"") == (b"", [])
    headers_of_its_own = MessageAndOffset(compression_type=1, headers=[Header()], value=gzip.compress(OF_MAGIC_2))
    assert to_magic_2(headers_of_its_own.encode()) == (headers_of_its_own.encode(), [])


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
def test_older_compressed_messages_keep_their_codec(magic: Any, codec: Any) -> None:
    records = [Record(offset=4, timestamp=magic - 1, value=b"a"), Record(offset=6, timestamp=magic - 1)]
    converted = to_magic_2(write_message_set(records, magic=magic, compression=codec))
    (batch,) = read_batches(converted.data, magic_2="kip-82")
    assert (batch.magic, batch.compression, batch.records, converted.lost) == (2, codec, records, [])


def test_append_time_of_older_compressed_messages_is_kept() -> None:
    records = [Record(offset=4, timestamp=3), Record(offset=6, timestamp=5)]
    data = write_message_set(records, magic=1, compression="gzip", timestamp_type="LogAppendTime", max_timestamp=77)
    (batch,) = read_batches(to_magic_2(data).data, magic_2="kip-82")
    assert (batch.timestamp_type, batch.max_timestamp) == ("LogAppendTime", 77)
    assert [record.timestamp for record in batch.records] == [77, 77]


def test_what_the_format_cannot_hold_of_older_messages_is_named() -> None:
    bits = with_crc(OF_MAGIC_1[:17] + b"\x48" + OF_MAGIC_1[18:])
    later = v1.MessageAndOffset(
        compression_type=1, timestamp=99, value=gzip.compress(v1.MessageAndOffset(timestamp=5).encode())
    ).encode()
    converted = to_magic_2(OF_MAGIC_2 + bits + later)
    assert converted.lost == [Loss("unknown attributes", 1, 2, 2, 1), Loss("max timestamp", 2, 0, 0, 1)]
    assert list(read_records(converted.data)) == list(read_records(OF_MAGIC_2 + bits + later))


def test_older_consumers_get_messages_without_headers_and_what_is_dropped_is_named() -> None:
    down = down_convert(LOG, 1, magic_2="kip-82")
    as_1 = octets("0000000000000007 00000018 00000000 01 00 0000000000000009 00000001 6b 00000001 76")
    gone = octets("0000000000000009 00000017 00000000 01 00 ffffffffffffffff 00000001 6b ffffffff")
    assert down.data == OF_MAGIC_0 + OF_MAGIC_1 + with_crc(as_1) + with_crc(gone)
    assert down.lost == [Loss("headers", 2, 7, 7, 2), Loss("headers", 3, 9, 9, 1)]
    down = down_convert(OF_MAGIC_2, 0, magic_2="kip-82")
    as_0 = octets("0000000000000007 00000010 00000000 00 00 00000001 6b 00000001 76")
    assert down.data == with_crc(as_0)
    assert down.lost == [Loss("headers", 0, 7, 7, 2), Loss("timestamps", 0, 7, 7, 1)]


@given(records=producer_records(), codec=st.sampled_from(["none", "gzip", "snappy", "lz4"]))
def test_there_and_back_only_headers_are_lost(records: list[ProducerRecord], codec: Any) -> None:
    data = write_records(records, compression=codec)
    down = down_convert(data, 1, magic_2="kip-82")
    assert sum(loss.count for loss in down.lost) == sum(len(one.headers) for one in records)
    assert {loss.what for loss in down.lost} <= {"headers"}
    back = to_magic_2(down.data)
    for one in records:
        one.headers = MutableHeaders()
    assert [one.to_producer_record() for one in read_records(back.data)] == records
    assert back.lost == []


@settings(deadline=None)
@given(
    data=st.binary(max_size=90)
    | st.builds(
        lambda at, byte: LOG[:at] + byte + LOG[at + 1 :],
        st.integers(0, len(LOG) - 1),
        st.binary(min_size=1, max_size=1),
    )
)
def test_damaged_bytes_are_read_and_converted_or_refused(data: bytes) -> None:
    for use in (lambda: list(read_records(data, check_crcs=False)), lambda: to_magic_2(data, check_crcs=False)):
        try:
            use()
        except (DecodeError, EncodeError) as error:
            assert error.path


def test_the_tables_of_this_file_are_right() -> None:
    for data, cls in ((OF_MAGIC_0, v0), (OF_MAGIC_1, v1)):
        assert cls.MessageAndOffset.decode(data).encode() == data
    assert with_crc(OF_MAGIC_2) == OF_MAGIC_2
