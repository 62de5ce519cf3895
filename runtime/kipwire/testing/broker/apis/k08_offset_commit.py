"""OffsetCommit, versions 2 to 10: offsets that a member, or a client that is not in a group, commits."""

from collections.abc import Callable
from contextlib import suppress

from kipwire.testing.broker.apis.api import CoordinatorType, ErrorCode, Node, Refused, Sent, Values, answered, expect
from kipwire.testing.broker.node import AnyGroup
from kipwire.testing.broker.state import TopicPartition
from kipwire.testing.broker.state.consumer_groups import ConsumerGroup
from kipwire.testing.broker.state.consumer_members import TopicIdPartition
from kipwire.testing.broker.state.groups import Committed

Commit = Callable[[dict[TopicPartition, Committed]], None]
_LONGEST_METADATA = 4096
"""Characters: Kafka's default of `offset.metadata.max.bytes`."""
_FIRST_OF_CONSUMER_GROUPS = 9
"""The first version whose clients may be members of consumer groups."""


def answer(node: Node, body: Sent) -> Values:
    return committed_in(node, body, lambda: committing_group(node, body).offsets.committed.update)


def committing_group(node: Node, body: Sent, *, is_transactional: bool = False) -> AnyGroup:
    """Find the group that a member, or a client that is not in a group, may commit offsets of."""
    generation = getattr(body, "generation_id_or_member_epoch", -1)
    member_id, instance_id = getattr(body, "member_id", ""), getattr(body, "group_instance_id", None)
    node.expect_coordinator(CoordinatorType.GROUP, body.group_id)
    is_newer = body.VERSION >= _FIRST_OF_CONSUMER_GROUPS
    no_group = ErrorCode.GROUP_ID_NOT_FOUND if is_newer else ErrorCode.ILLEGAL_GENERATION
    expect(generation < 0 or body.group_id in node.groups, no_group)
    group = node.group(body.group_id)  # also an empty one, of consumers that have no group
    group.expect_committer(member_id, instance_id, generation, node.now(), is_transactional=is_transactional)
    if isinstance(group, ConsumerGroup):
        expect(is_newer or is_transactional or not group.is_consumer(member_id), ErrorCode.UNSUPPORTED_VERSION)
        group.expect_owner(member_id, generation, _places(node, body))
    return group


def _places(node: Node, body: Sent) -> list[TopicIdPartition]:
    """Find the partitions of a request, of topics that exist."""
    found: list[TopicIdPartition] = []
    for topic in body.topics:
        with suppress(Refused):
            topic_id = node.topic_of(topic).topic_id
            found += [(topic_id, one.partition_index) for one in topic.partitions]
    return found


def committed_in(node: Node, body: Sent, find: Callable[[], Commit]) -> Values:
    """Answer a request whose offsets go to what `find` gives; if it refuses, refuse for all partitions that exist."""
    commit, refused = None, None
    try:
        commit = find()
    except Refused as error:
        refused = error
    offsets: dict[TopicPartition, Committed] = {}

    def check(topic: Sent, asked: Sent) -> Values:
        found = node.topic_of(topic)
        found.partition(asked.partition_index)
        if refused is not None:
            raise refused
        metadata = asked.committed_metadata or ""
        expect(len(metadata) <= _LONGEST_METADATA, ErrorCode.OFFSET_METADATA_TOO_LARGE)
        epoch = getattr(asked, "committed_leader_epoch", -1)
        offsets[found.name, asked.partition_index] = Committed(asked.committed_offset, epoch, metadata)
        return {}

    values = answered(body, check)
    if commit is not None:
        commit(offsets)
    return values
