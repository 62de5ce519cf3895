"""What a rule of `kipgen compat` says of one kind of change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Severity = Literal["wire", "source", "column", "notice"]
"""Who is affected: peers that use a released version; code that uses the generated classes; tables with columns of all
versions of a message; nobody directly."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From the worst to the mildest."""

WITHOUT_COLUMNS: tuple[Severity, ...] = ("wire", "source", "notice")
"""Those that are looked for where nobody asks for stored tables."""


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


def change(old: str | tuple[str, ...], new: str | tuple[str, ...]) -> Revisions:
    """The example of a change; specs are given by their text."""
    return Revisions((old,) if isinstance(old, str) else old, (new,) if isinstance(new, str) else new)
