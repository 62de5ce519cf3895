"""Fixtures for the tests of kipwire offsets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kipwire.cluster import Patience
from kipwire.console.offsets import running
from tests.cluster.conftest import TIME as TIME
from tests.cluster.conftest import broker as broker
from tests.cluster.conftest import commit as commit
from tests.cluster.conftest import committed as committed
from tests.cluster.conftest import no_settings_of_the_user as no_settings_of_the_user
from tests.support import command_line
from tests.support.command_line import Done

Offsets = Callable[..., Done]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the pause before requests are repeated."""
    monkeypatch.setattr(running, "PATIENCE", Patience(4, 0))


@pytest.fixture
def offsets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Offsets:
    """Calls kipwire offsets."""

    def run(*arguments: object) -> Done:
        return command_line.call("offsets", *arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    return run


def lines_of(done: Done, type_: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a type that a call has printed."""
    return [one for one in map(json.loads, done.stdout.splitlines()) if one["type"] == type_]
