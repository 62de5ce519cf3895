"""One look at a cluster, as data: groups with their members and offsets, ends of partitions, times of records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kipwire.logs.names import Partition

OPEN_STATES = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
"""The states of transactions that have not ended, as coordinators name them."""


class Kind(StrEnum):
    """The protocol of a group."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    """KIP-848."""
    STREAMS = "streams"
    """KIP-1071."""
    SHARE = "share"
    """KIP-932. Its offsets are those at which what is not acknowledged yet begins."""


class Member(NamedTuple):
    """A member of a group."""

    id: str
    client_id: str
    host: str
    partitions: frozenset[Partition]
    """The partitions that it is assigned."""


@dataclass(frozen=True)
class Group:
    """A group."""

    name: str
    kind: Kind
    state: str
    members: tuple[Member, ...] | None
    """None if they are not known."""
    offsets: Mapping[Partition, int]
    """Committed offsets of the group; start offsets of a share group."""
    lags: Mapping[Partition, int] = field(default_factory=dict)
    """Records that are still to be delivered, as counted by the coordinator of a share group."""


class First(NamedTuple):
    """The first record from an offset on that is neither a marker nor of an aborted transaction."""

    is_there: bool
    """False if nothing is left to read: what takes the offsets up to the end is deleted, aborted, or no record."""
    time: int
    """Milliseconds since 1970; -1 if it has none."""
    offset: int = -1
    """Offset of the record; -1 if there is none."""
    is_decided: bool = True
    """False if it is not below the last stable offset, so that its transaction may be aborted yet."""


class Problem(NamedTuple):
    """A thing that could not be read, and the reason."""

    where: str
    """A broker, a group or a partition."""
    reason: str
    may_pass: bool = False
    """True if it may be readable a moment later."""

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


@dataclass(frozen=True)
class Look:
    """The results of one round."""

    time: float
    """The time at which the ends were read, in seconds since 1970, by the clock of this machine."""
    names: tuple[str, ...]
    """The names of all groups that read topics, wanted or not."""
    groups: tuple[Group, ...]
    starts: Mapping[Partition, int]
    """The first offsets of partitions."""
    ends: Mapping[Partition, int]
    """The offsets after the last records. A partition whose end is not known has none."""
    gone: frozenset[Partition]
    """Partitions that do not exist any more."""
    firsts: Mapping[Partition, Mapping[int, First]]
    """First unread records of groups with a lag, by committed offset; unknown ones are missing."""
    problems: tuple[Problem, ...]
