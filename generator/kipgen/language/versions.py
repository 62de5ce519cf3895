"""Version ranges of the spec language: `none`, `3`, `3-5` and `3+`, as a small algebra of intervals.

Kafka's Versions can subtract, too, which has no result where two intervals are left. Nothing here needs it, because
`resolve.wire` looks at one version at a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

MAX_VERSION = 32767
"""Versions are 15-bit numbers on the wire; as an upper end this one means "and all later versions".

It is Java's Short.MAX_VALUE, with which Kafka's Versions marks an open end. So no message can have this version.
"""

_RANGE = re.compile(r"(?P<lowest>\d+)(?:(?P<open>\+)|-(?P<highest>\d+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Versions:
    """One closed interval of versions; `highest` below `lowest` is the empty range, which is always `NONE`."""

    lowest: int
    highest: int

    NONE: ClassVar[Versions]
    ALL: ClassVar[Versions]

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Read a range as written in a spec.

        Raises:
            ValueError: the text is not a range; the message names the fault.
        """
        trimmed = text.strip()
        if trimmed == "none":
            return cls.NONE
        match = _RANGE.fullmatch(trimmed)
        if match is None:
            raise ValueError(f"{text!r} is not a version range; write 'none', 'N', 'N-M' or 'N+'")
        lowest = int(match["lowest"])
        highest = MAX_VERSION if match["open"] else int(match["highest"] or lowest)
        if lowest > MAX_VERSION or highest > MAX_VERSION:
            raise ValueError(f"{text!r} is higher than {MAX_VERSION}; versions are 15-bit numbers")
        # Kafka's Versions takes it for an empty range, one that is not equal to its own `none`.
        if lowest > highest:
            raise ValueError(f"{text!r} has its ends in the wrong order; write '{highest}-{lowest}'")
        return cls(lowest, highest)

    @property
    def is_empty(self) -> bool:
        return self.lowest > self.highest

    @property
    def is_open(self) -> bool:
        """True if the range has no upper end (`N+`)."""
        return not self.is_empty and self.highest == MAX_VERSION

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def contains(self, other: Versions) -> bool:
        """True if every version of `other` is one of these; the empty range is in every range."""
        return other.is_empty or (self.lowest <= other.lowest and other.highest <= self.highest)

    def intersect(self, other: Versions) -> Versions:
        lowest, highest = max(self.lowest, other.lowest), min(self.highest, other.highest)
        return Versions(lowest, highest) if lowest <= highest else Versions.NONE

    def each(self) -> range:
        """Return the versions one by one; meant for closed ranges."""
        return range(self.lowest, self.highest + 1)

    def __str__(self) -> str:
        if self.is_empty:
            return "none"
        if self.is_open:
            return f"{self.lowest}+"
        return str(self.lowest) if self.lowest == self.highest else f"{self.lowest}-{self.highest}"


Versions.NONE = Versions(0, -1)
Versions.ALL = Versions(0, MAX_VERSION)
