"""Layouts in all their forms: exact bytes both ways, and wrong bytes and values refused with their places.

The package is generated from the specs in data/layouts.
"""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from collections.abc import Callable
from typing import Any

import google_crc32c
import pytest
from hypothesis import strategies as st

from kipwire import ConversionError, DecodeError, EncodeError, JsonError, Message, convert
from kipwire.errors import Malformed
from kipwire.testing import damaged, messages
from kipwire.walk import walk
from kipwire.wire import new
from tests.support import property_checks
from tests.support.cost import cost_of_refusing
from tests.support.places import LAYOUTS
from tests.support.spec_package import Classes, declared_versions


@pytest.fixture(params=declared_versions(LAYOUTS), ids=lambda pair: f"{pair[0]}-{pair[1]}")
def cls(request: pytest.FixtureRequest, layouts: Classes) -> type[Message]:
    """One class after the other."""
    found: type[Message] = layouts(*request.param)
    return found


def raw(text: str) -> bytes:
    """Bytes from hex digits; spaces and bars are for the reader."""
    return bytes.fromhex(text.replace("|", " "))


# What holds for every class.


def end_of(read: Callable[[type[Message], bytes], int], cls: type[Message], data: bytes) -> int | None:
    """Where the message ends that stands at the start of the bytes; None if there is none."""
    try:
        end = read(cls, data)
    except (Malformed, IndexError, ValueError, struct.error):
        return None
    return end if end <= len(data) else None


def test_walker_accepts_and_refuses_what_the_reader_does(cls: type[Message]) -> None:
    def agree(many: list[bytes]) -> None:
        for data in many:
            read = end_of(lambda cls, data: new(cls)._read(data, 0), cls, data)
            assert end_of(lambda cls, data: walk(cls, data, 0), cls, data) == read
            property_checks.check_any_bytes(cls, data)

    encoded = messages(cls).map(lambda message: message.encode())
    faulty = encoded.flatmap(lambda data: st.lists(damaged(data), min_size=8, max_size=8))
    cut = encoded.map(lambda data: [data[:size] for size in range(0, len(data), 1 + len(data) // 64)])
    noise = st.lists(st.binary(max_size=64), min_size=8, max_size=8)
    property_checks.for_all(agree, st.one_of(faulty, cut, noise))


# Worked examples.

NULLABLE = ("text", "text_int16", "text_int32", "text_varint", "blob", "blob_int16", "blob_int32", "blob_varint")
ITEMS = "01 01 69 02 00"
NO_BITS = "0000 0000 00000000 00000000 0000000000000000"
FRAME = "03 0001 78 | 01 01 04 6162 | 0007 0001 00000005 6e"
PAIRS = "06 02 01 6b 76 0000 | 04 00 6b 0001 | 04 03 76 0000 | 03 01 0000 | 03 00 0000"


def prefixes(it: Any) -> Any:
    texts = {"text": "a", "text_int16": "b", "text_int32": "c", "text_varint": "d", "text_uvarint": "e"}
    blobs = {"blob": b"A", "blob_int16": b"B", "blob_int32": b"C", "blob_varint": b"D", "blob_uvarint": b"E"}
    return it.Prefixes(**texts, **blobs)


def nulls(it: Any) -> Any:
    return it.Prefixes(**dict.fromkeys(NULLABLE))


def arrays(it: Any) -> Any:
    items = [it.Item(number=-1, text="i"), it.Item(number=1)]
    return it.Arrays(
        numbers=[1],
        shorts=[-2],
        flags=[True, False],
        texts=["t"],
        blobs=[b"b"],
        ids=[uuid.UUID(int=1)],
        ratios=[1.0],
        classic=items,
        counted=items,
        few=items,
        sized_int16=items,
        sized_int32=items,
        sized_varint=items,
        sized_uvarint=items,
    )


def null_arrays(it: Any) -> Any:
    names = ("numbers", "shorts", "texts", "classic", "counted", "sized_int16", "sized_varint")
    return it.Arrays(**dict.fromkeys(names))


def switches(it: Any) -> Any:
    numbers = {"low16": 5, "high16": 0xA, "all_u16": 0xBEEF, "high_u32": 0x123456, "low64": 1}
    flags = dict.fromkeys(("top8", "one16", "top32", "top64"), True)
    items = [it.Item(flag=True)]
    return it.Switches(**numbers, **flags, text="t", blob=b"\xaa", numbers=[1], items=items, maybe=b"", maybes=[])


def frames(it: Any) -> Any:
    return it.Frames(
        before=[it.Leaf(value=7)],
        inner=it.Inner(text="x"),
        elements=[it.Element(kind=1, content=b"ab")],
        sections=[it.Section(numbers=[5], note="n")],
    )


def frames_with_varints(it: Any) -> Any:
    frame = frames(it)
    frame.low, frame.high = 5, 300
    return frame


def sets(it: Any) -> Any:
    return it.Sets(
        by_number=[it.Numbered(key=1), it.Numbered(key=2, value=1), it.Numbered(key=2**32 - 1)],
        by_text=[it.Named(name=""), it.Named(name="z"), it.Named(name="é")],
        by_bytes=[it.Raw(key=b"\x7f"), it.Raw(key=b"\x7f\x00"), it.Raw(key=b"\x80")],
        errors=[5],
        offsets=[6],
        counts=[it.Count(delta=-1)],
        more=[7],
    )


def pairs(it: Any) -> Any:
    values = [("k", b"v", 0), ("k", b"", 1), (None, b"v", 0), (None, b"", 0), ("", b"", 0)]
    return it.Pairs(pairs=[it.Pair(key=key, value=value, end=end) for key, value, end in values])


EXAMPLES: list[tuple[str, int, Callable[[Any], Any], str]] = [
    *(
        (
            "Prefixes",
            version,
            prefixes,
            "0001 61 | 0001 62 | 00000001 63 | 02 64 | 01 65 | 00000001 41 | 0001 42 | 00000001 43 | 02 44 | 01 45",
        )
        for version in (0, 1)
    ),
    ("Prefixes", 1, nulls, "ffff | ffff | ffffffff | 01 | 00 | ffffffff | ffff | ffffffff | 01 | 00"),
    ("Rests", 0, lambda it: it.Rests(head=1, blob=b"ab", ratio=1.0), "01 | 6162 | 00 | 3ff0000000000000"),
    ("Rests", 0, lambda it: it.Rests(flag=True), "00 | 01 | 0000000000000000"),
    ("Rests", 1, lambda it: it.Rests(text="é", id=uuid.UUID(int=1)), "00 | c3a9 | 00 |" + "00" * 15 + "01"),
    (
        "Rests",
        2,
        lambda it: it.Rests(items=[it.Item(key=5, name="a"), it.Item()], narrow=-2),
        "00 | 0005 01 61 | 0000 00 | 00 | fffe",
    ),
    ("Rests", 3, lambda it: it.Rests(head=-1, body=it.Body(kind=7, content=b"\xab")), "ff | 0007 ab"),
    (
        "Arrays",
        0,
        arrays,
        "00000001 00000001 | 0001 fffe | 00000002 0100 | 02 0001 74 | 01 00000001 62 | 02" + "00" * 15 + "01"
        f"| 01 3ff0000000000000 | 00000002 {ITEMS} | 04 {ITEMS} | 02 {ITEMS}"
        f"| 0005 {ITEMS} | 00000005 {ITEMS} | 0a {ITEMS} | 05 {ITEMS}",
    ),
    (
        "Arrays",
        1,
        null_arrays,
        "ffffffff | ffff | 00000000 | 01 | 00 | 00 | 00 | ffffffff | 01 | 00 | ffff | 00000000 | 01 | 00",
    ),
    ("Switches", 0, lambda it: it.Switches(maybe=None, maybes=None), f"2a | {NO_BITS}"),
    (
        "Switches",
        0,
        switches,
        "95 | a00d | beef | 80000000 | 12345600 | 8000000000000001"
        "| 02 74 | 00000001 aa | 0001 0001 | 00000001 01 | 00 | 0000",
    ),
    ("Frames", 0, frames, f"0001 07 | 0012 | {FRAME}"),
    ("Frames", 1, frames, f"0001 07 | 00000012 | {FRAME}"),
    ("Frames", 2, frames, f"0001 07 | 0000000000000012 | {FRAME}"),
    ("Frames", 3, frames, f"0001 07 | 24 | {FRAME}"),
    ("Frames", 4, frames, f"0001 07 | 12 | {FRAME}"),
    ("Frames", 5, frames, f"0001 07 | 24 | {FRAME}"),
    ("Frames", 8, frames_with_varints, f"0001 07 | 15 | 05 ac02 | {FRAME}"),
    (
        "Sets",
        0,
        sets,
        "01 | 000f 00 00000001 01 00000002 00 ffffffff | 0003 0000 0001 7a 0002 c3a9 | 06 02 7f 04 7f00 02 80"
        "| 0001 0005 | 00000001 0000000000000006 | 01 01 | 00000001 07",
    ),
    ("Pairs", 0, pairs, f"00 | {PAIRS}"),
    ("Pairs", 1, pairs, f"01 | cafe | {PAIRS}"),
]


@pytest.mark.parametrize(("name", "version", "make", "data"), EXAMPLES)
def test_worked_examples(layouts: Classes, name: str, version: int, make: Callable[[Any], Any], data: str) -> None:
    message = make(layouts.module(name, version))
    assert message.encode() == raw(data)
    assert message.encoded_size() == len(raw(data))
    assert type(message).decode(raw(data)) == message


def test_sets_are_written_in_order_and_stay_as_they_are(layouts: Classes) -> None:
    message = sets(layouts.module("Sets", 0))
    mixed = sets(layouts.module("Sets", 0))
    for name in ("by_number", "by_text", "by_bytes"):
        setattr(mixed, name, getattr(mixed, name)[::-1])
    before = repr(mixed)
    assert mixed.encode() == message.encode()
    assert repr(mixed) == before
    mixed.by_bytes = tuple(mixed.by_bytes)
    assert mixed.encode() == message.encode()


@pytest.mark.parametrize(
    ("bits", "behind"), [("2b", "00"), ("28", "00000000"), ("2e", "0000"), ("22", "00000000")], ids=str
)
def test_bit_may_tell_of_an_empty_value_that_is_never_written_so(layouts: Classes, bits: str, behind: str) -> None:
    cls = layouts("Switches", 0)
    message = cls.decode(raw(f"{bits} {NO_BITS} {behind}"))
    assert message == cls(maybe=None, maybes=None)
    assert message.encode() == raw(f"2a {NO_BITS}")


@pytest.mark.parametrize("name", ["text_int32", "text_varint", "text_uvarint"])
def test_text_is_as_long_as_its_size_can_tell(layouts: Classes, name: str) -> None:
    cls = layouts("Prefixes", 0)
    message = cls(**{name: "x" * 40_000})
    assert cls.decode(message.encode()) == message
    assert message.to_json()[f"text{name[5:].capitalize()}"] == "x" * 40_000


def test_values_of_kindred_types_are_written_as_what_they_mean(layouts: Classes) -> None:
    it = layouts.module("Switches", 0)
    given = it.Switches(top8=1, low16=True, blob=memoryview(b"ab")[1:], numbers=(1,), items=(it.Item(flag=1),))
    meant = it.Switches(top8=True, low16=1, blob=b"b", numbers=[1], items=[it.Item(flag=True)])
    assert given.encode() == meant.encode()
    assert given.to_json() == meant.to_json()
    assert it.Switches(blob=bytearray(), numbers=(), items=()).encode() == it.Switches().encode()


# Checksums.


def crc32(data: bytes) -> bytes:
    return zlib.crc32(data).to_bytes(4)


def crc32c(data: bytes) -> bytes:
    checksum: int = google_crc32c.value(data)
    return checksum.to_bytes(4)


CHECKED: list[tuple[int, bytes, str, int, range]] = [
    # Version, bytes, path and offset of the checksum, and what it covers.
    (
        0,
        raw("0001 | 0000000c") + crc32c(raw("0001 0161 ff")) + raw("0001 78 | 0001 0161 ff"),
        "crc",
        6,
        range(13, 18),
    ),
    (1, raw("0001 | 0000000a | 0001 0161 ff") + crc32(raw("0001 0161 ff")) + raw("07"), "crc_behind", 11, range(6, 11)),
    (2, raw("0001") + crc32(raw("0001 0161")) + raw("0001 0161"), "crc_unbounded", 2, range(9, 10)),
    (
        3,
        raw("0001") + crc32(raw("0000 8001") + crc32c(raw("8001"))) + raw("0000 8001") + crc32c(raw("8001")),
        "inner.crc",
        10,
        range(9, 10),
    ),
]


@pytest.mark.parametrize(("version", "data", "path", "at", "covered"), CHECKED)
def test_damage_shows_as_a_wrong_checksum(
    layouts: Classes, version: int, data: bytes, path: str, at: int, covered: range
) -> None:
    cls = layouts("Checksums", version)
    assert cls.decode(data).encode() == data
    for place in (*range(at, at + 4), *covered):
        broken = bytearray(data)
        broken[place] ^= 0x10
        with pytest.raises(DecodeError) as caught:
            cls.decode(bytes(broken))
        assert (caught.value.path, caught.value.offset) == (path, at)
        assert f"is 0x{broken[at:at + 4].hex()}, that of bytes " in caught.value.reason


def test_wrong_checksum_is_told_with_both_numbers(layouts: Classes) -> None:
    with pytest.raises(DecodeError) as caught:
        layouts("Checksums", 2).decode(raw("0001 | deadbeef | 0000"))
    assert str(caught.value) == (
        "Checksums v2: crc_unbounded at byte 2: crc32 is 0xdeadbeef, that of bytes 6 to 8 is 0x41d912ff"
    )


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
        "text_uvarint at byte 9: length of the string is a varint with needless bytes at its end",
    ),
    ("Prefixes", 1, "ffff ffff ffffffff 01 | 05 61", "text_uvarint at byte 10: need 5 bytes, 1 left"),
    ("Prefixes", 1, "ffff ffff ffffffff 01 00 | 7fffffff 61", "blob at byte 14: need 2147483647 bytes, 1 left"),
    ("Prefixes", 1, "0002 61ff", "text at byte 3: not UTF-8: invalid start byte"),
    ("Prefixes", 0, "00", "text at byte 0: need 2 bytes, 1 left"),
    ("Arrays", 0, "ffffffff", "numbers at byte 0: null, but this array must not be null in this version"),
    ("Arrays", 0, "00000002 00000001", "numbers at byte 4: need 8 bytes, 4 left"),
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
    ("Arrays", 1, f"{ARRAYS_UP_TO_CLASSIC} | 00000002 0100", "classic[1] at byte 20: need 1 byte, 0 left"),
    ("Arrays", 1, f"{ARRAYS_UP_TO_SIZED} | fffe", "sized_int16 at byte 20: length of the array is -2"),
    ("Arrays", 1, f"{ARRAYS_UP_TO_SIZED} | 0003 0100", "sized_int16 at byte 22: need 3 bytes, 2 left"),
    (
        "Arrays",
        1,
        f"{ARRAYS_UP_TO_SIZED} | 0003 0105 61 62",
        "sized_int16[0].text at byte 24: need 5 bytes, 1 left of the 3 that sized_int16 takes",
    ),
    # What goes on to the end.
    ("Rests", 0, "01 61", "blob at byte 1: need 9 bytes for what stands behind it, 1 left"),
    ("Rests", 0, "01 | 6162 | 02 | 0000000000000000", "flag at byte 3: bool is 2; it must be 0 or 1"),
    ("Rests", 1, "01 | 61ff | 00 |" + "00" * 16, "text at byte 2: not UTF-8: invalid start byte"),
    (
        "Rests",
        2,
        "00 | 0005 02 61 | 00 fffe",
        "items[0].name at byte 4: need 2 bytes, 1 left up to what stands behind items",
    ),
    (
        "Rests",
        2,
        "00 | 0005 01 61 00 | 00 fffe",
        "items[1].key at byte 5: need 2 bytes, 1 left up to what stands behind items",
    ),
    ("Rests", 2, "00 | fffe", "items at byte 1: need 3 bytes for what stands behind it, 2 left"),
    ("Rests", 3, "00 | 00", "body.kind at byte 1: need 2 bytes, 1 left"),
    # Bits.
    (
        "Switches",
        0,
        f"6a | {NO_BITS}",
        "bits8 at byte 0: 0x40 is set, which are bits without a name; they must be zero",
    ),
    ("Switches", 0, "2a | 0ff0", "bits16 at byte 1: 0xff0 is set, which are bits without a name; they must be zero"),
    ("Switches", 0, f"28 | {NO_BITS} | ffffffff", "blob at byte 21: null, but no_blob tells that there is a value"),
    ("Switches", 0, f"0a | {NO_BITS} | ffff", "maybes at byte 21: null, but no_maybes tells that there is a value"),
    ("Switches", 0, f"2b | {NO_BITS} | 02", "text at byte 22: need 1 byte, 0 left"),
    # Sizes of the rest.
    ("Frames", 0, f"0001 07 | 0013 | {FRAME}", "size_int16 at byte 3: tells of 19 bytes behind it, 18 left"),
    ("Frames", 0, f"0001 07 | ffff | {FRAME}", "size_int16 at byte 3: tells of -1 bytes behind it, 18 left"),
    ("Frames", 0, f"0001 07 | 0012 | {FRAME} | 00", "message at byte 23: 1 byte is left over behind the message"),
    (
        "Frames",
        0,
        f"0001 07 | 0011 | {FRAME}",
        "sections[0].length at byte 14: tells of 7 bytes behind it, 6 left of the 17 that size_int16 tells of",
    ),
    (
        "Frames",
        0,
        "0000 | 0006 | 03 0001 78 | 00 | 00",
        "sections[0].length at byte 9: need 2 bytes, 1 left of the 6 that size_int16 tells of",
    ),
    (
        "Frames",
        0,
        "0000 | 0007 | 03 0001 78 | 02 0100",
        "elements[1] at byte 11: need 1 byte, 0 left of the 7 that size_int16 tells of",
    ),
    (
        "Frames",
        0,
        "0000 | 0007 | 03 0001 78 | 01 0101",
        "elements[0].length at byte 10: tells of -1 bytes behind it, 0 left of the 7 that size_int16 tells of",
    ),
    (
        "Frames",
        1,
        "0000 | 00000006 | 04 0001 78 0000",
        "inner.length at byte 6: tells of 4 bytes, what stands behind it takes 3",
    ),
    (
        "Frames",
        1,
        "0000 | 00000006 | 02 0001 78 0000",
        "inner.text at byte 9: need 1 byte, 0 left of the 2 that length tells of",
    ),
    (
        "Frames",
        2,
        "0000 | 8000000000000000",
        "size_int64 at byte 2: tells of -9223372036854775808 bytes behind it, 0 left",
    ),
    ("Frames", 4, "0000 | ffffffffffffffffff01", "size_upacked64 at byte 2: tells of -1 bytes behind it, 0 left"),
    ("Frames", 5, "0000 | ffff7f", "size_packed16 at byte 2: packed16 is a varint of more than 16 bits"),
    # Constants, and sizes that stand there only together with another value.
    ("Pairs", 0, "01", "version at byte 0: is 1; it must be 0"),
    ("Pairs", 1, "01 cafd", "magic at byte 1: is 51965; it must be 51966"),
    (
        "Pairs",
        0,
        "00 | 02 01 00",
        "pairs[0].end at byte 3: need 2 bytes, 1 left of the 2 that length tells of",
    ),
    (
        "Pairs",
        0,
        "00 | 02 00 00",
        "pairs[0].key at byte 3: need 2 bytes for what stands behind it, 1 left of the 2 that length tells of",
    ),
    (
        "Pairs",
        0,
        "00 | 02 03 00",
        "pairs[0].value at byte 3: need 2 bytes for what stands behind it, 1 left of the 2 that length tells of",
    ),
    (
        "Pairs",
        0,
        f"00 | {PAIRS} | 05 02 05 6b 0000",
        "pairs[5].key at byte 29: need 5 bytes, 3 left of the 5 that length tells of",
    ),
    ("Pairs", 0, "00 | 04 00 ff 0000", "pairs[0].key at byte 3: not UTF-8: invalid start byte"),
    # Sets, and arrays of the same length.
    (
        "Sets",
        0,
        "00 | 000a 00 00000002 00 00000001",
        "by_number[1].key at byte 9: key 1 stands behind 2: keys must ascend",
    ),
    (
        "Sets",
        0,
        "00 0000 | 0002 0001 61 0001 61",
        "by_text[1].name at byte 8: key 'a' stands behind 'a': keys must ascend",
    ),
    (
        "Sets",
        0,
        "00 0000 0000 | 04 02 80 02 7f",
        r"by_bytes[1].key at byte 8: key b'\x7f' stands behind b'\x80': keys must ascend",
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
    if "left over" not in text:
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
    data = raw(head) + raw(unit) * (10_000 // len(raw(unit))) + b"\xff"
    cost = cost_of_refusing(layouts(name, version), data)
    assert cost.steps < 100 * len(data)
    assert cost.memory < 100 * len(data) + 100_000


# Wrong values.


def without(name: str, attribute: str) -> Callable[[Any], Any]:
    def make(it: Any) -> Any:
        message = getattr(it, name)()
        delattr(message, attribute)
        return message

    return make


UNFIT: list[tuple[str, int, Callable[[Any], Any], str, str]] = [
    ("Prefixes", 0, lambda it: it.Prefixes(text=None), "text", "must not be null in this version"),
    ("Prefixes", 1, lambda it: it.Prefixes(text_uvarint=None), "text_uvarint", "must not be null in this version"),
    ("Prefixes", 0, lambda it: it.Prefixes(text=b"a"), "text", "must be a str, not bytes"),
    ("Prefixes", 0, lambda it: it.Prefixes(blob="a"), "blob", "must be bytes, not str"),
    (
        "Prefixes",
        0,
        lambda it: it.Prefixes(text_varint="a\ud800"),
        "text_varint",
        "cannot be written as UTF-8: character 1 is a lone surrogate",
    ),
    (
        "Prefixes",
        0,
        lambda it: it.Prefixes(text="é" * 16384),
        "text",
        "string of 32768 bytes; int16 before it tells of 32767 at most",
    ),
    (
        "Prefixes",
        0,
        lambda it: it.Prefixes(blob_int16=memoryview(bytes(32768)).cast("i")),
        "blob_int16",
        "bytes of 32768 bytes; int16 before it tells of 32767 at most",
    ),
    ("Prefixes", 0, without("Prefixes", "blob_varint"), "blob_varint", "the attribute is missing"),
    (
        "Arrays",
        0,
        lambda it: it.Arrays(shorts=[0] * 32768),
        "shorts",
        "array of 32768 elements; int16 before it tells of 32767 at most",
    ),
    (
        "Arrays",
        0,
        lambda it: it.Arrays(sized_int16=[it.Item(text="x" * 16381)] * 2),
        "sized_int16",
        "array of 32768 bytes; int16 before it tells of 32767 at most",
    ),
    (
        "Arrays",
        0,
        lambda it: it.Arrays(numbers=[2**31]),
        "numbers[0]",
        "2147483648 is out of range: int32 holds -2147483648 to 2147483647",
    ),
    (
        "Arrays",
        0,
        lambda it: it.Arrays(texts=["a", "b" * 32768]),
        "texts[1]",
        "string of 32768 bytes; the longest has 32767",
    ),
    ("Arrays", 0, lambda it: it.Arrays(classic=[None]), "classic[0]", "elements of an array must not be null"),
    ("Arrays", 0, lambda it: it.Arrays(few=None), "few", "must not be null in this version"),
    ("Arrays", 0, lambda it: it.Arrays(few={}), "few", "must be a list, not dict"),
    (
        "Arrays",
        0,
        lambda it: it.Arrays(sized_varint=[it.Item(), it.Item(number=2**31)]),
        "sized_varint[1].number",
        "2147483648 is out of range: packed32 holds -2147483648 to 2147483647",
    ),
    ("Switches", 0, lambda it: it.Switches(low16=8), "low16", "8 is out of range: 3 bits hold 0 to 7"),
    ("Switches", 0, lambda it: it.Switches(low16=-1), "low16", "-1 is out of range: 3 bits hold 0 to 7"),
    (
        "Switches",
        0,
        lambda it: it.Switches(high_u32=2**24),
        "high_u32",
        "16777216 is out of range: 24 bits hold 0 to 16777215",
    ),
    (
        "Switches",
        0,
        lambda it: it.Switches(low64=2**63),
        "low64",
        "9223372036854775808 is out of range: 63 bits hold 0 to 9223372036854775807",
    ),
    ("Switches", 0, lambda it: it.Switches(low16=1.0), "low16", "must be an int, not float"),
    ("Switches", 0, lambda it: it.Switches(low16=None), "low16", "must not be null in this version"),
    ("Switches", 0, lambda it: it.Switches(top8=2), "top8", "must be True or False, not 2"),
    ("Switches", 0, lambda it: it.Switches(text=b""), "text", "must be a str, not bytes"),
    ("Switches", 0, lambda it: it.Switches(blob=None), "blob", "must not be null in this version"),
    ("Switches", 0, lambda it: it.Switches(numbers=""), "numbers", "must be a list, not str"),
    ("Switches", 0, lambda it: it.Switches(items=0), "items", "must be a list, not int"),
    ("Switches", 0, lambda it: it.Switches(maybes=["a", 1]), "maybes[1]", "must be a str, not int"),
    ("Frames", 0, lambda it: it.Frames(inner=it.Leaf()), "inner", "must be a {it}.Inner, not Leaf"),
    (
        "Frames",
        0,
        lambda it: it.Frames(elements=[it.Element(content=bytes(40_000))]),
        "size_int16",
        "40008 bytes stand behind it; a size in the form of int16 tells of 32767 at most",
    ),
    (
        "Frames",
        5,
        lambda it: it.Frames(elements=[it.Element(content=bytes(40_000))]),
        "size_packed16",
        "40008 bytes stand behind it; a size in the form of packed16 tells of 32767 at most",
    ),
    (
        "Frames",
        1,
        lambda it: it.Frames(sections=[it.Section(), it.Section(note="x" * 32766)]),
        "sections[1].length",
        "32768 bytes stand behind it; a size in the form of int16 tells of 32767 at most",
    ),
    (
        "Sets",
        0,
        lambda it: it.Sets(by_number=[it.Numbered(key=1), it.Numbered(key=2), it.Numbered(key=1)]),
        "by_number[2].key",
        "element 0 has the key 1 too; no two may have the same",
    ),
    (
        "Sets",
        0,
        lambda it: it.Sets(by_bytes=[it.Raw(key=memoryview(b"b")), it.Raw(key=memoryview(b"a"))]),
        "by_bytes",
        "the elements cannot be put in order: values of key cannot be compared",
    ),
    (
        "Sets",
        0,
        lambda it: it.Sets(offsets=[1]),
        "offsets",
        "array of 1 elements, but errors has 0; both must have as many",
    ),
    (
        "Sets",
        0,
        lambda it: it.Sets(errors=[1], offsets=[1]),
        "counts",
        "array of 0 elements, but offsets has 1; both must have as many",
    ),
    (
        "Sets",
        0,
        lambda it: it.Sets(errors=[1], offsets=[1], counts=[it.Count()]),
        "more",
        "array of 0 elements, but errors has 1; both must have as many",
    ),
    (
        "Pairs",
        0,
        lambda it: it.Pairs(pairs=[it.Pair(value=None)]),
        "pairs[0].value",
        "must not be null in this version",
    ),
    ("Pairs", 0, lambda it: it.Pairs(pairs=[it.Pair(key=1, value=b"v")]), "pairs[0].key", "must be a str, not int"),
]


@pytest.mark.parametrize(("name", "version", "make", "path", "reason"), UNFIT)
def test_wrong_values_are_refused_with_their_path(
    layouts: Classes, name: str, version: int, make: Callable[[Any], Any], path: str, reason: str
) -> None:
    module = layouts.module(name, version)
    message = make(module)
    for write in (message.encode, message.encoded_size, message.to_json):
        with pytest.raises(EncodeError) as caught:
            write()
        assert (caught.value.path, caught.value.reason) == (path, reason.replace("{it}", module.__name__))


# JSON and other versions.


def test_json_has_the_attributes_and_nothing_that_is_computed(layouts: Classes) -> None:
    module = layouts.module("Pairs", 1)
    message = module.Pairs(pairs=[module.Pair(key=None, value=b"v", end=1)])
    value = {"pairs": [{"key": None, "value": "dg==", "end": 1}]}
    assert message.to_json() == value
    assert module.Pairs.from_json(json.loads(json.dumps(value))) == message


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("low16", 8, "8 is out of range: 3 bits hold 0 to 7"),
        ("low16", -1, "-1 is out of range: 3 bits hold 0 to 7"),
        ("low16", True, "must be a whole number, not a boolean"),
        ("top8", 1, "must be true or false, not a number"),
        ("hasText", True, "no version of the message has a field of this name"),
        ("bits8", 0, "no version of the message has a field of this name"),
    ],
)
def test_json_knows_the_limits_of_bits(layouts: Classes, key: str, value: object, reason: str) -> None:
    cls = layouts("Switches", 0)
    with pytest.raises(JsonError) as caught:
        cls.from_json({**cls().to_json(), key: value})
    assert (caught.value.path, caught.value.reason) == (key, reason)


def test_conversion_between_versions_is_as_of_other_messages(layouts: Classes) -> None:
    message = pairs(layouts.module("Pairs", 0))
    assert convert(message, 1) == pairs(layouts.module("Pairs", 1))
    assert convert(message, 1).encode() == raw(f"01 cafe {PAIRS}")
    with pytest.raises(ConversionError) as caught:
        convert(nulls(layouts.module("Prefixes", 1)), 0)
    assert caught.value.path == "text"
