"""The example capture: real traffic comes back byte for byte, and the script that shows it is right about it."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import kafka_messages
from kipwire.message.frames import RequestHeader, ResponseHeader
from tests.support.places import ROOT

EXAMPLES = ROOT / "examples"
FRAME_LINE = re.compile(r" *\d+\.\d{3} #\d+ +[→←] \S.* v\d+ ")
FRAMES, REQUESTS, RESPONSES = 2186, 1094, 1092


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("decode_capture", EXAMPLES / "decode_capture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def index_lines() -> list[dict[str, object]]:
    text = gzip.decompress((EXAMPLES / "capture" / "frames.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def plain_capture(folder: Path, frames: int) -> tuple[bytearray, list[dict[str, object]]]:
    """Write the first frames of the example as a capture without compression, and return its two parts."""
    index = index_lines()[:frames]
    data = gzip.decompress((EXAMPLES / "capture" / "frames.bin.gz").read_bytes())
    part = bytearray(data[: sum(4 + int(str(line["len"])) for line in index)])
    write_capture(folder, part, index)
    return part, index


def write_capture(folder: Path, frames: bytes | bytearray, index: list[dict[str, object]]) -> None:
    (folder / "frames.bin").write_bytes(frames)
    (folder / "frames.jsonl").write_text("".join(json.dumps(line) + "\n" for line in index))


def test_every_captured_frame_comes_back_byte_for_byte(script: ModuleType) -> None:
    frames = script.read_capture(EXAMPLES / "capture")
    assert len(frames) == FRAMES
    assert sum(frame.entry.is_request for frame in frames) == REQUESTS
    assert sum(4 + len(frame.data) for frame in frames) == 587_634
    assert len({(frame.entry.api_key, frame.entry.api_version) for frame in frames}) == 57
    assert [frame for frame in frames if not script.decode(frame).identical] == []


def test_index_says_what_the_headers_say(script: ModuleType) -> None:
    for frame in script.read_capture(EXAMPLES / "capture"):
        header: RequestHeader | ResponseHeader
        if frame.entry.is_request:
            header, body = kafka_messages.decode_request(frame.data)
            assert isinstance(header, RequestHeader)
            assert header.client_id == frame.entry.client_id
            assert kafka_messages.request(frame.entry.api_key, frame.entry.api_version) is type(body)
        else:
            header, _ = kafka_messages.decode_response(frame.data, frame.entry.api_key, frame.entry.api_version)
        assert header.correlation_id == frame.entry.correlation_id


def test_script_prints_a_line_for_each_frame_and_the_summary(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main([str(EXAMPLES / "capture"), "--all", "--width", "120"]) == 0
    lines = capsys.readouterr().out.splitlines()
    frame_lines = [line for line in lines if FRAME_LINE.match(line)]
    assert len(frame_lines) == FRAMES
    assert sum("→" in line[:20] for line in frame_lines) == REQUESTS
    assert max(map(len, lines)) == 120
    assert lines[-1] == "All 2,186 frames came back byte for byte."
    assert lines[-3].split() == ["all", "1,094", "1,092", "578,890", "2,186", "of", "2,186"]
    fetch = next(line for line in lines if line.startswith("Fetch "))
    assert fetch.split()[:5] == ["Fetch", "v12,", "v18", "522", "520"]


def test_summary_alone_fits_a_screen(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main([str(EXAMPLES / "capture"), "--width", "120"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if FRAME_LINE.match(line)] == []
    assert len(lines) < 20
    assert lines[-1] == "All 2,186 frames came back byte for byte."


def test_line_names_the_error_codes_before_the_content(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    script.main(["--all", "--width", "200"])
    lines = capsys.readouterr().out.splitlines()
    lines_with_two = [line for line in lines if "← AddPartitionsToTxn v3" in line and "error_code" in line]
    expected = " 34  2x partition_error_code=51 CONCURRENT_TRANSACTIONS results_by_topic_v3_and_below[1]"
    assert any(line.endswith(expected) for line in lines_with_two)
    assert any("→ Produce v9 " in line and "topic_data[1]" in line and "acks=-1" in line for line in lines)


def test_frame_that_cannot_be_decoded_is_shown_and_fails_the_run(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames, index = plain_capture(tmp_path, 10)
    assert script.main([str(tmp_path)]) == 0
    assert "All 10 frames came back byte for byte." in capsys.readouterr().out
    frames[-1] ^= 0xFF  # the tag section of the last frame is no longer empty
    write_capture(tmp_path, frames, index)
    assert script.main([str(tmp_path), "--all", "--width", "200"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [bool(re.search("NOT IDENTICAL .*at byte", line)) for line in lines if FRAME_LINE.match(line)] == [
        False
    ] * 9 + [True]
    assert lines[-1] == "1 of 10 frames did not come back byte for byte."
    assert script.main([str(tmp_path), "--width", "200"]) == 1  # without --all: the frame that differs, and no other
    assert len([line for line in capsys.readouterr().out.splitlines() if FRAME_LINE.match(line)]) == 1


def test_frame_of_an_unknown_api_does_not_stop_the_run(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames, index = plain_capture(tmp_path, 2)
    frames[4:6] = (999).to_bytes(2, "big")
    index[0]["api_key"] = 999
    write_capture(tmp_path, frames, index)
    assert script.main([str(tmp_path), "--all"]) == 1
    out = capsys.readouterr().out
    assert "→ API 999 v4" in out
    assert "← ApiVersions v4" in out


@pytest.mark.parametrize("damage", ["no folder", "cut short", "wrong offset", "missing key", "not JSON", "not gzip"])
def test_capture_that_cannot_be_read_gives_one_line(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    frames, index = plain_capture(tmp_path, 3)
    folder = tmp_path
    if damage == "no folder":
        folder = tmp_path / "elsewhere"
    elif damage == "cut short":
        write_capture(tmp_path, bytes(frames[:-1]), index)
    elif damage == "wrong offset":
        write_capture(tmp_path, frames, [*index[:2], {**index[2], "off": 3}])
    elif damage == "missing key":
        write_capture(tmp_path, frames, [{key: value for key, value in index[0].items() if key != "conn"}])
    elif damage == "not JSON":
        (tmp_path / "frames.jsonl").write_text("{\n")
    else:
        (tmp_path / "frames.bin").unlink()
        (tmp_path / "frames.bin.gz").write_bytes(b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 20)
    assert script.main([str(folder)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert str(folder) in captured.err


def test_text_of_a_peer_cannot_steer_the_terminal(script: ModuleType) -> None:
    assert script.cut("a\x1b[31m\nb", 20) == r"a\x1b[31m\x0ab"
    assert script.cut("abcdef", 4) == "abc…"


def test_capture_is_packed_without_time_and_name() -> None:
    for name in ("frames.bin.gz", "frames.jsonl.gz"):
        head = (EXAMPLES / "capture" / name).read_bytes()[:8]
        assert head == b"\x1f\x8b\x08\x00" + bytes(4)  # no optional parts, time 0
