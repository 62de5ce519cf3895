"""Groups of both protocols: their members, committed offsets, and the bytes that consumers exchange.

A group may change its protocol and keeps its offsets; `classic_groups` and `consumer_groups` build on this.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from kafka_messages import REGISTRY
from kafka_messages.enums import ErrorCode
from kipwire import build
from kipwire.logs.enveloped import ASSIGNMENT, SUBSCRIPTION, consumer_version, read_enveloped, write_enveloped
from kipwire.model.errors import DecodeError
from kipwire.testing.broker.state import Refused, TopicPartition, indexes_by_topic

EMPTY, STABLE = "Empty", "Stable"
"""States of any group, in Kafka's words."""
CONSUMER = "consumer"
"""The protocol type of consumers."""


class GroupMember(NamedTuple):
    """A member of a group."""

    member_id: str
    client_id: str
    instance_id: str | None
    """Instance id of a static member (KIP-345), else None."""


class GroupState(NamedTuple):
    """A group at one time."""

    state: str
    """Kafka's name of the state: `Empty`, `PreparingRebalance`, `CompletingRebalance` or `Stable`; for the consumer
    protocol `Empty`, `Assigning`, `Reconciling` or `Stable`."""
    generation: int
    """The number of assignments so far; the epoch of a group of the consumer protocol."""
    protocol: str
    """The assignor that they agreed on, such as `range`; empty while there is none."""
    leader: str
    """The id of the member that assigns; empty if the group does."""
    members: tuple[GroupMember, ...]


class Committed(NamedTuple):
    """A committed offset."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


@dataclass(slots=True)
class Offsets:
    """The offsets that a group has committed, and the pending ones of open transactions."""

    committed: dict[TopicPartition, Committed] = field(default_factory=dict)
    _pending: dict[int, dict[TopicPartition, Committed]] = field(default_factory=dict)
    """Offsets of open transactions, by producer id."""

    def commit_later(self, producer_id: int, offsets: dict[TopicPartition, Committed]) -> None:
        """Take in offsets once the transaction of a producer is committed."""
        self._pending.setdefault(producer_id, {}).update(offsets)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Take in what a transaction has kept for its end, or forget it."""
        offsets = self._pending.pop(producer_id, {})
        if is_commit:
            self.committed.update(offsets)

    def is_unstable(self, place: TopicPartition) -> bool:
        """Tell whether an open transaction has an offset of a partition."""
        return any(place in offsets for offsets in self._pending.values())

    def forget_topic(self, topic: str) -> None:
        """Forget the offsets of a topic that is deleted."""
        for offsets in (self.committed, *self._pending.values()):
            for place in [one for one in offsets if one[0] == topic]:
                del offsets[place]


@dataclass(slots=True)
class AnyMember:
    """A member of a group of either protocol."""

    asked: Any
    """Last request of the member to join or, in the consumer protocol, its last heartbeat, with its ids."""
    seen: float
    """The time at which something was heard of it last."""

    @property
    def member_id(self) -> str:
        """The id, given by the client or the group."""
        return self.asked.member_id  # type: ignore[no-any-return]


M = TypeVar("M", bound=AnyMember)


@dataclass(slots=True)
class GroupOf(Generic[M]):
    """The members and the offsets of a group."""

    name: str
    members: dict[str, M] = field(default_factory=dict, kw_only=True)
    offsets: Offsets = field(default_factory=Offsets, kw_only=True)

    def shown_members(self) -> tuple[GroupMember, ...]:
        """Return the members, as tests see them."""
        asked = [one.asked for one in self.members.values()]
        return tuple(GroupMember(one.member_id, one.client_id, one.instance_id) for one in asked)

    def static(self, instance_id: str | None) -> M | None:
        """Find the member with an instance id."""
        found = (one for one in self.members.values() if one.asked.instance_id == instance_id)
        return None if instance_id is None else next(found, None)

    def member(self, member_id: str, instance_id: str | None = None) -> M:
        """Find the member that asks; refuse one that is not there, or whose instance id another one has."""
        static = self.static(instance_id)
        if static is not None and static.member_id != member_id:
            raise Refused(ErrorCode.FENCED_INSTANCE_ID, f"it is the instance id of {static.member_id}")
        if member_id not in self.members or (instance_id is not None and static is None):
            raise Refused(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id} is not a member of {self.name}")
        return self.members[member_id]

    def leaving(self, member_id: str, instance_id: str | None) -> M:
        """Find the member that leaves, perhaps by its instance id alone; refuse as `member`."""
        static = self.static(instance_id)
        return self.member(member_id or (static.member_id if static else ""), instance_id)


# The bytes that consumers of the classic protocol exchange.


class Subscription(NamedTuple):
    """The subscription with which a consumer joins."""

    topics: frozenset[str]
    owned: frozenset[TopicPartition]
    """The partitions that it has kept, if its assignor is a cooperative one."""
    rack_id: str | None


def subscription_of(data: bytes) -> Subscription:
    """Decode the subscription in the metadata of a member; refuse other bytes."""
    found = _decoded(SUBSCRIPTION, data)
    owned = ((one.topic, index) for one in getattr(found, "owned_partitions", ()) for index in one.partitions)
    return Subscription(frozenset(found.topics), frozenset(owned), getattr(found, "rack_id", None))


def assigned_in(data: bytes) -> frozenset[TopicPartition]:
    """Decode the partitions of an assignment; refuse other bytes, and data that an assignor has added."""
    if not data:
        return frozenset()
    found = _decoded(ASSIGNMENT, data)
    if found.user_data:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return frozenset((one.topic, index) for one in found.assigned_partitions for index in one.partitions)


def assignment_of(places: Iterable[TopicPartition], like: bytes) -> bytes:
    """Encode an assignment, in the version of some other bytes of the protocol."""
    rows = [{"topic": topic, "partitions": indexes} for topic, indexes in indexes_by_topic(places).items()]
    cls = REGISTRY.message(ASSIGNMENT, consumer_version(ASSIGNMENT, like))
    return write_enveloped(build(cls, {"assigned_partitions": rows}))


def _decoded(name: str, data: bytes) -> Any:
    try:
        return read_enveloped(name, data)
    except DecodeError:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from None
