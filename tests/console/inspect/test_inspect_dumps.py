"""`kipwire inspect` takes what people have: the output of xxd, hexdump, od and base64, and says what it took it for."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from kipwire.console.inspect.dumps import read_dump
from kipwire.console.inspect.input import capture_kind, read_input
from tests.support import command_line
from tests.support.command_line import Done
from tests.support.packet_dumps import CAPTURE
from tests.support.subjects.dumps import DATA, DUMPS

PLAIN = ("xxd -p", "od -v -A n -t x1")
"""These print hex text alone, which needs no guess."""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    return lambda *arguments: command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)


@pytest.mark.parametrize("tool", DUMPS)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_dumps_are_read_as_their_bytes(
    tool: str, line_end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "message.txt"
    file.write_bytes(line_end.join([*DUMPS[tool], ""]).encode())
    assert read_input([str(file)]) == DATA
    said = capsys.readouterr().err
    assert said == "" if tool in PLAIN else said.startswith(f"took {file} for ")
    if tool not in PLAIN:
        assert tool.split()[0] in said or (tool.startswith("od") and "hexdump" in said)
        assert said.endswith(f": {len(DATA)} bytes\n")


@pytest.mark.parametrize("tool", [tool for tool in DUMPS if tool not in PLAIN])
@pytest.mark.parametrize("size", [1, 2, 7, 15, 16, 17])
def test_a_dump_whose_offsets_do_not_fit_is_not_one(tool: str, size: int) -> None:
    if tool.startswith("base64"):
        return
    lines = DUMPS[tool]
    assert read_dump("\n".join(lines)) is not None
    assert read_dump("\n".join([lines[0], *lines[:-1]])) is None  # a row twice
    assert read_dump("\n".join([*lines[: size % len(lines)], "what", *lines[size % len(lines) :]])) is None


@pytest.mark.parametrize("text", ["0001 0002 0003", "00000000000019", "00 00\n00 19", "", "what is it?", "AAAA", "ÄÖÜ"])
def test_other_texts_are_not_dumps(text: str) -> None:
    assert read_dump(text) is None


def test_rows_that_are_left_out_need_offsets(tmp_path: Path) -> None:
    file = tmp_path / "m.txt"
    file.write_text(" 00 00 00 00\n*\n 19 00\n")
    with pytest.raises(ValueError, match=r"has \* for repeated rows, and no offsets"):
        read_input([str(file)])


def test_the_command_says_what_it_took_the_input_for(tmp_path: Path, call: Callable[..., Done]) -> None:
    (tmp_path / "m.xxd").write_text("00000000: 0000 0000 0019 00                        .......\n")
    done = call("inspect", "HeartbeatResponse", "4", "m.xxd")
    assert (done.returncode, done.stderr) == (0, "took m.xxd for the output of xxd: 7 bytes\n")
    assert "25 UNKNOWN_MEMBER_ID" in done.stdout


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        ("d4c3b2a102000400", "pcap"),
        ("a1b2c3d400020004", "pcap"),
        ("4d3cb2a102000400", "pcap"),
        ("0a0d0d0a1c0000004d3c2b1a", "pcapng"),
        ("0a0d0d0a0000001c1a2b3c4d", "pcapng"),
        ("d4c3b2a100000000", ""),
        ("0000000000190000", ""),
    ],
)
def test_captures_are_refused_with_the_command_that_reads_them(
    start: str, kind: str, tmp_path: Path, call: Callable[..., Done]
) -> None:
    data = bytes.fromhex(start) + bytes(16)
    assert capture_kind(data) == kind
    (tmp_path / "a.bin").write_bytes(data)
    done = call("inspect", "--request", "a.bin")
    expected = (
        f"kipwire: a.bin is a packet capture ({kind}), not a message; kipwire dump shows the frames in it, "
        "and --frame N of this command explains one\n"
    )
    assert (done.stderr == expected) is bool(kind)


def test_real_frames_are_not_taken_for_dumps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = gzip.decompress((CAPTURE / "frames.bin.gz").read_bytes())
    file = tmp_path / "frame.bin"
    for start in range(0, len(data) - 64, len(data) // 200):
        file.write_bytes(data[start : start + 64])
        assert read_input([str(file)]) == data[start : start + 64]
    assert capsys.readouterr().err == ""
