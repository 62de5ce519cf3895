"""SIGINT, SIGTERM and SIGHUP end every command at once, in one line, and leave nothing of it on the disk."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import sleep

import pytest

from kipgen.commands.new_command import new_specs
from tests.support import command_line
from tests.support.command_line import program_of
from tests.support.places import DATA
from tests.support.subjects.scripted_broker import unused_address

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENCRYPTED = DATA / "console" / "encrypted-client.pem"
SECONDS = 60


def end_of(number: signal.Signals, program: str = "kipwire") -> tuple[int, str]:
    """Return the exit status and the line of a command that a signal has ended."""
    how = "interrupted" if number == signal.SIGINT else f"terminated by {number.name}"
    return 128 + number, f"{program}: {how}\n"


@contextmanager
def started(*words: object, folder: Path, number: signal.Signals, **streams: int) -> Iterator[subprocess.Popen[str]]:
    """Start a command with a folder of its own for temporary files; it must leave that empty."""
    temporary = folder / "temporary"
    temporary.mkdir()
    heeded = partial(signal.signal, number, signal.SIG_DFL if number != signal.SIGINT else signal.default_int_handler)
    with subprocess.Popen(
        [sys.executable, "-m", program_of(words[0]), *map(str, words)],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(temporary), "NO_COLOR": "1"},
        text=True,
        preexec_fn=heeded,
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},  # type: ignore
    ) as process:
        yield process
    assert list(temporary.iterdir()) == []
    temporary.rmdir()


def by_day(*days: signal.Signals) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with each signal, by day with a few of them."""
    marked = [pytest.param(one, id=one.name, marks=() if one in days else pytest.mark.night) for one in SIGNALS]
    return pytest.mark.parametrize("number", marked)


@by_day(signal.SIGTERM)
def test_pack_leaves_no_folder(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    with started("pack", "-", "--out", "new/out", folder=tmp_path, number=number) as process:
        while not list((tmp_path / "new").iterdir()):
            sleep(0.01)
        process.send_signal(number)
        assert (process.wait(SECONDS), process.stderr and process.stderr.read()) == end_of(number)
    assert list((tmp_path / "new").iterdir()) == []


@by_day()
def test_conform_leaves_no_process_and_no_page(number: signal.Signals, tmp_path: Path) -> None:
    program = "import os, sys, time; sys.stdin.readline(); open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
    words = ("conform", "--page", "page.html", "--save-failures", "list", "--", sys.executable, "-c", program)
    with started(*words, folder=tmp_path, number=number) as process:
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()):
            sleep(0.01)
        process.send_signal(number)
        assert (process.wait(SECONDS), process.stderr and process.stderr.read()) == end_of(number)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
    assert [one.name for one in tmp_path.iterdir()] == ["pid"]


WRITING = {
    "resolve": ("resolve", "specs", "--out", "new/out.json"),
    "generate": ("generate", "specs", "--package", "made", "--out", "new"),
    "new": ("new", "Bar", "--out", "new"),
    "vectors": ("vectors", "specs", "--out", "new/vectors"),
    "compat --sarif": ("compat", "specs", "specs", "--sarif", "new/found.sarif"),
    "inspect --html": ("inspect", "MetadataRequest", "0", "00000000", "--html", "new/page.html"),
    "compaction --html": ("compaction", "logs", "--html", "new/page.html", "--out", "new/tables"),
}
"""Commands that write, each of which has ended by itself after a second or two."""


@pytest.mark.night
@pytest.mark.parametrize("number", SIGNALS, ids=lambda one: one.name)
@pytest.mark.parametrize("seconds", [0.3, 0.5, 0.7, 1.0, 1.5])
@pytest.mark.parametrize("name", WRITING)
def test_a_signal_at_any_moment_leaves_nothing_half_written(
    name: str, seconds: float, number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "specs").mkdir()
    for file, text in new_specs("Foo", "request", 1000).items():
        (tmp_path / "specs" / file).write_text(text)
    (tmp_path / "logs").symlink_to(DATA / "segments")
    (tmp_path / "new").mkdir()
    words = WRITING[name]
    with started(*words, folder=tmp_path, number=number) as process:
        sleep(seconds)
        process.send_signal(number)
        said = process.communicate(timeout=SECONDS)[1]
    is_ended = (process.returncode, said) == end_of(number, program_of(words[0]))
    has_begun = "command_line.py" in said or "terminated" in said  # before, the signal ends Python itself
    assert is_ended or process.returncode in (0, 1) or (process.returncode == -number and not has_begun), said
    assert not [one for one in (tmp_path / "new").rglob("*") if one.name.startswith(".kipwire-")]


@by_day(signal.SIGINT, signal.SIGTERM)
def test_one_signal_is_enough_at_a_prompt(number: signal.Signals, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    words = ("call", "127.0.0.1:1", "--cert", ENCRYPTED, "Metadata")
    with started(*words, folder=tmp_path, number=number, stdin=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while not said.endswith(b"Password of the key in " + str(ENCRYPTED).encode() + b": "):
            said += os.read(ours, 4096)
        assert list((tmp_path / "temporary").iterdir()) == []  # the key is nowhere yet
        process.send_signal(number)
        status, line = end_of(number)
        assert process.wait(SECONDS) == status
    rest = b""
    with suppress(OSError):  # at the end of a terminal
        while part := os.read(ours, 4096):
            rest += part
    assert rest.decode().strip() == line.strip()
    os.close(ours)


ASKING = (
    ("call", "BROKER", "Metadata"),
    ("call", "BROKER", "--list"),
    ("call", "BROKER", "Metadata", "--to", "all"),
    ("dump", "--brokers", "BROKER", "orders"),
    ("offsets", "--brokers", "BROKER"),
    ("offsets", "--brokers", "BROKER", "--serve", "127.0.0.1:9308"),
    ("produce", "--brokers", "BROKER", "orders"),
    ("proxy", "--to", "BROKER"),
)


@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_no_prompt_is_in_an_event_loop_where_the_first_ctrl_c_does_nothing(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def ask(what: str) -> str:
        with pytest.raises(RuntimeError):
            asyncio.get_running_loop()
        asked.append(what)
        raise KeyboardInterrupt

    monkeypatch.setattr("kipwire.cluster.logins.ask_secret", ask)
    given = [unused_address() if word == "BROKER" else word for word in words]
    done = command_line.call(
        *given, "--sasl", "PLAIN", "--user", "me", folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys
    )
    assert (done.returncode, done.stderr) == (130, "kipwire: interrupted\n")
    assert asked == ["Password of me"]


@pytest.mark.parametrize("program", [*command_line.MAINS])
def test_ctrl_c_while_modules_are_imported_is_one_line(
    program: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", [program, "--help"])
    monkeypatch.setattr("kipwire.model.extras.import_module", interrupt)
    with pytest.raises(SystemExit) as end:
        command_line.MAINS[program]()
    assert (end.value.code, capsys.readouterr().err) == (130, f"{program}: interrupted\n")
