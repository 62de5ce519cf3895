"""Keys of headers are any bytes: their text is the one that Java has, and the bytes are there and are written again."""

from __future__ import annotations

import copy
import gzip
import os
import pickle
import subprocess
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipwire import DecodeError, EncodeError, native
from kipwire.records import RawHeaderKey, Record, down_convert, read_batches, up_convert, with_offsets, write_batch
from kipwire.records.model import bytes_of_key, header_key
from kipwire.records.sections import (
    read_by_classes,
    read_plainly,
    read_section,
    write_by_classes,
    write_plainly,
    write_section,
)
from tests.support import native_checks
from tests.support.places import GOLDEN, SUPPORT

FILE = GOLDEN / "malformed-utf8.txt.gz"
PROGRAM = SUPPORT / "java" / "MalformedUtf8.java"
KEYS = st.binary(max_size=12) | st.lists(
    st.sampled_from([b"a", b"\x80", b"\xc3", b"\xa9", b"\xe2\x82", b"\xed", b"\xa0", b"\xf0\x9f", b"\xf4", b"\xff"])
).map(b"".join)


@cache
def of_java() -> dict[bytes, str]:
    """Return the text of each byte string of the golden file."""
    with gzip.open(FILE, "rt", encoding="ascii") as file:
        pairs = [line.split() for line in file]
    return {bytes.fromhex(raw): bytes.fromhex(text.replace("_", "efbfbd")).decode() for raw, text in pairs}


def kernel() -> ModuleType:
    if native.kernel is None:
        pytest.skip(f"the kernel is not in use: {native.reason}")
    return native.kernel


def with_keys(*keys: bytes, offset: int = 0) -> Record:
    return Record(offset=offset, value=b"v", headers=[(header_key(key), b"h") for key in keys])


# The text.


def test_golden_file_has_what_its_readme_says() -> None:
    sizes = Counter(map(len, of_java()))
    assert (sizes.total(), sizes[1], sizes[2]) == (90_545, 128, 47_232)
    assert all("\ufffd" in text for text in of_java().values())


def test_what_is_not_in_the_golden_file_is_utf8() -> None:
    pairs = [bytes((one, other)) for one in range(256) for other in range(256)]
    for raw in pairs + [bytes((one,)) for one in range(256)]:
        assert (raw in of_java()) == (type(header_key(raw)) is RawHeaderKey)
        if raw not in of_java():
            assert header_key(raw).encode() == raw


@pytest.mark.parametrize(
    "engine", ["kernel", *(pytest.param(one, marks=pytest.mark.night) for one in ("plain", "classes"))]
)
def test_every_engine_has_the_text_of_java_and_the_bytes(engine: str) -> None:
    data = write_plainly([with_keys(raw, offset=at) for at, raw in enumerate(of_java())], 0, -1)
    assert data is not None
    read = {"kernel": lambda *given: kernel().read_records(*given), "plain": read_plainly, "classes": read_by_classes}
    records = read[engine](data, 0, -1)
    assert records is not None
    for record, (raw, text) in zip(records, of_java().items(), strict=True):
        ((key, _),) = record.headers
        assert isinstance(key, RawHeaderKey)
        assert (str(key), key.raw) == (text, raw), raw


@pytest.mark.smoke
@pytest.mark.maven
def test_golden_file_is_what_the_program_prints() -> None:
    java = str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java"
    done = subprocess.run([java, str(PROGRAM)], check=True, capture_output=True, timeout=120)
    assert done.stdout == gzip.decompress(FILE.read_bytes())


# The bytes.


@given(keys=st.lists(st.lists(KEYS, max_size=3), min_size=1, max_size=4))
def test_any_bytes_are_read_alike_by_every_engine_and_written_again(keys: list[list[bytes]]) -> None:
    records = [with_keys(*some, offset=at) for at, some in enumerate(keys)]
    data = write_section(records, 0, 0)
    assert all(raw in data for some in keys for raw in some)
    assert data == write_plainly(records, 0, 0) == write_by_classes(records, 0, 0)
    found = read_section(data, 0, 0)
    assert [[bytes_of_key(key) for key, _ in record.headers] for record in found] == keys
    assert write_section(found, 0, 0) == data
    if native.kernel is not None:
        assert native_checks.check_read_records(native.kernel, data, 0, 0) is not None
        assert native_checks.check_write_records(native.kernel, records, 0, 0) == data


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_a_batch_is_written_again_as_it_was(codec: Any) -> None:
    data = write_batch([with_keys(b"caf\xe9", b"caf\xc3\xa9", b""), with_keys(b"\xed\xa0\x80", offset=1)])
    batch = next(read_batches(data))
    assert batch.records[0].headers[0] == ("caf\ufffd", b"h")
    again = write_batch(batch.records, compression=codec)
    assert write_batch(next(read_batches(again)).records) == data


def test_conversion_and_moving_keep_or_count_them() -> None:
    data = write_batch([with_keys(b"\xff"), Record(offset=1)])
    assert up_convert(data, 2).data == data
    assert [(loss.what, loss.count) for loss in down_convert(data, 1).lost if loss.what == "headers"] == [
        ("headers", 1)
    ]
    moved = next(read_batches(with_offsets(data, 100)))
    assert bytes_of_key(moved.records[0].headers[0][0]) == b"\xff"


def test_one_such_key_costs_no_other_record_its_place() -> None:
    records = [with_keys(b"good", offset=0), with_keys(b"\xff", offset=1), with_keys(b"good", offset=2)]
    found = next(read_batches(write_batch(records))).records
    assert [(record.offset, record.headers[0][0]) for record in found] == [(0, "good"), (1, "\ufffd"), (2, "good")]


def test_a_key_that_is_null_is_an_error_as_in_java() -> None:
    record = bytes.fromhex("12 00 00 00 01 01 02 01 02 78")
    batch = write_batch([Record(offset=0, headers=[("", b"x")])])
    assert len(read_section(record.replace(b"\x02\x01\x02x", b"\x02\x00\x02x"), 0, 0)[0].headers) == 1
    with pytest.raises(DecodeError, match="null") as caught:
        read_section(record, 0, 0)
    assert caught.value.path == "records[0].headers[0].key"
    with pytest.raises(DecodeError, match=r"batches\[0\].records\[0\].headers\[0\].key"):
        _ = next(read_batches(batch[:-3] + b"\x01" + batch[-2:], check_crcs=False)).records


def test_the_error_after_such_a_key_is_the_one_that_is_reported() -> None:
    data = bytearray(write_section([with_keys(b"\xff"), with_keys(b"\xff", offset=1)], 0, 0))
    data[-2] = 9  # the size of the last value
    with pytest.raises(DecodeError) as caught:
        read_section(bytes(data), 0, 0)
    assert caught.value.path == "records[1].headers[0].value"


# The value.


def test_a_key_of_bytes_is_equal_to_its_text_alone() -> None:
    key = RawHeaderKey(b"caf\xe9")
    assert key == "caf\ufffd" == str(key) == f"{key}"
    assert type(str(key)) is type(f"{key}") is type(key[:3]) is type(key.replace("c", "C")) is str
    assert key == RawHeaderKey(b"caf\xff")  # Java, too, compares keys as texts
    by_text: dict[str, int] = {key: 1}
    assert by_text["caf\ufffd"] == 1
    assert key != "caf"
    assert repr(key) == "RawHeaderKey(b'caf\\xe9')"
    assert key.raw == b"caf\xe9"


def test_any_bytes_may_be_given_and_nothing_else() -> None:
    assert RawHeaderKey(b"plain") == "plain"
    assert write_batch([Record(offset=0, headers=[(RawHeaderKey(b"plain"), None)])]) == write_batch(
        [Record(offset=0, headers=[("plain", None)])]
    )
    for wrong in ("text", 5, None, bytearray(b"a")):
        with pytest.raises(TypeError, match="a RawHeaderKey is made of bytes, not of"):
            RawHeaderKey(wrong)  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        RawHeaderKey(b"a").raw = b"b"  # type: ignore[misc]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_have_the_bytes(copied: Any) -> None:
    key = copied(RawHeaderKey(b"\xff\xfe"))
    assert (type(key), key, key.raw) == (RawHeaderKey, "\ufffd\ufffd", b"\xff\xfe")
    record = copied(with_keys(b"\xff"))
    assert bytes_of_key(record.headers[0][0]) == b"\xff"


class _Derived(RawHeaderKey):
    pass


class _Text(str):
    __slots__ = ()


def test_what_is_derived_is_written_as_what_it_is_derived_from() -> None:
    for key, raw in ((_Derived(b"\xff"), b"\xff"), (_Text("text"), b"text")):
        data = write_batch([Record(offset=0, headers=[(key, b"h")])])
        assert bytes_of_key(next(read_batches(data)).records[0].headers[0][0]) == raw


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (None, "must not be null"),
        (b"bytes", "must be a str, not bytes"),
        (5, "must be a str, not int"),
        ("a\ud800", "cannot be written as UTF-8: character 1 is a lone surrogate"),
    ],
)
def test_keys_that_cannot_be_written_have_a_place(key: Any, reason: str) -> None:
    with pytest.raises(EncodeError) as caught:
        write_batch([Record(offset=0), Record(offset=1, headers=[("good", None), (key, b"")])])
    assert (caught.value.path, caught.value.reason) == ("records[1].headers[1].key", reason)
