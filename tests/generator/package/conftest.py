"""Fixtures of the tests in this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipgen.commands.new_command import new_specs


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    folder = tmp_path / "specs"
    folder.mkdir()
    for name, text in {**new_specs("Foo", "request", 1000), **new_specs("Bar", "data", 0)}.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return tmp_path / "out" / "wire_of_tests"
