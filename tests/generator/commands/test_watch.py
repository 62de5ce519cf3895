"""`--watch`: specs are checked, or classes generated, as a spec is saved, and Ctrl-C ends it in good order."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kipgen.commands.watch import remembering_reader
from kipgen.reading.check import read_file, reader_with
from kipgen.reading.rules.examples import field_of, spec

_SECONDS = 30
"""Seconds to wait for a line; it appears within a fraction of a second unless the machine is overloaded."""


class _Watch:
    """A running `kipgen check --watch`, or another command."""

    def __init__(self, *arguments: str, folder: Path, command: str = "check") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-m", "kipgen", command, "--watch", *arguments],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip())

    def end(self) -> None:
        """Stop it, if it has not stopped."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def line_with(self, text: str) -> str:
        """Return the next line that has the text in it."""
        while text not in (line := self.lines.get(timeout=_SECONDS)):
            pass
        return line


@pytest.fixture
def watching(tmp_path: Path) -> Iterator[_Watch]:
    """Watches a folder with one good spec."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "Probe.json").write_text(spec(), encoding="utf-8")
    watch = _Watch("specs", folder=tmp_path)
    watch.line_with("1 spec: no problems found.")
    yield watch
    watch.end()


def _save_until_seen(watch: _Watch, file: Path, text: str, expected: str) -> str:
    """Save a file; again if nothing was said, since watching starts a moment after the first check."""
    for _ in range(20):
        file.write_text(text, encoding="utf-8")
        try:
            while expected not in (line := watch.lines.get(timeout=3)):
                pass
        except queue.Empty:
            continue
        return line
    raise AssertionError(f"{expected!r} was never said")


def test_mistake_is_said_as_it_is_saved_and_gone_when_it_is_mended(watching: _Watch, tmp_path: Path) -> None:
    file = tmp_path / "specs" / "Probe.json"
    line = _save_until_seen(watching, file, spec().replace("int32", "int31"), "type-syntax")
    assert line.startswith("specs/Probe.json:5:31: Probe.Alpha: type-syntax: ")
    watching.line_with("Found 1 problem in 1 file.")
    file.write_text(spec(), encoding="utf-8")
    watching.line_with("1 spec: no problems found.")
    (tmp_path / "specs" / "Other.json").write_text("{", encoding="utf-8")
    watching.line_with("specs/Other.json:1:2: syntax: ")
    replacement = tmp_path / "specs" / "Other.json.new"
    replacement.write_text(spec(name="Other"), encoding="utf-8")
    replacement.replace(tmp_path / "specs" / "Other.json")
    watching.line_with("2 specs: no problems found.")


def test_ctrl_c_ends_it_without_a_word_and_with_the_status_of_all_that_is_interrupted(watching: _Watch) -> None:
    watching.process.send_signal(signal.SIGINT)
    assert watching.process.wait(timeout=_SECONDS) == 130
    watching.end()
    assert watching.lines.empty()


def test_classes_are_generated_as_a_spec_is_saved(tmp_path: Path) -> None:
    file = tmp_path / "mine" / "Probe.json"
    file.parent.mkdir()
    file.write_text(spec(), encoding="utf-8")
    watch = _Watch("mine", "--out", "src", folder=tmp_path, command="generate")
    try:
        watch.line_with("files written")
        line = _save_until_seen(watch, file, spec().replace("int32", "int31"), "type-syntax")
        assert line.startswith("mine/Probe.json:5:31: ")
        watch.line_with("Found 1 problem in 1 file.")
        file.write_text(spec().replace("Alpha", "Omega"), encoding="utf-8")
        watch.line_with("files written")
        assert "omega" in (tmp_path / "src/mine/probe/v0.py").read_text()
    finally:
        watch.end()


def test_missing_path_is_not_waited_for(tmp_path: Path) -> None:
    watch = _Watch("missing", folder=tmp_path)
    assert watch.process.wait(timeout=_SECONDS) == 2
    assert "missing does not exist" in watch.line_with("kipgen:")
    watch.end()


def test_file_is_read_again_only_if_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    file.write_text(spec(), encoding="utf-8")
    read = remembering_reader()
    first = read(file, kafka=False)
    assert read(file, kafka=False) is first
    file.write_text(spec(valid="0-4"), encoding="utf-8")
    os.utime(file, ns=(0, 0))
    assert read(file, kafka=False).spec == read_file(file).spec
    file.unlink()
    assert [problem.rule for problem in read(file, kafka=False).problems] == ["unreadable"]


def test_reader_with_declared_entity_types_keeps_them_when_a_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    read = remembering_reader(reader_with({"laneId": "int64"}))
    for type_, errors in (("int64", 0), ("string", 1), ("int64", 0)):
        file.write_text(spec(field_of(type_, entityType="laneId")), encoding="utf-8")
        assert [one.rule for one in read(file, kafka=False).problems] == ["entity-type"] * errors
