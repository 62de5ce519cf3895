"""The command line within the process of a test, for tests of many calls: it saves the start of a process each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from kipgen import cli


class Done(NamedTuple):
    """The result of a call."""

    returncode: object
    stdout: str
    stderr: str


def call(*arguments: object, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Done:
    """Call kipgen in a folder. What would be a traceback is raised."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["kipgen", *map(str, arguments)])
    monkeypatch.setattr(sys, "path", list(sys.path))  # to which commands add the folder
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    capsys.readouterr()
    status: object = 0
    try:
        cli.main()
    except SystemExit as end:
        status = end.code or 0
    said = capsys.readouterr()
    return Done(status, said.out, said.err)
