"""kipwire dump --follow shows additions to a segment, and the next segment, as they are written, until it is ended."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from kipwire.cli.output import Output
from kipwire.console.dump import following
from kipwire.console.dump.log_files import log_file
from kipwire.console.dump.logs import DumpOptions, LogDump
from kipwire.console.dump.text_lines import TextLines
from kipwire.records import read_batches, with_offsets
from tests.console.dump.test_dump_logs import NAME, batch, log
from tests.support.places import DATA

LONGEST = 120
"""Seconds to wait for a process's output; then the process is killed, and the test fails."""
FIRST, SECOND, THIRD = batch(0, b"a"), batch(1, b"b", b"c"), batch(3, b"d")
NEXT = "00000000000000000003.log"


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run kipwire dump in a process, and kill it at the end."""
    command = [sys.executable, "-c", "from kipwire.console.cli import main; main()", "dump", *map(str, arguments)]
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
    """Wait for the next lines of a process; return the first words of each."""
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
        assert process.stderr.read().splitlines()[-1] == "kipwire: interrupted"


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


def interrupted(process: subprocess.Popen[str]) -> str:
    """Interrupt a process as Ctrl-C does, which must end it; return its standard error."""
    assert process.stderr is not None
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    return process.stderr.read()


def test_a_log_that_is_cut_goes_on_from_there_and_one_that_is_removed_is_waited_for(tmp_path: Path) -> None:
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
        assert process.stderr.readline() == f"{file}: was removed; waiting for a segment\n"
        log(tmp_path / "a-0", THIRD)
        assert lines(process, 2) == [f"{file}: a", "offset=3-3 records=1"]
        assert interrupted(process) == "kipwire: interrupted\n"


def test_all_logs_may_go_and_come_again(tmp_path: Path) -> None:
    files = [log(tmp_path / name, FIRST) for name in ("a-0", "b-0")]
    with started(tmp_path / "a-0", tmp_path / "b-0", "--follow") as process:
        assert process.stderr is not None
        lines(process, 4)
        for file in files:
            file.unlink()
            file.parent.rmdir()
        gone = {process.stderr.readline() for _ in files}
        assert gone == {f"{file}: was removed; waiting for a segment\n" for file in files}
        assert process.poll() is None
        log(tmp_path / "b-0", SECOND)
        assert lines(process, 2) == [f"{files[1]}: b", "offset=1-2 records=2"]
        log(tmp_path / "a-0", THIRD, name=NEXT)
        assert lines(process, 2) == [f"{tmp_path}/a-0/{NEXT}: a", "offset=3-3 records=1"]
        append(tmp_path / "a-0" / NEXT, batch(4, b"e"))
        assert lines(process, 1) == ["offset=4-4 records=1"]
        assert interrupted(process) == "kipwire: interrupted\n"


def test_a_log_whose_last_segments_are_removed_goes_on_in_the_one_before(tmp_path: Path) -> None:
    file, last = log(tmp_path / "a-0", FIRST, SECOND), log(tmp_path / "a-0", THIRD, name=NEXT)
    with started(tmp_path / "a-0", "--follow") as process:
        assert process.stderr is not None
        assert lines(process, 5)[-1] == "offset=3-3 records=1"
        last.unlink()  # as a follower cuts off records that its leader lacks
        assert process.stderr.readline() == f"{last}: was removed; going on with {file.name}\n"
        append(file, batch(3, b"other"))
        assert lines(process, 1) == ["offset=3-3 records=1"]
        log(tmp_path / "a-0", batch(4, b"e"), name="00000000000000000004.log")
        assert lines(process, 2)[1] == "offset=4-4 records=1"
        assert interrupted(process) == "kipwire: interrupted\n"


def test_a_segment_that_is_replaced_is_shown_from_its_start(tmp_path: Path) -> None:
    file = log(tmp_path / "a-0", FIRST)
    with started(file, "--follow") as process:
        assert process.stderr is not None
        lines(process, 2)
        other = log(tmp_path / "elsewhere-0", SECOND, THIRD)
        other.replace(file)
        assert process.stderr.readline() == f"{file}: was replaced\n"
        assert lines(process, 3)[1:] == ["offset=1-2 records=2", "offset=3-3 records=1"]
        assert interrupted(process) == "kipwire: interrupted\n"


def test_a_cut_within_a_batch_shows_that_batch_again_when_it_is_whole(tmp_path: Path) -> None:
    file = log(tmp_path / "a-0", FIRST, SECOND)
    with started(file, "--follow") as process:
        assert process.stderr is not None
        assert lines(process, 3)[2] == "offset=1-2 records=2"
        os.truncate(file, len(FIRST) + 7)
        assert " was cut from " in process.stderr.readline()
        append(file, SECOND[7:])
        assert lines(process, 1) == ["offset=1-2 records=2"]
        assert interrupted(process) == "kipwire: interrupted\n"


class _EnoughError(Exception):
    """The end of a dump that would go on until Ctrl-C."""


@pytest.mark.parametrize("seed", range(20))
def test_no_change_of_its_files_ends_it(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything may happen to the files between two looks, and within a look; the last records are shown in the end."""
    choice = random.Random(seed)
    folder = tmp_path / "a-0"
    log(folder, FIRST)
    out = Output()
    shown: list[str] = []
    monkeypatch.setattr(out, "write", shown.append)
    dump = LogDump(TextLines(), out, DumpOptions())
    looks = 0

    def meddle() -> None:
        files = sorted(folder.glob("*.log")) if folder.exists() else []
        match choice.randrange(7):
            case 0 if files:
                files[-1].unlink()
            case 1 if files:
                choice.choice(files).unlink()
            case 2 if files:
                os.truncate(files[-1], choice.randrange(files[-1].stat().st_size + 1))
            case 3:
                shutil.rmtree(folder, ignore_errors=True)
            case 4:
                folder.mkdir(exist_ok=True)
                append(folder / f"{choice.randrange(1000):020}.log", SECOND)
            case _ if files:
                append(files[-1], choice.choice([SECOND, SECOND[:9], THIRD]))

    def pause(_: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 60:
            shutil.rmtree(folder, ignore_errors=True)
            log(folder, batch(7, b"last"), name=f"{10**6:020}.log")
        elif looks == 62:
            raise _EnoughError
        elif looks < 60:
            meddle()

    def between(call: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any) -> Any:
            if choice.random() < 0.3 and looks < 60:
                meddle()
            return call(*arguments)

        return changed

    monkeypatch.setattr(following, "sleep", pause)
    monkeypatch.setattr(LogDump, "whole", between(LogDump.whole))
    monkeypatch.setattr(LogDump, "part", between(LogDump.part))
    with pytest.raises(_EnoughError):
        following.follow(dump, [(log_file(folder / NAME, None), len(FIRST))], None)
    assert "offset=7-7" in "".join(shown)


@pytest.mark.parametrize("arguments", [("-r",), ("-r", "-f", "json"), ()])
def test_a_reader_that_has_seen_enough_ends_it_quietly(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    data = (DATA / "segments/orders-2" / NAME).read_bytes()
    found = [(batch.base_offset, data[batch.position : batch.position + batch.size]) for batch in read_batches(data)]
    many = b"".join(with_offsets(one, 1000 * copy + offset) for copy in range(40) for offset, one in found)
    with started(log(tmp_path / "a-0", many), *arguments) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.wait(), process.stderr.read()) == (0, "")
