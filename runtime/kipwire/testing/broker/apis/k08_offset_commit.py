"""OffsetCommit."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values, by_partition
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.groups import Group
from kipwire.testing.broker.state.offsets import Committed, TopicPartition
from kipwire.testing.broker.state.refusals import Refused

_LONGEST_METADATA = 4096
"""Characters: Kafka's default of `offset.metadata.max.bytes`."""


def answer(node: Node, request: Request) -> Values:
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


def refuse(body: Any, error: int) -> Values:
    """An error for each partition."""

    def refuse(topic: Any, asked: Any) -> Values:
        return {"partition_index": asked.partition_index, "error_code": error}

    return {"topics": by_partition(body.topics, "partitions", "partitions", refuse)}
