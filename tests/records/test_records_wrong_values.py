"""Records that cannot be written are refused with their locations; checksums need no library."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import google_crc32c
import pytest

from kafka_records.message_and_offset.v1 import MessageAndOffset
from kafka_records.record_batch.v2 import RecordBatch as RecordBatchV2
from kipwire import DecodeError, EncodeError
from kipwire.codec import checksums
from kipwire.records import Record, read_batches, write_batch, write_message_set
from tests.support.subjects.batch_bytes import GOOD, INNER, OLD, RECORDS, foreign_batch, read_all, with_bytes


def with_headers(headers: object) -> Record:
    """Return a record whose user has set its headers to anything."""
    record = Record(offset=RECORDS[0].offset + 1)
    record.headers = headers  # type: ignore[assignment]
    return record


WRONG_VALUES: dict[str, tuple[Callable[[], object], str, str]] = {
    "no base offset": (lambda: write_batch([]), "base_offset", "a batch without records needs one"),
    "offsets descend": (lambda: write_batch(RECORDS[::-1]), "records[1].offset", "18 is not above 19"),
    "offset twice": (lambda: write_batch([OLD[0], OLD[0]]), "records[1].offset", "5 is not above 5"),
    "an offset after none": (
        lambda: write_batch([Record(value=b""), OLD[0]]), "records[1].offset",
        "5 follows -1; give each record an offset, or none of them",
    ),
    "no offset after one": (
        lambda: write_batch([OLD[0], Record(value=b"")]), "records[1].offset", "-1 follows 5; give each record"
    ),
    "no offset after one in magic 1": (
        lambda: write_message_set([OLD[0], Record(value=b"")], magic=1), "records[1].offset", "-1 follows 5; give each"
    ),
    **{
        f"{name} of another type": (
            lambda name=name: write_batch(RECORDS, **{name: "5"}), name, "must be an int, not str"  # type: ignore[arg-type,misc]
        )
        for name in ("base_offset", "last_offset_delta", "base_timestamp", "delete_horizon")
    },
    "headers that are a number": (
        lambda: write_batch([Record(value=b"", headers=5)]), "records[0].headers",  # type: ignore[arg-type]
        "must be pairs of a key and a value, not int",
    ),
    "headers that are a text": (
        lambda: write_batch([Record(value=b"", headers="ab")]), "records[0].headers",  # type: ignore[arg-type]
        "must be pairs of a key and a value, not str",
    ),
    "base offset after a record": (lambda: write_batch(OLD, base_offset=6), "base_offset", "6 is after the first"),
    "batch ends before a record": (
        lambda: write_batch(OLD, last_offset_delta=3), "last_offset_delta", "3 is before the last record: 4"
    ),
    "offset too far": (
        lambda: write_batch([OLD[0], Record(offset=2**31 + 5)], last_offset_delta=2**31), "records[1].offset_delta",
        "2147483648 is out of range",
    ),
    "not a record": (lambda: write_batch([(0, 1)]), "records[0]", "must be a Record, not tuple"),  # type: ignore[list-item]
    "offset of another type": (
        lambda: write_batch([Record(offset="5")]), "records[0].offset", "must be an int, not str"  # type: ignore[arg-type]
    ),
    "timestamp of another type": (
        lambda: write_batch([Record(offset=5, timestamp=1.5)]), "records[0].timestamp", "must be an int, not float"  # type: ignore[arg-type]
    ),
    "text for bytes": (
        lambda: write_batch([Record(offset=0, value="x")]), "records[0].value", "must be bytes, not str"  # type: ignore[arg-type]
    ),
    "header key is null": (
        lambda: write_batch([Record(offset=0, headers=[(None, b"")])]), "records[0].headers[0].key", "null"  # type: ignore[list-item]
    ),
    **{
        f"headers of {name}": (
            lambda headers=headers: write_batch([RECORDS[0], with_headers(headers)]),  # type: ignore[misc]
            f"records[1].headers{at}",
            reason,
        )
        for name, headers, at, reason in (
            ("a number", 5, "", "must be pairs of a key and a value, not int"),
            ("nothing", None, "", "must be pairs of a key and a value, not NoneType"),
            ("a mapping", {"a": b"b"}, "", "must be pairs of a key and a value, not dict"),
            ("a text", "ab", "", "must be pairs of a key and a value, not str"),
            ("keys", ["a"], "[0]", "must be a pair of a key and a value, not 'a'"),
            ("keys of two letters", [("k", b""), "ab"], "[1]", "must be a pair of a key and a value, not 'ab'"),
            ("bytes", [b"ab"], "[0]", "must be a pair of a key and a value, not b'ab'"),
            ("one more", [("a", b"b", b"c")], "[0]", "must be a pair of a key and a value, not ('a', b'b', b'c')"),
            ("one less", [("a",)], "[0]", "must be a pair of a key and a value, not ('a',)"),
            ("numbers", [1], "[0]", "must be a pair of a key and a value, not 1"),
            ("a null pair", [None], "[0]", "must be a pair of a key and a value, not None"),
            ("a key of bytes", [(b"a", b"")], "[0].key", "must be a str, not bytes"),
            ("a text for bytes", [("a", "b")], "[0].value", "must be bytes, not str"),
        )
    },
    "unknown codec": (
        lambda: write_batch(RECORDS, compression="lzo"), "compression",  # type: ignore[arg-type]
        "magic 2 has no 'lzo'; it has none, gzip, snappy, lz4, zstd",
    ),
    "unknown timestamp type": (
        lambda: write_batch(RECORDS, timestamp_type="NoTimestampType"), "timestamp_type", "it has CreateTime, "
    ),
    "producer id too large": (
        lambda: write_batch(RECORDS, producer_id=2**63, producer_epoch=0, base_sequence=0), "producer_id",
        "out of range",
    ),
    "transaction of nobody": (
        lambda: write_batch(RECORDS, is_transactional=True), "producer_id", "a transactional batch needs one"
    ),
    "producer id without an epoch": (
        lambda: write_batch(RECORDS, producer_id=7, base_sequence=0), "producer_epoch", "producer id 7 needs one"
    ),
    "producer id without a sequence number": (
        lambda: write_batch(RECORDS, producer_id=7, producer_epoch=0), "base_sequence",
        "is -1, but producer id 7 needs one",
    ),
    "timestamp before 1970": (
        lambda: write_batch([RECORDS[0], Record(offset=99, timestamp=-2)]), "records[1].timestamp",
        "-2 is before 1970; give 0 or more, or -1 for none",
    ),
    "timestamp before 1970 in magic 1": (
        lambda: write_message_set([Record(offset=9, timestamp=-(2**63))], magic=1), "records[0].timestamp",
        "-9223372036854775808 is before 1970",
    ),
    "headers in magic 1": (
        lambda: write_message_set(RECORDS, magic=1), "records[0].headers", "magic 1 has no headers"
    ),
    "timestamps in magic 0": (
        lambda: write_message_set(OLD, magic=0), "records[0].timestamp", "magic 0 has no timestamps; give -1"
    ),
    "zstd in magic 1": (
        lambda: write_message_set(OLD, magic=1, compression="zstd"), "compression",
        "magic 1 has no 'zstd'; it has none, gzip, snappy, lz4",
    ),
    "timestamp type of magic 1": (
        lambda: write_message_set(OLD, magic=1, timestamp_type="NoTimestampType"), "timestamp_type", "magic 1 has no "
    ),
    "message set of magic 2": (
        lambda: write_message_set(OLD, magic=2), "magic", "a message set has magic 0 or 1"  # type: ignore[arg-type]
    ),
    "compressed set of nothing": (
        lambda: write_message_set([], magic=1, compression="gzip"), "value", "needs at least one record"
    ),
    "descending in a message set": (
        lambda: write_message_set(OLD[::-1], magic=1), "records[1].offset", "5 is not above 9"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_wrong_values_have_a_place(name: str) -> None:
    call, path, reason = WRONG_VALUES[name]
    with pytest.raises(EncodeError) as caught:
        call()
    assert caught.value.path == path
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    "headers",
    [
        {"a": b"1", "b": None},
        MappingProxyType({"a": b"1", "b": None}),
        [["a", b"1"], ("b", None)],
        (("a", b"1"), ("b", None)),
        iter([("a", b"1"), ("b", None)]),
    ],
    ids=lambda headers: type(headers).__name__,
)
def test_headers_are_pairs_or_a_mapping(headers: Any) -> None:
    data = write_batch([Record(offset=0, headers=headers)])
    assert read_all(data) == [[Record(offset=0, headers=[("a", b"1"), ("b", None)])]]
    assert data == write_batch([Record(offset=0, headers=[("a", b"1"), ("b", None)])])


def test_markers_have_a_producer_and_no_sequence_number() -> None:
    data = write_batch([OLD[0]], producer_id=7, producer_epoch=0, is_transactional=True, is_control=True)
    assert next(read_batches(data)).base_sequence == -1


def test_timestamps_before_1970_of_other_writers_are_read() -> None:
    record = Record(offset=0, timestamp=-5)
    for data in (MessageAndOffset(timestamp=-5).encode(), foreign_batch([record])):
        assert read_all(data) == [[record]]


@pytest.fixture
def _without_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "fastest_crc32c", checksums.fastest_crc32c.__wrapped__)  # nothing is kept
    monkeypatch.setitem(sys.modules, "google_crc32c", None)


@pytest.mark.usefixtures("_without_library")
def test_checksums_need_no_library() -> None:
    assert write_batch(RECORDS) == GOOD
    assert read_all(GOOD) == [RECORDS]
    assert read_all(INNER) == [OLD[:1], OLD[1:]]
    damaged = with_bytes(GOOD, 70, b"\xff")
    for call in (lambda: RecordBatchV2.decode(damaged), lambda: next(read_batches(damaged))):
        with pytest.raises(DecodeError, match=r"crc at byte 17: .*is 0x[0-9a-f]{8}, but .* 0xa2531199"):
            call()


def test_plain_python_computes_the_same_checksum_as_the_library() -> None:
    data = bytes(random.Random(1).randbytes(1000))
    assert checksums.crc32c_of_tables(0, b"123456789") == 0xE3069283  # the check value of the algorithm
    for size in (0, 1, 7, 8, 9, 63, 64, 1000):
        right = google_crc32c.value(data[:size])
        assert checksums.crc32c_of_tables(0, data[:size]) == right
        assert checksums.crc32c_of_tables(0, data[3:size]) == google_crc32c.value(data[3:size])
        for compute in (checksums.crc32c_of_tables, google_crc32c.extend):  # in parts
            assert compute(compute(0, data[: size // 3]), data[size // 3 : size]) == right
