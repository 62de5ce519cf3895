"""OffsetFetch, versions 1 to 10: the committed offsets of one group, or of several; -1 where there is none."""

from collections.abc import Iterable
from uuid import UUID

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values
from kipwire.testing.broker.state import TopicPartition, indexes_by_topic
from kipwire.testing.broker.state.consumer_groups import ConsumerGroup
from kipwire.testing.broker.state.groups import Committed, Offsets
from kipwire.testing.broker.state.topics import NO_ID

_NO_OFFSET = {"committed_offset": -1}
_NONE = Committed(-1)


def answer(node: Node, body: Sent) -> Values:
    """Find offsets."""
    is_stable = getattr(body, "require_stable", False)
    if not hasattr(body, "groups"):
        # Versions with one group know topics by name alone.
        found = _fetched(node, body, is_stable)
        return {"topics": [{"name": one["name"], "partitions": one["partitions"]} for one in found]}
    return {"groups": [_group_fetched(node, one, is_stable) for one in body.groups]}


def _group_fetched(node: Node, asked: Sent, is_stable: bool) -> Values:
    """The offsets of one group, if it is its member who asks, or one who does not say so."""
    group, member_id = node.present_group(asked.group_id), getattr(asked, "member_id", None)
    epoch = getattr(asked, "member_epoch", -1)
    try:
        if isinstance(group, ConsumerGroup) and (member_id is not None or epoch >= 0):
            if member_id is None:
                raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)  # Kafka fails
            group.expect_valid_epoch(member_id, epoch)
        return {"group_id": asked.group_id, "topics": _fetched(node, asked, is_stable)}
    except Refused as error:
        return {"group_id": asked.group_id, "error_code": error.error}


def _fetched(node: Node, asked: Sent, is_stable: bool) -> list[Values]:
    """The topics of one group; those that it has offsets of where the request names none."""
    node.expect_coordinator(CoordinatorType.GROUP, asked.group_id)
    group = node.groups.get(asked.group_id)
    offsets = Offsets() if group is None else group.offsets
    if asked.topics is not None:
        return [_topic_fetched(node, topic, offsets, is_stable) for topic in asked.topics]
    return [
        _named(name, node.topics.named(name).topic_id, indexes, offsets, is_stable)
        for name, indexes in indexes_by_topic(offsets.committed).items()
    ]


def _topic_fetched(node: Node, asked: Sent, offsets: Offsets, is_stable: bool) -> Values:
    indexes = asked.partition_indexes
    topic_id = getattr(asked, "topic_id", NO_ID)
    try:
        name = asked.name if hasattr(asked, "name") else node.topics.with_id(topic_id).name
    except Refused as error:
        partitions = [{"partition_index": index, "error_code": error.error, **_NO_OFFSET} for index in indexes]
        return {"topic_id": topic_id, "partitions": partitions}
    return _named(name, topic_id, indexes, offsets, is_stable)


def _named(name: str, topic_id: UUID, indexes: Iterable[int], offsets: Offsets, is_stable: bool) -> Values:
    partitions = [_partition_fetched(offsets, (name, index), is_stable) for index in indexes]
    return {"name": name, "topic_id": topic_id, "partitions": partitions}


def _partition_fetched(offsets: Offsets, place: TopicPartition, is_stable: bool) -> Values:
    if is_stable and offsets.is_unstable(place):
        return {"partition_index": place[1], "error_code": ErrorCode.UNSTABLE_OFFSET_COMMIT, **_NO_OFFSET}
    found = offsets.committed.get(place, _NONE)
    return {
        "partition_index": place[1],
        "committed_offset": found.offset,
        "committed_leader_epoch": found.leader_epoch,
        "metadata": found.metadata,
    }
