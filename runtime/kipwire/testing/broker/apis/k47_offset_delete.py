"""OffsetDelete, version 0: deletes offsets that a group has committed, of topics that no member of it reads."""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, answered, expect
from kipwire.testing.broker.state.groups import CONSUMER


def answer(node: Node, body: Sent) -> Values:
    expect(body.group_id, ErrorCode.INVALID_GROUP_ID)
    group = node.known_group(body.group_id, ErrorCode.GROUP_ID_NOT_FOUND)
    expect(not group.members or group.protocol_type == CONSUMER, ErrorCode.NON_EMPTY_GROUP)
    read = group.subscribed_topics()

    def delete(topic: Sent, asked: Sent) -> Values:
        expect(read is not None and topic.name not in read, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
        node.topics.log(topic.name, asked.partition_index)
        group.offsets.committed.pop((topic.name, asked.partition_index), None)
        return {}

    return answered(body, delete)
