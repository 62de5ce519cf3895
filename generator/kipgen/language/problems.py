"""A problem of a spec: its location, and its one line of text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kipgen.language.spec import Location
from kipwire.tools.text import printable_line

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Report of one rule about one location."""

    location: Location
    path: str
    """Subject, by the names in the spec, such as `MetadataResponse.Topics.Name`; empty if it has no name yet."""
    rule: str
    """The rule's id, as `kipgen rules` lists it."""
    text: str
    """The fault, then the remedy."""
    severity: Severity = "error"

    def __str__(self) -> str:
        """Format the problem as `file:line:column: Path: rule: what is wrong; what would be right`."""
        warning = "warning: " if self.severity == "warning" else ""
        subject = f"{self.path}: " if self.path else ""
        return printable_line(f"{self.location}: {warning}{subject}{self.rule}: {self.text}")


def sort_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort the problems by file and location, each once; rules find them in the order of their modules."""
    return tuple(sorted(dict.fromkeys(problems), key=lambda it: (it.location, it.rule, it.text)))
