"""Fixtures for the tests of kipwire pack."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import command_line
from tests.support.command_line import Done

Pack = Callable[..., Done]


@pytest.fixture
def kipwire(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Pack:
    """Calls a command of kipwire; `stdin` is what comes through a pipe."""

    def call(*arguments: object, stdin: str | bytes = b"") -> Done:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        return command_line.call(*arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys, stdin=data)

    return call
