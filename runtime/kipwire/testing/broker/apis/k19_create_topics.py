"""CreateTopics, versions 2 to 7: creates topics.

Unlike Kafka:

* There are no internal topics: `__consumer_offsets` is an ordinary name.
* Any replication factor above 0 and any replicas are accepted.
* Nodes other than the controller answer NOT_CONTROLLER, as before KRaft, and forward nothing.
"""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, answered, expect
from kipwire.testing.broker.state.topics import MOST_PARTITIONS, expect_valid_configs, shown_configs


def answer(node: Node, body: Sent) -> Values:
    node.expect_controller()
    total = sum(1 + max(_count(node, one), 0) for one in body.topics)
    expect(total <= MOST_PARTITIONS, ErrorCode.POLICY_VIOLATION, "one request asks for too many partitions")

    def create(asked: Sent) -> Values:
        configs = {one.name: one.value for one in asked.configs}
        node.topics.check_free(asked.name)
        expect_valid_configs(configs)
        count = _count(node, asked)
        _expect_assignment(asked)
        node.topics.check_new(asked.name, count)
        made = {"num_partitions": count, "replication_factor": len(node.nodes.by_id), "configs": shown_configs(configs)}
        if not body.validate_only:
            made["topic_id"] = node.topics.create(asked.name, count, configs).topic_id
        return made

    return answered(body, create, is_distinct=True)


def _count(node: Node, asked: Sent) -> int:
    """Return the number of partitions that a topic is to have; -1 stands for the usual."""
    usual = node.default_partitions if asked.num_partitions == -1 else asked.num_partitions
    return len(asked.assignments) or usual


def _expect_assignment(asked: Sent) -> None:
    """Check the replicas that a client wants."""
    if not asked.assignments:
        is_valid = asked.replication_factor == -1 or asked.replication_factor > 0
        reason = "the replication factor must be above 0, or -1 for the default"
        expect(is_valid, ErrorCode.INVALID_REPLICATION_FACTOR, reason)
        return
    reason = "with an assignment, the number of partitions and the replication factor must be -1"
    expect(asked.replication_factor == asked.num_partitions == -1, ErrorCode.INVALID_REQUEST, reason)
    indexes = sorted(one.partition_index for one in asked.assignments)
    reason = "the partitions of an assignment have to be 0, 1, 2 and so on"
    expect(indexes == list(range(len(indexes))), ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    expect_brokers(asked.assignments)


def expect_brokers(assignments: Sent) -> None:
    """Check that each partition has replicas, on different brokers."""
    is_valid = all(one.broker_ids and len(set(one.broker_ids)) == len(one.broker_ids) for one in assignments)
    expect(is_valid, ErrorCode.INVALID_REPLICA_ASSIGNMENT, "each partition needs replicas, on different brokers")
