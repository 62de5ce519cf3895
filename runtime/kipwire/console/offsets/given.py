"""What options say, before anything is asked."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Format(StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"
    PROMETHEUS = "prometheus"


class Wanted(NamedTuple):
    """What is looked at."""

    groups: tuple[str, ...] = ()
    """Patterns of names, of which one must fit; none: all groups."""
    topics: tuple[str, ...] = ()
    committed: bool = False
    """Whether lag ends where the first open transaction begins, as for consumers of committed records."""
    seconds: bool = True
    """Whether to look for the times of records."""
