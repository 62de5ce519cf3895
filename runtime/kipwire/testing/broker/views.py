"""What tests see of groups: copies, which stay as they are."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.testing.broker.state.groups import Group


class GroupMember(NamedTuple):
    """A member of a group."""

    member_id: str
    client_id: str
    instance_id: str | None
    """Of a static member (KIP-345)."""


class GroupState(NamedTuple):
    """A group at one time."""

    state: str
    """In Kafka's words: `Empty`, `PreparingRebalance`, `CompletingRebalance` or `Stable`."""
    generation: int
    """How often its members have been assigned partitions."""
    protocol: str
    """The assignor that they agreed on, such as `range`; empty while there is none."""
    leader: str
    """The id of the member that assigns."""
    members: tuple[GroupMember, ...]


def view_of(group: Group) -> GroupState:
    """A copy of what tests see of a group."""
    members = (GroupMember(one.member_id, one.asked.client_id, one.asked.instance_id) for one in group.members.values())
    return GroupState(group.state, group.generation, group.protocol, group.leader, tuple(members))
