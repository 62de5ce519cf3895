"""Captures from untrusted sources: every line of an index and every frame is checked, within bounds of memory."""

from __future__ import annotations

import gzip
import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from kipwire.message.frames import LARGEST_FRAME
from kipwire.tables.errors import SourceError
from kipwire.tables.sources.captures import FrameFilter, parts, read_frames
from kipwire.traffic.captures import (
    LONGEST_LINE,
    CaptureError,
    files_in,
    frames_beside,
    is_packed,
    open_frames,
    read_index,
)
from tests.support.subjects.advice import METADATA, run

FRAME = b"\0\0\0\4abcd"
GOOD = {
    "i": 0, "off": 0, "len": 4, "ts_ns": 1, "conn": 0, "listener": "a", "dir": "req",
    "api_key": 3, "api_version": 0, "correlation_id": 0, "client_id": "me",
}  # fmt: skip


def line(**changes: Any) -> bytes:
    return json.dumps(GOOD | changes).encode() + b"\n"


def write(folder: Path, index: bytes, frames: bytes = FRAME, *, packed: bool = False) -> Path:
    """Write a capture; return its index."""
    pack, suffix = (gzip.compress, ".gz") if packed else (bytes, "")
    (folder / f"frames.bin{suffix}").write_bytes(pack(frames))
    (folder / f"frames.jsonl{suffix}").write_bytes(pack(index))
    return folder / f"frames.jsonl{suffix}"


def read(index: Path) -> list[bytes]:
    with open_frames(frames_beside(index)) as frames:
        return [frames.read(entry) for entry in read_index(index)]


HOSTILE = [
    (line(dir=[]), '"dir" is a list; it must be "req" or "res"'),
    (line(dir={"a": 1}), '"dir" is an object'),
    (line(dir=None), '"dir" is null'),
    (line(i=2**70), '"i" must be a whole number from 0 to'),
    (line(i=True), '"i" must be a whole number from 0 to .*; it is true'),
    (line(i="1"), '"i" must be'),
    (line(i=10**4000), '"i" must be a whole number from 0 to .*; it is a number of many digits'),
    (line(off=-1), '"off" must be a whole number from 0'),
    (line(len=2**31), '"len" must be a whole number from 0 to 2147483647; it is 2147483648'),
    (line(ts_ns=2**63), '"ts_ns" must be'),
    (line(conn=1.5), '"conn" must be a whole number from .*; it is 1.5'),
    (line(api_key=2**15), '"api_key" must be'),
    (line(api_version=[3]), '"api_version" must be a whole number from .*; it is a list'),
    (line(correlation_id=2**31), '"correlation_id" must be'),
    (line(client_id="\ud800"), '"client_id" has a lone surrogate'),
    (line(listener="a\udfff"), '"listener" has a lone surrogate'),
    (line(listener={}), '"listener" must be a string or null; it is an object'),
    (b"[" * 100_000 + b"\n", "not JSON"),
    (b'{"i": ' + b"9" * 5000 + b"}\n", "not JSON"),
    (b'{"client_id": "\xff"}\n', "not JSON"),
    (b"null\n", "not a JSON object"),
    (b" " * LONGEST_LINE + b"{}\n", f"the line is longer than {LONGEST_LINE} bytes"),
]


@pytest.mark.parametrize(("hostile", "said"), HOSTILE, ids=[said[:40] for _, said in HOSTILE])
def test_a_hostile_line_is_one_error_with_file_and_line_for_every_reader(
    tmp_path: Path, hostile: bytes, said: str
) -> None:
    index = write(tmp_path, line() + hostile + line())
    with pytest.raises(CaptureError, match=f"^{index}:2: {said}") as error:
        read(index)
    assert len(str(error.value)) < len(str(index)) + 200
    with pytest.raises(SourceError, match=f"^{index}:2: {said}"):
        for part in parts(index, len(line())):
            list(read_frames(part, FrameFilter()))
    done = run(METADATA.with_name("MetadataRequest.json"), "--samples", tmp_path)
    assert done.exit_code == 2
    assert done.stderr.startswith(f"kipgen: {index}:2: ")
    assert len(done.stderr.splitlines()) == 1


def test_what_a_line_may_leave_out_is_null(tmp_path: Path) -> None:
    short = {name: value for name, value in GOOD.items() if name not in ("i", "listener", "client_id")}
    (entry,) = read_index(write(tmp_path, json.dumps(short).encode()))
    assert (entry.number, entry.listener, entry.client_id) == (None, None, None)


def test_a_frame_that_no_broker_takes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    size = LARGEST_FRAME + 1
    index = write(tmp_path, line(len=size), size.to_bytes(4, "big"))
    os.truncate(tmp_path / "frames.bin", 4 + size)  # sparse
    tracemalloc.start()
    with pytest.raises(CaptureError, match=f":1: a frame of {size} bytes; the limit is {LARGEST_FRAME}"):
        read(index)
    assert tracemalloc.get_traced_memory()[1] < 4 * 1024 * 1024
    tracemalloc.stop()


def test_a_packed_line_or_frame_of_much_costs_no_more_memory_than_its_bound(tmp_path: Path) -> None:
    much = 64 * LONGEST_LINE
    index = write(tmp_path, b" " * much, (much).to_bytes(4, "big") + bytes(100), packed=True)
    tracemalloc.start()
    with pytest.raises(CaptureError, match=f":1: the line is longer than {LONGEST_LINE} bytes"):
        read(index)
    assert tracemalloc.get_traced_memory()[1] < 8 * LONGEST_LINE
    tracemalloc.stop()


def test_a_packed_file_is_unpacked_once(tmp_path: Path) -> None:
    frames = FRAME + bytes(1000) + FRAME
    index = write(tmp_path, line() + line(off=1008), frames, packed=True)
    assert read(index) == [b"abcd"] * 2
    index = write(tmp_path, line(off=1008) + line(), frames, packed=True)
    with pytest.raises(CaptureError, match=r":2: byte 0 of frames.bin.gz is before the end of an earlier frame"):
        read(index)


def test_a_plain_file_may_have_its_frames_in_any_order(tmp_path: Path) -> None:
    assert read(write(tmp_path, line(off=8) + line(), FRAME + b"\0\0\0\4efgh")) == [b"efgh", b"abcd"]


@pytest.mark.parametrize("damaged", ["frames.bin.gz", "frames.jsonl.gz"])
@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:12] + b"\xff" * 20])
def test_a_damaged_packed_file_is_named(tmp_path: Path, damaged: str, damage: Any) -> None:
    size = 50_000
    index = write(tmp_path, line(len=size), size.to_bytes(4, "big") + os.urandom(size), packed=True)
    file = tmp_path / damaged
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(CaptureError, match=f"^{file}: damaged gzip file: "):
        read(index)


def test_what_is_not_a_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    index = write(tmp_path, line())
    (tmp_path / "frames.bin").unlink()
    os.mkfifo(tmp_path / "frames.bin")
    for reads in (lambda: read(index), lambda: is_packed(tmp_path / "frames.bin")):
        with pytest.raises(CaptureError, match=r"frames.bin: is not a regular file"):
            reads()
    with pytest.raises(SourceError, match=r"frames.bin: is not a regular file"):
        parts(index, 100)


def test_files_that_are_missing_are_named(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=f"^{tmp_path}: has no frames.bin or frames.bin.gz; a capture is a folder"):
        files_in(tmp_path)


def test_long_lines_of_json_samples_are_refused_in_bounded_memory(tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_bytes(gzip.compress(b'{"a": "' + b" " * (64 << 20) + b'"}'))
    tracemalloc.start()
    done = run(METADATA, "--samples", file, "--version", 13)
    assert tracemalloc.get_traced_memory()[1] < 48 << 20
    tracemalloc.stop()
    assert done.exit_code == 2
    assert f"{file}:1: the line is longer than 16777216 bytes" in done.stderr


def test_large_frames_of_samples_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "samples"
    with file.open("wb") as stream:
        stream.write((LARGEST_FRAME + 1).to_bytes(4, "big"))
        stream.truncate(LARGEST_FRAME + 10)
    done = run(METADATA.with_name("MetadataRequest.json"), "--samples", file)
    assert done.exit_code == 2
    assert f"{file}: byte 0: a frame of {LARGEST_FRAME + 1} bytes; the limit is {LARGEST_FRAME}" in done.stderr
