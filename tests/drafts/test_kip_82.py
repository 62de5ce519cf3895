"""KIP-82 in its version 43: messages with numbered headers, byte by byte, and the ranges of the numbers."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from kafka_records.message_and_offset import v1 as format_1
from kipwire import DecodeError, EncodeError
from kipwire.drafts.header_keys import HIGHEST_KEY, KEY_SPACES, key_space
from kipwire.drafts.proposals.message_and_offset.v2 import Header, MessageAndOffset
from tests.support.hex_tables import octets, with_crc

PLAIN = octets("""
    0000000000000000 00000018  # Offset 0, MessageSize 24
    60ac23a4 02 00             # Crc, MagicByte, Attributes
    0000000000000001           # Timestamp 1
    00000001 6b                # Key "k"
    00000001 76                # Value "v"
""")
WITH_HEADERS = octets("""
    0000000000000000 0000002f  # Offset 0, MessageSize 47
    76f87884 02 10             # Crc, MagicByte, Attributes: headers
    0000000000000001           # Timestamp 1
    00000001 6b                # Key "k"
    00000013                   # HeadersLength 19
    00000001 00000002 6162     # header 1: "ab"
    00100010 00000001 78       # header 0x00100010: "x"
    00000001 76                # Value "v"
""")


def message(**values: Any) -> MessageAndOffset:
    return MessageAndOffset(**{"timestamp": 1, "key": b"k", "value": b"v", **values})


def patched(data: bytes, at: int, hexadecimal: str) -> bytes:
    """Return a message with other bytes at one place, but a right CRC."""
    wrong = bytes.fromhex(hexadecimal)
    return with_crc(data[:at] + wrong + data[at + len(wrong) :])


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (message(), PLAIN),
        (message(headers=[Header(key=1, value=b"ab"), Header(key=0x00100010, value=b"x")]), WITH_HEADERS),
    ],
    ids=["plain", "with headers"],
)
def test_messages_have_the_bytes_of_the_text(value: MessageAndOffset, data: bytes) -> None:
    assert with_crc(data) == data, "the table itself is wrong"
    assert value.encode().hex(" ") == data.hex(" ")
    assert value.encoded_size() == len(data)
    assert MessageAndOffset.decode(data) == value
    assert MessageAndOffset.from_json(value.to_json()) == value


@pytest.mark.parametrize("key", [None, b"", b"key"])
@pytest.mark.parametrize("value", [None, b"", b"value"])
def test_without_headers_a_message_is_as_long_as_one_of_format_1(key: bytes | None, value: bytes | None) -> None:
    before = format_1.MessageAndOffset(offset=3, timestamp=9, key=key, value=value).encode()
    after = message(offset=3, timestamp=9, key=key, value=value).encode()
    assert len(after) == len(before)
    assert after[:12] + after[17:] == before[:12] + before[17:], "more differs than CRC and magic byte"


def test_null_keys_and_values_are_a_length_of_minus_one_as_in_format_1() -> None:
    data = message(key=None, value=None).encode()
    assert data[26:] == bytes.fromhex("ffffffff ffffffff")
    assert MessageAndOffset.decode(data) == message(key=None, value=None)


def test_headers_are_put_into_the_order_of_their_keys() -> None:
    headers = [Header(key=key, value=b"") for key in (HIGHEST_KEY, 0, 0x7FFFFFFF, 0x80000000)]
    decoded = MessageAndOffset.decode(message(headers=headers).encode())
    assert [header.key for header in decoded.headers] == [0, 0x7FFFFFFF, 0x80000000, HIGHEST_KEY]


def test_a_section_of_no_headers_is_read_and_not_written_again() -> None:
    empty = PLAIN[:8] + b"\0\0\0\x1c" + PLAIN[12:17] + b"\x10" + PLAIN[18:31] + bytes(4) + PLAIN[31:]
    decoded = MessageAndOffset.decode(with_crc(empty))
    assert decoded == message()
    assert decoded.encode() == PLAIN


def test_attributes_are_named_bits() -> None:
    data = message(compression_type=2, timestamp_type=True).encode()
    assert data[17] == 0x0A
    decoded = MessageAndOffset.decode(data)
    assert (decoded.compression_type, decoded.timestamp_type) == (2, True)


WRONG_BYTES = {
    "another magic byte": (patched(PLAIN, 16, "01"), "magic_byte", 16),
    "a bit without a meaning": (patched(PLAIN, 17, "20"), "attributes", 17),
    "a wrong CRC": (PLAIN[:15] + b"\xa5" + PLAIN[16:], "crc", 12),
    "descending keys": (patched(WITH_HEADERS, 45, "00000000"), "headers[1].key", 45),
    "a key twice": (patched(WITH_HEADERS, 45, "00000001"), "headers[1].key", 45),
    "a null header value": (patched(WITH_HEADERS, 49, "ffffffff"), "headers[1].value", 49),
    "a header value beyond the section": (patched(WITH_HEADERS, 49, "00000002"), "headers[1].value", 53),
    "a section that ends within a header": (patched(WITH_HEADERS, 31, "00000012"), "headers[1].value", 53),
    "a section beyond the message": (patched(WITH_HEADERS, 31, "7fffffff"), "headers", 35),
    "a section of negative length": (patched(WITH_HEADERS, 31, "ffffffff"), "headers", 31),
    "a key of length -2": (patched(PLAIN, 26, "fffffffe"), "key", 26),
    "a size below nothing": (patched(PLAIN, 8, "80000000"), "message_size", 8),
}


@pytest.mark.parametrize("name", WRONG_BYTES)
def test_wrong_bytes_are_refused_with_their_place(name: str) -> None:
    data, path, offset = WRONG_BYTES[name]
    with pytest.raises(DecodeError) as caught:
        MessageAndOffset.decode(data)
    assert (caught.value.path, caught.value.offset) == (path, offset), caught.value


@pytest.mark.parametrize("data", [PLAIN, WITH_HEADERS], ids=["plain", "with headers"])
def test_every_changed_bit_but_those_of_the_offset_is_noticed(data: bytes) -> None:
    for bit in range(8 * 8, 8 * len(data)):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 0x80 >> bit % 8
        with pytest.raises(DecodeError):
            MessageAndOffset.decode(bytes(damaged))


@pytest.mark.parametrize("data", [PLAIN, WITH_HEADERS], ids=["plain", "with headers"])
def test_messages_cut_short_are_refused(data: bytes) -> None:
    for end in range(len(data)):
        with pytest.raises(DecodeError):
            MessageAndOffset.decode(data[:end])


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ([Header(key=1, value=b"a"), Header(key=1, value=b"b")], "headers[1].key"),
        ([Header(key=-1)], "headers[0].key"),
        ([Header(key=HIGHEST_KEY + 1)], "headers[0].key"),
        ([Header(key=1, value=None)], "headers[0].value"),  # type: ignore[arg-type]
    ],
)
def test_wrong_headers_are_refused_with_their_place(headers: list[Header], path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        message(headers=headers).encode()
    assert caught.value.path == path, caught.value


def test_every_key_is_in_one_range() -> None:
    assert KEY_SPACES[0].first == 0
    assert KEY_SPACES[-1].last == HIGHEST_KEY == 2**32 - 1
    assert all(space.first <= space.last for space in KEY_SPACES)
    for before, after in itertools.pairwise(KEY_SPACES):
        assert after.first == before.last + 1


def test_a_range_is_found_by_its_ends() -> None:
    for space in KEY_SPACES:
        assert key_space(space.first) is space
        assert key_space(space.last) is space


@pytest.mark.parametrize(
    ("first", "last", "area", "category"),
    [
        (0x00000000, 0x0000FFFF, "Kafka open source", None),
        (0x00100000, 0x0010FFFF, "local use", "infrastructure"),
        (0x00110000, 0x0011FFFF, "local use", "client"),
        (0x00120000, 0x0012FFFF, "local use", "stack/middleware"),
        (0x00130000, 0x0013FFFF, "local use", "application"),
        (0x00140000, 0x0014FFFF, "local use", "user"),
        (0x00200000, 0x0020FFFF, "open use", "infrastructure"),
        (0x00210000, 0x0021FFFF, "open use", "client"),
        (0x00220000, 0x0022FFFF, "open use", "stack/middleware"),
        (0x00230000, 0x0023FFFF, "open use", "application"),
        (0x00240000, 0x0024FFFF, "open use", "user"),
        (0x00300000, 0x0030FFFF, "testing", "infrastructure"),
        (0x00310000, 0x0031FFFF, "testing", "client"),
        (0x00320000, 0x0032FFFF, "testing", "stack/middleware"),
        (0x00330000, 0x0033FFFF, "testing", "application"),
        (0x00340000, 0x0034FFFF, "testing", "user"),
    ],
)
def test_ranges_in_use_are_those_of_the_text(first: int, last: int, area: str, category: str | None) -> None:
    assert key_space(first) == (first, last, area, category, False)


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (0x00010000, 0x000FFFFF),
        (0x00150000, 0x001FFFFF),
        (0x00250000, 0x002FFFFF),
        (0x00350000, 0x003FFFFF),
        (0x00400000, 0xFFFFFFFF),
    ],
)
def test_reserved_ranges_are_those_of_the_text(first: int, last: int) -> None:
    space = key_space(first)
    assert (space.first, space.last, space.category, space.is_reserved) == (first, last, None, True)


@pytest.mark.parametrize(
    ("key", "area", "category"),
    [
        (0x00000010, "Kafka open source", None),
        (0x00100010, "local use", "infrastructure"),
        (0x00220010, "open use", "stack/middleware"),
        (0x00340010, "testing", "user"),
    ],
)
def test_the_examples_of_the_text_are_where_it_puts_them(key: int, area: str, category: str | None) -> None:
    space = key_space(key)
    assert (space.area, space.category, space.is_reserved) == (area, category, False)


@pytest.mark.parametrize("key", [-1, HIGHEST_KEY + 1])
def test_what_is_not_a_key_has_no_range(key: int) -> None:
    with pytest.raises(ValueError, match="is not a header key; the range is 0 to 0xffffffff"):
        key_space(key)
