"""Groups of the classic protocol: members join, their leader assigns, and all of it again when members come or go.

Nothing here waits: a member gets a `Ticket`, and a handler looks at it again after every change. Each must be decided
in the end, also when its member leaves, expires or asks again (test_fake_broker_groups.py). Generations only grow.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar
from uuid import uuid4

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.state import Refused
from kipwire.testing.broker.state.groups import EMPTY, STABLE, AnyMember, GroupOf, GroupState, subscription_of

PREPARING, COMPLETING = "PreparingRebalance", "CompletingRebalance"
"""States of a group beside Empty and Stable."""
T = TypeVar("T")


@dataclass(slots=True)
class Ticket(Generic[T]):
    """A result that a member waits for: the group gives it a result or a refusal later."""

    result: T | None = None
    refusal: ErrorCode | None = None

    def found(self) -> T | None:
        """Return the result; None while it is not decided. Refuse what the group refuses."""
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


def common_protocols(requests: Iterable[Joining]) -> set[str]:
    """Find the protocols that all members have."""
    first, *others = (one.protocols for one in requests)
    return set(first).intersection(*others)


class Joined(NamedTuple):
    """The answer to a member when all have joined."""

    generation: int
    protocol_type: str
    protocol: str
    leader: str
    member_id: str
    members: tuple[tuple[str, str | None, bytes], ...] = ()
    """Id, instance id and metadata of each member; only for the leader."""


@dataclass(slots=True)
class Member(AnyMember):
    """A member of a group of the classic protocol."""

    asked: Joining
    assignment: bytes = b""
    joining: Ticket[Joined] | None = None
    syncing: Ticket[bytes] | None = None

    @property
    def is_waiting(self) -> bool:
        """Tell whether the member waits for the group, which shows that it is alive."""
        return self.joining is not None or self.syncing is not None

    @property
    def expires(self) -> float:
        """The time at which it is removed, if it stays silent."""
        return math.inf if self.is_waiting else self.seen + self.asked.session_timeout

    def refuse(self, error: ErrorCode) -> None:
        """Refuse what it waits for."""
        for ticket in (self.joining, self.syncing):
            if ticket is not None:
                ticket.refusal = error
        self.joining = self.syncing = None


@dataclass(slots=True)
class Group(GroupOf[Member]):
    """A group of the classic protocol."""

    state: str = EMPTY
    generation: int = 0
    protocol_type: str = ""
    protocol: str = ""
    leader: str = ""
    announced: dict[str, float] = field(default_factory=dict)
    """Ids that were given to new members, which have to join with them until then."""
    deadline: float = math.inf
    """Time up to which members must join a rebalance, or request their assignments."""

    def join(self, asked: Joining, now: float) -> Ticket[Joined]:
        """Make a ticket for the next generation, or for this one if it need not change; refuse unknown members."""
        self.expire(now)
        others = [one.asked for one in self.members.values() if one.member_id != asked.member_id]
        has_type = bool(asked.protocol_type) and (not others or asked.protocol_type == self.protocol_type)
        if not has_type or not common_protocols([asked, *others]):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        known = self.static(asked.instance_id)
        is_new = not asked.member_id
        if is_new:
            asked = asked._replace(member_id=f"{asked.instance_id or asked.client_id or 'member'}-{uuid4()}")
        if is_new and known is not None:
            return self._replace(known, asked, now)
        if is_new and asked.takes_id_first and asked.instance_id is None:
            self.announced[asked.member_id] = now + asked.session_timeout
            raise Refused(ErrorCode.MEMBER_ID_REQUIRED, member_id=asked.member_id)  # it joins again with it (KIP-394)
        if is_new or self.announced.pop(asked.member_id, None) is not None:
            member = self.members[asked.member_id] = Member(asked, now)
            self.protocol_type = asked.protocol_type
            return self._awaited(member, now)
        member = self.member(asked.member_id, asked.instance_id)
        is_changed = asked.protocols != member.asked.protocols
        member.asked, member.seen = asked, now
        needs_rebalance = is_changed or (self.state == STABLE and member.member_id == self.leader)
        if self.state in (COMPLETING, STABLE) and not needs_rebalance:
            return Ticket(self._joined(member))
        return self._awaited(member, now)

    def sync(
        self, member_id: str, instance_id: str | None, generation: int, assignments: dict[str, bytes], now: float
    ) -> Ticket[bytes]:
        """Make a ticket for a member's assignment, which the leader gives to all; refuse as `heartbeat`."""
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
        """Keep a member alive; refuse one that is not of this generation, or has to join again."""
        self._current(member_id, instance_id, generation, now)
        if self.state == PREPARING:
            raise Refused(ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(self, member_id: str, instance_id: str | None, now: float) -> None:
        """Remove a member; refuse one that is not known."""
        self.expire(now)
        if self.announced.pop(member_id, None) is not None:
            self._complete_if_all_joined(now)
        else:
            self._remove(self.leaving(member_id, instance_id), now)

    def expect_committer(
        self, member_id: str, instance_id: str | None, generation: int, now: float, *, is_transactional: bool = False
    ) -> None:
        """Refuse who may not commit offsets; while the group is empty, those who say that they are no members may."""
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
        """Remove members that were not heard of in time; return True if there was anything to do."""
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

    @property
    def next_expiry(self) -> float:
        """The next deadline of a session or a rebalance."""
        deadline = self.deadline if self.state in (PREPARING, COMPLETING) else math.inf
        return min(deadline, *self.announced.values(), *(one.expires for one in self.members.values()), math.inf)

    def subscribed_topics(self) -> set[str] | None:
        """Find the topics that members read; None if their metadata do not say it."""
        if self.members and not self.protocol:
            return None
        metadata = [one.asked.protocols.get(self.protocol, b"") for one in self.members.values()]
        try:
            return {topic for one in metadata for topic in subscription_of(one).topics}
        except Refused:
            return None

    def view(self) -> GroupState:
        """Copy the part of the group's state that tests see."""
        return GroupState(self.state, self.generation, self.protocol, self.leader, self.shown_members())

    def protocol_of(self, member_id: str) -> str:
        """Return the protocol that the members have agreed on, which is one for all of them."""
        return self.protocol

    def go_on(self, now: float, *, rebalances: bool) -> None:
        """Take the members that another protocol has left here; they join again if it rebalances."""
        self.protocol, self.leader = self._voted(), next(iter(self.members))
        if rebalances:
            self._rebalance(now)

    def _awaited(self, member: Member, now: float) -> Ticket[Joined]:
        """Begin a rebalance, and return the ticket of a member that waits for the next generation."""
        member.refuse(ErrorCode.REBALANCE_IN_PROGRESS)
        ticket = member.joining = Ticket()
        self._rebalance(now)
        return ticket

    def _replace(self, member: Member, asked: Joining, now: float) -> Ticket[Joined]:
        """Replace a static member, back under a new id: keep what it had, without a rebalance if possible (KIP-345)."""
        member.refuse(ErrorCode.FENCED_INSTANCE_ID)
        old_leader, is_changed = self.leader, asked.protocols != member.asked.protocols
        if self.leader == member.member_id:
            self.leader = asked.member_id
        del self.members[member.member_id]
        member.asked, member.seen = asked, now
        self.members[asked.member_id] = member
        if self.state == STABLE and not is_changed:
            # Under the leader's old id, it does not take itself for the leader, who would have to assign again.
            return Ticket(self._joined(member)._replace(leader=old_leader, members=()))
        return self._awaited(member, now)

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
        asked = [one.asked for one in self.members.values()] if member.member_id == self.leader else []
        members = tuple((one.member_id, one.instance_id, one.protocols[self.protocol]) for one in asked)
        return Joined(self.generation, self.protocol_type, self.protocol, self.leader, member.member_id, members)

    def _voted(self) -> str:
        """Choose the protocol that all members have and that most of them prefer."""
        asked = [one.asked for one in self.members.values()]
        common = common_protocols(asked)
        votes = Counter(next(name for name in one.protocols if name in common) for one in asked)
        return votes.most_common(1)[0][0]

    def _rebalance_timeout(self) -> float:
        return max((one.asked.rebalance_timeout for one in self.members.values()), default=0.0)

    def _current(self, member_id: str, instance_id: str | None, generation: int, now: float) -> Member:
        """Find a member of this generation, and note that something was heard of it now."""
        self.expire(now)
        member = self.member(member_id, instance_id)
        if generation != self.generation:
            raise Refused(ErrorCode.ILLEGAL_GENERATION)
        member.seen = now
        return member
