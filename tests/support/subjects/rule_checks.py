"""What is said about specs that tests write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kipgen.reading.check import Checked, read_file
from kipgen.reading.rules.examples import spec

if TYPE_CHECKING:
    from kipgen.language.spec import FieldSpec, MessageSpec


def _check(folder: Path, text: str, *, kafka: bool = False) -> Checked:
    file = folder / "Probe.json"
    file.write_text(text, encoding="utf-8")
    return read_file(file, "Probe.json", kafka=kafka)


def _rules(folder: Path, text: str, *, kafka: bool = False) -> list[str]:
    return [problem.rule for problem in _check(folder, text, kafka=kafka).problems]


def _message(folder: Path, text: str) -> MessageSpec:
    checked = _check(folder, text)
    assert checked.spec is not None, checked.problems
    return checked.spec


def _field(folder: Path, text: str, **properties: Any) -> FieldSpec:
    """The one field of a message; `text` are its properties as JSON without braces."""
    return _message(folder, spec("{" + text + "}", **properties)).fields[0]
