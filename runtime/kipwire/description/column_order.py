"""The order of the columns of a struct in all its versions together: what a new version brings comes last.

Tables that were written with an earlier revision of a spec have the first columns of later ones, in the same order:
a new positional field starts with a new version, and a new tagged field with a new version or with the highest one and
a new tag.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

UNKNOWN = "unknown_tagged_fields"
"""The column of unknown tagged fields; every flexible struct has it."""

_POSITIONAL, _UNKNOWN, _TAGGED = range(3)


class ColumnPlace(NamedTuple):
    """The place of a column among the columns of its struct."""

    version: int
    """The first version that has the column."""
    part: int
    """Positional fields come first, then the unknown tagged fields, then tagged ones: a released version can get only
    more of these."""
    number: int
    """The position in the spec; of a tagged field its tag."""


def places(version: int, columns: Iterable[tuple[str, int | None]]) -> dict[str, ColumnPlace]:
    """Map the columns of a struct in one version to their places.

    Args:
        version: the version.
        columns: names with the tag of what is tagged, in the order of the spec.
    """
    return {
        name: (
            ColumnPlace(version, *((_POSITIONAL, number) if tag is None else (_TAGGED, tag)))
            if name != UNKNOWN
            else ColumnPlace(version, _UNKNOWN, 0)
        )
        for number, (name, tag) in enumerate(columns)
    }


def merge_order(versions: Iterable[dict[str, ColumnPlace]]) -> tuple[str, ...]:
    """Put the names of the columns of all versions in order, from `places` of each."""
    first: dict[str, ColumnPlace] = {}
    for version in versions:
        for name, place in version.items():
            first[name] = min(first.get(name, place), place)
    return tuple(sorted(first, key=first.__getitem__))
