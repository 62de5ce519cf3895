"""Members of groups of the consumer protocol (KIP-848): what they say and hear, their targets, and the steps there.

No partition is in `places` of two members: a new reader gets it after the old one has left it out of what it reports.
`step` is the only way from one set of partitions to the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from kipwire.testing.broker.state.classic_groups import Joining
from kipwire.testing.broker.state.groups import STABLE, AnyMember

TopicIdPartition = tuple[UUID, int]
"""A partition, by the id of its topic."""
Readers = Mapping[str, Set[UUID]]
"""The topics that each member reads."""
Counts = Mapping[UUID, int]
"""The number of partitions of each topic."""
Targets = dict[str, frozenset[TopicIdPartition]]
"""The partitions that each member is to have."""
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
    owned: frozenset[TopicIdPartition] | None = None
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
    assigned: frozenset[TopicIdPartition] | None = None
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
    assigned: dict[TopicIdPartition, int] = field(default_factory=dict)
    revoking: dict[TopicIdPartition, int] = field(default_factory=dict)
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
    def places(self) -> Set[TopicIdPartition]:
        """The partitions that no other member may have now."""
        return self.assigned.keys() | self.revoking.keys()

    def is_at(self, epoch: int) -> bool:
        """Tell whether it has reached its target of an epoch."""
        return self.state == STABLE and self.epoch == epoch

    def step(
        self,
        target: Set[TopicIdPartition],
        epoch: int,
        taken: Set[TopicIdPartition],
        owned: Set[TopicIdPartition] | None,
        now: float,
    ) -> None:
        """Take the next step from what it says it owns to the target of an epoch, without what others have taken."""
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


# The assignors of consumer groups (KIP-848): which member is to read which partitions.


def uniform(readers: Readers, counts: Counts, before: Targets) -> Targets:
    """Assign equally many partitions to each member, as far as its topics allow; keep assignments if possible."""
    by_topic = {topic: [one for one in readers if topic in readers[one]] for topic in counts}
    owned = {one: {place for place in before.get(one, ()) if place[0] in topics} for one, topics in readers.items()}
    taken = {place for places in owned.values() for place in places}

    def least(place: TopicIdPartition) -> str:
        return min(by_topic[place[0]], key=lambda one: len(owned[one]))

    for place in ((topic, index) for topic, count in counts.items() for index in range(count)):
        if place not in taken and by_topic[place[0]]:
            owned[least(place)].add(place)
    is_moved = True
    while is_moved:
        is_moved = False
        for giver in sorted(owned, key=lambda one: -len(owned[one])):
            for place in sorted(owned[giver], reverse=True):
                taker = least(place)
                if len(owned[taker]) + 1 < len(owned[giver]):
                    owned[giver].remove(place)
                    owned[taker].add(place)
                    is_moved = True
    return {one: frozenset(places) for one, places in owned.items()}


def ranges(readers: Readers, counts: Counts, before: Targets) -> Targets:
    """Assign neighbouring partitions of each topic to each member, the same ones of all topics if possible."""
    owned: dict[str, set[TopicIdPartition]] = {one: set() for one in readers}
    for topic, count in counts.items():
        members = [one for one in readers if topic in readers[one]]
        if not members:
            continue
        quota, extra = divmod(count, len(members))
        kept: dict[str, list[TopicIdPartition]] = {}
        wanting: list[tuple[str, int]] = []
        for one in members:
            had = sorted(place for place in before.get(one, ()) if place[0] == topic)
            has_extra = len(had) > quota and extra > 0
            extra -= has_extra
            kept[one] = had[: quota + has_extra]
            if not has_extra:
                wanting.append((one, quota - len(kept[one])))
        staying = {place for places in kept.values() for place in places}
        free = [(topic, index) for index in range(count) if (topic, index) not in staying]
        for one, missing in wanting:
            wanted = missing + (extra > 0)
            extra -= extra > 0
            kept[one] += free[:wanted]
            del free[:wanted]
        for one, places in kept.items():
            owned[one].update(places)
    return {one: frozenset(places) for one, places in owned.items()}


ASSIGNORS: dict[str, Callable[[Readers, Counts, Targets], Targets]] = {"uniform": uniform, "range": ranges}
"""Assignors by name; the first is the default."""
