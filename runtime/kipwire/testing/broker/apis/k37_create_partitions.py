"""CreatePartitions, versions 0 to 3: gives topics more partitions."""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, answered, expect
from kipwire.testing.broker.apis.k19_create_topics import expect_brokers
from kipwire.testing.broker.state.topics import MOST_PARTITIONS


def answer(node: Node, body: Sent) -> Values:
    node.expect_controller()
    counts = {one.name: one.count for one in body.topics if one.name in node.topics.by_name}
    total = sum(max(count - len(node.topics.named(name).partitions), 0) for name, count in counts.items())
    expect(total <= MOST_PARTITIONS, ErrorCode.POLICY_VIOLATION, "one request asks for too many partitions")

    def extend(asked: Sent) -> Values:
        topic = node.topics.named(asked.name)
        before = len(topic.partitions)
        expect(asked.count > before, ErrorCode.INVALID_PARTITIONS, f"{topic.name} has {before} partitions already")
        if asked.assignments is not None:
            is_whole = len(asked.assignments) == asked.count - before
            expect(is_whole, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "each new partition needs an assignment")
            expect_brokers(asked.assignments)
        if not body.validate_only:
            topic.extend(asked.count)
        return {}

    return answered(body, extend, is_distinct=True)
