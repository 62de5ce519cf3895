"""ConsumerGroupDescribe, versions 0 to 1: the state of consumer groups, their members and what these read."""

from collections.abc import Set

from kafka_messages.enums import ConsumerGroupMemberType
from kipwire.testing.broker.apis.api import CoordinatorType, ErrorCode, Node, Refused, Sent, Values, by_row, expect
from kipwire.testing.broker.state import indexes_by_topic
from kipwire.testing.broker.state.consumer_groups import ConsumerGroup
from kipwire.testing.broker.state.consumer_members import ConsumerMember, TopicIdPartition


@by_row
def answer(node: Node, body: Sent, name: str) -> Values:
    expect(name, ErrorCode.INVALID_GROUP_ID)
    group = node.present_group(name) if node.coordinates(CoordinatorType.GROUP, name) else None
    if not isinstance(group, ConsumerGroup):
        reason = f"Group {name} not found." if group is None else f"Group {name} is not a consumer group."
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, reason)
    return {
        "group_state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "assignor_name": group.assignor,
        "members": [_member(group, one) for one in group.members.values()],
    }


def _member(group: ConsumerGroup, member: ConsumerMember) -> Values:
    return {
        "member_id": member.member_id,
        "instance_id": member.asked.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.epoch,
        "client_id": member.asked.client_id,
        "client_host": f"/{member.asked.client_host}",
        "subscribed_topic_names": sorted(member.topics),
        "subscribed_topic_regex": member.regex,
        "assignment": _assignment(group, member.assigned.keys()),
        "target_assignment": _assignment(group, group.targets.get(member.member_id, frozenset())),
        "member_type": ConsumerGroupMemberType.CLASSIC if member.is_classic else ConsumerGroupMemberType.CONSUMER,
    }


def _assignment(group: ConsumerGroup, places: Set[TopicIdPartition]) -> Values:
    """Build the assignment with the partitions of topics that still exist."""
    topics = group.existing.by_id
    return {
        "topic_partitions": [
            {"topic_id": one, "topic_name": topics[one].name, "partitions": indexes}
            for one, indexes in indexes_by_topic(places).items()
            if one in topics
        ]
    }
