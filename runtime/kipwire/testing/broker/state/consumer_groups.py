"""Groups of the consumer protocol (KIP-848): members heartbeat, and the group assigns.

Each change of members, subscriptions or topics raises the epoch of the group, and with it the targets of all members
are computed. A member is brought to its target step by step: it gives up what it is not to have any more, which it
shows in the partitions that it says it owns; then it has the epoch of the assignment, and gets what no other member has
(`test_no_partition_has_two_owners_and_all_have_one_in_the_end`). Members of the classic protocol may be here, too: they
join, sync and heartbeat as they always did, and `group_migration` makes a group one of theirs when they are alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, field, replace
from uuid import UUID, uuid4

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.state.assignors import ASSIGNORS, Place
from kipwire.testing.broker.state.consumer_members import (
    JOINS,
    PAUSES,
    UNRELEASED,
    UNREVOKED,
    Beat,
    Beaten,
    ConsumerMember,
)
from kipwire.testing.broker.state.consumer_protocol import Subscription, assignment_of, subscription_of
from kipwire.testing.broker.state.expressions import matching
from kipwire.testing.broker.state.groups import (
    CONSUMER,
    EMPTY,
    STABLE,
    GroupMember,
    GroupState,
    Joined,
    Joining,
    Ticket,
)
from kipwire.testing.broker.state.offsets import Offsets
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.topics import Topics

ASSIGNING, RECONCILING = "Assigning", "Reconciling"
"""States of a group beside Empty and Stable."""


@dataclass(slots=True)
class ConsumerGroup:
    """A group; each method is given the time, in seconds of any clock that only goes forward."""

    name: str
    existing: Topics
    """All topics of the cluster."""
    epoch: int = 1
    assignment_epoch: int = 0
    """The epoch that the targets are of."""
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    targets: dict[str, frozenset[Place]] = field(default_factory=dict)
    offsets: Offsets = field(default_factory=Offsets)
    resolved: dict[str, frozenset[str]] = field(default_factory=dict)
    """The topics of each regular expression."""
    known: dict[str, tuple[UUID, int]] = field(default_factory=dict)
    """The topics that members read, as they were when the epoch was raised."""
    is_left_to_classic: bool = False
    """True if the last member of the consumer protocol has gone, and the classic members have to join again."""
    protocol_type = CONSUMER

    @property
    def state(self) -> str:
        """In Kafka's words."""
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
        return bool(self.members) and all(one.classic is not None for one in self.members.values())

    @property
    def next_expiry(self) -> float:
        """The next deadline of a session or a rebalance."""
        return min((one.expires for one in self.members.values()), default=math.inf)

    def expire(self, now: float) -> bool:
        """Remove members that were silent or kept partitions for too long; return True if there were any."""
        late = [one for one in self.members.values() if one.expires <= now]
        for member in late:
            self._remove([member])
        return bool(late)

    def subscribed_topics(self) -> set[str]:
        """The topics that members read."""
        return {topic for one in self.members.values() for topic in self._topics_of(one)}

    def view(self) -> GroupState:
        """A copy of what tests see of the group."""
        members = (GroupMember(one.member_id, one.client_id, one.instance_id) for one in self.members.values())
        return GroupState(self.state, self.epoch, self.assignor if self.members else "", "", tuple(members))

    # The consumer protocol.

    def beat(self, asked: Beat, now: float) -> Beaten:
        """Keep a member alive, and take the next step towards its target.

        Raises:
            Refused: the member is not known or not of this epoch, its instance id is another's, or its regular
                expression is not valid.
        """
        self.expire(now)
        if asked.epoch < JOINS:
            return self._leave(asked)
        if asked.regex:
            matching(asked.regex)  # which refuses what is none
        member = self._joined(asked, now) if asked.epoch == JOINS else self._current(asked)
        before = member.assigned
        member.client_id, member.client_host = asked.client_id, asked.client_host
        if member.classic is not None:
            member.classic, member.rebalance_by = None, math.inf
        self._say(member, asked.said, asked.owned, now)
        is_told = asked.is_full or before.keys() != member.assigned.keys()
        beaten = Beaten(member.member_id, member.epoch, frozenset(member.assigned) if is_told else None)
        self._resolve()
        return beaten

    def expect_valid_epoch(self, member_id: str, epoch: int) -> None:
        """Check that who fetches offsets is a member with its epoch.

        Raises:
            Refused: it is not.
        """
        member = self._member(member_id)
        if epoch != member.epoch:
            raise _stale(member)

    def expect_committer(
        self, member_id: str, instance_id: str | None, generation: int, now: float, *, is_transactional: bool = False
    ) -> None:
        """Check that a client may commit offsets: a member, or any client while the group is empty.

        Raises:
            Refused: it is not known, or says a later epoch than it has.
        """
        self.expire(now)
        is_outside = generation == -1 and not member_id and instance_id is None
        if (generation < 0 and not self.members) or (is_transactional and is_outside):
            return
        member = self._member(member_id)
        if generation > member.epoch:
            raise _stale(member)

    def expect_owner(self, member_id: str, epoch: int, places: Iterable[Place]) -> None:
        """Check that a member that is late commits only offsets of what it has had since then (KIP-1251).

        Raises:
            Refused: another member may have committed later offsets.
        """
        member = self.members.get(member_id)
        if member is None or epoch == member.epoch:
            return
        since = {**member.revoking, **member.assigned}
        if any(epoch < since.get(place, math.inf) for place in places):
            raise _stale(member)

    def is_consumer(self, member_id: str) -> bool:
        """Tell whether a member uses the consumer protocol."""
        return member_id in self.members and self.members[member_id].classic is None

    # Members of the classic protocol.

    def join(self, asked: Joining, now: float) -> Ticket[Joined]:
        """The next step of a member of the classic protocol, decided at once.

        Raises:
            Refused: the member is not known, or has no protocol in common with the others of the classic protocol; or
                it is new, and has to join again with the id that it is given (KIP-394).
        """
        self.expire(now)
        others = [set(one.classic.protocols) for one in self.members.values() if one.classic is not None]
        if asked.protocol_type != CONSUMER or not set(asked.protocols).intersection(*others):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        subscription = subscription_of(next(iter(asked.protocols.values())))
        member_id = asked.member_id or str(uuid4())
        if not asked.member_id and asked.instance_id is None and asked.takes_id_first:
            raise Refused(ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
        static = self._static(asked.instance_id)
        if asked.instance_id is None:
            member = self.members.get(member_id) or self._add(ConsumerMember(member_id, now))
        elif not asked.member_id:
            member = self._add(ConsumerMember(member_id, now)) if static is None else self._replace(static, member_id)
        else:
            member = self._fenced(static, member_id)
        member.client_id, member.client_host, member.classic = asked.client_id, asked.client_host, asked
        said = {"topics": subscription.topics, "regex": "", "rebalance_timeout": asked.rebalance_timeout}
        said |= {"instance_id": asked.instance_id, "assignor": None, "rack_id": subscription.rack_id}
        epoch = self.epoch
        self._say(member, said, self._owned(subscription), now)
        self.is_left_to_classic = self.is_classic and self.epoch > epoch
        member.rebalance_by = now + asked.rebalance_timeout
        return Ticket(Joined(member.epoch, CONSUMER, next(iter(asked.protocols)), "", member.member_id))

    def protocol_of(self, member_id: str) -> str:
        """The protocol that a member of the classic protocol was told.

        Raises:
            Refused: it is not known.
        """
        return next(iter(self._classic(member_id, None).protocols))

    def sync(
        self, member_id: str, instance_id: str | None, generation: int, assignments: dict[str, bytes], now: float
    ) -> Ticket[bytes]:
        """The assignment of a member of the classic protocol; `assignments` is of members that lead, and not used.

        Raises:
            Refused: it is not of this generation, or has to join again.
        """
        member = self._beaten_classic(member_id, instance_id, generation, now)
        if self.assignment_epoch > member.epoch and member.state != UNREVOKED:
            self._expect_rejoin(member, now)
        member.rebalance_by = math.inf
        names = {topic.topic_id: topic.name for topic in self.existing.by_name.values()}
        places = [(names[place[0]], place[1]) for place in member.assigned if place[0] in names]
        return Ticket(assignment_of(places, next(iter(self._classic(member_id, instance_id).protocols.values()))))

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: float) -> None:
        """Keep a member of the classic protocol alive.

        Raises:
            Refused: it is not of this generation, or has to join again.
        """
        member = self._beaten_classic(member_id, instance_id, generation, now)
        is_free = member.state == UNRELEASED and not self._is_waiting(member)
        if member.epoch < self.assignment_epoch or member.state == UNREVOKED or is_free:
            self._expect_rejoin(member, now)

    def leave(self, member_id: str, instance_id: str | None, now: float) -> None:
        """Remove a member, of any protocol.

        Raises:
            Refused: it is not known.
        """
        self.expire(now)
        if instance_id is None:
            self._remove([self._member(member_id)])
        else:
            static = self._static(instance_id)
            self._remove([self._fenced(static, member_id or (static.member_id if static else ""))])

    # Members come and go.

    def _joined(self, asked: Beat, now: float) -> ConsumerMember:
        member_id = asked.member_id or str(uuid4())
        static = self._static(asked.instance_id)
        if static is not None:
            if static.classic is None and static.epoch != PAUSES:
                raise Refused(ErrorCode.UNRELEASED_INSTANCE_ID, f"it is the instance id of {static.member_id}")
            return self._replace(static, member_id)
        return self.members.get(member_id) or self._add(ConsumerMember(member_id, now))

    def _current(self, asked: Beat) -> ConsumerMember:
        if asked.instance_id is None:
            member = self._member(asked.member_id)
        else:
            member = self._fenced(self._static(asked.instance_id), asked.member_id)
        is_lost = member.previous_epoch == asked.epoch < member.epoch  # the last answer, perhaps
        has_less = asked.owned is not None and asked.owned <= member.assigned.keys()
        if asked.epoch != member.epoch and not (is_lost and has_less):
            raise Refused(ErrorCode.FENCED_MEMBER_EPOCH, f"the epoch of the member is {member.epoch}")
        return member

    def _leave(self, asked: Beat) -> Beaten:
        if asked.instance_id is None:
            self._remove([self._member(asked.member_id)])
        else:
            member = self._fenced(self._static(asked.instance_id), asked.member_id)
            if asked.epoch == PAUSES:
                member.epoch, member.revoking = PAUSES, {}
                member.assigned = dict.fromkeys(member.assigned, 0)
            else:
                self._remove([member])
        return Beaten(asked.member_id, asked.epoch)

    def _add(self, member: ConsumerMember) -> ConsumerMember:
        self.members[member.member_id] = member
        return member

    def _replace(self, static: ConsumerMember, member_id: str) -> ConsumerMember:
        """A static member that comes back under a new id, with what it had."""
        del self.members[static.member_id]
        self.targets[member_id] = self.targets.pop(static.member_id, frozenset())
        return self._add(replace(static, member_id=member_id, epoch=0, previous_epoch=0))

    def _remove(self, members: list[ConsumerMember]) -> None:
        for member in members:
            del self.members[member.member_id]
            self.targets.pop(member.member_id, None)
        self.is_left_to_classic = self.is_classic
        regexes = {one.regex for one in self.members.values()}
        self.resolved = {regex: topics for regex, topics in self.resolved.items() if regex in regexes}
        if not self.is_left_to_classic:
            self._raise_epoch()

    def _member(self, member_id: str) -> ConsumerMember:
        if member_id not in self.members:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id} is not a member of {self.name}")
        return self.members[member_id]

    def _static(self, instance_id: str | None) -> ConsumerMember | None:
        found = (one for one in self.members.values() if one.instance_id == instance_id)
        return None if instance_id is None else next(found, None)

    @staticmethod
    def _fenced(static: ConsumerMember | None, member_id: str) -> ConsumerMember:
        """The static member, if it is the one who asks."""
        if static is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, "there is no such instance id")
        if static.member_id != member_id:
            raise Refused(ErrorCode.FENCED_INSTANCE_ID, f"it is the instance id of {static.member_id}")
        return static

    def _beaten_classic(self, member_id: str, instance_id: str | None, generation: int, now: float) -> ConsumerMember:
        self.expire(now)
        self._classic(member_id, instance_id)
        member = self.members[member_id]
        if generation != member.epoch:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
        member.seen = now
        return member

    def _classic(self, member_id: str, instance_id: str | None) -> Joining:
        member = self._member(member_id) if instance_id is None else self._fenced(self._static(instance_id), member_id)
        if member.classic is None:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return member.classic

    @staticmethod
    def _expect_rejoin(member: ConsumerMember, now: float) -> None:
        member.rebalance_by = min(member.rebalance_by, now + member.rebalance_timeout)
        raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)

    # Subscriptions, targets, and the way there.

    def _say(self, member: ConsumerMember, said: dict[str, object], owned: Set[Place] | None, now: float) -> None:
        """Take in what a member says, and take its next step."""
        topics, regex = member.topics, member.regex
        for name, value in said.items():
            setattr(member, name, value)
        member.seen = now
        is_other_regex = member.regex != regex
        is_resolved = not member.regex or member.regex in self.resolved
        is_changed = member.topics != topics or (is_other_regex and is_resolved)
        if is_changed or self.read_topics() != self.known:
            self._raise_epoch()
        if self.epoch > self.assignment_epoch:
            self._assign()
        if is_other_regex or member.topics != topics or not member.is_at(self.assignment_epoch):
            self._reconcile(member, owned, now)

    def _raise_epoch(self) -> None:
        self.epoch, self.known = self.epoch + 1, self.read_topics()

    def read_topics(self) -> dict[str, tuple[UUID, int]]:
        """The topics that members read and that exist."""
        found = {
            name: self.existing.by_name[name] for name in sorted(self.subscribed_topics() & set(self.existing.by_name))
        }
        return {name: (topic.topic_id, len(topic.partitions)) for name, topic in found.items()}

    def _topics_of(self, member: ConsumerMember) -> frozenset[str]:
        return member.topics | self.resolved.get(member.regex, frozenset())

    def _resolve(self) -> None:
        """Look for the topics of regular expressions; others than before have their effect at the next heartbeats."""
        regexes = {one.regex for one in self.members.values() if one.regex}
        names = list(self.existing.by_name)
        found = {one: frozenset(filter(matching(one), names)) for one in regexes}
        empty: frozenset[str] = frozenset()
        is_changed = any(found[one] != self.resolved.get(one, empty) for one in found)
        self.resolved = found
        if is_changed:
            self._raise_epoch()

    def _assign(self) -> None:
        """Compute the targets of all members."""
        topics = self.read_topics()
        readers = {
            one.member_id: {topics[name][0] for name in self._topics_of(one) if name in topics}
            for one in self.members.values()
        }
        counts = dict(topics.values())
        self.targets = ASSIGNORS[self.assignor](readers, counts, self.targets)
        self.assignment_epoch = self.epoch

    def _reconcile(self, member: ConsumerMember, owned: Set[Place] | None, now: float) -> None:
        """Take the next step of a member towards its target."""
        read = {self.known[name][0] for name in self._topics_of(member) if name in self.known}
        target = {place for place in self.targets.get(member.member_id, ()) if place[0] in read}
        others = {place for one in self.members.values() if one is not member for place in one.places}
        member.step(target, self.assignment_epoch, others, owned, now)

    def _is_waiting(self, member: ConsumerMember) -> bool:
        """Tell whether others still have partitions that a member is to have."""
        missing = self.targets.get(member.member_id, frozenset()) - member.assigned.keys()
        return any(missing & one.places for one in self.members.values() if one is not member)

    def _owned(self, subscription: Subscription) -> frozenset[Place]:
        """The partitions that a member of the classic protocol still has."""
        by_name = self.existing.by_name
        return frozenset((by_name[name].topic_id, index) for name, index in subscription.owned if name in by_name)


def _stale(member: ConsumerMember) -> Refused:
    is_consumer = member.classic is None
    return Refused(ErrorCode.STALE_MEMBER_EPOCH if is_consumer else ErrorCode.ILLEGAL_GENERATION)
