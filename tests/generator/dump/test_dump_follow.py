"""kipgen dump --follow: what is added to a segment, and the next one, as they are written; and how a dump ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from tests.generator.dump.test_dump_logs import NAME, batch, log
from tests.support.places import DATA

LONGEST = 120
"""Seconds after which a process is ended that does not say what is waited for; the test fails then."""
FIRST, SECOND, THIRD = batch(0, b"a"), batch(1, b"b", b"c"), batch(3, b"d")
NEXT = "00000000000000000003.log"


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """A process of kipgen dump."""
    command = [sys.executable, "-c", "from kipgen.cli import main; main()", "dump", *map(str, arguments)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "300"},
    ) as process:
        timer = Timer(LONGEST, process.kill)
        timer.start()
        try:
            yield process
        finally:
            timer.cancel()
            process.kill()


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """The next lines of a process, waited for; the first words of each."""
    assert process.stdout is not None
    return [" ".join(process.stdout.readline().split()[:2]) for _ in range(count)]


def append(file: Path, data: bytes) -> None:
    with file.open("ab") as stream:
        stream.write(data)


def test_what_is_added_is_shown_and_then_the_next_segment(tmp_path: Path) -> None:
    file = log(tmp_path / "a-0", FIRST)
    with started(tmp_path / "a-0", "--follow") as process:
        assert lines(process, 2) == [f"{file}: a", "offset=0-0 records=1"]
        append(file, SECOND[:-1])  # it waits for the rest of the batch
        append(file, SECOND[-1:])
        assert lines(process, 1) == ["offset=1-2 records=2"]
        log(tmp_path / "a-0", THIRD, name=NEXT)
        assert lines(process, 2) == [f"{tmp_path}/a-0/{NEXT}: a", "offset=3-3 records=1"]
        append(tmp_path / "a-0" / NEXT, batch(4, b"e"))
        assert lines(process, 1) == ["offset=4-4 records=1"]
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.wait() == 130
        assert process.stderr.read().splitlines()[-1] == "kipgen: interrupted"


def test_batches_out_of_bounds_are_passed_over_while_they_come(tmp_path: Path) -> None:
    file = log(tmp_path / "a-0", FIRST)
    with started(file, "-F", "-r", "--from-offset", 2) as process:
        assert lines(process, 1) == [f"{file}: a"]
        append(file, SECOND)
        assert lines(process, 2) == ["offset=1-2 records=2", "offset=2 time=2023-11-14T22:13:20.001Z"]
        append(file, THIRD)
        assert lines(process, 2) == ["offset=3-3 records=1", "offset=3 time=2023-11-14T22:13:20.000Z"]


def test_what_is_added_after_damage_is_shown(tmp_path: Path) -> None:
    file = log(tmp_path / "a-0", FIRST, b"\1" * 4 + b"\xff" * 20)
    with started(tmp_path / "a-0", "--follow") as process:
        assert lines(process, 2) == [f"{file}: a", "offset=0-0 records=1"]
        append(file, SECOND)
        assert lines(process, 1) == ["offset=1-2 records=2"]
        log(tmp_path / "a-0", THIRD, name=NEXT)
        assert lines(process, 2) == [f"{tmp_path}/a-0/{NEXT}: a", "offset=3-3 records=1"]


def test_a_log_that_is_cut_goes_on_from_there_and_one_that_is_removed_ends(tmp_path: Path) -> None:
    file = log(tmp_path / "a-0", FIRST, SECOND)
    with started(file, "--follow") as process:
        assert lines(process, 3)[2] == "offset=1-2 records=2"
        os.truncate(file, len(FIRST))
        assert process.stderr is not None
        whole = len(FIRST) + len(SECOND)
        assert process.stderr.readline() == f"{file}: was cut from {whole} to {len(FIRST)} bytes\n"
        append(file, batch(1, b"other"))
        assert lines(process, 1) == ["offset=1-1 records=1"]
        file.unlink()
        assert process.stderr.readline() == f"{file}: was removed\n"
        assert process.wait() == 0


@pytest.mark.parametrize("arguments", [("-r",), ("-r", "-f", "json"), ()])
def test_a_reader_that_has_seen_enough_ends_it_quietly(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    many = (DATA / "segments/orders-2" / NAME).read_bytes() * 40
    with started(log(tmp_path / "a-0", many), *arguments) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.wait(), process.stderr.read()) == (0, "")
