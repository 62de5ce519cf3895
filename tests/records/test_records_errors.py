"""Wrong bytes and values have a defined outcome: an error with its location, or a clean end."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

from kafka_records.message_and_offset import v0, v1
from kipwire import DecodeError, columns, native
from kipwire.codec.checksums import crc32c
from kipwire.codec.wire import write_varint
from kipwire.records import MAX_ITEMS, Record, RecordBatch, read_batches, write_batch, write_message_set
from kipwire.records.compression import compress
from tests.support import native_checks
from tests.support.subjects.batch_bytes import GOOD, INNER, OLD, RECORDS, read_all, with_bytes

HEADER = 61


def sealed(batch: bytes) -> bytes:
    """Return the batch with the length and the checksum that it should have."""
    batch = with_bytes(batch, 8, (len(batch) - 12).to_bytes(4, "big"))
    return with_bytes(batch, 17, crc32c(batch[21:]).to_bytes(4, "big"))


def batch_of(section: bytes, count: int, codec: int = 0) -> bytes:
    """Return a batch with any bytes as its section of records."""
    header = with_bytes(with_bytes(GOOD[:HEADER], 57, count.to_bytes(4, "big", signed=True)), 22, bytes((codec,)))
    return sealed(header + section)


def compressed_entry(value: bytes | None, *, codec: int = 1, key: bytes | None = None) -> bytes:
    return v1.MessageAndOffset(offset=3, compression_type=codec, key=key, value=value).encode()


def int32(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


WRONG_BYTES: dict[str, tuple[bytes, str, int, str]] = {
    "checksum": (
        with_bytes(GOOD, 70, b"\xff"), "crc", 17, "is 0xcbbe2149, but the bytes after it have 0x"
    ),
    "negative length": (
        with_bytes(GOOD, 8, int32(-1)), "batch_length", 8, "a batch cannot have -1 bytes; the smallest has 14"
    ),
    "length below any": (
        with_bytes(GOOD, 8, int32(13)), "batch_length", 8, "a batch cannot have 13 bytes; the smallest has 14"
    ),
    "length below the header": (
        with_bytes(GOOD, 8, int32(48)), "batch_length", 8,
        "a batch of magic 2 cannot have 48 bytes; the smallest has 49",
    ),
    "length below that of magic 1": (
        with_bytes(INNER, 8, int32(21)), "message_size", 8,
        "a batch of magic 1 cannot have 21 bytes; the smallest has 22",
    ),
    "unknown magic": (
        with_bytes(GOOD, 16, b"\3"), "magic", 16, "unknown message format 3; known are 0, 1 and 2"
    ),
    "negative magic": (
        with_bytes(GOOD, 16, b"\xff"), "magic", 16, "unknown message format -1; known are 0, 1 and 2"
    ),
    "zeros": (bytes(100), "batch_length", 8, "a batch cannot have 0 bytes; the smallest has 14"),
    "unknown codec": (
        batch_of(GOOD[HEADER:], 20, codec=5), "attributes", 21, "unknown compression 5; known are 0 to 4"
    ),
    "too many records declared": (
        batch_of(GOOD[HEADER:], 21), "records_count", 57, "the batch declares 21 records, but has 20"
    ),
    "too few records declared": (
        batch_of(GOOD[HEADER:], 19), "records_count", 57, "the batch declares 19 records, but has 20"
    ),
    "negative count": (
        batch_of(GOOD[HEADER:], -1), "records_count", 57, "the batch declares -1 records, but has 20"
    ),
    "huge count": (
        batch_of(b"", 2**31 - 1), "records_count", 57, "the batch declares 2147483647 records, but has 0"
    ),
    "record length beyond the section": (
        batch_of(GOOD[HEADER:-1], 20),
        "records[19].length",
        len(GOOD) - 34,
        "declares 33 more bytes, but only 32 are left",
    ),
    "record length beyond the record": (
        batch_of(with_bytes(GOOD[HEADER:], 0, b"\x7c"), 20), "records[0].length", 61,
        "declares 62 more bytes, but what follows takes 14",
    ),
    "negative record length": (
        batch_of(with_bytes(GOOD[HEADER:], 0, b"\1"), 20), "records[0].length", 61, "-1"
    ),
    "zeros for records": (batch_of(bytes(10), 10), "records[0].attributes", 62, "need 1 byte, but none are left"),
    "compressed data of another codec": (
        batch_of(GOOD[HEADER:], 20, codec=4),
        "records",
        61,
        "not zstd data: it starts with 1c000000 instead of 28b52ffd",
    ),
    "broken compressed data": (
        batch_of(compress("gzip", GOOD[HEADER:])[:-3], 20, codec=1), "records", 61, "the gzip data is cut short"
    ),
    "record broken inside of compressed data": (
        batch_of(compress("lz4", GOOD[HEADER:-1]), 20, codec=3), "records[19].length", 61,
        "declares 33 more bytes, but only 32 are left (at byte 456 of the 489 that they decompress to)",
    ),
    "checksum of magic 1": (
        with_bytes(INNER, 20, b"\xff"), "crc", 12, "is 0xdc8579ea, but the bytes after it have 0x"
    ),
    "compressed null": (
        compressed_entry(None), "value", 34, "a compressed entry has records in its value, which may not be null"
    ),
    "nothing inside of a compressed entry": (
        compressed_entry(compress("gzip", b"")), "value", 34, "a compressed entry has at least one record in its value"
    ),
    "compressed inside of compressed": (
        compressed_entry(compress("gzip", INNER + compressed_entry(compress("gzip", INNER)))),
        "records[2].attributes", 34,
        "a message inside of a compressed one may not be compressed itself (at byte 88 of the ",
    ),
    "other magic inside": (
        compressed_entry(compress("gzip", v0.MessageAndOffset(value=b"a").encode()), key=b"key"),
        "records[0].magic", 37, "is 0; it must be 1 (at byte 16 of the 27 that the value decompresses to)",
    ),
    "magic 2 inside": (compressed_entry(compress("gzip", GOOD)), "records[0].crc", 34, "(at byte 12 of the "),
    "cut short inside": (
        compressed_entry(compress("gzip", INNER[:-1])), "records[1].message_size", 34,
        "declares 24 more bytes, but only 23 are left (at byte 43 of the 70 that the value decompresses to)",
    ),
    "negative size inside": (
        compressed_entry(compress("gzip", with_bytes(INNER, 8, int32(-13)))), "records[0].message_size", 34, "-13"
    ),
    "no size inside": (
        compressed_entry(compress("gzip", INNER[:5])), "records[0].offset", 34, "need 8 bytes, but only 5 are left"
    ),
    "checksum inside": (
        compressed_entry(compress("gzip", with_bytes(INNER, 20, b"\xff"))), "records[0].crc", 34,
        "(at byte 12 of the 71 that the value decompresses to)",
    ),
    "zstd in magic 1": (
        compressed_entry(b"x", codec=4), "attributes", 17, "unknown compression 4; magic 1 supports 0 to 3"
    ),
    "broken snappy in magic 1": (compressed_entry(b"x", codec=2), "value", 34, "the snappy data is broken: "),
    "broken lz4 in magic 0": (
        v0.MessageAndOffset(compression_type=3, value=b"x").encode(), "value", 26, "the lz4 data is cut short"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_BYTES)
@pytest.mark.parametrize("before", [0, 3])
def test_wrong_bytes_have_a_place(name: str, before: int) -> None:
    data, path, offset, reason = WRONG_BYTES[name]
    with pytest.raises(DecodeError) as caught:
        read_all(GOOD * before + data + GOOD)
    error = caught.value
    assert error.message == "RecordBatch"
    assert error.path == f"batches[{before}].{path}"
    assert error.offset == before * len(GOOD) + offset
    assert reason in error.reason


def test_batches_before_a_wrong_one_are_given() -> None:
    batches = read_batches(GOOD + with_bytes(GOOD, 16, b"\3"))
    assert next(batches).records == RECORDS
    with pytest.raises(DecodeError):
        next(batches)


def test_last_batch_that_is_cut_short_ends_reading() -> None:
    for rest in range(len(GOOD)):
        assert read_all(GOOD + GOOD[:rest]) == [RECORDS]


def test_last_entry_that_is_cut_short_ends_reading() -> None:
    for magic, records in ((0, [Record(offset=5, value=b"a")]), (1, OLD[:1])):
        entry = write_message_set(records, magic=magic)  # type: ignore[arg-type]
        for rest in range(len(entry)):
            assert read_all(entry + entry[:rest]) == [records]


def test_wrong_length_is_an_error_even_where_the_batch_is_cut_short() -> None:
    for size in range(12, 20):
        with pytest.raises(DecodeError):
            read_all(with_bytes(GOOD, 8, int32(13))[:size])


@pytest.mark.parametrize("at", [17, 20, 21, 23, 45, 100])
def test_checksum_is_not_an_error_where_it_is_not_checked(at: int) -> None:
    damaged = with_bytes(GOOD, at, bytes((GOOD[at] ^ 1,)))
    if at == 21:  # a bit that has no meaning
        assert read_all(damaged, check_crcs=False) == [RECORDS]
    batch = next(read_batches(damaged, check_crcs=False))
    assert batch.crc == int.from_bytes(damaged[17:21], "big")
    with pytest.raises(DecodeError, match=r"batches\[0\]\.crc at byte 17: is 0x"):
        next(read_batches(damaged))


def test_checksums_of_message_sets_are_not_errors_where_they_are_not_checked() -> None:
    damaged = with_bytes(INNER, 12, b"\0\0\0\0")
    for data in (damaged, compressed_entry(compress("gzip", damaged))):
        with pytest.raises(DecodeError, match="crc"):
            read_all(data)
    assert read_all(damaged, check_crcs=False) == [OLD[:1], OLD[1:]]
    wrapper = with_bytes(compressed_entry(compress("gzip", damaged)), 12, b"\0\0\0\0")
    assert [record.value for record in read_all(wrapper, check_crcs=False)[0]] == [b"a", b"bb"]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_decompressed_size_is_bounded(codec: Any) -> None:
    large = Record(offset=0, value=bytes(100_000))
    batches = [
        write_batch([large], compression=codec),
        *(write_message_set([large], magic=magic, compression=codec) for magic in (0, 1) if codec != "zstd"),
    ]
    for batch in batches:
        assert read_all(batch, max_decompressed_size=101_000) == [[large]]
        with pytest.raises(DecodeError, match="1,000 bytes"):
            read_all(batch, max_decompressed_size=1_000)


def test_bound_is_not_for_what_is_not_compressed() -> None:
    assert read_all(GOOD, max_decompressed_size=10) == [RECORDS]


SMALLEST_RECORD = bytes.fromhex("0c 00 00 00 01 01 00")


def record_of_headers(count: int, key: bytes = b"") -> bytes:
    """Return a record with a number of small headers, by default of the smallest: no key, and null."""
    body = b"\0\0\0\x01\x01" + write_varint(count << 1) + (bytes((2 * len(key),)) + key + b"\x01") * count
    return write_varint(len(body) << 1) + body


@pytest.fixture(params=["kernel", "python"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One engine after the other."""
    if request.param == "python":
        monkeypatch.setattr(native, "in_use", False)
        with native_checks.without_kernel():
            yield request.param
    elif not native.in_use:
        pytest.skip(f"the kernel is not in use: {native.reason}")
    else:
        yield request.param


@pytest.mark.parametrize("codec", [0, 1])
def test_records_and_headers_are_bounded_together(engine: str, codec: int) -> None:
    section = 40 * SMALLEST_RECORD + record_of_headers(59)
    batch = batch_of(compress("gzip", section) if codec else section, 41, codec)
    (found,) = read_all(batch, max_items=100)
    assert (len(found), len(found[-1].headers)) == (41, 59)
    for read in (read_all, as_columns):
        with pytest.raises(DecodeError, match=r"more than 99 records and headers \(max_items\)") as caught:
            read(batch, max_items=99)
        assert (caught.value.path, caught.value.offset) == ("batches[0].records", HEADER)
    broken = batch_of(section[:-1], 41)
    with pytest.raises(DecodeError, match="declares"):
        read_all(broken, max_items=41)


def as_columns(data: bytes, **options: Any) -> Any:
    return columns.decode_records(read_batches(data, **options))


@pytest.mark.parametrize("magic", [0, 1])
def test_entries_inside_of_a_compressed_one_are_bounded(magic: Any) -> None:
    data = write_message_set([Record(offset=i) for i in range(20)], magic=magic, compression="gzip")
    assert len(read_all(data, max_items=20)[0]) == 20
    for read in (read_all, as_columns):
        with pytest.raises(DecodeError, match="more than 19 records and headers") as caught:
            read(data, max_items=19)
        assert caught.value.path == "batches[0].value"


@pytest.mark.parametrize(
    ("section", "times"),
    [
        (record_of_headers(30_000), 50),
        (10_000 * SMALLEST_RECORD, 50),
        (record_of_headers(30_000, b"\xff"), 60),
        (record_of_headers(30_000, b"\xff\xff"), 60),
    ],
    ids=["headers", "records", "raw keys", "longer raw keys"],
)
def test_records_take_no_more_memory_than_is_promised(engine: str, section: bytes, times: int) -> None:
    """Objects and columns take at most `times` the bytes that a batch decompresses to."""
    count = section.count(SMALLEST_RECORD) or 1
    batch = batch_of(compress("gzip", section), count, 1)
    read_all(GOOD)
    as_columns(GOOD)
    for read in (read_all, as_columns):
        tracemalloc.start()
        try:
            assert read(batch)
            assert tracemalloc.get_traced_memory()[1] < times * len(section)
        finally:
            tracemalloc.stop()


def test_bounds_hold_unless_the_caller_changes_them(engine: str) -> None:
    """2 KB of gzip, which decompress to a header too many."""
    section = record_of_headers(MAX_ITEMS)
    for read in (read_all, as_columns):
        with pytest.raises(DecodeError, match="more than 1,048,576 records and headers"):
            read(batch_of(compress("gzip", section), 1, 1))


def test_headers_are_read_without_the_records() -> None:
    batches = list(read_batches(batch_of(b"no records", 20, codec=4)))
    assert [(batch.compression, batch.last_offset) for batch in batches] == [("zstd", 19)]
    with pytest.raises(DecodeError, match="not zstd data"):
        assert batches[0].records
    with pytest.raises(DecodeError, match="not zstd data"):  # and again, when asked again
        assert batches[0].records


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
def test_any_buffer_may_be_read(make: Callable[[bytes], Any]) -> None:
    assert read_all(make(GOOD + GOOD)) == [RECORDS, RECORDS]


def test_offsets_inside_a_wrapper_that_a_producer_left_at_0_stay_as_they_are() -> None:
    inner = write_message_set([Record(offset=i, value=bytes((i,))) for i in range(3)], magic=1)
    wrapper = v1.MessageAndOffset(offset=0, compression_type=1, value=compress("gzip", inner)).encode()
    batch = next(read_batches(wrapper))
    assert [record.offset for record in batch.records] == [0, 1, 2]
    assert (batch.base_offset, batch.last_offset) == (0, 0)


def ascending_sequences(batch: RecordBatch) -> Iterator[bool]:
    numbers = [batch.sequence(record) for record in batch.records]
    return (later == (earlier + 1) % 2**31 for earlier, later in pairwise(numbers))


def test_sequences_go_on_with_0() -> None:
    batch = next(read_batches(write_batch(RECORDS, producer_id=1, producer_epoch=0, base_sequence=2**31 - 3)))
    assert all(ascending_sequences(batch))
    assert batch.last_sequence == 16
