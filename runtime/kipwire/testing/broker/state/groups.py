"""Groups of the classic protocol: members join, their leader assigns, and all of it again when members come or go."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar
from uuid import uuid4

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.state.consumer_protocol import subscription_of
from kipwire.testing.broker.state.offsets import Offsets
from kipwire.testing.broker.state.refusals import Refused

EMPTY, PREPARING, COMPLETING, STABLE = "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"
"""States of a group, in Kafka's words."""
CONSUMER = "consumer"
"""The protocol type of consumers."""

T = TypeVar("T")


class Ticket(Generic[T]):
    """A result that a member waits for: the group gives it a result or a refusal later."""

    def __init__(self, result: T | None = None) -> None:
        self.result = result
        self.refusal: ErrorCode | None = None

    def found(self) -> T | None:
        """The result; None while it is not decided.

        Raises:
            Refused: the group refuses it.
        """
        if self.refusal is not None:
            raise Refused(self.refusal)
        return self.result


class Joining(NamedTuple):
    """The request of a member that joins."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: float
    """Seconds, as all times here."""
    rebalance_timeout: float
    protocol_type: str
    protocols: dict[str, bytes]
    """Metadata by name, the preferred one first."""
    takes_id_first: bool
    """True if a new member joins in two steps (KIP-394)."""


class Joined(NamedTuple):
    """The answer to a member when all have joined."""

    generation: int
    protocol_type: str
    protocol: str
    leader: str
    member_id: str
    members: tuple[tuple[str, str | None, bytes], ...] = ()
    """For the leader: id, instance id and metadata of each."""


@dataclass(slots=True)
class Member:
    """A member of a group."""

    asked: Joining
    """Its last request to join."""
    seen: float
    member_id: str
    assignment: bytes = b""
    joining: Ticket[Joined] | None = None
    syncing: Ticket[bytes] | None = None

    @property
    def is_waiting(self) -> bool:
        """Tell whether the member waits for the group, which shows that it is alive."""
        return self.joining is not None or self.syncing is not None

    @property
    def expires(self) -> float:
        """The time at which its session ends, if it stays silent."""
        return math.inf if self.is_waiting else self.seen + self.asked.session_timeout

    def refuse(self, error: ErrorCode) -> None:
        """Refuse what it waits for."""
        for ticket in (self.joining, self.syncing):
            if ticket is not None:
                ticket.refusal = error
        self.joining = self.syncing = None


class GroupMember(NamedTuple):
    """A member of a group."""

    member_id: str
    client_id: str
    instance_id: str | None
    """Of a static member (KIP-345)."""


class GroupState(NamedTuple):
    """A group at one time."""

    state: str
    """In Kafka's words: `Empty`, `PreparingRebalance`, `CompletingRebalance` or `Stable`; in a group of the consumer
    protocol `Empty`, `Assigning`, `Reconciling` or `Stable`."""
    generation: int
    """The number of assignments so far; the epoch of a group of the consumer protocol."""
    protocol: str
    """The assignor that they agreed on, such as `range`; empty while there is none."""
    leader: str
    """The id of the member that assigns; empty if the group does."""
    members: tuple[GroupMember, ...]


@dataclass(slots=True)
class Group:
    """A group; each method is given the time, in seconds of any clock that only goes forward."""

    name: str
    state: str = EMPTY
    generation: int = 0
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    members: dict[str, Member] = field(default_factory=dict)
    offsets: Offsets = field(default_factory=Offsets)
    announced: dict[str, float] = field(default_factory=dict)
    """Ids that were given to new members, which have to join with them until then."""
    deadline: float = math.inf
    """Of the rebalance: until then members have to join, and then to ask for their assignments."""

    def join(self, asked: Joining, now: float) -> Ticket[Joined]:
        """A ticket for the next generation, or for this one if it need not change.

        Raises:
            Refused: the member is not known, or it has no protocol in common with the others; or it is new, and has to
                join again with the id that it is given (KIP-394).
        """
        self.expire(now)
        self._expect_common_protocol(asked)
        known = self._static(asked.instance_id)
        if not asked.member_id:
            member_id = f"{asked.instance_id or asked.client_id or 'member'}-{uuid4()}"
            if known is not None:
                return self._replace(known, asked, member_id, now)
            if asked.takes_id_first and asked.instance_id is None:
                self.announced[member_id] = now + asked.session_timeout
                raise Refused(ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id)
            return self._add(asked, member_id, now)
        if self.announced.pop(asked.member_id, None) is not None:
            return self._add(asked, asked.member_id, now)
        return self._rejoin(self._member(asked.member_id, asked.instance_id), asked, now)

    def sync(
        self, member_id: str, instance_id: str | None, generation: int, assignments: dict[str, bytes], now: float
    ) -> Ticket[bytes]:
        """A ticket for a member's assignment.

        Args:
            member_id: who asks.
            instance_id: of a static member.
            generation: that it has joined.
            assignments: by member id; the leader's alone count.
            now: the time.

        Raises:
            Refused: the member is not of this generation, or another rebalance has begun.
        """
        member = self._current(member_id, instance_id, generation, now)
        if self.state == PREPARING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)
        if self.state == STABLE:
            return Ticket(member.assignment)
        member.refuse(ErrorCode.REBALANCE_IN_PROGRESS)  # what it asked before, on a connection that it has given up
        ticket = member.syncing = Ticket()
        if member_id == self.leader:
            self._assign(assignments, now)
        return ticket

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: float) -> None:
        """Keep a member alive.

        Raises:
            Refused: it is not of this generation, or has to join again.
        """
        self._current(member_id, instance_id, generation, now)
        if self.state == PREPARING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(self, member_id: str, instance_id: str | None, now: float) -> None:
        """Remove a member.

        Raises:
            Refused: it is not known.
        """
        self.expire(now)
        if self.announced.pop(member_id, None) is not None:
            self._complete_if_all_joined(now)
            return
        known = self._static(instance_id) if not member_id else None
        self._remove(known or self._member(member_id, instance_id), now)

    def expect_committer(
        self, member_id: str, instance_id: str | None, generation: int, now: float, *, is_transactional: bool = False
    ) -> None:
        """Check that a client may commit offsets: a member, or any client while the group is empty.

        Args:
            member_id: who commits; empty for a client that is not a member.
            instance_id: of a static member.
            generation: that it has joined; -1 for a client that is not a member.
            now: the time.
            is_transactional: whether a transaction commits, whose producer need not say for which member.

        Raises:
            Refused: it is not of this generation, or has to ask for its assignment first.
        """
        self.expire(now)
        if generation < 0 and self.state == EMPTY:
            return
        if generation >= 0 or member_id or instance_id is not None:
            self._current(member_id, instance_id, generation, now)
        elif not is_transactional and self.state != EMPTY:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        if not is_transactional and self.state == COMPLETING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)

    def expire(self, now: float) -> bool:
        """Remove who has not been heard of in time; whether there was anything to do."""
        late = [one for one, until in self.announced.items() if until <= now]
        for member_id in late:
            del self.announced[member_id]
        silent = [one for one in self.members.values() if one.expires <= now]
        for member in silent:
            self._remove(member, now)
        is_late = self.deadline <= now and self.state in (PREPARING, COMPLETING)
        if is_late:
            for member in [one for one in self.members.values() if not one.is_waiting]:
                self._drop(member)
            if self.state == PREPARING:
                self._complete(now)
            else:
                self._rebalance(now)
        elif late:
            self._complete_if_all_joined(now)
        return bool(late or silent or is_late)

    def subscribed_topics(self) -> set[str] | None:
        """The topics that members read; None if their metadata do not say it."""
        if not self.members:
            return set()
        try:
            found = [
                subscription_of(one.asked.protocols[self.protocol]) for one in self.members.values() if self.protocol
            ]
        except Refused:
            found = []
        return {topic for one in found for topic in one.topics} if found else None

    def view(self) -> GroupState:
        """A copy of what tests see of the group."""
        members = (
            GroupMember(one.member_id, one.asked.client_id, one.asked.instance_id) for one in self.members.values()
        )
        return GroupState(self.state, self.generation, self.protocol, self.leader, tuple(members))

    def protocol_of(self, member_id: str) -> str:
        """The protocol that the members have agreed on, which is one for all of them."""
        return self.protocol

    def go_on(self, now: float, *, rebalances: bool) -> None:
        """Take the members that another protocol has left here.

        Args:
            now: the time.
            rebalances: whether they have to join again.
        """
        self.protocol, self.leader = self._voted(), next(iter(self.members))
        if rebalances:
            self._rebalance(now)

    @property
    def next_expiry(self) -> float:
        """The next deadline of a session or a rebalance."""
        deadline = self.deadline if self.state in (PREPARING, COMPLETING) else math.inf
        return min(deadline, *self.announced.values(), *(one.expires for one in self.members.values()), math.inf)

    def _add(self, asked: Joining, member_id: str, now: float) -> Ticket[Joined]:
        member = self.members[member_id] = Member(asked, now, member_id, joining=Ticket())
        self.protocol_type = asked.protocol_type
        ticket = member.joining
        assert ticket is not None
        self._rebalance(now)
        return ticket

    def _rejoin(self, member: Member, asked: Joining, now: float) -> Ticket[Joined]:
        is_changed = asked.protocols != member.asked.protocols
        member.asked, member.seen = asked, now
        needs_rebalance = is_changed or (self.state == STABLE and member.member_id == self.leader)
        if self.state in (COMPLETING, STABLE) and not needs_rebalance:
            return Ticket(self._joined(member))
        member.refuse(ErrorCode.REBALANCE_IN_PROGRESS)
        ticket = member.joining = Ticket()
        self._rebalance(now)
        return ticket

    def _replace(self, member: Member, asked: Joining, member_id: str, now: float) -> Ticket[Joined]:
        """A static member comes back under a new id: it gets what it had, without a rebalance if it can (KIP-345)."""
        member.refuse(ErrorCode.FENCED_INSTANCE_ID)
        was_leader, is_changed = self.leader == member.member_id, asked.protocols != member.asked.protocols
        old_leader = self.leader
        del self.members[member.member_id]
        member.member_id, member.asked, member.seen = member_id, asked, now
        self.members[member_id] = member
        if was_leader:
            self.leader = member_id
        if self.state == STABLE and not is_changed:
            # Under the leader's old id, it does not take itself for the leader, who would have to assign again.
            return Ticket(self._joined(member)._replace(leader=old_leader, members=()))
        ticket = member.joining = Ticket()
        self._rebalance(now)
        return ticket

    def _remove(self, member: Member, now: float) -> None:
        self._drop(member)
        self._rebalance(now)

    def _drop(self, member: Member) -> None:
        member.refuse(ErrorCode.UNKNOWN_MEMBER_ID)
        del self.members[member.member_id]

    def _rebalance(self, now: float) -> None:
        """Begin a rebalance, if none is going on, and end it if all have joined already."""
        if self.state != PREPARING:
            for member in self.members.values():
                if member.syncing is not None:
                    member.refuse(ErrorCode.REBALANCE_IN_PROGRESS)
                    member.seen = now
            self.state = PREPARING
            self.deadline = now + self._rebalance_timeout()
        self._complete_if_all_joined(now)

    def _complete_if_all_joined(self, now: float) -> None:
        is_awaited = bool(self.announced) or any(one.joining is None for one in self.members.values())
        if self.state == PREPARING and (not self.members or not is_awaited):
            self._complete(now)

    def _complete(self, now: float) -> None:
        """Begin the next generation, with those who have joined."""
        self.generation += 1
        if not self.members:
            self.state, self.protocol, self.leader, self.deadline = EMPTY, "", "", math.inf
            return
        self.state, self.deadline = COMPLETING, now + self._rebalance_timeout()
        self.protocol = self._voted()
        if self.leader not in self.members:
            self.leader = next(iter(self.members))
        for member in self.members.values():
            member.assignment, member.seen = b"", now
            if member.joining is not None:
                member.joining.result = self._joined(member)
                member.joining = None

    def _assign(self, assignments: dict[str, bytes], now: float) -> None:
        self.state, self.deadline = STABLE, math.inf
        for member in self.members.values():
            member.assignment = assignments.get(member.member_id, b"")
            if member.syncing is not None:
                member.syncing.result = member.assignment
                member.syncing, member.seen = None, now

    def _joined(self, member: Member) -> Joined:
        members: tuple[tuple[str, str | None, bytes], ...] = ()
        if member.member_id == self.leader:
            members = tuple(
                (one.member_id, one.asked.instance_id, one.asked.protocols[self.protocol])
                for one in self.members.values()
            )
        return Joined(self.generation, self.protocol_type, self.protocol, self.leader, member.member_id, members)

    def _voted(self) -> str:
        """The protocol that all members have and that most of them prefer."""
        common = self._common([one.asked.protocols for one in self.members.values()])
        votes = Counter(next(name for name in one.asked.protocols if name in common) for one in self.members.values())
        return votes.most_common(1)[0][0]

    def _expect_common_protocol(self, asked: Joining) -> None:
        others = [one.asked.protocols for one in self.members.values() if one.member_id != asked.member_id]
        has_type = bool(asked.protocol_type) and (not others or asked.protocol_type == self.protocol_type)
        if not has_type or not self._common([asked.protocols, *others]):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    @staticmethod
    def _common(protocols: list[dict[str, bytes]]) -> set[str]:
        first, *others = protocols
        return set(first).intersection(*others)

    def _rebalance_timeout(self) -> float:
        return max((one.asked.rebalance_timeout for one in self.members.values()), default=0.0)

    def _static(self, instance_id: str | None) -> Member | None:
        if instance_id is None:
            return None
        return next((one for one in self.members.values() if one.asked.instance_id == instance_id), None)

    def _member(self, member_id: str, instance_id: str | None) -> Member:
        static = self._static(instance_id)
        if static is not None and static.member_id != member_id:
            raise Refused(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID)
        return self.members[member_id]

    def _current(self, member_id: str, instance_id: str | None, generation: int, now: float) -> Member:
        """A member of this generation, of which something was heard now."""
        self.expire(now)
        member = self._member(member_id, instance_id)
        if generation != self.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
        member.seen = now
        return member
