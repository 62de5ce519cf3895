"""OffsetDelete, version 0: deletes offsets that a group has committed, of topics that no member of it reads."""

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values, answered
from kipwire.testing.broker.state.groups import CONSUMER


def answer(node: Node, body: Sent) -> Values:
    """Delete offsets."""
    if not body.group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID)
    group = node.known_group(body.group_id, ErrorCode.GROUP_ID_NOT_FOUND)
    if group.members and group.protocol_type != CONSUMER:
        raise Refused(ErrorCode.NON_EMPTY_GROUP)
    read = group.subscribed_topics()

    def delete(topic: Sent, asked: Sent) -> Values:
        if read is None or topic.name in read:
            raise Refused(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
        node.topics.log(topic.name, asked.partition_index)
        group.offsets.committed.pop((topic.name, asked.partition_index), None)
        return {}

    return answered(body, delete)
