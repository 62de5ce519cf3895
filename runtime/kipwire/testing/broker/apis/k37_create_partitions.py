"""CreatePartitions, versions 0 to 3: gives topics more partitions."""

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values, answered
from kipwire.testing.broker.apis.k19_create_topics import expect_brokers
from kipwire.testing.broker.state.topics import MOST_PARTITIONS


def answer(node: Node, body: Sent) -> Values:
    """Extend topics."""
    node.expect_controller()
    counts = {one.name: one.count for one in body.topics if one.name in node.topics.by_name}
    if sum(max(counts[one] - len(node.topics.named(one).partitions), 0) for one in counts) > MOST_PARTITIONS:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "one request asks for too many partitions")

    def extend(asked: Sent) -> Values:
        topic = node.topics.named(asked.name)
        if asked.count <= len(topic.partitions):
            raise Refused(ErrorCode.INVALID_PARTITIONS, f"{topic.name} has {len(topic.partitions)} partitions already")
        if asked.assignments is not None:
            if len(asked.assignments) != asked.count - len(topic.partitions):
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "each new partition needs an assignment")
            expect_brokers(asked.assignments)
        if not body.validate_only:
            topic.extend(asked.count)
        return {}

    return answered(body, extend, is_distinct=True)
