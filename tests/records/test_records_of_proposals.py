"""Formats proposed with magic 2 are read into the same records: KIP-82's messages, and sets of KIP-98's draft."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest

from kafka_records.message_and_offset import v1
from kipwire import DecodeError, EncodeError
from kipwire.drafts.proposals.compressed_message_set.v2 import CompressedMessageSet
from kipwire.drafts.proposals.control_message_key.v0 import ControlMessageKey
from kipwire.drafts.proposals.message_and_offset.v2 import Header, MessageAndOffset
from kipwire.drafts.proposals.messages.v2 import Message, Messages
from kipwire.records import (
    Loss,
    Record,
    RecordBatch,
    control_record,
    down_convert,
    read_batches,
    read_committed,
    up_convert,
    write_batch,
    write_message_set,
)
from kipwire.records.compression import compress
from kipwire.records.control import control_type
from tests.records.test_records_transactions import Aborted
from tests.support.converted_records import with_crcs
from tests.support.hex_tables import octets
from tests.support.subjects.batch_bytes import with_bytes


def kip_82(data: bytes, **options: Any) -> list[RecordBatch]:
    return list(read_batches(data, magic_2="kip-82", **options))


def draft(data: bytes, **options: Any) -> list[RecordBatch]:
    return list(read_batches(data, magic_2="kip-98 draft", **options))


# KIP-82, version 43

ENTRY = octets("""
    0000000000000007 0000002e   # Offset 7, MessageSize 46
    13172d9b 02 10              # CRC, MagicByte, Attributes: bit 4, headers
    0000000000000009            # Timestamp 9
    00000001 6b                 # Key "k"
    00000012                    # HeadersLength 18
    00000001 00000002 6162      # 1: "ab"
    00100010 00000000           # 0x00100010: ""
    00000001 76                 # Value "v"
""")
HEADERS: list[Any] = [("0x00000001", b"ab"), ("0x00100010", b"")]
RECORD = Record(offset=7, timestamp=9, key=b"k", value=b"v", headers=HEADERS)


def entries(*messages: MessageAndOffset) -> bytes:
    return b"".join(message.encode() for message in messages)


def many_headers(count: int, offset: int = 0) -> MessageAndOffset:
    return MessageAndOffset(offset=offset, headers=[Header(key=number) for number in range(count)])


PACKED = MessageAndOffset(
    offset=12,
    timestamp=9,
    compression_type=1,
    value=gzip.compress(
        entries(MessageAndOffset(timestamp=8, value=b"a"), MessageAndOffset(offset=2, timestamp=9, headers=[Header()]))
    ),
).encode()
PACKED_RECORDS = [
    Record(offset=10, timestamp=8, value=b"a"),
    Record(offset=12, timestamp=9, headers=[("0x00000000", b"")]),
]


def test_messages_with_headers_are_read() -> None:
    assert zlib.crc32(ENTRY[16:]) == int.from_bytes(ENTRY[12:16], "big"), "the table itself is wrong"
    (batch,) = kip_82(ENTRY)
    assert batch.records == [RECORD]
    assert (batch.magic, batch.base_offset, batch.last_offset, batch.records_count) == (2, 7, 7, 1)
    assert (batch.size, batch.attributes, batch.crc) == (58, 0x10, 0x13172D9B)
    assert (batch.timestamp_type, batch.max_timestamp, batch.producer_id) == ("CreateTime", 9, -1)


def test_offsets_in_compressed_messages_count_from_the_first() -> None:
    (batch,) = kip_82(PACKED)
    assert batch.records == PACKED_RECORDS
    assert (batch.base_offset, batch.last_offset, batch.records_count, batch.compression) == (10, 12, None, "gzip")


def test_append_time_holds_for_compressed_messages() -> None:
    entry = MessageAndOffset.decode(PACKED)
    entry.timestamp_type = True
    (batch,) = kip_82(entry.encode())
    assert (batch.timestamp_type, {record.timestamp for record in batch.records}) == ("LogAppendTime", {9})


def test_magics_0_and_1_and_kip_82_are_mixed() -> None:
    old = [Record(offset=1, value=b"a"), Record(offset=2)]
    data = write_message_set(old, magic=0) + write_message_set(old, magic=1, compression="gzip") + ENTRY + PACKED
    assert [record for batch in kip_82(data) for record in batch.records] == [*old, *old, RECORD, *PACKED_RECORDS]
    assert [batch.magic for batch in kip_82(data)] == [0, 0, 1, 2, 2]
    assert down_convert(data, 1, magic_2="kip-82").lost == [Loss("headers", 3, 7, 7, 2), Loss("headers", 4, 10, 12, 1)]


def test_headers_of_numbers_become_texts_of_batches_and_are_lost_below() -> None:
    up = up_convert(ENTRY + PACKED, 2, magic_2="kip-82")
    packed = write_batch(PACKED_RECORDS, compression="gzip")
    assert (up.data, up.lost) == (write_batch([RECORD]) + packed, [])
    down = down_convert(ENTRY, 1, magic_2="kip-82")
    assert down.data == v1.MessageAndOffset(offset=7, timestamp=9, key=b"k", value=b"v").encode()
    assert up_convert(ENTRY, 1, magic_2="kip-82") == (ENTRY, [])


def test_plain_messages_with_headers_become_one_batch() -> None:
    data = ENTRY + MessageAndOffset(offset=9, timestamp=1).encode()
    assert up_convert(data, 2, magic_2="kip-82").data == write_batch([RECORD, Record(offset=9, timestamp=1)])


@pytest.mark.parametrize("convert", [down_convert, up_convert])
def test_headers_of_a_compressed_message_itself_are_lost_by_name(convert: Any) -> None:
    entry = MessageAndOffset.decode(PACKED)
    entry.headers = [Header(key=1, value=b"a"), Header(key=2)]
    magic = 1 if convert is down_convert else 2
    lost = convert(ENTRY + entry.encode() + PACKED, magic, magic_2="kip-82").lost
    assert [one for one in lost if one.what != "headers"] == [Loss("headers of a compressed entry", 1, 10, 12, 2)]
    state: dict[str, Any] = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}
    kafkas = write_batch([Record(offset=0)], compression="gzip", is_transactional=True, **state)  # the same bit
    assert "headers of a compressed entry" not in [one.what for one in down_convert(kafkas, 1).lost]


@pytest.mark.parametrize("items", [4, 5])
def test_headers_count_among_the_items(items: int) -> None:
    data = entries(many_headers(4))
    if items > 4:
        assert len(kip_82(data, max_items=items)[0].records[0].headers) == 4
        return
    with pytest.raises(DecodeError, match=r"batches\[0\].headers at byte 30: .* more than 4 records and headers"):
        kip_82(data, max_items=items)


@pytest.mark.parametrize(("items", "place"), [(8, ""), (7, r"records\[1\]\.headers"), (4, "value")])
def test_headers_in_compressed_messages_count_among_the_items(items: int, place: str) -> None:
    value = gzip.compress(entries(many_headers(3), many_headers(3, 1)))
    data = MessageAndOffset(offset=1, compression_type=1, value=value).encode()
    (batch,) = kip_82(data, max_items=items)
    if not place:
        assert [len(record.headers) for record in batch.records] == [3, 3]
        return
    with pytest.raises(DecodeError, match=rf"batches\[0\]\.{place} at byte 34: .* more than {items} records"):
        batch.records  # noqa: B018


NOT_ENTRIES = {
    "a bit without a meaning": (with_crcs(with_bytes(ENTRY, 17, b"\x30")), "attributes", 17, "bits"),
    "another codec": (MessageAndOffset(compression_type=4).encode(), "attributes", 17, "compression 4; magic 2"),
    "a checksum": (with_bytes(ENTRY, 57, b"x"), "crc", 12, "but the bytes after it have"),
    "a header twice": (
        with_crcs(entries(many_headers(2)).replace(b"\0\0\0\1\0\0\0\0", bytes(8))), "headers[1].key", 42, "ascend",
    ),
    "a size below a message's": (b"\0" * 11 + b"\x15" + b"\0\0\0\0\x02" + bytes(40), "message_size", 8, "has 22"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_ENTRIES)
def test_bytes_that_are_not_a_message_with_headers_are_refused(name: str) -> None:
    data, path, offset, reason = NOT_ENTRIES[name]
    with pytest.raises(DecodeError) as caught:
        kip_82(ENTRY + data)
    assert (caught.value.path, caught.value.offset) == (f"batches[1].{path}", len(ENTRY) + offset)
    assert reason in caught.value.reason


def test_wrong_checksums_of_messages_with_headers_may_be_ignored() -> None:
    damaged = with_bytes(ENTRY, len(ENTRY) - 1, b"x")
    with pytest.raises(DecodeError, match=r"batches\[0\]\.crc at byte 12"):
        kip_82(damaged)
    assert kip_82(damaged, check_crcs=False)[0].records[0].value == b"x"


# The draft of KIP-98

SET = octets("""
    0000000000000005 00000042  # Offset 5, Length 66
    00000000 02 0010           # CRC (put in below), Magic, Attributes: transactional
    00000004                   # OffsetDelta 4: the next set starts at 9
    0000000000000002           # MaxTimestamp 2
    0000000000000009           # PID 9
    0000 00000003              # Epoch 0, Sequence 3
    11 00                      # Length 17, Attributes
    0000000000000001 00        # Timestamp 1, OffsetDelta 0
    01 6b 76                   # KeyLen 1, Key "k", Value "v"
    0cb96360                   # CRC
    0e 03                      # Length 14, Attributes: null key, null value
    0000000000000002 02        # Timestamp 2, OffsetDelta 2
    00000000                   # CRC (put in below)
""")
SET_RECORDS = [Record(offset=5, timestamp=1, key=b"k", value=b"v"), Record(offset=7, timestamp=2)]
COMMIT, ABORT = ControlMessageKey(control_message_type=0).encode(), ControlMessageKey(control_message_type=1).encode()


def with_set_crcs(data: bytes) -> bytes:
    last = data[:-4] + zlib.crc32(data[-14:-4]).to_bytes(4, "big")
    return last[:12] + zlib.crc32(last[16:]).to_bytes(4, "big") + last[16:]


def a_set(*messages: Message, codec: Any = "none", **values: Any) -> bytes:
    """Return a set of the messages, whose offsets ascend from the set's."""
    number = ("none", "gzip", "snappy", "lz4").index(codec)
    section = compress(codec, Messages(messages=list(messages)).encode())
    computed = {
        "offset_delta": max((one.offset_delta for one in messages), default=0) + 1,
        "max_timestamp": max((one.timestamp for one in messages), default=-1),
    }
    fields: dict[str, Any] = {**computed, **values}
    return CompressedMessageSet(compression_type=number, compressed_messages=section, **fields).encode()


MESSAGES = [Message(timestamp=1, key=b"k", value=b"v"), Message(timestamp=2, offset_delta=2)]


WITHOUT_KEY = octets("""
    0e 07                      # Length 14, Attributes: null key, null value, control
    0000000000000001 00        # Timestamp 1, OffsetDelta 0
    00000000                   # CRC (put in below)
""")


def marker(offset: int, key: bytes) -> bytes:
    return a_set(Message(is_control=True, key=key), offset=offset, pid=9, is_transactional=True)


def test_sets_of_the_draft_are_read() -> None:
    (batch,) = draft(with_set_crcs(SET))
    assert batch.records == SET_RECORDS
    assert (batch.magic, batch.size, batch.attributes) == (2, len(SET), 0x10)
    assert (batch.base_offset, batch.last_offset, batch.records_count) == (5, 8, 2)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (9, 0, 3)
    assert (batch.base_timestamp, batch.max_timestamp, batch.is_transactional, batch.is_control) == (1, 2, True, False)
    assert [batch.sequence(record) for record in batch.records] == [3, 5]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
def test_compressed_sets_of_the_draft_are_read(codec: str) -> None:
    (batch,) = draft(a_set(*MESSAGES, codec=codec, offset=5))
    assert (batch.records, batch.compression) == (SET_RECORDS, codec)


def test_append_time_of_a_set_holds_for_all_messages() -> None:
    (batch,) = draft(a_set(*MESSAGES, timestamp_type=True, max_timestamp=77))
    assert (batch.timestamp_type, [record.timestamp for record in batch.records]) == ("LogAppendTime", [77, 77])


def test_sets_of_the_draft_become_batches_of_kafka() -> None:
    up = up_convert(with_set_crcs(SET) + marker(9, COMMIT), 2, magic_2="kip-98 draft")
    first, second = read_batches(up.data)
    assert up.lost == []
    assert up.data[: first.size] == write_batch(
        SET_RECORDS,
        last_offset_delta=3,
        producer_id=9,
        producer_epoch=0,
        base_sequence=3,
        is_transactional=True,
    )
    assert (second.is_control, second.is_transactional, control_type(second.records[0])) == (True, True, "COMMIT")


def test_sets_of_the_draft_become_messages_of_old() -> None:
    down = down_convert(with_set_crcs(SET) + marker(9, COMMIT), 1, magic_2="kip-98 draft")
    assert down.data == write_message_set(SET_RECORDS, magic=1)
    assert down.lost == [
        Loss("offset range", 0, 5, 8, 1),
        Loss("transaction", 0, 5, 8, 2),
        Loss("producer state", 0, 5, 8, 1),
        Loss("control records", 1, 9, 9, 1),
    ]


def test_an_empty_set_keeps_its_offsets_and_its_time() -> None:
    (batch,) = read_batches(
        up_convert(a_set(offset=5, offset_delta=3, max_timestamp=8), 2, magic_2="kip-98 draft").data
    )
    assert (batch.base_offset, batch.last_offset, batch.max_timestamp, batch.records) == (5, 7, 8, [])


def test_markers_of_the_draft_say_what_they_say_in_kafka() -> None:
    """Though the draft numbers them the other way round."""
    log = a_set(MESSAGES[0], pid=9, is_transactional=True) + marker(1, ABORT)
    log += a_set(MESSAGES[0], offset=2, pid=9, is_transactional=True) + marker(3, COMMIT)
    batches = draft(log)
    assert [control_type(batch.records[0]) for batch in batches if batch.is_control] == ["ABORT", "COMMIT"]
    assert [batch.base_offset for batch in read_committed(batches, [Aborted(9, 0)])] == [2]
    with pytest.raises(DecodeError, match="may not be null"):
        control_record(batches[1].records[0])  # the draft has no schema of the value


REFUSED = {
    "a marker without a key": (
        CompressedMessageSet(
            compressed_messages=WITHOUT_KEY[:-4] + zlib.crc32(WITHOUT_KEY[1:-4]).to_bytes(4, "big")
        ).encode(), "messages[0].key", 56, "is null, but is_control is set",
    ),
    "a marker of another type": (
        marker(0, ControlMessageKey(control_message_type=2).encode()), "messages[0].key", 56, "unknown type 2"
    ),
    "a marker with a key too short": (marker(0, b"\0"), "messages[0].key.version", 56, "need 2 bytes"),
    "a marker among messages": (
        a_set(MESSAGES[0], Message(is_control=True, offset_delta=1, key=COMMIT)), "messages", 45,
        "the set mixes control messages and others",
    ),
    "zstd": (CompressedMessageSet(compression_type=4).encode(), "attributes", 17, "compression 4; the draft"),
    "not compressed": (
        CompressedMessageSet(compression_type=1, compressed_messages=b"x").encode(), "messages", 45, "the gzip data"
    ),
    "a message's checksum": (
        CompressedMessageSet(
            compressed_messages=Messages(messages=[MESSAGES[0]]).encode() * 2 + b"\x0e\x03" + bytes(13)
        ).encode(), "messages[2].crc", 45 + 36 + 11, "crc32 is",
    ),
    "a message's checksum, compressed": (
        CompressedMessageSet(
            compression_type=1, compressed_messages=gzip.compress(b"\x0e\x03" + bytes(13))
        ).encode(), "messages[0].crc", 45, "at byte 11 of the 15 that they decompress to",
    ),
    "a message cut short": (
        CompressedMessageSet(compressed_messages=b"\x11\0").encode(), "messages[0].length", 45, "17"
    ),
    "a length that does not end": (
        CompressedMessageSet(compressed_messages=b"\xff\xff").encode(), "messages[0].length", 47, ""
    ),
    "a set cut short": (b"\0" * 11 + b"\x20" + b"\0\0\0\0\x02" + bytes(27), "length", 8, "the smallest has 33"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_a_set_of_the_draft_is_refused(name: str) -> None:
    data, path, offset, reason = REFUSED[name]
    before = a_set(MESSAGES[0])
    with pytest.raises(DecodeError) as caught:
        draft(before + data)
    assert (caught.value.path, caught.value.offset) == (f"batches[1].{path}", len(before) + offset)
    assert reason in caught.value.reason


def test_wrong_checksums_of_sets_and_messages_may_be_ignored() -> None:
    assert draft(SET, check_crcs=False)[0].records == SET_RECORDS
    long = Messages(messages=[Message(key=bytes(300), value=b"v")]).encode()
    data = CompressedMessageSet(offset_delta=1, compressed_messages=long[:-5] + b"x" + long[-4:]).encode()
    assert draft(data, check_crcs=False)[0].records[0].value == b"x"


def test_messages_of_a_set_are_limited() -> None:
    data = a_set(*[Message(offset_delta=at) for at in range(9)], codec="gzip")
    assert len(draft(data, max_items=9)[0].records) == 9
    with pytest.raises(DecodeError, match=r"batches\[0\].messages at byte 45: .* more than 8 records and headers"):
        draft(data, max_items=8)
    with pytest.raises(DecodeError, match=r"more than 99 bytes \(max_decompressed_size\)"):
        draft(data, max_decompressed_size=99)


def test_a_set_that_kafka_cannot_hold_is_refused() -> None:
    with pytest.raises(EncodeError, match=r"batches\[1\].records\[1\].offset: 0 is not above 0"):
        up_convert(a_set(MESSAGES[0]) + a_set(MESSAGES[0], MESSAGES[0]), 2, magic_2="kip-98 draft")
    with pytest.raises(EncodeError, match=r"batches\[0\].last_offset_delta"):
        up_convert(a_set(offset_delta=0), 2, magic_2="kip-98 draft")


def test_formats_with_magic_2_are_not_taken_for_each_other() -> None:
    kafka = write_batch(SET_RECORDS)
    for data, read in ((kafka, kip_82), (kafka, draft), (ENTRY, draft), (with_set_crcs(SET), kip_82)):
        with pytest.raises(DecodeError):
            read(data)


PROPOSED = {"entry": ENTRY, "packed": PACKED, "set": with_set_crcs(SET), "gzip": a_set(*MESSAGES, codec="gzip")}


@pytest.mark.parametrize("name", PROPOSED)
@pytest.mark.parametrize("check_crcs", [True, False])
@pytest.mark.parametrize("after", [b"", write_batch(SET_RECORDS), bytes(100)], ids=["alone", "batch", "zeros"])
def test_what_was_only_proposed_is_read_only_where_it_is_asked_for(name: str, check_crcs: bool, after: bytes) -> None:
    """So users of clients are not affected: what they read is as it was, and nothing is guessed."""
    data = PROPOSED[name]
    with pytest.raises(DecodeError):
        [batch.records for batch in read_batches(data + after, check_crcs=check_crcs)]
    with pytest.raises(DecodeError):
        down_convert(data + after, 1)
    with pytest.raises(DecodeError):
        up_convert(data + after, 2)
