"""Groups that pass from the classic to the consumer protocol and back, while their members go on (KIP-848)."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_messages.enums import ErrorCode
from kipwire.model.errors import DecodeError
from kipwire.testing.broker.state.assignors import Place
from kipwire.testing.broker.state.consumer_groups import ConsumerGroup
from kipwire.testing.broker.state.consumer_members import ConsumerMember
from kipwire.testing.broker.state.consumer_protocol import assignment_of, places_of, subscription_of
from kipwire.testing.broker.state.groups import CONSUMER, STABLE, Group, Member
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.topics import Topics


def upgraded(group: Group, topics: Topics) -> ConsumerGroup:
    """A group of consumers, of which a member of the consumer protocol becomes one; an empty one is a new group.

    Raises:
        Refused: its members are no consumers, or one has got more than partitions from its assignor.
    """
    made = ConsumerGroup(group.name, topics, offsets=group.offsets)
    if not group.members:
        return made
    try:
        members = [_member(one, group, topics) for one in group.members.values()]
    except (DecodeError, Refused):
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"{group.name} cannot become a consumer group") from None
    for one in group.members.values():
        one.refuse(ErrorCode.REBALANCE_IN_PROGRESS)
    made.members = {one.member_id: one for one in members}
    made.epoch = made.assignment_epoch = group.generation
    made.targets = {one.member_id: frozenset(one.assigned) for one in members}
    made.known = made.read_topics()
    return made


def _member(member: Member, group: Group, topics: Topics) -> ConsumerMember:
    if group.protocol_type != CONSUMER:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    asked = member.asked
    subscription = subscription_of(asked.protocols.get(group.protocol) or next(iter(asked.protocols.values())))
    places, has_more = places_of(member.assignment)
    if has_more:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    known = topics.by_name
    assigned: Mapping[Place, int] = {
        (known[name].topic_id, index): group.generation for name, index in places if name in known
    }
    return ConsumerMember(
        member_id=member.member_id,
        seen=member.seen,
        client_id=asked.client_id,
        client_host=asked.client_host,
        instance_id=asked.instance_id,
        rack_id=subscription.rack_id,
        rebalance_timeout=asked.rebalance_timeout,
        topics=subscription.topics,
        epoch=group.generation,
        previous_epoch=group.generation,
        assigned=dict(assigned),
        classic=asked._replace(member_id=member.member_id),
    )


def downgraded(group: ConsumerGroup, now: float) -> Group:
    """A group whose members are all of the classic protocol; they join again if the last change asks for that."""
    made = Group(group.name, STABLE, group.epoch, CONSUMER, offsets=group.offsets)
    names = {topic.topic_id: topic.name for topic in group.existing.by_name.values()}
    for one in group.members.values():
        assert one.classic is not None
        places = [(names[place[0]], place[1]) for place in one.assigned if place[0] in names]
        like = next(iter(one.classic.protocols.values()))
        asked = one.classic._replace(member_id=one.member_id)
        made.members[one.member_id] = Member(asked, one.seen, one.member_id, assignment_of(places, like))
    made.go_on(now, rebalances=group.is_left_to_classic)
    return made
