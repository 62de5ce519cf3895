"""kipwire dump - shows what comes through a pipe as it shows files, and says what it cannot be."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.console.dump.conftest import Dump
from tests.console.dump.test_dump_captures import exchanged
from tests.console.dump.test_dump_logs import NAME, batch, log
from tests.support import packet_dumps as made

FIRST, SECOND, THIRD = batch(0, b"a"), batch(1, b"b", b"c"), batch(3, b"d")
TAKES = "give a log segment, a snapshot, or a capture of packets as tcpdump writes it"


def lines_after_heading(text: str) -> list[str]:
    return text.splitlines()[1:]


@pytest.mark.parametrize("options", [(), ("-r",), ("-r", "--from-offset", "100", "--to-offset", "140")])
def test_a_segment_has_the_same_lines_as_from_its_file(dump: Dump, segments: Path, options: tuple[str, ...]) -> None:
    file = segments / "orders-2" / NAME
    done = dump("-", *options, stdin=file.read_bytes())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("standard input: a log\n")
    assert lines_after_heading(done.stdout) == lines_after_heading(dump(file, *options).stdout)


def test_json_and_summaries_say_that_it_is_standard_input(dump: Dump, segments: Path) -> None:
    data = (segments / "orders-2" / NAME).read_bytes()
    assert '"file":"-","topic":null,"partition":null,"position":0,' in dump("-", "-f", "json", stdin=data).stdout
    assert dump("-", "-s", stdin=data).stdout.startswith(
        "standard input: a log, 30,011 bytes, 21 batches, 617 records, "
    )


def test_internal_topics_are_decoded_if_it_is_said_and_snapshots_anyway(dump: Dump, segments: Path) -> None:
    offsets = (segments / "__consumer_offsets-1" / NAME).read_bytes()
    assert "OffsetCommit v4 key={" in dump("-", "-r", "--as", "__consumer_offsets", stdin=offsets).stdout
    assert "OffsetCommit" not in dump("-", "-r", stdin=offsets).stdout
    snapshot = (segments / "__cluster_metadata-0" / "00000000000000000000-0000000000.checkpoint").read_bytes()
    assert " SNAPSHOT_FOOTER v0 value=" in dump("-", "-r", stdin=snapshot).stdout
    cut = dump("-", "-r", stdin=snapshot[:-1])  # it is complete, or it is damaged
    assert (cut.returncode, cut.stderr[:6]) == (1, "error:")


def test_damage_is_named_and_reading_goes_on(dump: Dump) -> None:
    wrong = SECOND[:-1] + b"\xff"
    done = dump("-", stdin=FIRST + wrong + THIRD)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: standard input: batch at byte {len(FIRST)}: crc at byte {len(FIRST) + 17}: ")
    assert [line[:10] for line in lines_after_heading(done.stdout)] == ["offset=0-0", "offset=3-3"]
    cut = dump("-", stdin=FIRST + SECOND[:20])
    assert (cut.returncode, cut.stderr) == (
        0,
        f"standard input: 20 bytes from byte {len(FIRST)} on: a batch that is not complete\n",
    )


@pytest.mark.parametrize("form", ["pcap", "pcapng", "gzip"])
def test_packets_are_frames(dump: Dump, form: str) -> None:
    segments = exchanged(1, 2).segments
    data = made.dump_ng(segments) if form == "pcapng" else made.dump(segments)
    done = dump("-", stdin=gzip.compress(data) if form == "gzip" else data)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(" ApiVersions v0 ") == 4
    assert dump("-", "--port", 1, stdin=data).stdout == "read: no request\n"


@pytest.mark.parametrize(
    ("data", "arguments", "reason"),
    [
        (b"", ("-",), f"standard input is empty; {TAKES}"),
        (
            b"root:x:0:0:root:/root\n",
            ("-",),
            "standard input is neither a log nor a capture: it begins with 72 6f 6f 74 3a 78 3a 30 3a 30 3a 72 6f 6f "
            f"74 3a 2f; {TAKES}",
        ),
        (
            b'{"type":"batch"}\n',
            ("-",),
            f"standard input has JSON; {TAKES}. The frames.jsonl of a capture needs the frames beside it: give the "
            "folder. Lines of a dump are for kipwire pack",
        ),
        (FIRST, ("-", "-"), "standard input can be read once; give - once"),
        (
            FIRST,
            ("-", "--follow"),
            "--follow cannot be used with standard input, which is always read to its end",
        ),
        (FIRST, ("-", "--port", "1"), "standard input is a log; --port is for captures"),
        (
            made.dump(exchanged(1).segments),
            ("-", "-r"),
            "standard input is a capture; --records, --summary, --follow, --as, --magic-2, --last and offsets are for "
            "logs",
        ),
    ],
)
def test_what_cannot_be_is_said_in_one_line(dump: Dump, data: bytes, arguments: tuple[str, ...], reason: str) -> None:
    done = dump(*arguments, stdin=data)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"kipwire: {reason}\n")


def test_it_goes_beside_files(dump: Dump, tmp_path: Path) -> None:
    done = dump(log(tmp_path / "a-0", SECOND), "-", stdin=FIRST)
    assert sorted(line[:10] for line in done.stdout.splitlines() if line.startswith("offset")) == [
        "offset=0-0",
        "offset=1-2",
    ]


@pytest.mark.parametrize("way", ["log", "packets"])
def test_lines_are_shown_before_more_comes(way: str) -> None:
    parts = [FIRST, SECOND]
    if way == "packets":
        segments = exchanged(1, 2).segments
        whole, at = made.dump(segments), len(made.dump(segments[:4]))
        parts = [whole[:at], whole[at:]]
    process = subprocess.Popen(
        [sys.executable, "-m", "kipwire", "dump", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(parts[0])
        process.stdin.flush()
        if way == "log":
            assert process.stdout.readline() == b"standard input: a log\n"
            assert process.stdout.readline().startswith(b"offset=0-0 ")
        else:
            assert b" request id=1 " in process.stdout.readline()
        process.stdin.write(parts[1])
        process.stdin.close()
        rest = process.stdout.read()
        assert (b"offset=1-2 " if way == "log" else b" request id=2 ") in rest
    assert process.returncode == 0


def test_a_terminal_is_not_waited_for() -> None:
    if not hasattr(os, "openpty"):
        pytest.skip("needs terminals")
    _, terminal = os.openpty()
    command = [sys.executable, "-m", "kipwire", "dump", "-"]
    done = subprocess.run(command, stdin=terminal, capture_output=True, check=False, timeout=60)
    assert done.returncode == 2
    assert done.stderr.decode() == (
        f"kipwire: standard input is a terminal; {TAKES}, such as cat FILE | kipwire dump -\n"
    )
