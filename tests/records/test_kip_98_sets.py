"""Sets of the KIP-98 draft, read, written and found: bytes by hand, headers that must be true, and refusals."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipwire import DecodeError, EncodeError
from kipwire.drafts.kip_98 import (
    ABORT,
    COMMIT,
    ControlMessage,
    SetHead,
    find_message,
    find_set,
    read_head,
    read_messages,
    read_set,
    reading,
    single,
    write_set,
)
from kipwire.drafts.proposals.messages.v2 import Messages
from kipwire.records import Loss, Record, down_convert, read_batches, write_message_set
from tests.support.cost import cost_of
from tests.support.hex_tables import octets, with_crc
from tests.support.subjects.batch_bytes import with_bytes

FIRST = octets("""
    11 00                      # Length 17, Attributes
    0000000000000001 00        # Timestamp 1, OffsetDelta 0
    01 6b 76                   # KeyLen 1, Key "k", Value "v"
    0cb96360                   # CRC
""")
SECOND = octets("""
    0e 03                      # Length 14, Attributes: null key, null value
    0000000000000002 02        # Timestamp 2, OffsetDelta 2
    d485d0db                   # CRC
""")
HEADER = octets("""
    0000000000000005 00000042  # Offset 5, Length 66
    72658bc0 02 0010           # CRC, Magic, Attributes: transactional
    00000003                   # OffsetDelta 3: the next set starts at 8
    0000000000000002           # MaxTimestamp 2
    0000000000000009           # PID 9
    0001 00000003              # Epoch 1, Sequence 3
""")
SET = HEADER + FIRST + SECOND
RECORDS = [Record(offset=5, timestamp=1, key=b"k", value=b"v"), Record(offset=7, timestamp=2)]
PRODUCER: Any = {"producer_id": 9, "producer_epoch": 1, "base_sequence": 3}
HEAD = SetHead(
    position=0,
    size=78,
    crc=0x72658BC0,
    attributes=0x10,
    base_offset=5,
    offset_delta=3,
    max_timestamp=2,
    producer_id=9,
    producer_epoch=1,
    base_sequence=3,
)

MARKERS = octets("""
    0000000000000009 00000049  # Offset 9, Length 73
    56bd77fa 02 0010           # CRC, Magic, Attributes: transactional
    00000002                   # OffsetDelta 2
    0000000000000004           # MaxTimestamp 4
    0000000000000009           # PID 9
    0001 00000005              # Epoch 1, Sequence 5
    12 06                      # Length 18, Attributes: null value, control
    0000000000000003 00        # Timestamp 3, OffsetDelta 0
    0000 0000                  # Key: version 0, type 0, COMMIT
    afed40df                   # CRC
    14 04                      # Length 20, Attributes: control
    0000000000000004 01        # Timestamp 4, OffsetDelta 1
    04 0000 0001               # KeyLen 4, Key: version 0, type 1, ABORT
    76                         # Value "v"
    215ba5c2                   # CRC
""")
CONTROL = [
    ControlMessage(offset=9, type_id=0, timestamp=3),
    ControlMessage(offset=10, type_id=1, timestamp=4, value=b"v"),
]

COMPRESSED = {
    "gzip": octets("""
        0000000000000005 00000059  # Offset 5, Length 89
        d1305171 02 0001           # CRC, Magic, Attributes: gzip
        00000003 0000000000000002  # OffsetDelta 3, MaxTimestamp 2
        0000000000000009           # PID 9
        0001 00000003              # Epoch 1, Sequence 3
        1f8b08000000000004 03      # gzip's header
        01 2100 deff               # one block as it is, of 33 bytes
        1100000000000000000100016b760cb96360 0e03000000000000000202d485d0db
        77f0fdd1 21000000          # CRC-32 and size of what is compressed
    """),
    "snappy": octets("""
        0000000000000005 00000044  # Offset 5, Length 68
        65a61af7 02 0002           # CRC, Magic, Attributes: snappy
        00000003 0000000000000002  # OffsetDelta 3, MaxTimestamp 2
        0000000000000009           # PID 9
        0001 00000003              # Epoch 1, Sequence 3
        21 80                      # 33 bytes, in one literal
        1100000000000000000100016b760cb96360 0e03000000000000000202d485d0db
    """),
    "lz4": octets("""
        0000000000000005 00000051  # Offset 5, Length 81
        810324ea 02 0003           # CRC, Magic, Attributes: lz4
        00000003 0000000000000002  # OffsetDelta 3, MaxTimestamp 2
        0000000000000009           # PID 9
        0001 00000003              # Epoch 1, Sequence 3
        04224d18604082 21000080    # the frame's header; a block as it is, of 33 bytes
        1100000000000000000100016b760cb96360 0e03000000000000000202d485d0db
        00000000                   # the end
    """),
}
"""The two messages, in frames that were made by hand."""


def changed(data: bytes, at: int, patch: str) -> bytes:
    """Return the same set with other bytes at a position, and a CRC that is right."""
    return with_crc(with_bytes(data, at, bytes.fromhex(patch)))


def of_messages(*tables: str) -> bytes:
    """Return a set of messages without their CRCs, with OffsetDelta 9 and MaxTimestamp 9."""
    section = b""
    for table in tables:
        message = bytes.fromhex(table)
        section += message + zlib.crc32(message[1:]).to_bytes(4, "big")
    return plain_section(section)


def plain_section(section: bytes, attributes: str = "0000") -> bytes:
    size = (33 + len(section)).to_bytes(4, "big")
    rest = bytes.fromhex("02" + attributes + "00000009 0000000000000009") + HEADER[31:45]
    return with_crc(bytes(8) + size + bytes(4) + rest + section)


@pytest.mark.parametrize("data", [SET, MARKERS, *COMPRESSED.values()])
def test_the_tables_have_the_right_checksum(data: bytes) -> None:
    assert with_crc(data) == data


# One call for each direction


def test_a_set_is_written_with_the_bytes_of_the_text() -> None:
    assert write_set(RECORDS, is_transactional=True, **PRODUCER).hex(" ") == SET.hex(" ")


def test_a_set_is_read_with_its_header_and_its_messages() -> None:
    found = read_set(SET)
    assert found.head == read_head(SET) == HEAD
    assert found.messages == found.records == RECORDS
    assert (HEAD.compression, HEAD.timestamp_type, HEAD.is_transactional) == ("none", "CreateTime", True)


@pytest.mark.parametrize("codec", COMPRESSED)
def test_a_compressed_set_is_read_like_a_plain_one(codec: str) -> None:
    found = read_set(COMPRESSED[codec])
    assert (found.messages, found.head.compression) == (RECORDS, codec)
    assert (found.head.next_offset, found.head.max_timestamp) == (8, 2)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_a_set_is_written_with_every_codec(codec: Any) -> None:
    data = write_set(RECORDS, compression=codec, **PRODUCER)
    expected = COMPRESSED.get(codec, SET)
    assert data[16:45].hex(" ") == changed(expected, 17, "00" + f"0{'none gzip snappy lz4'.split().index(codec)}")[
        16:45
    ].hex(" ")
    assert read_set(data).messages == RECORDS
    (batch,) = read_batches(data, magic_2="kip-98 draft")
    assert (batch.records, batch.compression) == (RECORDS, codec)


def test_control_messages_have_the_drafts_numbers() -> None:
    assert write_set(CONTROL, is_transactional=True, **{**PRODUCER, "base_sequence": 5}).hex(" ") == MARKERS.hex(" ")
    found = read_set(MARKERS)
    assert (found.messages, found.records) == (CONTROL, [])
    assert [one.type for one in CONTROL] == ["COMMIT", "ABORT"]
    assert (COMMIT, ABORT, ControlMessage(offset=0, type_id=2).type) == (0, 1, "UNKNOWN")


@given(type_id=st.integers(-(2**15), 2**15 - 1), value=st.none() | st.binary(max_size=200))
def test_the_value_of_a_control_message_of_any_type_is_left_to_its_schema(type_id: int, value: bytes | None) -> None:
    given = ControlMessage(offset=3, type_id=type_id, timestamp=1, value=value)
    found = read_set(write_set([given])).messages
    assert found == [given]
    assert type(found[0].value) is type(value)


def test_control_messages_and_others_may_be_in_one_set() -> None:
    mixed: list[Any] = [RECORDS[0], ControlMessage(offset=6, type_id=COMMIT)]
    found = read_set(write_set(mixed))
    assert (found.messages, found.records) == (mixed, RECORDS[:1])


def test_sets_are_read_one_after_the_other() -> None:
    second = read_set(SET + MARKERS, HEAD.size)
    assert (second.head.position, second.messages) == (HEAD.size, CONTROL)
    assert second.head.position + second.head.size == len(SET + MARKERS)
    assert read_set(memoryview(SET + MARKERS), HEAD.size) == second


_offsets = st.lists(st.integers(0, 2**31 - 2), min_size=1, max_size=5, unique=True).map(sorted)


@given(
    st.integers(0, 2**62),
    _offsets,
    st.sampled_from(["none", "gzip", "snappy", "lz4"]),
    st.lists(st.none() | st.binary(max_size=200), min_size=10, max_size=10),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=5, max_size=5),
    st.booleans(),
)
def test_what_is_written_is_read(
    base: int, deltas: list[int], codec: Any, data: list[bytes | None], timestamps: list[int], is_control: bool
) -> None:
    messages: list[Any] = [
        Record(offset=base + delta, timestamp=timestamps[index], key=data[index], value=data[index + 5])
        for index, delta in enumerate(deltas)
    ]
    if is_control:
        last = messages[-1]
        messages[-1] = ControlMessage(offset=last.offset, type_id=1, timestamp=last.timestamp, value=last.value)
    found = read_set(write_set(messages, compression=codec, base_offset=base))
    assert found.messages == messages
    assert found.head.next_offset == messages[-1].offset + 1
    assert found.head.max_timestamp == max(one.timestamp for one in messages)


# Facts from the header


def test_offsets_and_sequence_numbers_follow_from_the_header() -> None:
    assert (HEAD.base_offset, HEAD.last_offset, HEAD.next_offset) == (5, 7, 8)
    assert (HEAD.last_sequence, HEAD.next_sequence) == (5, 6)
    assert [HEAD.sequence_at(one.offset) for one in RECORDS] == [3, 5]
    with pytest.raises(ValueError, match="-1"):
        HEAD.sequence_at(4)


def test_a_compacted_set_keeps_its_offsets_and_sequence_numbers() -> None:
    """In the bytes both the first and the last of four messages are removed."""
    data = changed(HEADER + SECOND, 8, "00000030")
    data = changed(data, 19, "00000004")
    found = read_set(data)
    assert found.messages == RECORDS[1:]
    assert (found.head.base_offset, found.head.last_offset, found.head.next_offset) == (5, 8, 9)
    assert (found.head.last_sequence, found.head.next_sequence) == (6, 7)
    assert write_set(RECORDS[1:], base_offset=5, offset_delta=4, is_transactional=True, **PRODUCER) == data
    (batch,) = read_batches(data, magic_2="kip-98 draft")
    assert (batch.base_offset, batch.last_offset, batch.last_sequence) == (5, 8, 6)
    assert batch.sequence(batch.records[0]) == 5


def test_a_set_without_messages_keeps_them_too() -> None:
    data = changed(HEADER, 8, "00000021")
    found = read_set(data)
    assert (found.messages, found.head.next_offset, found.head.next_sequence) == ([], 8, 6)
    empty = write_set([], base_offset=5, offset_delta=3, max_timestamp=2, is_transactional=True, **PRODUCER)
    assert empty.hex(" ") == data.hex(" ")


@pytest.mark.parametrize(
    ("sequence", "last", "following"), [("7ffffffe", 0, 1), ("7fffffff", 1, 2), ("ffffffff", -1, -1)]
)
def test_sequence_numbers_start_again_within_a_set(sequence: str, last: int, following: int) -> None:
    head = read_head(changed(SET, 41, sequence))
    assert (head.last_sequence, head.next_sequence) == (last, following)


def test_with_append_time_the_header_alone_counts() -> None:
    data = changed(changed(SET, 17, "0008"), 23, "0000000000000001")  # below the 2 of a message
    found = read_set(data)
    assert (found.head.timestamp_type, [one.timestamp for one in found.messages]) == ("LogAppendTime", [1, 1])
    written = write_set(RECORDS, timestamp_type="LogAppendTime", max_timestamp=1, **PRODUCER)
    assert written.hex(" ") == data.hex(" ")


def test_the_highest_timestamp_may_be_that_of_a_removed_message() -> None:
    assert read_set(changed(SET, 23, "0000000000000003")).head.max_timestamp == 3
    assert read_set(write_set(RECORDS, max_timestamp=3)).head.max_timestamp == 3


WRONG_HEADERS = {
    "an offset delta below the messages": (changed(SET, 19, "00000002"), "offset_delta", 19, "need 3 or more"),
    "a negative offset delta": (changed(SET, 19, "ffffffff"), "offset_delta", 19, "is -1"),
    "a timestamp below a message's": (changed(SET, 23, "0000000000000001"), "max_timestamp", 23, "has 2"),
    "plain messages under a compression type": (changed(SET, 17, "0001"), "messages", 45, "the gzip data is broken"),
    "a codec that the draft does not have": (
        changed(SET, 17, "0004"),
        "attributes",
        17,
        "unknown compression 4; the draft supports 0 to",
    ),
    "a bit without a meaning": (changed(SET, 17, "0020"), "attributes", 17, "bits"),
    "another magic": (changed(SET, 16, "01"), "magic", 16, "1"),
    "a length below the header's": (changed(SET, 8, "00000020"), "length", 8, "33"),
    "a length beyond the bytes": (changed(SET, 8, "00000043"), "length", 8, "declares 67 more bytes, but only 66"),
    "a header cut short": (SET[:44], "", 0, "the header has 45 bytes, but only 44 are left"),
    "a wrong checksum": (with_bytes(SET, 30, b"\x03"), "crc", 12, "but the bytes after it have"),
    "a message's wrong checksum": (changed(SET, 62, "ff"), "messages[0].crc", 59, "crc32"),
}


@pytest.mark.parametrize("name", WRONG_HEADERS)
def test_sets_whose_header_is_not_true_are_refused(name: str) -> None:
    data, path, offset, reason = WRONG_HEADERS[name]
    with pytest.raises(DecodeError) as caught:
        read_set(MARKERS + data, len(MARKERS))
    assert (caught.value.message, caught.value.path) == ("MessageSet", path)
    assert caught.value.offset == len(MARKERS) + offset
    assert reason in caught.value.reason


@pytest.mark.parametrize("name", [name for name in WRONG_HEADERS if "offset delta" in name or "timestamp" in name])
def test_batches_are_not_made_of_such_sets(name: str) -> None:
    data, path, offset, reason = WRONG_HEADERS[name]
    with pytest.raises(DecodeError) as caught:
        list(read_batches(data, magic_2="kip-98 draft"))
    assert (caught.value.path, caught.value.offset) == (f"batches[0].{path}", offset)
    assert reason in caught.value.reason


WRONG_MESSAGES = {
    "a negative offset delta": ("12 03 0000000000000000 ffffffff0f", "offset_delta", 10, "is -1"),
    "a control message without a key": ("0e 05 0000000000000000 00", "key", 11, "is null, but is_control is set"),
    "nor a value": ("0e 07 0000000000000000 00", "key", 11, "is null, but is_control is set"),
    "a key cut short": ("11 06 0000000000000000 00 000000", "key.control_message_type", 13, "need 2 bytes"),
    "a key of another version": ("13 04 0000000000000000 00 04 00010000", "key.version", 12, "1"),
    "a key that is too long": ("13 06 0000000000000000 00 0000000000", "key", 15, "trailing byte"),
}


@pytest.mark.parametrize("name", WRONG_MESSAGES)
@pytest.mark.parametrize("codec", ["0000", "0001"])
def test_messages_that_the_draft_forbids_are_refused(name: str, codec: str) -> None:
    table, path, offset, reason = WRONG_MESSAGES[name]
    data = of_messages("0e 03 0000000000000000 00", table)
    at = 45 + 15 + offset
    if codec != "0000":
        stream = zlib.compressobj(wbits=31)
        size = len(data) - 45
        data = plain_section(stream.compress(data[45:]) + stream.flush(), codec)
        at, reason = 45, f"(at byte {15 + offset} of the {size} that they decompress to)"
    with pytest.raises(DecodeError) as caught:
        read_set(data)
    assert (caught.value.path, caught.value.offset) == (f"messages[1].{path}", at)
    assert reason in caught.value.reason


def test_a_limit_holds_for_messages_and_for_their_size() -> None:
    assert read_set(COMPRESSED["gzip"], max_items=2, max_decompressed_size=33).messages == RECORDS
    with pytest.raises(DecodeError, match="more than 1 records and headers"):
        read_set(COMPRESSED["gzip"], max_items=1)
    with pytest.raises(DecodeError, match="more than 32 bytes"):
        read_set(COMPRESSED["gzip"], max_decompressed_size=32)


def test_wrong_checksums_may_be_ignored() -> None:
    damaged = with_bytes(with_bytes(with_bytes(SET, 12, bytes(4)), 59, bytes(4)), 74, bytes(4))
    assert read_set(damaged, check_crcs=False).messages == RECORDS
    long = [Record(offset=number, key=bytes(size)) for number, size in enumerate((0, 112, 113, 114, 20_000))]
    data = write_set(long)
    end = 45
    for message in long:
        end += len(write_set([message])) - 45
        data = with_bytes(data, end - 4, b"none")
    assert read_set(data, check_crcs=False).messages == long
    with pytest.raises(DecodeError, match=r"messages\[1\]\.crc at byte 73: need 4 bytes"):
        read_set(of_messages("0e 03 0000000000000000 00", "0d 03 0000000000000000"), check_crcs=False)


def test_more_messages_than_allowed_are_refused_before_any_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "Messages", None)
    with pytest.raises(DecodeError, match="more than 1 records and headers") as caught:
        read_set(SET, max_items=1)
    assert (caught.value.path, caught.value.offset) == ("messages", 45)


def test_the_smallest_message_is_known() -> None:
    assert len(write_set([Record(offset=0)])) == 45 + 1 + reading.SMALLEST_MESSAGE


NOT_WRITTEN: dict[str, tuple[list[Any], dict[str, Any], str, str]] = {
    "an offset delta below the messages": (RECORDS, {"offset_delta": 2}, "offset_delta", "need 3 or more"),
    "a negative offset delta": ([], {"base_offset": 0, "offset_delta": -1}, "offset_delta", "is -1"),
    "a timestamp below a message's": (RECORDS, {"max_timestamp": 1}, "max_timestamp", "has 2"),
    "a message before the set": (RECORDS, {"base_offset": 6}, "messages[0].offset", "5 is before the set"),
    "offsets that do not ascend": (RECORDS[::-1], {}, "messages[1].offset", "5 is not above 7"),
    "the same offset twice": (RECORDS[:1] * 2, {}, "messages[1].offset", "5 is not above 5"),
    "zstd": (RECORDS, {"compression": "zstd"}, "compression", "the draft does not support 'zstd'"),
    "no timestamp type": (RECORDS, {"timestamp_type": "NoTimestampType"}, "timestamp_type", "use one of CreateTime"),
    "headers": ([Record(offset=0, headers=[("h", b"")])], {}, "messages[0].headers", "the draft has no headers"),
    "what is not a message": ([b""], {}, "messages[0]", "must be a Record or a ControlMessage, not bytes"),
    "nothing without an offset": ([], {"offset_delta": 1}, "offset", "a set without messages needs one"),
    "nothing without a delta": ([], {"base_offset": 1}, "offset_delta", "a set without messages needs one"),
    "a value of another type": ([Record(offset=0, value="v")], {}, "messages[0].value", "must be bytes"),  # type: ignore[arg-type]
    "an epoch out of range": (RECORDS, {"producer_epoch": 2**15}, "epoch", "32768"),
    "an offset delta out of range": (
        [RECORDS[0], Record(offset=2**31 + 5)], {}, "messages[1].offset_delta", "2147483648"
    ),
    "a control type out of range": ([ControlMessage(offset=0, type_id=2**15)], {}, "control_message_type", "32768"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_WRITTEN)
def test_what_is_not_a_set_is_not_written(name: str) -> None:
    messages, values, path, reason = NOT_WRITTEN[name]
    with pytest.raises(EncodeError) as caught:
        write_set(messages, **values)
    assert (caught.value.message, caught.value.path) == ("MessageSet", path)
    assert reason in caught.value.reason


# A message's own checksum


@pytest.mark.parametrize("data", [SET, *COMPRESSED.values()])
def test_the_checksum_of_each_message_is_given(data: bytes) -> None:
    assert read_set(data).crcs == [0x0CB96360, 0xD485D0DB] == [zlib.crc32(FIRST[1:-4]), zlib.crc32(SECOND[1:-4])]


def test_control_messages_have_checksums_too_and_writing_gives_them_again() -> None:
    found = read_set(MARKERS)
    assert found.crcs == [0xAFED40DF, 0x215BA5C2]
    assert read_set(write_set(found.messages, base_offset=found.head.base_offset)).crcs == found.crcs
    assert read_set(write_set([], base_offset=5, offset_delta=3)).crcs == []


def test_a_wrong_checksum_that_is_ignored_is_given_as_it_is() -> None:
    damaged = with_bytes(SET, 59, b"none")
    assert read_set(damaged, check_crcs=False).crcs == [int.from_bytes(b"none", "big"), 0xD485D0DB]


def test_a_message_is_checked_by_its_own_checksum_where_that_of_the_set_is_lost() -> None:
    """An auditor may have kept only a part of the set."""
    damaged = with_bytes(with_bytes(SET, 12, b"lost"), 58, b"V")  # the first message has another value
    with pytest.raises(DecodeError, match=r"messages\[0\]\.crc"):
        find_message(damaged, 5)
    assert find_message(damaged, 7) == RECORDS[1]
    changed_record = find_message(damaged, 5, check_crcs=False)
    assert changed_record == Record(offset=5, timestamp=1, key=b"k", value=b"V")


# One message at a time

GAPS = write_set(
    [Record(offset=at, timestamp=at, key=b"k" * at, value=b"v" * 200 * (at % 3)) for at in (3, 4, 130, 131, 20_000)],
    base_offset=2,
    offset_delta=20_005,
)


@pytest.mark.parametrize("data", [SET, MARKERS, GAPS, *COMPRESSED.values()])
@pytest.mark.parametrize("wrapped", [bytes, bytearray, memoryview])
def test_messages_one_at_a_time_are_those_of_the_set(data: bytes, wrapped: Callable[[bytes], Any]) -> None:
    before = b"before"
    buffer, messages = wrapped(before + data + b"after"), read_set(data).messages
    assert list(read_messages(buffer, len(before))) == messages
    known = {one.offset: one for one in messages}
    head = read_head(data)
    for offset in {*known, *range(head.base_offset - 2, head.base_offset + 9), head.last_offset, head.next_offset, -1}:
        assert find_message(buffer, offset, len(before)) == known.get(offset), offset


def at_once(data: bytes, check_crcs: bool) -> list[Any]:
    return read_set(data, 1, check_crcs=check_crcs).messages


def one_by_one(data: bytes, check_crcs: bool) -> list[Any]:
    return list(read_messages(data, 1, check_crcs=check_crcs))


def outcome(read: Callable[[bytes, bool], list[Any]], data: bytes, check_crcs: bool = True) -> Any:
    """Return the messages of a set that follows a byte, or its error."""
    try:
        return read(b"x" + data, check_crcs)
    except DecodeError as error:
        return error.path, error.offset, error.reason


TO_DAMAGE = {
    "messages": SET,
    "markers": MARKERS,
    "cut short": plain_section(FIRST + SECOND[:-1]),
    "a rest": plain_section(FIRST + b"\1\0"),
}


@pytest.mark.parametrize("check_crcs", [True, False])
@pytest.mark.parametrize("name", TO_DAMAGE)
def test_damaged_messages_have_the_same_errors_one_at_a_time(name: str, check_crcs: bool) -> None:
    """Each single error is the same. With two, the order may differ: the header is compared as each message is read."""
    data = TO_DAMAGE[name]
    for bit in range(8 * 17, 8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        whole = with_crc(bytes(damaged))
        expected, found = (outcome(read, whole, check_crcs) for read in (at_once, one_by_one))
        if not isinstance(found, tuple) or not isinstance(expected, tuple):
            assert found == expected, bit
        elif found[0] not in ("offset_delta", "max_timestamp"):
            # Of two errors, reading at once reports a wrong size first, and reading one by one the earlier message's.
            assert found == expected or found[0][:11] < expected[0][:11], bit


def test_messages_of_a_compressed_set_have_the_same_errors_one_at_a_time() -> None:
    for damaged in (with_bytes(COMPRESSED["snappy"], 50, b"\xff"), with_bytes(COMPRESSED["snappy"], 70, b"\xff")):
        expected = outcome(at_once, with_crc(damaged))
        assert isinstance(expected, tuple)
        assert outcome(one_by_one, with_crc(damaged)) == expected
    with pytest.raises(DecodeError, match="more than 32 bytes"):
        find_message(COMPRESSED["gzip"], 5, max_decompressed_size=32)


def test_what_follows_the_message_is_not_read_and_what_is_before_it_not_decoded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoded = []

    class Counting:
        @staticmethod
        def decode(data: bytes) -> Any:
            decoded.append(len(data))
            return Messages.decode(data)

    monkeypatch.setattr(single, "Messages", Counting)
    messages = [Record(offset=at, value=bytes(at)) for at in range(50)]
    data = write_set(messages)
    broken = data[:47] + b"broken" + data[53:-40] + bytes(40)  # the first message and the last ones
    assert find_message(broken, 30) == messages[30]
    assert decoded == [len(write_set([messages[30]], base_offset=0)) - 45]
    assert find_message(data, 50) is None
    assert len(decoded) == 1
    stream = read_messages(data)
    assert [next(stream), next(stream)] == messages[:2]
    assert len(decoded) == 3


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_the_first_messages_cost_the_same_in_a_long_set(codec: Any) -> None:
    def costs(count: int) -> tuple[int, int, int]:
        data = write_set([Record(offset=at, value=b"v" * 100) for at in range(count)], compression=codec)
        return (
            cost_of(lambda: find_message(data, 3)).steps,
            cost_of(lambda: next(read_messages(data))).steps,
            cost_of(lambda: find_message(data, count - 1)).steps,
        )

    short, long = costs(10), costs(2000)
    assert short[:2] == long[:2]
    per_skipped = (long[2] - short[2]) / 1990
    assert per_skipped < 30, "a message that is passed over costs its two numbers"


def test_finding_a_message_copies_no_other() -> None:
    data = write_set([Record(offset=at, value=bytes(100_000)) for at in range(50)])
    assert cost_of(lambda: find_message(data, 49)).memory < 500_000


# The set of an offset


def test_the_set_of_an_offset_is_found_by_headers_alone() -> None:
    """Neither messages nor checksums are right; compaction has removed the sets from 11 to 19."""
    broken = with_bytes(SET, 45, bytes(33))
    later = (20).to_bytes(8, "big") + broken[8:]
    log = broken + MARKERS + later
    second, third = len(SET), len(SET + MARKERS)
    found = [find_set(log, offset) for offset in (0, 5, 7, 8, 9, 10, 11, 19, 20, 22, 23)]
    assert found == [0, 0, 0, second, second, second, third, third, third, third, None]
    assert read_head(log, third).base_offset == 20


def test_offsets_that_compaction_removed_are_those_of_their_set() -> None:
    compacted = write_set(RECORDS[:1], offset_delta=100)
    log = compacted + write_set([Record(offset=105)])
    assert [find_set(log, offset) for offset in (104, 105)] == [0, len(compacted)]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_sets_are_found_after_messages_of_old(magic: Any, codec: Any) -> None:
    old = write_message_set([Record(offset=1, value=b"a"), Record(offset=2)], magic=magic, compression=codec)
    second = 0 if codec == "gzip" else old.index((2).to_bytes(8, "big"))
    assert [find_set(old + SET, offset) for offset in (0, 1, 2, 3, 7, 8)] == [0, 0, second, len(old), len(old), None]


def test_a_log_that_is_cut_short_is_searched_up_to_there() -> None:
    assert [find_set(SET + MARKERS[:end], 9) for end in (0, 22, 23, 50)] == [None, None, len(SET), len(SET)]
    assert find_set(b"", 0) is None


@pytest.mark.parametrize(
    ("patch", "at", "path", "reason"),
    [
        ("03", 16, "magic", "unknown message format 3"),
        ("00000020", 8, "length", "the smallest has 33"),
        ("80000000", 19, "offset_delta", "must not be negative"),
    ],
)
def test_searching_ends_at_bytes_that_are_not_a_header(patch: str, at: int, path: str, reason: str) -> None:
    with pytest.raises(DecodeError) as caught:
        find_set(MARKERS + with_bytes(SET, at, bytes.fromhex(patch)), 11)
    assert (caught.value.path, caught.value.offset) == (path, len(MARKERS) + at)
    assert reason in caught.value.reason


# For clients that ask for an older format

OLD = {
    1: octets("""
        0000000000000005 00000018         # Offset 5, MessageSize 24
        cf056e6e 01 00 0000000000000001   # CRC, Magic, Attributes, Timestamp 1
        00000001 6b 00000001 76           # Key "k", Value "v"
        0000000000000007 00000016         # Offset 7, MessageSize 22
        e2d9515f 01 00 0000000000000002   # CRC, Magic, Attributes, Timestamp 2
        ffffffff ffffffff                 # Key null, Value null
    """),
    0: octets("""
        0000000000000005 00000010         # Offset 5, MessageSize 16
        1fecd70a 00 00                    # CRC, Magic, Attributes
        00000001 6b 00000001 76           # Key "k", Value "v"
        0000000000000007 0000000e         # Offset 7, MessageSize 14
        a7ec6803 00 00                    # CRC, Magic, Attributes
        ffffffff ffffffff                 # Key null, Value null
    """),
}


@pytest.mark.parametrize("magic", [1, 0])
def test_sets_become_messages_of_old_and_say_what_is_lost(magic: Any) -> None:
    down = down_convert(SET + MARKERS, magic, magic_2="kip-98 draft")
    assert down.data.hex(" ") == OLD[magic].hex(" ")
    assert down.lost == [
        Loss("transaction", 0, 5, 7, 2),
        Loss("producer state", 0, 5, 7, 1),
        *([] if magic else [Loss("timestamps", 0, 5, 7, 2)]),
        Loss("control records", 1, 9, 10, 2),
    ]


@pytest.mark.parametrize("magic", [1, 0])
def test_messages_before_what_a_client_asked_for_are_left_out(magic: Any) -> None:
    down = down_convert(SET, magic, magic_2="kip-98 draft", first_offset=7)
    second = 36 if magic else 28
    assert down.data.hex(" ") == OLD[magic][second:].hex(" ")


@pytest.mark.parametrize("magic", [1, 0])
@pytest.mark.parametrize("codec", COMPRESSED)
def test_compressed_sets_become_compressed_messages_of_old(codec: str, magic: Any) -> None:
    down = down_convert(COMPRESSED[codec], magic, magic_2="kip-98 draft")
    (entry,) = read_batches(down.data)
    assert (entry.magic, entry.compression, entry.last_offset) == (magic, codec, 7)
    assert [(one.offset, one.key, one.value) for one in entry.records] == [(5, b"k", b"v"), (7, None, None)]
    assert [one.timestamp for one in entry.records] == ([1, 2] if magic else [-1, -1])
    timestamps = [] if magic else [Loss("timestamps", 0, 5, 7, 2)]
    assert down.lost == [Loss("producer state", 0, 5, 7, 1), *timestamps]
    if codec == "gzip":  # offsets inside are relative in magic 1, absolute in magic 0
        inner = OLD[magic]
        if magic:
            inner = bytes(8) + inner[8:36] + (2).to_bytes(8, "big") + inner[44:]
        start = 34 if magic else 26
        assert zlib.decompress(down.data[start:], wbits=31).hex(" ") == inner.hex(" ")


def test_what_compaction_kept_is_reported_as_lost() -> None:
    compacted = write_set(RECORDS[1:], base_offset=5, offset_delta=4, max_timestamp=9)
    empty = write_set([], base_offset=9, offset_delta=1, producer_id=9, producer_epoch=0, base_sequence=0)
    down = down_convert(compacted + empty, 1, magic_2="kip-98 draft")
    assert down.data == OLD[1][36:]
    assert down.lost == [
        Loss("offset range", 0, 5, 8, 3),
        Loss("max timestamp", 0, 5, 8, 1),
        Loss("empty batch", 1, 9, 9, 1),
    ]


@pytest.mark.parametrize("magic", [1, 0])
def test_append_time_of_a_set_is_kept_in_magic_1_and_lost_in_magic_0(magic: Any) -> None:
    data = write_set(RECORDS[1:], timestamp_type="LogAppendTime", max_timestamp=7)
    down = down_convert(data, magic, magic_2="kip-98 draft")
    expected = octets("""
        0000000000000007 00000016         # Offset 7, MessageSize 22
        4e5e5b8e 01 08 0000000000000007   # CRC, Magic, Attributes: broker's timestamp, Timestamp 7
        ffffffff ffffffff                 # Key null, Value null
    """)
    assert down.data.hex(" ") == (expected if magic else OLD[0][28:]).hex(" ")
    assert [one.what for one in down.lost] == ([] if magic else ["timestamps", "timestamp type"])
