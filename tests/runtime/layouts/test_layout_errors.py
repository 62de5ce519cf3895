"""Layouts in all their forms: exact bytes both ways, and wrong bytes and values refused with their locations.

The package is generated from the specs in data/layouts.
"""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Callable
from typing import Any

import google_crc32c
import pytest
from hypothesis import strategies as st

from kipwire import DecodeError, Message
from kipwire.codec.wire import new
from kipwire.description.trace import trace
from kipwire.model.errors import Malformed
from kipwire.testing import damaged, messages
from tests.support import property_checks
from tests.support.hex_tables import raw
from tests.support.spec_package import Classes
from tests.support.subjects.layout_examples import FRAME, NO_BITS, PAIRS, nulls, pairs

# Properties of every class.


def end_of(read: Callable[[type[Message], bytes], int], cls: type[Message], data: bytes) -> int | None:
    """Return the end of the message at the start of the bytes; None if there is none."""
    try:
        end = read(cls, data)
    except (Malformed, IndexError, ValueError, struct.error):
        return None
    return end if end <= len(data) else None


def test_tracer_accepts_and_refuses_what_the_reader_does(cls: type[Message]) -> None:
    def agree(many: list[bytes]) -> None:
        for data in many:
            read = end_of(lambda cls, data: new(cls)._read(data, 0), cls, data)
            assert end_of(lambda cls, data: trace(cls, data, 0), cls, data) == read
            property_checks.check_any_bytes(cls, data)

    encoded = messages(cls).map(lambda message: message.encode())
    faulty = encoded.flatmap(lambda data: st.lists(damaged(data), min_size=8, max_size=8))
    cut = encoded.map(lambda data: [data[:size] for size in range(0, len(data), 1 + len(data) // 64)])
    noise = st.lists(st.binary(max_size=64), min_size=8, max_size=8)
    property_checks.for_all(agree, st.one_of(faulty, cut, noise))


ITEMS = "01 01 69 02 00"


def prefixes(it: Any) -> Any:
    texts = {"text": "a", "text_int16": "b", "text_int32": "c", "text_varint": "d", "text_uvarint": "e"}
    blobs = {"blob": b"A", "blob_int16": b"B", "blob_int32": b"C", "blob_varint": b"D", "blob_uvarint": b"E"}
    return it.Prefixes(**texts, **blobs)


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
    ("bits", "following"), [("2b", "00"), ("28", "00000000"), ("2e", "0000"), ("22", "00000000")], ids=str
)
def test_bit_may_announce_an_empty_value_that_is_never_written_so(layouts: Classes, bits: str, following: str) -> None:
    cls = layouts("Switches", 0)
    message = cls.decode(raw(f"{bits} {NO_BITS} {following}"))
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
    # Version, bytes, path and offset of the checksum, and the bytes that it covers.
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
        assert f"is 0x{broken[at:at + 4].hex()}, but bytes " in caught.value.reason


def test_wrong_checksum_is_reported_with_both_numbers(layouts: Classes) -> None:
    with pytest.raises(DecodeError) as caught:
        layouts("Checksums", 2).decode(raw("0001 | deadbeef | 0000"))
    assert str(caught.value) == (
        "Checksums v2: crc_unbounded at byte 2: crc32 is 0xdeadbeef, but bytes 6 to 8 have 0x41d912ff"
    )
