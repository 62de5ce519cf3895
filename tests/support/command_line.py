"""The command lines within the process of a test, for tests of many calls: it saves the start of a process each."""

from __future__ import annotations

import io
import logging
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from kipgen import cli as generator
from kipwire.console import cli as console
from kipwire.console.app import app

MAINS = {"kipgen": generator.main, "kipwire": console.main}


class Done(NamedTuple):
    """The result of a call."""

    returncode: object
    stdout: str
    stderr: str


def program_of(command: object) -> str:
    """Return the program that has a command: `kipwire` for its own commands, else `kipgen`."""
    return "kipwire" if command in app.commands else "kipgen"


def call(
    *arguments: object,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stdin: bytes | None = None,
) -> Done:
    """Call the program that has the command in a folder. What would be a traceback is raised."""
    program = program_of(arguments[0] if arguments else None)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [program, *map(str, arguments)])
    if stdin is not None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    monkeypatch.setattr(sys, "path", list(sys.path))  # to which commands add the folder
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")
    capsys.readouterr()
    status: object = 0
    logs = [logging.getLogger(name) for name in ("kipwire.testing", "kipwire.proxy")]
    before = [(log, log.handlers[:], log.level) for log in logs]
    try:
        MAINS[program]()
    except SystemExit as end:
        status = end.code or 0
    finally:  # a program that ends takes what it prints of logs along; the tests after this one must not see it
        for log, handlers, level in before:
            log.handlers[:] = handlers
            log.setLevel(level)
    said = capsys.readouterr()
    return Done(status, said.out, said.err)
