"""Groups of the consumer protocol (KIP-848): members heartbeat, and the group assigns.

Each change of members, subscriptions or topics raises the epoch, for which all targets are computed anew. A member's
steps there are in `consumer_members`. Members of the classic protocol may be here, too, until they are alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.state import Refused, matching
from kipwire.testing.broker.state.classic_groups import Group, Joined, Joining, Member, Ticket, common_protocols
from kipwire.testing.broker.state.consumer_members import (
    ASSIGNORS,
    JOINS,
    PAUSES,
    UNRELEASED,
    UNREVOKED,
    Beat,
    Beaten,
    ConsumerMember,
    Targets,
    TopicIdPartition,
)
from kipwire.testing.broker.state.groups import (
    CONSUMER,
    EMPTY,
    STABLE,
    GroupOf,
    GroupState,
    assigned_in,
    assignment_of,
    subscription_of,
)
from kipwire.testing.broker.state.topics import Topics

ASSIGNING, RECONCILING = "Assigning", "Reconciling"
"""States of a group beside Empty and Stable."""


@dataclass(slots=True)
class ConsumerGroup(GroupOf[ConsumerMember]):
    """A group of the consumer protocol."""

    existing: Topics
    """All topics of the cluster."""
    epoch: int = 1
    assignment_epoch: int = 0
    """The epoch that the targets are of."""
    targets: Targets = field(default_factory=dict)
    resolved: dict[str, frozenset[str]] = field(default_factory=dict)
    """The topics of each regular expression."""
    known: dict[str, tuple[UUID, int]] = field(default_factory=dict)
    """The topics that members read, as they were when the epoch was raised."""
    is_left_to_classic: bool = False
    """True if the last member of the consumer protocol has gone, and the classic members have to join again."""
    protocol_type = CONSUMER

    @property
    def state(self) -> str:
        """Kafka's name of the state."""
        if not self.members:
            return EMPTY
        if self.epoch > self.assignment_epoch:
            return ASSIGNING
        return STABLE if all(one.is_at(self.assignment_epoch) for one in self.members.values()) else RECONCILING

    @property
    def assignor(self) -> str:
        """The assignor that most members prefer."""
        votes = Counter(one.assignor for one in self.members.values() if one.assignor is not None)
        return votes.most_common(1)[0][0] if votes else next(iter(ASSIGNORS))

    @property
    def is_classic(self) -> bool:
        """Tell whether there are members, all of the classic protocol."""
        return bool(self.members) and all(one.is_classic for one in self.members.values())

    @property
    def next_expiry(self) -> float:
        """The next deadline of a session or a rebalance."""
        return min((one.expires for one in self.members.values()), default=math.inf)

    def expire(self, now: float) -> bool:
        """Remove members that were silent or kept partitions for too long; return True if there were any."""
        silent = [one for one in self.members.values() if one.expires <= now]
        for member in silent:
            self._remove(member)
        return bool(silent)

    def subscribed_topics(self) -> set[str]:
        """Return the topics that members read."""
        return {topic for one in self.members.values() for topic in self._topics_of(one)}

    def view(self) -> GroupState:
        """Copy the part of the group's state that tests see."""
        return GroupState(self.state, self.epoch, self.assignor if self.members else "", "", self.shown_members())

    # The consumer protocol.

    def beat(self, asked: Beat, now: float) -> Beaten:
        """Keep a member alive, and take its next step; refuse unknown members, epochs and expressions."""
        self.expire(now)
        if asked.epoch < JOINS:
            return self._leave(asked)
        if asked.regex:
            matching(asked.regex)  # which refuses what is none
        if asked.epoch == JOINS:
            asked = asked._replace(member_id=asked.member_id or str(uuid4()))
            static = self.static(asked.instance_id)
            if static is not None and not static.is_classic and static.epoch != PAUSES:
                raise Refused(ErrorCode.UNRELEASED_INSTANCE_ID, f"it is the instance id of {static.member_id}")
            member = self._entered(asked, now)
        else:
            member = self._current(asked)
        before = member.assigned
        if member.is_classic:
            member.rebalance_by = math.inf
        member.asked = asked._replace(instance_id=asked.instance_id or member.asked.instance_id)
        self._say(member, asked.said, asked.owned, now)
        is_told = asked.is_full or before.keys() != member.assigned.keys()
        self._resolve()
        return Beaten(member.member_id, member.epoch, frozenset(member.assigned) if is_told else None)

    def expect_valid_epoch(self, member_id: str, epoch: int) -> None:
        """Refuse to fetch offsets for who is no member with its epoch."""
        member = self.member(member_id)
        if epoch != member.epoch:
            raise _stale(member)

    def expect_committer(
        self, member_id: str, instance_id: str | None, generation: int, now: float, *, is_transactional: bool = False
    ) -> None:
        """Refuse who may not commit offsets: members do, and any client while the group is empty."""
        self.expire(now)
        is_outside = generation == -1 and not member_id and instance_id is None
        if (generation < 0 and not self.members) or (is_transactional and is_outside):
            return
        member = self.member(member_id)
        if generation > member.epoch:
            raise _stale(member)

    def expect_owner(self, member_id: str, epoch: int, places: Iterable[TopicIdPartition]) -> None:
        """Refuse offsets of a late member for partitions that others may have had since its epoch (KIP-1251)."""
        member = self.members.get(member_id)
        if member is None or epoch == member.epoch:
            return
        since = {**member.revoking, **member.assigned}
        if any(epoch < since.get(place, math.inf) for place in places):
            raise _stale(member)

    def is_consumer(self, member_id: str) -> bool:
        """Tell whether a member uses the consumer protocol."""
        return member_id in self.members and not self.members[member_id].is_classic

    # Members of the classic protocol.

    def join(self, asked: Joining, now: float) -> Ticket[Joined]:
        """Decide the next step of a member of the classic protocol, at once; refuse as `Group.join`."""
        self.expire(now)
        others = [one.asked for one in self.members.values() if isinstance(one.asked, Joining)]
        if asked.protocol_type != CONSUMER or not common_protocols([asked, *others]):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        protocol, metadata = next(iter(asked.protocols.items()))
        subscription = subscription_of(metadata)
        if asked.member_id and asked.instance_id is not None:
            member = self.member(asked.member_id, asked.instance_id)
        else:
            member_id = asked.member_id or str(uuid4())
            if not asked.member_id and asked.instance_id is None and asked.takes_id_first:
                raise Refused(ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
            asked = asked._replace(member_id=member_id)
            member = self._entered(asked, now)
        member.asked = asked
        said = {"topics": subscription.topics, "regex": "", "rebalance_timeout": asked.rebalance_timeout}
        said |= {"assignor": None, "rack_id": subscription.rack_id}
        epoch = self.epoch
        self._say(member, said, self.existing.places(subscription.owned), now)
        self.is_left_to_classic = self.is_classic and self.epoch > epoch
        member.rebalance_by = now + asked.rebalance_timeout
        return Ticket(Joined(member.epoch, CONSUMER, protocol, "", member.member_id))

    def protocol_of(self, member_id: str) -> str:
        """Return the protocol that a member of the classic protocol was given; refuse one that is not known."""
        return next(iter(self._classic(member_id, None)[1].protocols))

    def sync(
        self, member_id: str, instance_id: str | None, generation: int, assignments: dict[str, bytes], now: float
    ) -> Ticket[bytes]:
        """Return the assignment of a member of the classic protocol, without a leader's; refuse as `heartbeat`."""
        member, asked = self._beaten(member_id, instance_id, generation, now)
        if self.assignment_epoch > member.epoch and member.state != UNREVOKED:
            self._expect_rejoin(member, now)
        member.rebalance_by = math.inf
        return Ticket(_assignment(member, asked, self.existing))

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: float) -> None:
        """Keep a member of the classic protocol alive; refuse one of another generation, or that has to join again."""
        member, _ = self._beaten(member_id, instance_id, generation, now)
        missing = self.targets.get(member_id, frozenset()) - member.assigned.keys()
        is_free = member.state == UNRELEASED and missing.isdisjoint(self._taken(member))
        if member.epoch < self.assignment_epoch or member.state == UNREVOKED or is_free:
            self._expect_rejoin(member, now)

    def leave(self, member_id: str, instance_id: str | None, now: float) -> None:
        """Remove a member, of any protocol; refuse one that is not known."""
        self.expire(now)
        self._remove(self.leaving(member_id, instance_id))

    def _beaten(
        self, member_id: str, instance_id: str | None, generation: int, now: float
    ) -> tuple[ConsumerMember, Joining]:
        self.expire(now)
        member, asked = self._classic(member_id, instance_id)
        if generation != member.epoch:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
        member.seen = now
        return member, asked

    def _classic(self, member_id: str, instance_id: str | None) -> tuple[ConsumerMember, Joining]:
        member = self.member(member_id, instance_id)
        if not isinstance(member.asked, Joining):
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return member, member.asked

    @staticmethod
    def _expect_rejoin(member: ConsumerMember, now: float) -> None:
        member.rebalance_by = min(member.rebalance_by, now + member.rebalance_timeout)
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)

    # Members come and go.

    def _entered(self, asked: Beat | Joining, now: float) -> ConsumerMember:
        """Find a member, or make a new one; a static one may come back under a new id, with what it had."""
        member_id, static = asked.member_id, self.static(asked.instance_id)
        if static is None:
            return self.members.setdefault(member_id, ConsumerMember(asked, now))
        del self.members[static.member_id]
        self.targets[member_id] = self.targets.pop(static.member_id, frozenset())
        kept = static.asked._replace(member_id=member_id)
        self.members[member_id] = replace(static, asked=kept, epoch=0, previous_epoch=0)
        return self.members[member_id]

    def _current(self, asked: Beat) -> ConsumerMember:
        member = self.member(asked.member_id, asked.instance_id)
        is_lost = member.previous_epoch == asked.epoch < member.epoch  # the last answer, perhaps
        has_less = asked.owned is not None and asked.owned <= member.assigned.keys()
        if asked.epoch != member.epoch and not (is_lost and has_less):
            raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, f"the epoch of the member is {member.epoch}")
        return member

    def _leave(self, asked: Beat) -> Beaten:
        member = self.member(asked.member_id, asked.instance_id)
        if asked.epoch == PAUSES and asked.instance_id is not None:
            member.epoch, member.revoking = PAUSES, {}
            member.assigned = dict.fromkeys(member.assigned, 0)
        else:
            self._remove(member)
        return Beaten(asked.member_id, asked.epoch)

    def _remove(self, member: ConsumerMember) -> None:
        del self.members[member.member_id]
        self.targets.pop(member.member_id, None)
        self.is_left_to_classic = self.is_classic
        regexes = {one.regex for one in self.members.values()}
        self.resolved = {regex: topics for regex, topics in self.resolved.items() if regex in regexes}
        if not self.is_left_to_classic:
            self._raise_epoch()
        if not self.members:
            self.assignment_epoch = self.epoch

    # Subscriptions, targets, and the way there.

    def _say(
        self, member: ConsumerMember, said: dict[str, object], owned: Set[TopicIdPartition] | None, now: float
    ) -> None:
        """Take in what a member says, and take its next step."""
        topics, regex, assignor = member.topics, member.regex, self.assignor
        for name, value in said.items():
            setattr(member, name, value)
        member.seen = now
        is_other_regex = member.regex != regex
        is_resolved = not member.regex or member.regex in self.resolved
        is_changed = member.topics != topics or (is_other_regex and is_resolved)
        if is_changed or self.assignor != assignor or self.read_topics() != self.known:
            self._raise_epoch()
        if self.epoch > self.assignment_epoch:
            readers = {one.member_id: self._read_by(one) for one in self.members.values()}
            self.targets = ASSIGNORS[self.assignor](readers, dict(self.known.values()), self.targets)
            self.assignment_epoch = self.epoch
        if is_other_regex or member.topics != topics or not member.is_at(self.assignment_epoch):
            read = self._read_by(member)
            target = {place for place in self.targets.get(member.member_id, ()) if place[0] in read}
            member.step(target, self.assignment_epoch, self._taken(member), owned, now)

    def _taken(self, member: ConsumerMember) -> set[TopicIdPartition]:
        """Return the partitions of other members."""
        return {place for one in self.members.values() if one is not member for place in one.places}

    def _raise_epoch(self) -> None:
        self.epoch, self.known = self.epoch + 1, self.read_topics()

    def read_topics(self) -> dict[str, tuple[UUID, int]]:
        """Return the ids and partitions of the topics that members read and that exist."""
        topics = [self.existing.by_name[one] for one in sorted(self.subscribed_topics() & self.existing.by_name.keys())]
        return {one.name: (one.topic_id, len(one.partitions)) for one in topics}

    def _topics_of(self, member: ConsumerMember) -> frozenset[str]:
        return member.topics | self.resolved.get(member.regex, frozenset())

    def _read_by(self, member: ConsumerMember) -> set[UUID]:
        return {self.known[name][0] for name in self._topics_of(member) if name in self.known}

    def _resolve(self) -> None:
        """Look for the topics of regular expressions; others than before have their effect at the next heartbeats."""
        regexes = {one.regex for one in self.members.values() if one.regex}
        before = self.resolved
        self.resolved = {one: frozenset(filter(matching(one), list(self.existing.by_name))) for one in regexes}
        if any(found != before.get(one, frozenset()) for one, found in self.resolved.items()):
            self._raise_epoch()


def _stale(member: ConsumerMember) -> Refused:
    return Refused(ErrorCode.ILLEGAL_GENERATION if member.is_classic else ErrorCode.STALE_MEMBER_EPOCH)


def _assignment(member: ConsumerMember, asked: Joining, topics: Topics) -> bytes:
    """Encode the assignment of a member that has joined by the classic protocol."""
    return assignment_of(topics.named_places(member.assigned), next(iter(asked.protocols.values())))


# From the classic to the consumer protocol and back, while members go on.


def upgraded(group: Group, topics: Topics) -> ConsumerGroup:
    """Make a consumer group of one that a consumer-protocol member has joined; refuse one of others than consumers."""
    made = ConsumerGroup(group.name, topics, offsets=group.offsets)
    if not group.members:
        return made
    try:
        if group.protocol_type != CONSUMER:
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        made.members = {one.member_id: _upgraded(one, group, topics) for one in group.members.values()}
    except Refused:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"{group.name} cannot become a consumer group") from None
    for one in group.members.values():
        one.refuse(ErrorCode.REBALANCE_IN_PROGRESS)
    made.epoch = made.assignment_epoch = group.generation
    made.targets = {one.member_id: frozenset(one.assigned) for one in made.members.values()}
    made.known = made.read_topics()
    return made


def _upgraded(member: Member, group: Group, topics: Topics) -> ConsumerMember:
    protocols, epoch = member.asked.protocols, group.generation
    subscription = subscription_of(protocols.get(group.protocol) or next(iter(protocols.values())))
    return ConsumerMember(
        member.asked,
        member.seen,
        rack_id=subscription.rack_id,
        rebalance_timeout=member.asked.rebalance_timeout,
        topics=subscription.topics,
        epoch=epoch,
        previous_epoch=epoch,
        assigned=dict.fromkeys(topics.places(assigned_in(member.assignment)), epoch),
    )


def downgraded(group: ConsumerGroup, now: float) -> Group:
    """Make a classic group of one whose members are all classic; they join again if the last change asks for that."""
    made = Group(group.name, STABLE, group.epoch, CONSUMER, offsets=group.offsets)
    for member_id, one in group.members.items():
        assert isinstance(one.asked, Joining)
        made.members[member_id] = Member(one.asked, one.seen, _assignment(one, one.asked, group.existing))
    made.go_on(now, rebalances=group.is_left_to_classic)
    return made
