"""Fixtures for the tests of kipwire call."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kipwire.testing import FakeBroker
from tests.support import command_line
from tests.support.command_line import Done

Call = Callable[..., Done]


@pytest.fixture(autouse=True)
def no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the user's settings for brokers from the environment."""
    for name in os.environ:
        if name.startswith("KIPWIRE_") and name != "KIPWIRE_NATIVE":
            monkeypatch.delenv(name)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls kipwire call."""

    def run(*arguments: object) -> Done:
        return command_line.call("call", *arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    return run


@pytest.fixture
def answer(call: Call) -> Callable[..., Any]:
    """Calls kipwire call for a response as data; it must succeed without a word."""

    def run(*arguments: object) -> Any:
        done = call(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return run


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    """A broker with a topic."""
    with FakeBroker(topics={"orders": 2}) as one:
        yield one
