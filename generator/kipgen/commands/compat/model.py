"""The data of `kipgen compat`: changes between two revisions, the rules that judge them, and the findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from kipgen.commands.compat.direction import Side
from kipgen.language.problems import Problem
from kipgen.language.spec import Location


@dataclass(frozen=True, slots=True)
class Spot:
    """A location in a revision: a property, or the name of what it belongs to if the property is not written."""

    name: Location
    """The location of the name of the message, struct or field."""
    property: str = "name"


@dataclass(frozen=True, slots=True)
class Replaced:
    """Fields of one owner that took the place of others; which there are of each depends on the version."""

    owner: str
    """Path of the owner."""
    old: frozenset[tuple[int, str]]
    """The fields before: their positions in the spec, and their names."""
    new: frozenset[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Change:
    """A difference between two revisions."""

    rule: str
    """The id of the rule that judges the change."""
    path: str
    """Subject of the change, by the names in the new spec, such as `MetadataResponse.Topics.Name`."""
    text: str
    """The change, without the versions."""
    new: Spot
    """Place in the new spec, or the place where it is missing."""
    old: Spot
    """Place in the old spec, or the place where it was missing."""
    versions: frozenset[int] = frozenset()
    """The released versions that the change touches; none if it is not about certain versions."""
    first: Side | None = None
    """The side that must be upgraded first, if `direction.first_side` cannot tell it."""
    replaced: Replaced | None = None
    """The fields of one owner that took the place of others, with the same bytes."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all that the change tells, in the new spec."""
        if self.replaced is None:
            return (self.path,)
        return tuple(f"{self.replaced.owner}.{name}" for _, name in self.replaced.new)


def merge_versions(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Merge changes that differ in their versions alone; keep the order of the first ones."""
    versions: dict[Change, frozenset[int]] = {}
    for change in changes:
        # The text has no versions in it, so that equal changes of several versions are equal here.
        key = replace(change, versions=frozenset())
        versions[key] = versions.get(key, frozenset()) | change.versions
    return tuple(replace(key, versions=found) for key, found in versions.items())


def versions_text(versions: frozenset[int]) -> str:
    """Versions in words: `version 3`, `versions 0-3`, `versions 0-1 and 5`."""
    runs: list[list[int]] = []
    for version in sorted(versions):
        if runs and runs[-1][1] == version - 1:
            runs[-1][1] = version
        else:
            runs.append([version, version])
    *most, last = (str(low) if low == high else f"{low}-{high}" for low, high in runs)
    text = f"{', '.join(most)} and {last}" if most else last
    return f"{'version' if len(versions) == 1 else 'versions'} {text}"


Severity = Literal["wire", "source", "column", "notice"]
"""The affected party: peers that use a released version; code that uses the generated classes; tables with columns of
all versions of a message; none directly.
"""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""All severities, from the worst to the mildest."""

WITHOUT_COLUMNS: tuple[Severity, ...] = ("wire", "source", "notice")
"""Severities checked without `--columns`."""


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
    """The requirement, or a fact worth knowing."""
    breaks: str
    """Whom the change breaks, and why."""
    instead: str
    """Advice for a better way."""
    good: Revisions
    bad: Revisions
    """A change that only this rule judges with its severity or a worse one."""


def change(old: str | tuple[str, ...], new: str | tuple[str, ...]) -> Revisions:
    """Make the example of a change; specs are given by their text."""
    return Revisions((old,) if isinstance(old, str) else old, (new,) if isinstance(new, str) else new)


@dataclass(frozen=True, slots=True)
class Finding:
    """Report of `kipgen compat` on one change."""

    rule: CompatRule
    severity: Severity
    """The rule's, or `notice` where only an unstable version changes."""
    path: str
    """Subject of the change, by the names in the new spec, such as `MetadataResponse.Topics.Name`."""
    change: str
    """The change, without the versions."""
    versions: frozenset[int]
    """The released versions that it touches; none if it is not about certain versions."""
    location: Location
    """Location in the new file; for a removed item, the place where it would be."""
    was: Location
    """Location in the old file; for a new item, the place where it would have been."""
    first: Side | None = None
    """The side that must be upgraded first; None if both ways break, or neither."""
    against: tuple[str, ...] = ()
    """The old revisions of the comparison, if they were given by name."""
    allowed: str | None = None
    """Reason why the finding is allowed; None if it is not."""

    @property
    def text(self) -> str:
        """The change, with its versions."""
        return f"{self.change} ({versions_text(self.versions)})" if self.versions else self.change


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A message or enum whose old spec has errors."""

    path: str
    """The name of the message or enum; its file if even the name is unknown."""
    location: Location
    """The location in the new revision, if there is one; else the location of the first error."""
    errors: tuple[Problem, ...]


def told_once(findings: Iterable[Finding]) -> list[Finding]:
    """Merge findings that differ only in the revision they were found against; keep the order of the first ones."""
    merged: dict[Finding, Finding] = {}
    for finding in findings:
        key = replace(finding, was=finding.location, against=())
        same = merged.get(key)
        merged[key] = finding if same is None else replace(same, against=(*same.against, *finding.against))
    return list(merged.values())


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Sort the findings by file and location."""
    return tuple(sorted(findings, key=lambda it: (it.location, it.rule.id, it.path)))
