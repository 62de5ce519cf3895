"""The codecs: what they accept, and that broken or lying data costs neither memory nor another exception."""

from __future__ import annotations

import random
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipwire.model.errors import MissingExtraError
from kipwire.records.compression import (
    COMPRESSIONS,
    CompressedDataError,
    compress,
    decompress,
    lz4_from_magic_0,
    lz4_to_magic_0,
)

if TYPE_CHECKING:
    from kipwire.records.compression import Compression

CODECS = COMPRESSIONS[1:]
PLAIN = b"".join(f"record {i * i % 977} ".encode() for i in range(12_000))
every_codec = pytest.mark.parametrize("codec", CODECS)

LZ4_HEADER = bytes.fromhex("04224d18604082")
ZSTD_HEADER = bytes.fromhex("28b52ffd0058")


@every_codec
@pytest.mark.parametrize("size", [0, 1, 13, 32_768, 32_769, 65_536, 65_537, len(PLAIN)])
def test_what_is_compressed_comes_back(codec: Compression, size: int) -> None:
    data = compress(codec, PLAIN[:size])
    assert decompress(codec, data, size) == PLAIN[:size]


@every_codec
@given(plain=st.binary(max_size=300).map(lambda part: part * 7))
def test_random_bytes_come_back(codec: Compression, plain: bytes) -> None:
    assert decompress(codec, compress(codec, plain), len(plain)) == plain


@every_codec
def test_limit_holds_to_the_byte(codec: Compression) -> None:
    data = compress(codec, PLAIN)
    assert decompress(codec, data, len(PLAIN)) == PLAIN
    with pytest.raises(CompressedDataError, match=f"{len(PLAIN) - 1:,} bytes"):
        decompress(codec, data, len(PLAIN) - 1)


@every_codec
def test_data_that_is_cut_short_is_refused(codec: Compression) -> None:
    data = compress(codec, PLAIN[:5000])
    for size in range(len(data)):
        if codec == "snappy" and size == 16:  # blocks may end after any of them, also after none
            continue
        with pytest.raises(CompressedDataError):
            decompress(codec, data[:size], len(PLAIN))


@every_codec
def test_bytes_after_the_data_are_refused(codec: Compression) -> None:
    with pytest.raises(CompressedDataError):
        decompress(codec, compress(codec, b"abc") + b"\1", 1000)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_bytes_after_the_data_are_counted(codec: Compression) -> None:
    with pytest.raises(CompressedDataError, match=f"^30 trailing bytes after the {codec} data$"):
        decompress(codec, compress(codec, b"abc") + b"\7" * 30, 1000)


@every_codec
def test_damaged_data_gives_an_error_or_other_data_and_nothing_else(codec: Compression) -> None:
    data = compress(codec, PLAIN[:3000])
    chance = random.Random(7)
    for _ in range(3000):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(min(len(data), chance.choice((12, 40, len(data)))))] = chance.randrange(256)
        try:
            assert len(decompress(codec, bytes(damaged), 100_000)) <= 100_000
        except CompressedDataError as error:
            assert str(error)


@every_codec
@given(data=st.binary(max_size=60))
def test_random_bytes_give_an_error_or_data_within_the_limit(codec: Compression, data: bytes) -> None:
    start = compress(codec, b"")[:4]
    for one in (data, start + data):
        try:
            assert len(decompress(codec, one, 100)) <= 100
        except CompressedDataError as error:
            assert str(error)


def test_snappy_of_other_clients_has_no_blocks() -> None:
    assert decompress("snappy", bytes(cramjam.snappy.compress_raw(PLAIN)), len(PLAIN)) == PLAIN


def test_snappy_blocks_are_those_of_java() -> None:
    data = compress("snappy", PLAIN)
    assert data[:16] == b"\x82SNAPPY\0" + bytes((0, 0, 0, 1, 0, 0, 0, 1))
    first = int.from_bytes(data[16:20], "big")
    assert cramjam.snappy.decompress_raw_len(data[20 : 20 + first]) == 32 * 1024


def test_lz4_of_other_writers_is_read() -> None:
    for linked in (True, False):
        for checksum in (True, False):
            writer = cramjam.lz4.Compressor(block_linked=linked, content_checksum=checksum)
            writer.compress(PLAIN)
            assert decompress("lz4", bytes(writer.finish()), len(PLAIN)) == PLAIN


def test_lz4_is_written_as_javas_reader_wants_it() -> None:
    data = compress("lz4", PLAIN)
    assert data.startswith(LZ4_HEADER)  # independent blocks of 64 KiB, or Java would refuse them
    stored = compress("lz4", random.Random(1).randbytes(70_000))
    assert int.from_bytes(stored[7:11], "little") == 1 << 31 | 65_536  # grown by compression, so stored


def test_lz4_of_magic_0_has_kafkas_own_header_checksum() -> None:
    data = compress("lz4", PLAIN)
    old = lz4_to_magic_0(data)
    assert old[:6] + old[7:] == data[:6] + data[7:]
    assert old[6] == 0x1A
    assert lz4_from_magic_0(old) == data
    assert lz4_from_magic_0(data) == data
    with pytest.raises(CompressedDataError):
        decompress("lz4", old, len(PLAIN))
    for size in range(7):
        with pytest.raises(CompressedDataError, match="cut short"):
            lz4_from_magic_0(data[:size])


def test_lz4_header_checksum_is_right_for_longer_headers() -> None:
    # The content's size makes the descriptor ten bytes long, so that all steps of the hash are taken.
    data = bytearray(cramjam.lz4.compress(b"abc"))
    header = bytearray(data[:4]) + bytes((data[4] | 0x08, data[5])) + (3).to_bytes(8, "little") + b"\0" + data[7:]
    assert decompress("lz4", lz4_from_magic_0(bytes(header)), 3) == b"abc"


def test_zstd_of_a_stream_is_read() -> None:
    # A frame that does not declare its size, as Java writes it: raw, repeated and last block.
    blocks = [(0, b"abc"), (1, b"x"), (0, b"")]
    sizes = (3, 1000, 0)
    data = ZSTD_HEADER
    for number, ((kind, content), size) in enumerate(zip(blocks, sizes, strict=True)):
        data += (size << 3 | kind << 1 | (number == 2)).to_bytes(3, "little") + content
    assert decompress("zstd", data, 1003) == b"abc" + b"x" * 1000


def bomb(codec: Compression, mebibytes: int) -> bytes:
    """Little data that decompresses to a number of mebibytes of zeros, and then is cut short or ends."""
    if codec == "gzip":
        stream = zlib.compressobj(wbits=31)
        return b"".join(stream.compress(bytes(1 << 20)) for _ in range(mebibytes)) + stream.flush()
    if codec == "snappy":
        block = bytes(cramjam.snappy.compress_raw(bytes(1 << 20)))
        return b"\x82SNAPPY\0" + bytes((0, 0, 0, 1)) * 2 + (len(block).to_bytes(4, "big") + block) * mebibytes
    if codec == "lz4":
        block = bytes(cramjam.lz4.compress_block(bytes(1 << 16), store_size=False))
        return LZ4_HEADER + (len(block).to_bytes(4, "little") + block) * (16 * mebibytes) + bytes(4)
    block = (1 << 17 << 3 | 1 << 1).to_bytes(3, "little") + b"\0"
    return ZSTD_HEADER + block * (8 * mebibytes) + bytes((1, 0, 0))


@every_codec
def test_bomb_is_one_without_a_limit(codec: Compression) -> None:
    assert decompress(codec, bomb(codec, 4), 4 << 20) == bytes(4 << 20)


DEFUSE = """
import re, sys
import cramjam
from kipwire.records.compression import CompressedDataError, decompress

def peak():
    with open("/proc/self/status") as status:
        return int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1]) // 1024

codec, data, before = sys.argv[1], sys.stdin.buffer.read(), peak()
try:
    decompress(codec, data, int(sys.argv[2]) << 20)
    print(peak() - before, "nothing")
except CompressedDataError as error:
    print(peak() - before, error)
"""
"""Prints how many MiB more memory it took to find that the data exceeds a limit in MiB."""


def defuse(codec: Compression, data: bytes, mebibytes: int) -> tuple[int, str]:
    command = [sys.executable, "-c", DEFUSE, codec, str(mebibytes)]
    run = subprocess.run(command, input=data, capture_output=True, check=True)
    grown, _, reason = run.stdout.decode().partition(" ")
    return int(grown), reason.strip()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not report a process's peak memory")
@every_codec
def test_bombs_take_no_more_memory_than_allowed(codec: Compression) -> None:
    data = bomb(codec, 64)
    grown, reason = defuse(codec, data, 4)
    assert "4,194,304 bytes" in reason
    assert grown <= 2 * 4 + 2 + len(data) // (1 << 20)  # snappy is split into blocks first
    grown, reason = defuse(codec, data, 64)
    assert (grown >= 50, reason) == (True, "nothing")  # so the check does detect growth


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not report a process's peak memory")
@every_codec
def test_lies_about_sizes_cost_nothing(codec: Compression) -> None:
    lies = {
        "gzip": b"\x1f\x8b\x08" + bytes(7) + b"\0",
        "snappy": b"\xff\xff\xff\xff\x0f" + b"\0" * 10,
        "lz4": LZ4_HEADER + b"\xff\xff\xff\x7f" + b"\0" * 10,
        "zstd": bytes.fromhex("28b52ffde0ffffffffffffff00") + b"\0" * 10,
    }
    grown, reason = defuse(codec, lies[codec], 1)
    assert reason != "nothing"
    assert grown <= 2


@pytest.mark.parametrize("codec", ["snappy", "lz4", "zstd"])
def test_missing_library_is_named(codec: Compression, monkeypatch: pytest.MonkeyPatch) -> None:
    data = compress(codec, b"abc")
    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(MissingExtraError, match=r"kipwire\[records\]"):
        compress(codec, b"abc")
    with pytest.raises(MissingExtraError, match=r"kipwire\[records\]"):
        decompress(codec, data, 3)


def test_gzip_needs_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert decompress("gzip", compress("gzip", b"abc"), 3) == b"abc"
