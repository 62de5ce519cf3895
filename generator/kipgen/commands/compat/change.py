"""One change between two revisions of a spec, as the comparison finds it; the rules say how bad it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kipgen.language.spec import Location


@dataclass(frozen=True, slots=True)
class Spot:
    """A location in a revision: a property, or the name of what it belongs to if the property is not written."""

    name: Location
    """The location of the name of the message, struct or field."""
    property: str = "name"


@dataclass(frozen=True, slots=True)
class Change:
    """A difference between two revisions."""

    rule: str
    """The id of the rule that judges it."""
    path: str
    """What it is about, by the names in the new spec, as in `MetadataResponse.Topics.Name`."""
    text: str
    """What changed, without the versions."""
    new: Spot
    """Where it is, or where it is missing, in the new spec."""
    old: Spot
    """Where it was, or where nothing was, in the old spec."""
    versions: frozenset[int] = frozenset()
    """The released versions that it touches; none if it is not about certain versions."""


def merged(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes in their order, with those that differ in their versions only as one."""
    versions: dict[Change, frozenset[int]] = {}
    for change in changes:
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
