"""OffsetCommit, versions 2 to 10: offsets that a member, or a client that is not in a group, commits."""

from contextlib import suppress

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values, answered
from kipwire.testing.broker.node import AnyGroup
from kipwire.testing.broker.state import TopicPartition
from kipwire.testing.broker.state.consumer_groups import ConsumerGroup
from kipwire.testing.broker.state.consumer_members import Place
from kipwire.testing.broker.state.groups import Committed

_LONGEST_METADATA = 4096
"""Characters: Kafka's default of `offset.metadata.max.bytes`."""
_FIRST_OF_CONSUMER_GROUPS = 9
"""The first version whose clients may be members of consumer groups."""


def answer(node: Node, body: Sent) -> Values:
    """Commit offsets."""
    try:
        group = committing_group(node, body)
    except Refused as error:
        return committed_in(node, body, error)[1]
    offsets, values = committed_in(node, body)
    group.offsets.committed.update(offsets)
    return values


def committing_group(node: Node, body: Sent, *, is_transactional: bool = False) -> AnyGroup:
    """The group that a member, or a client that is not in a group, commits offsets of.

    Raises:
        Refused: it may not.
    """
    generation = getattr(body, "generation_id_or_member_epoch", -1)
    member_id, instance_id = getattr(body, "member_id", ""), getattr(body, "group_instance_id", None)
    node.expect_coordinator(CoordinatorType.GROUP, body.group_id)
    is_newer = body.VERSION >= _FIRST_OF_CONSUMER_GROUPS
    if generation >= 0 and body.group_id not in node.groups:
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND if is_newer else ErrorCode.ILLEGAL_GENERATION)
    group = node.group(body.group_id)  # also an empty one, of consumers that have no group
    group.expect_committer(member_id, instance_id, generation, node.now(), is_transactional=is_transactional)
    if isinstance(group, ConsumerGroup):
        if group.is_consumer(member_id) and not is_newer and not is_transactional:
            raise Refused(ErrorCode.UNSUPPORTED_VERSION)
        group.expect_owner(member_id, generation, _places(node, body))
    return group


def _places(node: Node, body: Sent) -> list[Place]:
    """The partitions of a request, of topics that exist."""
    found: list[Place] = []
    for topic in body.topics:
        with suppress(Refused):
            topic_id = node.topic_of(topic).topic_id
            found += [(topic_id, one.partition_index) for one in topic.partitions]
    return found


def committed_in(
    node: Node, body: Sent, refused: Refused | None = None
) -> tuple[dict[TopicPartition, Committed], Values]:
    """The offsets of a request that are of partitions that exist, and the response.

    Args:
        node: the cluster.
        body: the request.
        refused: for the partitions that exist.
    """
    offsets: dict[TopicPartition, Committed] = {}

    def commit(topic: Sent, asked: Sent) -> Values:
        found = node.topic_of(topic)
        found.partition(asked.partition_index)
        if refused is not None:
            raise refused
        if len(asked.committed_metadata or "") > _LONGEST_METADATA:
            raise Refused(ErrorCode.OFFSET_METADATA_TOO_LARGE)
        epoch = getattr(asked, "committed_leader_epoch", -1)
        committed = Committed(asked.committed_offset, epoch, asked.committed_metadata or "")
        offsets[found.name, asked.partition_index] = committed
        return {}

    return offsets, answered(body, commit)
