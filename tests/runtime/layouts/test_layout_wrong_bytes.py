"""Layouts: wrong bytes are refused with their locations, and refusing them costs little."""

from __future__ import annotations

import pytest

from kipwire import DecodeError
from tests.support.cost import MUCH, cost_of_refusing
from tests.support.hex_tables import raw
from tests.support.spec_package import Classes
from tests.support.subjects.layout_examples import FRAME, NO_BITS, PAIRS

# Wrong bytes.

ARRAYS_UP_TO_CLASSIC = "ffffffff ffff 00000000 01 00 00 00"
ARRAYS_UP_TO_SIZED = f"{ARRAYS_UP_TO_CLASSIC} ffffffff 01 00"

WRONG: list[tuple[str, int, str, str]] = [
    # Sizes and counts before values.
    ("Prefixes", 0, "ffff", "text at byte 0: null, but this string must not be null in this version"),
    ("Prefixes", 1, "fffe", "text at byte 0: length of the string is -2"),
    ("Prefixes", 1, "ffff ffff | fffffffe", "text_int32 at byte 4: length of the string is -2"),
    ("Prefixes", 1, "ffff ffff ffffffff | 03", "text_varint at byte 8: length of the string is -2"),
    (
        "Prefixes",
        0,
        "0000 0000 00000000 | 01",
        "text_varint at byte 8: null, but this string must not be null in this version",
    ),
    (
        "Prefixes",
        1,
        "ffff ffff ffffffff | ffffffff1f",
        "text_varint at byte 8: length of the string is a varint of more than 32 bits",
    ),
    (
        "Prefixes",
        1,
        "ffff ffff ffffffff 01 | ffffffff0f",
        "text_uvarint at byte 9: length of the string is a varint of more than 31 bits",
    ),
    (
        "Prefixes",
        1,
        "ffff ffff ffffffff 01 | 8100 61",
        "text_uvarint at byte 9: length of the string is a varint with redundant trailing bytes",
    ),
    ("Prefixes", 1, "ffff ffff ffffffff 01 | 05 61", "text_uvarint at byte 10: need 5 bytes, but only 1 is left"),
    (
        "Prefixes",
        1,
        "ffff ffff ffffffff 01 00 | 7fffffff 61",
        "blob at byte 14: need 2147483647 bytes, but only 1 is left",
    ),
    ("Prefixes", 1, "0002 61ff", "text at byte 3: not UTF-8: invalid start byte"),
    ("Prefixes", 0, "00", "text at byte 0: need 2 bytes, but only 1 is left"),
    ("Arrays", 0, "ffffffff", "numbers at byte 0: null, but this array must not be null in this version"),
    ("Arrays", 0, "00000002 00000001", "numbers at byte 4: need 8 bytes, but only 4 are left"),
    ("Arrays", 1, "ffffffff | fffe", "shorts at byte 4: length of the array is -2"),
    ("Arrays", 1, "ffffffff ffff | 00000002 0102", "flags[1] at byte 11: bool is 2; it must be 0 or 1"),
    (
        "Arrays",
        1,
        "ffffffff ffff 00000000 | 02 ffff",
        "texts[0] at byte 11: null, but this string must not be null in this version",
    ),
    (
        "Arrays",
        1,
        "ffffffff ffff 00000000 01 | ffffffff0f",
        "blobs at byte 11: length of the array is a varint of more than 31 bits",
    ),
    ("Arrays", 1, f"{ARRAYS_UP_TO_CLASSIC} | 00000002 0100", "classic[1] at byte 20: need 1 byte, but none are left"),
    ("Arrays", 1, f"{ARRAYS_UP_TO_SIZED} | fffe", "sized_int16 at byte 20: length of the array is -2"),
    ("Arrays", 1, f"{ARRAYS_UP_TO_SIZED} | 0003 0100", "sized_int16 at byte 22: need 3 bytes, but only 2 are left"),
    (
        "Arrays",
        1,
        f"{ARRAYS_UP_TO_SIZED} | 0003 0105 61 62",
        "sized_int16[0].text at byte 24: need 5 bytes, but only 1 is left of the 3 that sized_int16 takes",
    ),
    # Fields that extend to the end.
    ("Rests", 0, "01 61", "blob at byte 1: need 9 bytes for what follows, but only 1 is left"),
    ("Rests", 0, "01 | 6162 | 02 | 0000000000000000", "flag at byte 3: bool is 2; it must be 0 or 1"),
    ("Rests", 1, "01 | 61ff | 00 |" + "00" * 16, "text at byte 2: not UTF-8: invalid start byte"),
    (
        "Rests",
        2,
        "00 | 0005 02 61 | 00 fffe",
        "items[0].name at byte 4: need 2 bytes, but only 1 is left before what follows items",
    ),
    (
        "Rests",
        2,
        "00 | 0005 01 61 00 | 00 fffe",
        "items[1].key at byte 5: need 2 bytes, but only 1 is left before what follows items",
    ),
    ("Rests", 2, "00 | fffe", "items at byte 1: need 3 bytes for what follows, but only 2 are left"),
    ("Rests", 3, "00 | 00", "body.kind at byte 1: need 2 bytes, but only 1 is left"),
    # Bits.
    (
        "Switches",
        0,
        f"6a | {NO_BITS}",
        "bits8 at byte 0: bits 0x40 are set, but have no name; they must be zero",
    ),
    ("Switches", 0, "2a | 0ff0", "bits16 at byte 1: bits 0xff0 are set, but have no name; they must be zero"),
    ("Switches", 0, f"28 | {NO_BITS} | ffffffff", "blob at byte 21: null, but no_blob says that there is a value"),
    ("Switches", 0, f"0a | {NO_BITS} | ffff", "maybes at byte 21: null, but no_maybes says that there is a value"),
    ("Switches", 0, f"2b | {NO_BITS} | 02", "text at byte 22: need 1 byte, but none are left"),
    # Sizes of the rest.
    ("Frames", 0, f"0001 07 | 0013 | {FRAME}", "size_int16 at byte 3: declares 19 more bytes, but only 18 are left"),
    (
        "Frames",
        0,
        f"0001 07 | ffff | {FRAME}",
        "size_int16 at byte 3: is -1; a size must not be negative",
    ),
    ("Frames", 0, f"0001 07 | 0012 | {FRAME} | 00", "message at byte 23: 1 trailing byte after the message"),
    (
        "Frames",
        0,
        f"0001 07 | 0011 | {FRAME}",
        "sections[0].length at byte 14: declares 7 more bytes, but only 6 are left of the 17 that size_int16 declares",
    ),
    (
        "Frames",
        0,
        "0000 | 0006 | 03 0001 78 | 00 | 00",
        "sections[0].length at byte 9: need 2 bytes, but only 1 is left of the 6 that size_int16 declares",
    ),
    (
        "Frames",
        0,
        "0000 | 0007 | 03 0001 78 | 02 0100",
        "elements[1] at byte 11: need 1 byte, but none are left of the 7 that size_int16 declares",
    ),
    (
        "Frames",
        0,
        "0000 | 0007 | 03 0001 78 | 01 0101",
        "elements[0].length at byte 10: is -1; a size must not be negative",
    ),
    (
        "Frames",
        1,
        "0000 | 00000006 | 04 0001 78 0000",
        "inner.length at byte 6: declares 4 more bytes, but what follows takes 3",
    ),
    (
        "Frames",
        1,
        "0000 | 00000006 | 02 0001 78 0000",
        "inner.text at byte 9: need 1 byte, but none are left of the 2 that length declares",
    ),
    (
        "Frames",
        2,
        "0000 | 8000000000000000",
        "size_int64 at byte 2: is -9223372036854775808; a size must not be negative",
    ),
    (
        "Frames",
        4,
        "0000 | ffffffffffffffffff01",
        "size_upacked64 at byte 2: is -1; a size must not be negative",
    ),
    ("Frames", 5, "0000 | ffff7f", "size_packed16 at byte 2: packed16 is a varint of more than 16 bits"),
    # Constants, and sizes that are there only together with another value.
    ("Pairs", 0, "01", "version at byte 0: is 1; it must be 0"),
    ("Pairs", 1, "01 cafd", "magic at byte 1: is 51965; it must be 51966"),
    (
        "Pairs",
        0,
        "00 | 02 01 00",
        "pairs[0].end at byte 3: need 2 bytes, but only 1 is left of the 2 that length declares",
    ),
    (
        "Pairs",
        0,
        "00 | 02 00 00",
        "pairs[0].key at byte 3: need 2 bytes for what follows, but only 1 is left of the 2 that length declares",
    ),
    (
        "Pairs",
        0,
        "00 | 02 03 00",
        "pairs[0].value at byte 3: need 2 bytes for what follows, but only 1 is left of the 2 that length declares",
    ),
    (
        "Pairs",
        0,
        f"00 | {PAIRS} | 05 02 05 6b 0000",
        "pairs[5].key at byte 29: need 5 bytes, but only 3 are left of the 5 that length declares",
    ),
    ("Pairs", 0, "00 | 04 00 ff 0000", "pairs[0].key at byte 3: not UTF-8: invalid start byte"),
    # Sets, and arrays of the same length.
    (
        "Sets",
        0,
        "00 | 000a 00 00000002 00 00000001",
        "by_number[1].key at byte 9: key 1 follows 2; keys must ascend",
    ),
    (
        "Sets",
        0,
        "00 0000 | 0002 0001 61 0001 61",
        "by_text[1].name at byte 8: key 'a' follows 'a'; keys must ascend",
    ),
    (
        "Sets",
        0,
        "00 0000 0000 | 04 02 80 02 7f",
        r"by_bytes[1].key at byte 8: key b'\x7f' follows b'\x80'; keys must ascend",
    ),
    ("Sets", 0, "00 0000 0000 00 | 0001 0005 | 00000000", "offsets at byte 10: array of 0 elements, but errors has 1"),
    (
        "Sets",
        0,
        "00 0000 0000 00 | 0000 | 00000000 | 01 00",
        "counts at byte 12: array of 1 elements, but offsets has 0",
    ),
    (
        "Sets",
        0,
        "00 0000 0000 00 | 0001 0005 | 00000001 0000000000000006 | 01 00",
        "more at byte 24: array of 0 elements, but errors has 1",
    ),
]


@pytest.mark.parametrize(("name", "version", "data", "text"), WRONG)
def test_wrong_bytes_are_refused_with_their_place(
    layouts: Classes, name: str, version: int, data: str, text: str
) -> None:
    cls = layouts(name, version)
    with pytest.raises(DecodeError) as caught:
        cls.decode(raw(data))
    assert str(caught.value) == f"{name} v{version}: {text}"
    if "trailing byte" not in text:
        with pytest.raises(DecodeError) as caught:
            cls.read(b"\xff" * 100 + raw(data), 100)
        place, _, reason = text.partition(": ")
        path, _, offset = place.partition(" at byte ")
        assert (caught.value.path, caught.value.offset, caught.value.reason) == (path, int(offset) + 100, reason)


HOSTILE: list[tuple[str, int, str]] = [
    ("Prefixes", 0, "0000 0000 | 7fffffff 61"),
    ("Prefixes", 0, "0000 0000 00000000 | feffffff0f 61"),
    ("Prefixes", 0, "0000 0000 00000000 00 | ffffffff07 61"),
    ("Arrays", 0, "7fffffff 00000001"),
    ("Arrays", 1, "ffffffff | 7fff"),
    ("Arrays", 1, "ffffffff ffff | 7fffffff 01"),
    ("Arrays", 1, "ffffffff ffff 00000000 | feffffff0f 0000"),
    ("Arrays", 1, "ffffffff ffff 00000000 01 | ffffffff07 00000000"),
    ("Arrays", 1, f"{ARRAYS_UP_TO_CLASSIC} | 7fffffff 0000"),
    ("Arrays", 1, f"{ARRAYS_UP_TO_CLASSIC} ffffffff | feffffff0f 0000"),
    ("Arrays", 1, f"{ARRAYS_UP_TO_SIZED} ffff | 7fffffff 0000"),
    ("Frames", 1, "7fff 00"),
    ("Frames", 1, "0000 | 7fffffff"),
    ("Frames", 2, "0000 | 7fffffffffffffff 00"),
]


@pytest.mark.parametrize(("name", "version", "data"), HOSTILE)
def test_few_bytes_that_promise_much_cost_little(layouts: Classes, name: str, version: int, data: str) -> None:
    cost = cost_of_refusing(layouts(name, version), raw(data))
    assert cost.steps < 2000
    assert cost.memory < 100_000


@pytest.mark.parametrize(
    ("name", "version", "head", "unit"),
    [
        ("Arrays", 1, f"{ARRAYS_UP_TO_CLASSIC} | 7fffffff", "0000"),
        ("Rests", 2, "00", "0000 00"),
        ("Pairs", 0, "00", "03 01 0000"),
        ("Sets", 0, "00 0000 0000 feffffff0f", "00"),
    ],
)
def test_cost_of_refusing_much_grows_no_faster_than_the_input(
    layouts: Classes, name: str, version: int, head: str, unit: str
) -> None:
    data = raw(head) + raw(unit) * (MUCH // len(raw(unit))) + b"\xff"
    cost = cost_of_refusing(layouts(name, version), data)
    assert cost.steps < 100 * len(data)
    assert cost.memory < 100 * len(data) + 100_000
