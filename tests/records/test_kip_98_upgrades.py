"""Older messages as sets of the KIP-98 draft: bytes by hand, and beside the batches that Kafka makes of the same."""

from __future__ import annotations

import gzip
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_records.message_and_offset import v1
from kipwire import DecodeError, EncodeError
from kipwire.drafts.kip_98 import find_set, read_head, read_set, to_magic_2, write_set
from kipwire.records import Loss, Record, down_convert, read_batches, up_convert, write_message_set
from tests.support.hex_tables import octets, with_crc
from tests.support.subjects.converted_examples import ENTRIES

MAGIC_1 = octets("""
    0000000000000005 00000018         # Offset 5, MessageSize 24
    cf056e6e 01 00 0000000000000001   # CRC, Magic, Attributes, Timestamp 1
    00000001 6b 00000001 76           # Key "k", Value "v"
    0000000000000007 00000016         # Offset 7, MessageSize 22
    e2d9515f 01 00 0000000000000002   # CRC, Magic, Attributes, Timestamp 2
    ffffffff ffffffff                 # Key null, Value null
""")
MESSAGES = octets("""
    11 00 0000000000000001 00         # Length 17, Attributes, Timestamp 1, OffsetDelta 0
    01 6b 76 0cb96360                 # KeyLen 1, Key "k", Value "v", CRC
    0e 03 0000000000000002 02         # Length 14, Attributes: null key and value, Timestamp 2, OffsetDelta 2
    d485d0db                          # CRC
""")
SET = with_crc(octets("""
    0000000000000005 00000042         # Offset 5, Length 66
    00000000 02 0000                  # CRC, Magic, Attributes
    00000003 0000000000000002         # OffsetDelta 3, MaxTimestamp 2
    ffffffffffffffff ffff ffffffff    # PID, Epoch, Sequence: none
""") + MESSAGES)  # fmt: skip
OLD_CODECS = ["gzip", "snappy", "lz4"]


def test_messages_in_a_row_become_one_set_with_the_bytes_of_the_text() -> None:
    converted = to_magic_2(MAGIC_1)
    assert converted.data.hex(" ") == SET.hex(" ")
    assert converted.lost == []
    assert to_magic_2(converted.data) == converted
    assert to_magic_2(b"") == (b"", [])


def test_sets_stay_as_they_are_and_end_a_row() -> None:
    own = write_set([Record(offset=8, value=b"own")], producer_id=9, producer_epoch=0, base_sequence=4)
    later = write_message_set([Record(offset=9, timestamp=3), Record(offset=11, timestamp=1)], magic=1)
    data = to_magic_2(bytearray(MAGIC_1 + own + later)).data
    assert data[: len(SET) + len(own)] == SET + own
    last = read_set(data, len(SET) + len(own))
    assert (last.head.base_offset, last.head.next_offset, last.head.max_timestamp) == (9, 12, 3)
    assert find_set(data, 10) == last.head.position


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS)
def test_compressed_messages_become_sets_with_the_same_codec(magic: Any, codec: Any) -> None:
    records = [Record(offset=4, timestamp=magic - 1, value=b"a"), Record(offset=6, timestamp=magic - 1)]
    old = write_message_set(records, magic=magic, compression=codec)
    converted = to_magic_2(old + old)
    first = read_set(converted.data)
    assert (first.head.compression, first.head.base_offset, first.head.next_offset) == (codec, 4, 7)
    assert (first.messages, converted.lost) == (records, [])
    assert converted.data == 2 * converted.data[: first.head.size]


def test_the_time_of_the_append_stays() -> None:
    records = [Record(offset=4, timestamp=3), Record(offset=6, timestamp=5)]
    compressed = write_message_set(
        records, magic=1, compression="gzip", timestamp_type="LogAppendTime", max_timestamp=77
    )
    plain = write_message_set([Record(offset=8, timestamp=78)], magic=1, timestamp_type="LogAppendTime")
    data = to_magic_2(compressed + plain).data
    one = read_set(data)
    other = read_set(data, one.head.size)
    assert [(head.timestamp_type, head.max_timestamp) for head in (one.head, other.head)] == [
        ("LogAppendTime", 77),
        ("LogAppendTime", 78),
    ]
    assert [message.timestamp for message in one.messages + other.messages] == [77, 77, 78]


def test_what_a_set_cannot_hold_of_older_messages_is_named() -> None:
    bits = with_crc(MAGIC_1[:17] + b"\x40" + MAGIC_1[18:36])
    later = v1.MessageAndOffset(
        offset=9, compression_type=1, timestamp=99, value=gzip.compress(v1.MessageAndOffset(timestamp=5).encode())
    ).encode()
    assert to_magic_2(SET + bits + later).lost == [
        Loss("unknown attributes", 1, 5, 5, 1),
        Loss("max timestamp", 2, 9, 9, 1),
    ]
    with pytest.raises(DecodeError, match=r"batches\[1\]\.crc"):
        to_magic_2(SET + MAGIC_1[:12] + b"x" + MAGIC_1[13:])
    falling = v1.MessageAndOffset(offset=1).encode() + v1.MessageAndOffset(offset=0).encode()
    wrong = v1.MessageAndOffset(compression_type=1, value=gzip.compress(falling)).encode()
    with pytest.raises(EncodeError, match=r"batches\[1\]\.messages\[1\]\.offset"):
        to_magic_2(SET + wrong)


def test_a_set_spans_as_many_offsets_as_its_delta_counts() -> None:
    """A batch of Kafka spans one more: its delta leads to the last offset, that of a set to the next one."""
    far = write_message_set([Record(offset=5), Record(offset=5 + 2**31 - 2), Record(offset=5 + 2**31 - 1)], magic=1)
    data = to_magic_2(far).data
    head = read_head(data)
    assert (head.offset_delta, read_head(data, head.size).offset_delta) == (2**31 - 1, 1)
    assert len(list(read_batches(up_convert(far, 2).data))) == 1


@settings(deadline=None, max_examples=40)
@given(
    entries=st.lists(
        st.tuples(st.integers(1, 50), st.integers(-1, 2**40), st.none() | st.binary(max_size=9)), max_size=6
    ),
    magic=st.sampled_from([0, 1]),
    codecs=st.lists(st.sampled_from(["none", *OLD_CODECS]), min_size=1, max_size=3),
)
def test_sets_hold_the_records_of_the_batches_that_kafka_would_make(entries: Any, magic: Any, codecs: Any) -> None:
    offset, log = 0, b""
    for codec in codecs:
        records = []
        for step, timestamp, value in entries:
            offset += step
            records.append(Record(offset=offset, timestamp=timestamp if magic else -1, key=value, value=value))
        log += write_message_set(records, magic=magic, compression=codec) if records else b""
    ours, kafkas = to_magic_2(log), up_convert(log, 2)
    sets = list(read_batches(ours.data, magic_2="kip-98 draft"))
    batches = list(read_batches(kafkas.data))
    assert [(one.base_offset, one.last_offset, one.compression, one.max_timestamp, one.records) for one in sets] == [
        (one.base_offset, one.last_offset, one.compression, one.max_timestamp, one.records) for one in batches
    ]
    assert ours.lost == kafkas.lost == []
    back = down_convert(ours.data, magic, magic_2="kip-98 draft")
    assert back == down_convert(kafkas.data, magic)


@settings(deadline=None, max_examples=60)
@given(
    data=st.binary(max_size=90)
    | st.builds(
        lambda log, at, byte: log[: at % len(log)] + byte + log[at % len(log) + 1 :],
        st.sampled_from([MAGIC_1 + SET, *ENTRIES.values()]),
        st.integers(0, 500),
        st.binary(min_size=1, max_size=1),
    )
)
def test_damaged_bytes_become_sets_or_are_refused(data: bytes) -> None:
    try:
        converted = to_magic_2(data, check_crcs=False).data
    except (DecodeError, EncodeError) as error:
        assert error.path
    else:
        list(read_batches(converted, magic_2="kip-98 draft", check_crcs=False))
