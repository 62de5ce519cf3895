"""Fixtures for the tests of kipwire dump."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import command_line
from tests.support.command_line import Done
from tests.support.places import DATA

Dump = Callable[..., Done]


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Dump:
    """Calls kipwire dump."""

    def call(*arguments: object, stdin: bytes | None = None) -> Done:
        return command_line.call(
            "dump", *arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys, stdin=stdin
        )

    return call


@pytest.fixture
def objects(dump: Dump) -> Callable[..., list[dict[str, Any]]]:
    """Calls kipwire dump for its JSON lines; it must succeed."""

    def call(*arguments: object) -> list[dict[str, Any]]:
        done = dump(*arguments, "--format", "json")
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.splitlines()]

    return call


@pytest.fixture(scope="session")
def segments() -> Path:
    """The folders of a real cluster's partitions."""
    return DATA / "segments"
