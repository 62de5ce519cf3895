"""What a rule of the comparison is: how bad a change is, whom it breaks, what to do instead, and examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["wire", "source", "notice"]
"""Who is affected: peers that use a released version; code that uses the generated classes; nobody directly."""

SEVERITIES: tuple[Severity, ...] = ("wire", "source", "notice")
"""From the worst to the mildest."""


@dataclass(frozen=True, slots=True)
class Revisions:
    """Specs before and after, one text a file."""

    old: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompatRule:
    """One kind of change."""

    id: str
    severity: Severity
    summary: str
    """What is required, or worth knowing."""
    breaks: str
    """Whom the change breaks, and why."""
    instead: str
    """What to do instead."""
    good: Revisions
    bad: Revisions
    """A change that is this one, and no other of its severity or worse."""
