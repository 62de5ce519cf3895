"""OffsetFetch, versions 1 to 10: the committed offsets of one group, or of several; -1 where there is none."""

from collections.abc import Iterable
from uuid import UUID

from kipwire.testing.broker.apis.api import CoordinatorType, ErrorCode, Node, Refused, Sent, Values, answered
from kipwire.testing.broker.state import indexes_by_topic
from kipwire.testing.broker.state.consumer_groups import ConsumerGroup
from kipwire.testing.broker.state.groups import Committed, Offsets
from kipwire.testing.broker.state.topics import NO_ID

_NONE = Committed(-1)


def answer(node: Node, body: Sent) -> Values:
    is_stable = getattr(body, "require_stable", False)
    if hasattr(body, "groups"):
        return answered(body, lambda asked: {"topics": _group_fetched(node, asked, is_stable)})
    # Versions with one group know topics by name alone.
    found = _fetched(node, body, is_stable)
    return {"topics": [{"name": one["name"], "partitions": one["partitions"]} for one in found]}


def _group_fetched(node: Node, asked: Sent, is_stable: bool) -> list[Values]:
    """Answer with the topics of one group, to a member of it, or to a client that names no member."""
    group, member_id = node.present_group(asked.group_id), getattr(asked, "member_id", None)
    epoch = getattr(asked, "member_epoch", -1)
    if isinstance(group, ConsumerGroup) and (member_id is not None or epoch >= 0):
        if member_id is None:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR)  # Kafka fails
        group.expect_valid_epoch(member_id, epoch)
    return _fetched(node, asked, is_stable)


def _fetched(node: Node, asked: Sent, is_stable: bool) -> list[Values]:
    """Answer with the topics of one group; where the request names none, with those that it has offsets of."""
    node.expect_coordinator(CoordinatorType.GROUP, asked.group_id)
    group = node.groups.get(asked.group_id)
    offsets = Offsets() if group is None else group.offsets

    def partition(name: str, index: int, error: int) -> Values:
        if not error and is_stable and offsets.is_unstable((name, index)):
            error = ErrorCode.UNSTABLE_OFFSET_COMMIT
        found = _NONE if error else offsets.committed.get((name, index), _NONE)
        return {
            "partition_index": index,
            "committed_offset": found.offset,
            "committed_leader_epoch": found.leader_epoch,
            "metadata": found.metadata,
            "error_code": error,
        }

    def topic(name: str, topic_id: UUID, indexes: Iterable[int], error: int = ErrorCode.NONE) -> Values:
        partitions = [partition(name, index, error) for index in indexes]
        return {"name": name, "topic_id": topic_id, "partitions": partitions}

    def asked_for(one: Sent) -> Values:
        topic_id = getattr(one, "topic_id", NO_ID)
        try:
            name = one.name if hasattr(one, "name") else node.topics.with_id(topic_id).name
        except Refused as error:
            return topic("", topic_id, one.partition_indexes, error.error)
        return topic(name, topic_id, one.partition_indexes)

    if asked.topics is not None:
        return [asked_for(one) for one in asked.topics]
    by_topic = indexes_by_topic(offsets.committed)
    return [topic(name, node.topics.named(name).topic_id, indexes) for name, indexes in by_topic.items()]
