"""Headers that are found in the bytes of a message: the same as by decoding, and nothing after them is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipwire import DecodeError
from kipwire.drafts.header_keys import HIGHEST_KEY
from kipwire.drafts.kip_82 import (
    ProducerRecord,
    find_header,
    find_header_in_section,
    headers_up_to,
    read_records,
    write_records,
)
from kipwire.drafts.proposals.message_and_offset.v2 import Header, MessageAndOffset
from kipwire.records import Record, write_message_set
from kipwire.testing import damaged
from tests.support.cost import cost_of
from tests.support.hex_tables import octets, with_crc

MESSAGE = octets("""
    0000000000000000 0000002f  # Offset 0, MessageSize 47
    76f87884 02 10             # Crc, MagicByte, Attributes: headers
    0000000000000001           # Timestamp 1
    00000001 6b                # Key "k"
    00000013                   # HeadersLength 19
    00000001 00000002 6162     # header 1: "ab"
    00100010 00000001 78       # header 0x00100010: "x"
    00000001 76                # Value "v"
""")
PLAIN = octets("""
    0000000000000000 00000018  # Offset 0, MessageSize 24
    60ac23a4 02 00             # Crc, MagicByte, Attributes
    0000000000000001           # Timestamp 1
    00000001 6b                # Key "k"
    00000001 76                # Value "v"
""")
TRACE = 0x00100010
SECOND = 45
"""Where the second header of MESSAGE starts."""

KEYS = st.integers(0, 6) | st.sampled_from([TRACE, 0x7FFFFFFF, 0x80000000, HIGHEST_KEY]) | st.integers(0, HIGHEST_KEY)
HEADERS = st.dictionaries(KEYS, st.binary(max_size=9), max_size=6)
BYTES = st.none() | st.binary(max_size=9)


@st.composite
def encoded(draw: st.DrawFn) -> bytes:
    headers = [Header(key=key, value=value) for key, value in draw(HEADERS).items()]
    return MessageAndOffset(
        offset=draw(st.integers(0, 2**63 - 1)), key=draw(BYTES), headers=headers, value=draw(BYTES)
    ).encode()


def patched(at: int, hexadecimal: str, data: bytes = MESSAGE) -> bytes:
    wrong = bytes.fromhex(hexadecimal)
    return data[:at] + wrong + data[at + len(wrong) :]


def test_a_header_is_found_by_its_key() -> None:
    assert [find_header(MESSAGE, key) for key in (0, 1, 2, TRACE, HIGHEST_KEY)] == [None, b"ab", None, b"x", None]
    assert find_header(PLAIN, 1) is None
    empty = MessageAndOffset(headers=[Header(key=7)]).encode()
    assert find_header(empty, 7) == b""


def test_headers_up_to_a_key_are_found() -> None:
    assert headers_up_to(MESSAGE, 0) == {}
    assert headers_up_to(MESSAGE, 1) == headers_up_to(MESSAGE, TRACE - 1) == {1: b"ab"}
    assert headers_up_to(MESSAGE, TRACE) == headers_up_to(MESSAGE, HIGHEST_KEY) == {1: b"ab", TRACE: b"x"}


@given(before=st.binary(max_size=5), data=encoded(), after=st.binary(max_size=5), key=KEYS)
def test_the_answer_is_that_of_decoding_the_whole_message(before: bytes, data: bytes, after: bytes, key: int) -> None:
    headers = {header.key: header.value for header in MessageAndOffset.decode(data).headers}
    buffer = before + data + after
    for form in (buffer, bytearray(buffer), memoryview(buffer), memoryview(buffer).cast("b")):
        for wanted in (key, *headers):
            assert find_header(form, wanted, len(before)) == headers.get(wanted)
        up_to = headers_up_to(form, key, len(before))
        assert up_to == {one: value for one, value in headers.items() if one <= key}


@settings(deadline=None)
@given(data=encoded().flatmap(damaged) | st.binary(max_size=90), key=KEYS)
def test_damaged_bytes_have_an_answer_or_an_error_with_a_place(data: bytes, key: int) -> None:
    uses: list[Callable[[], object]] = [
        lambda: find_header(data, key),
        lambda: find_header_in_section(data, key),
        lambda: headers_up_to(data, key),
    ]
    for use in uses:
        try:
            found = use()
        except DecodeError as error:
            assert 0 <= error.offset <= len(data)
        else:
            assert type(found) is not bytes or found in data
    try:
        decoded = MessageAndOffset.decode(data)
    except DecodeError:
        return
    assert find_header(data, key) == {header.key: header.value for header in decoded.headers}.get(key)


@pytest.mark.parametrize("wrong", ["00000001", "00100010ffffffff", "0010001000000002", "001000107fffffff"])
def test_nothing_after_the_header_is_read(wrong: str) -> None:
    data = patched(SECOND, wrong)
    with pytest.raises(DecodeError):
        MessageAndOffset.decode(data)
    assert find_header(data, 1) == b"ab"
    if wrong.startswith("00100010"):
        assert find_header(data, 2) is None, "the first header of a higher key ends the look-up"
        assert headers_up_to(data, TRACE - 1) == {1: b"ab"}
    with pytest.raises(DecodeError):
        find_header(data, TRACE + 1)


def test_a_lower_key_is_found_in_fewer_steps_whatever_follows_it() -> None:
    def steps(key: int, count: int) -> int:
        headers = [Header(key=one, value=b"0123456789") for one in range(count)]
        data = MessageAndOffset(headers=headers, value=b"v" * count).encode()
        assert find_header(data, key) == b"0123456789"
        return cost_of(lambda: find_header(data, key)).steps

    assert steps(0, 10) == steps(0, 1000)
    assert steps(7, 10) == steps(7, 1000)
    each = [steps(key, 1000) for key in (0, 1, 2, 10, 999)]
    assert each == sorted(each)
    assert each[-1] - each[0] == 999 * (each[1] - each[0]), "as many for each header before it"


def test_what_is_not_checked() -> None:
    for data in (
        patched(12, "00000000"),  # the CRC
        patched(17, "f7"),  # bits without a meaning, another codec
        patched(54, "ffffffee"),  # the length of the value
    ):
        with pytest.raises(DecodeError):
            MessageAndOffset.decode(data)
        assert find_header(data, 1) == b"ab"


WRONG = {
    "another magic byte": (patched(16, "03"), "magic_byte", 16),
    "a size beyond the buffer": (patched(8, "00000030"), "message_size", 8),
    "a size below nothing": (patched(8, "80000000"), "message_size", 8),
    "a key of length -2": (patched(26, "fffffffe"), "key", 26),
    "a key beyond the message": (patched(26, "0000001e"), "key", 30),
    "a key up to the end": (patched(26, "0000001d"), "headers", 59),
    "a section beyond the message": (patched(31, "7fffffff"), "headers", 35),
    "a section of negative length": (patched(31, "ffffffff"), "headers", 31),
    "a section that ends within a header": (patched(31, "00000012"), "headers[1].value", 53),
    "a section that ends within a key": (patched(31, "0000000c"), "headers[1].key", 45),
    "a section that ends within a length": (patched(31, "00000010"), "headers[1].value", 49),
    "descending keys": (patched(45, "00000000"), "headers[1].key", 45),
    "a key twice": (patched(45, "00000001"), "headers[1].key", 45),
    "a null header value": (patched(49, "ffffffff"), "headers[1].value", 49),
    "a header value beyond the section": (patched(49, "00000002"), "headers[1].value", 53),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_has_the_place_that_decoding_gives_it(name: str) -> None:
    data, path, offset = WRONG[name]
    data = with_crc(data)
    with pytest.raises(DecodeError) as whole:
        MessageAndOffset.decode(data)
    assert (whole.value.path, whole.value.offset) == (path, offset), whole.value
    for use in (find_header, headers_up_to):
        with pytest.raises(DecodeError) as caught:
            use(b"before" + data, HIGHEST_KEY, 6)
        assert (caught.value.path, caught.value.offset) == (path, offset + 6), caught.value
        assert (caught.value.message, caught.value.version) == ("MessageAndOffset", 2)


def test_bytes_that_end_before_the_magic_are_refused() -> None:
    for size in range(17):
        with pytest.raises(DecodeError, match="a message starts with 17 bytes"):
            find_header(MESSAGE[:size], 1)
    for size in range(17, len(MESSAGE)):
        with pytest.raises(DecodeError, match="message_size at byte 8: declares 47 more bytes, but"):
            find_header(MESSAGE[:size], 1)


def test_a_size_below_a_message_s_is_refused() -> None:
    with pytest.raises(
        DecodeError, match="message_size at byte 8: a message of magic 2 cannot have 21 bytes; the smallest"
    ):
        find_header(patched(8, "00000015"), 1)


def test_messages_of_older_producers_have_no_headers() -> None:
    for magic in (0, 1):
        old: Any = write_message_set([Record(offset=0, value=b"v")], magic=magic)
        assert find_header(old, 1) is None
        assert headers_up_to(old, HIGHEST_KEY) == {}
        with pytest.raises(DecodeError, match=f"a message of magic {magic} cannot have 1[32] bytes"):
            find_header(old[:11] + bytes((12 + magic,)) + old[12:], 1)


def test_a_compressed_message_has_headers_of_its_own() -> None:
    inner = write_records([ProducerRecord(headers={1: b"inner"})], compression="gzip")
    assert find_header(inner, 1) is None
    assert next(read_records(inner)).get_header(1) == b"inner"
    entry = MessageAndOffset.decode(inner)
    entry.headers = [Header(key=1, value=b"outer")]
    assert find_header(entry.encode(), 1) == b"outer"


def test_a_section_is_searched_by_itself() -> None:
    section = MESSAGE[35:54]
    assert [find_header_in_section(section, key) for key in (1, 2, TRACE)] == [b"ab", None, b"x"]
    assert find_header_in_section(memoryview(section), TRACE) == b"x"
    assert find_header_in_section(b"", 1) is None
    with pytest.raises(DecodeError, match=r"headers\[1\].value at byte 18: need 1 byte, but none are left"):
        find_header_in_section(section[:-1], TRACE)


def test_wrong_arguments_are_refused() -> None:
    for offset in (-1, len(MESSAGE) + 1):
        with pytest.raises(ValueError, match=f"offset {offset} is outside the buffer of 59 bytes"):
            find_header(MESSAGE, 1, offset)
    for use in (find_header, headers_up_to, find_header_in_section):
        with pytest.raises(ValueError, match="-1 is not a header key"):
            use(MESSAGE, -1)
        with pytest.raises(TypeError, match="a header key must be an int"):
            use(MESSAGE, "1")  # type: ignore[arg-type]
