"""Fixtures for the tests of kipwire conform."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.support import command_line
from tests.support.command_line import Done
from tests.support.places import ROOT

Conform = Callable[..., Done]
Program = Callable[[str], list[str]]

ADAPTER = ROOT / "conformance" / "python" / "kipwire_adapter.py"
FAULTY = """
import json, sys
sys.argv[1:] = ["kernel" if {native} else "plain"]
source = open({adapter!r}).read().partition("\\nfor line in sys.stdin:")[0]
exec(compile(source, "adapter", "exec"))
for line in sys.stdin:
    question = json.loads(line)
    said = {{"id": question["id"], **answer(question)}}
{fault}
    print(json.dumps(said), flush=True)
"""
"""kipwire's adapter, with a fault."""


@pytest.fixture
def conform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Conform:
    """Calls kipwire conform."""

    def call(*arguments: object) -> Done:
        return command_line.call("conform", *arguments, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    return call


@pytest.fixture
def faulty(tmp_path: Path) -> Program:
    """The command of a program that does as kipwire does, except for some lines that change `said`, by `question`."""

    def make(fault: str) -> list[str]:
        text = "\n".join(f"    {line}" for line in fault.splitlines())
        file = tmp_path / "faulty.py"
        file.write_text(FAULTY.format(adapter=str(ADAPTER), native=True, fault=text))
        return [sys.executable, str(file)]

    return make


@pytest.fixture
def kipwire() -> Sequence[str]:
    """The command of kipwire's own adapter."""
    return [sys.executable, str(ADAPTER)]
