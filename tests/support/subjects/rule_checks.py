"""Problems of specs that tests write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kipgen.reading.check import Checked, read_file
from kipgen.reading.rules.examples import spec

if TYPE_CHECKING:
    from kipgen.language.spec import FieldSpec, MessageSpec


def check_text(folder: Path, text: str, *, kafka: bool = False) -> Checked:
    file = folder / "Probe.json"
    file.write_text(text, encoding="utf-8")
    return read_file(file, "Probe.json", kafka=kafka)


def rules_broken(folder: Path, text: str, *, kafka: bool = False) -> list[str]:
    return [problem.rule for problem in check_text(folder, text, kafka=kafka).problems]


def read_message(folder: Path, text: str) -> MessageSpec:
    checked = check_text(folder, text)
    assert checked.spec is not None, checked.problems
    return checked.spec


def read_field(folder: Path, text: str, **properties: Any) -> FieldSpec:
    """Return the one field of a message; `text` are its properties as JSON without braces."""
    return read_message(folder, spec("{" + text + "}", **properties)).fields[0]
