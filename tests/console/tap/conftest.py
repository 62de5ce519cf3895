"""Fixtures for the tests of kipwire tap."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import command_line
from tests.support.command_line import Done

Tap = Callable[..., Done]


@pytest.fixture
def tap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tap:
    """Calls kipwire tap."""

    def call(*arguments: object) -> Done:
        return command_line.call("tap", *arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    return call


@pytest.fixture
def objects(tap: Tap) -> Callable[..., list[dict[str, Any]]]:
    """Calls kipwire tap for its JSON lines, whatever its exit status."""

    def call(*arguments: object) -> list[dict[str, Any]]:
        return [json.loads(line) for line in tap(*arguments, "--format", "json").stdout.splitlines()]

    return call
