"""The offsets that groups commit."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Api, Values, by_partition
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.groups import Group
from kipwire.testing.broker.state.offsets import Committed, Offsets, TopicPartition
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.topics import NO_ID

_NONE = Committed(-1)
_LONGEST_METADATA = 4096
"""Characters: Kafka's default of `offset.metadata.max.bytes`."""


def offset_commit(node: Node, request: Request) -> Values:
    """Commit offsets of a member, or of a client that is not in a group."""
    body: Any = request.body
    try:
        group = committing_group(node, body)
    except Refused as error:
        return {"topics": committed_in(node, body, error.error)[1]}
    offsets, topics = committed_in(node, body)
    group.offsets.commit(offsets)
    return {"topics": topics}


def committing_group(node: Node, body: Any, *, is_transactional: bool = False) -> Group:
    """The group that a member, or a client that is not in a group, commits offsets of.

    Raises:
        Refused: it may not.
    """
    generation = getattr(body, "generation_id_or_member_epoch", -1)
    member_id, instance_id = getattr(body, "member_id", ""), getattr(body, "group_instance_id", None)
    if generation >= 0 and body.group_id not in node.groups:
        raise Refused(ErrorCode.ILLEGAL_GENERATION)
    group = node.group(body.group_id)  # also an empty one, of consumers that have no group
    group.expect_committer(member_id, instance_id, generation, node.now(), is_transactional=is_transactional)
    return group


def refuse_offset_commit(body: Any, error: int) -> Values:
    """An error for each partition."""

    def refuse(topic: Any, asked: Any) -> Values:
        return {"partition_index": asked.partition_index, "error_code": error}

    return {"topics": by_partition(body.topics, "partitions", "partitions", refuse)}


def committed_in(
    node: Node, body: Any, error: int = ErrorCode.NONE
) -> tuple[dict[TopicPartition, Committed], list[Values]]:
    """The offsets of a request that are of partitions that exist, and the topics of the response.

    Args:
        node: the cluster.
        body: the request.
        error: for the partitions that exist.
    """
    offsets: dict[TopicPartition, Committed] = {}

    def commit(topic: Any, asked: Any) -> Values:
        try:
            found = node.topic_of(topic)
            found.partition(asked.partition_index)
        except Refused as unknown:
            return {"partition_index": asked.partition_index, "error_code": unknown.error}
        if error == ErrorCode.NONE and len(asked.committed_metadata or "") > _LONGEST_METADATA:
            return {"partition_index": asked.partition_index, "error_code": ErrorCode.OFFSET_METADATA_TOO_LARGE}
        epoch = getattr(asked, "committed_leader_epoch", -1)
        committed = Committed(asked.committed_offset, epoch, asked.committed_metadata or "")
        offsets[found.name, asked.partition_index] = committed
        return {"partition_index": asked.partition_index, "error_code": error}

    return offsets, by_partition(body.topics, "partitions", "partitions", commit)


def offset_fetch(node: Node, request: Request) -> Values:
    """The committed offsets of one group, or of several; -1 where there is none."""
    body: Any = request.body
    is_stable = getattr(body, "require_stable", False)
    if not hasattr(body, "groups"):
        # Versions with one group know topics by name alone.
        found = _fetched(node, body, is_stable)
        return {"topics": [{"name": one["name"], "partitions": one["partitions"]} for one in found]}
    return {"groups": [{"group_id": one.group_id, "topics": _fetched(node, one, is_stable)} for one in body.groups]}


def refuse_offset_fetch(body: Any, error: int) -> Values:
    """An error for each group."""
    if not hasattr(body, "groups"):
        # Version 1 has errors of partitions alone.
        return {"error_code": error} if body.VERSION >= 2 else {"topics": _refused_partitions(body.topics, error)}
    return {"groups": [{"group_id": one.group_id, "error_code": error} for one in body.groups]}


def _refused_partitions(topics: Any, error: int) -> list[Values]:
    return [
        {
            "name": topic.name,
            "partitions": [
                {"partition_index": index, "committed_offset": -1, "error_code": error}
                for index in topic.partition_indexes
            ],
        }
        for topic in topics
    ]


def _fetched(node: Node, asked: Any, is_stable: bool) -> list[Values]:
    """The topics of one group; those that it has offsets of where the request names none."""
    group = node.groups.get(asked.group_id)
    offsets = Offsets() if group is None else group.offsets
    if asked.topics is not None:
        return [_topic_fetched(node, topic, offsets, is_stable) for topic in asked.topics]
    by_topic: dict[str, list[Values]] = {}
    for topic, index in sorted(offsets.committed):
        by_topic.setdefault(topic, []).append(_partition_fetched(offsets, (topic, index), is_stable))
    return [
        {"name": name, "topic_id": node.topics.named(name).topic_id, "partitions": partitions}
        for name, partitions in by_topic.items()
    ]


def _topic_fetched(node: Node, asked: Any, offsets: Offsets, is_stable: bool) -> Values:
    indexes = asked.partition_indexes
    topic_id = getattr(asked, "topic_id", NO_ID)
    try:
        name = asked.name if hasattr(asked, "name") else node.topics.with_id(topic_id).name
    except Refused as error:
        partitions = [
            {"partition_index": index, "committed_offset": -1, "error_code": error.error} for index in indexes
        ]
        return {"topic_id": topic_id, "partitions": partitions}
    partitions = [_partition_fetched(offsets, (name, index), is_stable) for index in indexes]
    return {"name": name, "topic_id": topic_id, "partitions": partitions}


def _partition_fetched(offsets: Offsets, place: TopicPartition, is_stable: bool) -> Values:
    if is_stable and offsets.is_unstable(place):
        error = ErrorCode.UNSTABLE_OFFSET_COMMIT
        return {"partition_index": place[1], "committed_offset": -1, "error_code": error}
    found = offsets.committed.get(place, _NONE)
    return {
        "partition_index": place[1],
        "committed_offset": found.offset,
        "committed_leader_epoch": found.leader_epoch,
        "metadata": found.metadata,
    }


APIS = {
    ApiKey.OFFSET_COMMIT: Api(offset_commit, refuse_offset_commit),
    ApiKey.OFFSET_FETCH: Api(offset_fetch, refuse_offset_fetch),
}
