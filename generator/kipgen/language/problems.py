"""What is wrong with a spec: a problem, its location, and its one line of text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kipgen.language.spec import Location
from kipwire.tools.text import printable_line

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """What one rule reports about one location."""

    location: Location
    path: str
    """What it is about, by the names in the spec, as in `MetadataResponse.Topics.Name`; empty if it has no name yet."""
    rule: str
    """The rule's id, as `kipgen rules` lists it."""
    text: str
    """What is wrong; what would be right."""
    severity: Severity = "error"

    def __str__(self) -> str:
        """The problem as `file:line:column: Path: rule: what is wrong; what would be right`."""
        warning = "warning: " if self.severity == "warning" else ""
        subject = f"{self.path}: " if self.path else ""
        return printable_line(f"{self.location}: {warning}{subject}{self.rule}: {self.text}")


def ordered(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """The problems by file and location, each once."""
    return tuple(sorted(dict.fromkeys(problems), key=lambda it: (it.location, it.rule, it.text)))
