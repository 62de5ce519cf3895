"""Members of groups of the consumer protocol (KIP-848): what they say and hear, and their steps towards a target."""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass, field
from typing import NamedTuple

from kipwire.testing.broker.state.assignors import Place
from kipwire.testing.broker.state.groups import STABLE, Joining

UNREVOKED, UNRELEASED = "Unrevoked", "Unreleased"
"""States of a member beside Stable: it has to give up partitions, or waits for others to do so."""
JOINS, LEAVES, PAUSES = 0, -1, -2
"""Epochs that members say instead of theirs; a static member that pauses comes back."""
SESSION_TIMEOUT = 45.0
"""Seconds: Kafka's default of `group.consumer.session.timeout.ms`."""


class Beat(NamedTuple):
    """A heartbeat of a member; None is a value as before."""

    member_id: str
    epoch: int
    client_id: str
    client_host: str
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout: float | None = None
    """Seconds."""
    topics: frozenset[str] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: frozenset[Place] | None = None
    """The partitions that it reads now."""

    @property
    def said(self) -> dict[str, object]:
        """The attributes of the member that it says anew."""
        names = ("instance_id", "rack_id", "rebalance_timeout", "topics", "regex", "assignor")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def is_full(self) -> bool:
        """Tell whether it says all, as after an error."""
        has_topics = self.topics is not None or self.regex is not None
        return self.epoch == JOINS or (self.rebalance_timeout is not None and has_topics and self.owned is not None)


class Beaten(NamedTuple):
    """The answer to a heartbeat."""

    member_id: str
    epoch: int
    assigned: frozenset[Place] | None = None
    """The partitions that it may read; None if that is as before."""


@dataclass(slots=True)
class ConsumerMember:
    """A member. What is assigned is kept with the epoch in which it was."""

    member_id: str
    seen: float
    client_id: str = ""
    client_host: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout: float = math.inf
    topics: frozenset[str] = frozenset()
    regex: str = ""
    assignor: str | None = None
    epoch: int = 0
    previous_epoch: int = 0
    state: str = STABLE
    assigned: dict[Place, int] = field(default_factory=dict)
    revoking: dict[Place, int] = field(default_factory=dict)
    """The partitions that it has to give up."""
    rebalance_by: float = math.inf
    """Until then it has to give up partitions, or to take the next step of the classic protocol."""
    classic: Joining | None = None
    """The request with which a member of the classic protocol joined."""

    @property
    def expires(self) -> float:
        """The time at which it is removed, if it stays silent."""
        timeout = SESSION_TIMEOUT if self.classic is None else self.classic.session_timeout
        return min(self.seen + timeout, self.rebalance_by)

    @property
    def places(self) -> Set[Place]:
        """The partitions that no other member may have now."""
        return self.assigned.keys() | self.revoking.keys()

    def is_at(self, epoch: int) -> bool:
        """Tell whether it has reached its target of an epoch."""
        return self.state == STABLE and self.epoch == epoch

    def step(self, target: Set[Place], epoch: int, others: Set[Place], owned: Set[Place] | None, now: float) -> None:
        """Take the next step towards a target, which is reached in its epoch.

        Args:
            target: what it is to have.
            epoch: of the target.
            others: what other members have.
            owned: what it says it reads; None if it does not say.
            now: the time.
        """
        if self.state == UNREVOKED and (owned is None or owned & self.revoking.keys()):
            return  # it has still to give up what it was told to
        assigned = {place: since for place, since in self.assigned.items() if place in target}
        revoking = {place: since for place, since in self.assigned.items() if place not in target}
        rebalance_by = math.inf
        if revoking and (owned is None or owned & revoking.keys()):
            self._take(UNREVOKED, self.epoch, assigned, revoking)
            rebalance_by = now + self.rebalance_timeout
        else:
            missing = target - assigned.keys()
            assigned |= dict.fromkeys(missing - others, epoch)
            self._take(UNRELEASED if missing & others else STABLE, epoch, assigned, {})
        if self.classic is None:
            self.rebalance_by = rebalance_by

    def _take(self, state: str, epoch: int, assigned: dict[Place, int], revoking: dict[Place, int]) -> None:
        """Take a step towards the target."""
        self.previous_epoch, self.epoch = self.epoch, epoch
        self.state, self.assigned, self.revoking = state, assigned, revoking
