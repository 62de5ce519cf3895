"""Findings: changes as the rules judge them, with their places in the files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kipgen.commands.compat.change import versions_text
from kipgen.commands.compat.rule import CompatRule, Severity
from kipgen.language.spec import Location


@dataclass(frozen=True, slots=True)
class Finding:
    """What `kipgen compat` says about one change."""

    rule: CompatRule
    severity: Severity
    """The rule's, or `notice` where only an unstable version changes."""
    path: str
    """What it is about, by the names in the new spec, as in `MetadataResponse.Topics.Name`."""
    change: str
    """What changed, without the versions."""
    versions: frozenset[int]
    """The released versions that it touches; none if it is not about certain versions."""
    location: Location
    """In the new file; if it is gone, where it would be."""
    was: Location
    """In the old file; if it is new, where it would have been."""
    allowed: str | None = None
    """Why it is allowed, if it is."""

    @property
    def text(self) -> str:
        """What changed, and in which versions."""
        return f"{self.change} ({versions_text(self.versions)})" if self.versions else self.change


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings by file and location."""
    return tuple(sorted(findings, key=lambda it: (it.location, it.rule.id, it.path)))
