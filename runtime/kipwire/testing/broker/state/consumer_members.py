"""Members of groups of the consumer protocol (KIP-848): what they say and hear, and their steps towards a target."""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass, field
from typing import NamedTuple

from kipwire.testing.broker.state.classic_groups import Joining
from kipwire.testing.broker.state.groups import STABLE, AnyMember
from kipwire.testing.broker.state.subscriptions import Place

UNREVOKED, UNRELEASED = "Unrevoked", "Unreleased"
"""States of a member beside Stable: it has to give up partitions, or waits for others to do so."""
JOINS, LEAVES, PAUSES = 0, -1, -2
"""Epochs that members say instead of theirs; a static member that pauses comes back."""
SESSION_TIMEOUT = 45.0
"""Seconds: Kafka's default of `group.consumer.session.timeout.ms`."""
_KEPT = ("rack_id", "rebalance_timeout", "topics", "regex", "assignor")
"""The values of heartbeats that hold until another is said."""


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
        return {name: value for name in _KEPT if (value := getattr(self, name)) is not None}

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
class ConsumerMember(AnyMember):
    """A member. What is assigned is kept with the epoch in which it was."""

    asked: Beat | Joining
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

    @property
    def is_classic(self) -> bool:
        """Tell whether it has joined by the classic protocol."""
        return isinstance(self.asked, Joining)

    @property
    def expires(self) -> float:
        """The time at which it is removed, if it stays silent."""
        timeout = self.asked.session_timeout if isinstance(self.asked, Joining) else SESSION_TIMEOUT
        return min(self.seen + timeout, self.rebalance_by)

    @property
    def places(self) -> Set[Place]:
        """The partitions that no other member may have now."""
        return self.assigned.keys() | self.revoking.keys()

    def is_at(self, epoch: int) -> bool:
        """Tell whether it has reached its target of an epoch."""
        return self.state == STABLE and self.epoch == epoch

    def step(self, target: Set[Place], epoch: int, taken: Set[Place], owned: Set[Place] | None, now: float) -> None:
        """Take the next step towards a target, which is reached in its epoch.

        Args:
            target: what it is to have.
            epoch: of the target.
            taken: what other members have.
            owned: what it says it reads; None if it does not say.
            now: the time.
        """
        if self.state == UNREVOKED and (owned is None or owned & self.revoking.keys()):
            return  # it has still to give up what it was told to
        assigned = {place: since for place, since in self.assigned.items() if place in target}
        revoking = {place: since for place, since in self.assigned.items() if place not in target}
        self.previous_epoch, self.assigned = self.epoch, assigned
        rebalance_by = math.inf
        if revoking and (owned is None or owned & revoking.keys()):
            self.state, self.revoking, rebalance_by = UNREVOKED, revoking, now + self.rebalance_timeout
        else:
            missing = target - assigned.keys()
            assigned |= dict.fromkeys(missing - taken, epoch)
            self.state, self.revoking, self.epoch = UNRELEASED if missing & taken else STABLE, {}, epoch
        if not self.is_classic:
            self.rebalance_by = rebalance_by
