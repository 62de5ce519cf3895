"""CreateTopics."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka_messages.enums import ConfigSource, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values, outcome
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.topics import MOST_PARTITIONS, expect_valid_configs

DUPLICATE = Refused(ErrorCode.INVALID_REQUEST, "the request names the topic twice")


def answer(node: Node, request: Request) -> Values:
    """Create topics; any replication factor above 0 is accepted, though there is one replica of everything."""
    body: Any = request.body
    counts = [len(one.assignments) or node.partitions_of(one.num_partitions) for one in body.topics]
    if sum(1 + max(count, 0) for count in counts) > MOST_PARTITIONS:
        raise Refused(ErrorCode.POLICY_VIOLATION, "one request asks for too many partitions")

    def create(asked: Any) -> Values:
        if times[asked.name] > 1:
            raise DUPLICATE
        configs = {one.name: one.value for one in asked.configs}
        node.topics.check_free(asked.name)
        expect_valid_configs(configs)
        count = len(asked.assignments) or node.partitions_of(asked.num_partitions)
        _expect_assignment(asked)
        node.topics.check_new(asked.name, count)
        made = {"num_partitions": count, "replication_factor": 1, "configs": _created_configs(configs)}
        made["error_message"] = None
        if body.validate_only:
            return made
        return {"topic_id": node.topics.create(asked.name, count, configs).topic_id, **made}

    times = Counter(one.name for one in body.topics)
    distinct = {one.name: one for one in body.topics}.values()
    return {"topics": [{"name": one.name, **outcome(create, one)} for one in distinct]}


def _expect_assignment(asked: Any) -> None:
    """Check the replicas that a client wants.

    Raises:
        Refused: it says twice how many, or leaves out a partition, or a partition has none.
    """
    if not asked.assignments:
        if asked.replication_factor < -1 or asked.replication_factor == 0:
            raise Refused(
                ErrorCode.INVALID_REPLICATION_FACTOR, "give a replication factor above 0, or -1 for the usual"
            )
        return
    if asked.replication_factor != -1 or asked.num_partitions != -1:
        reason = "an assignment says how many partitions and replicas there are; both numbers have to be -1"
        raise Refused(ErrorCode.INVALID_REQUEST, reason)
    indexes = sorted(one.partition_index for one in asked.assignments)
    if indexes != list(range(len(indexes))):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "the partitions of an assignment have to be 0, 1, 2 and so on"
        )
    expect_brokers(asked.assignments)


def expect_brokers(assignments: Any) -> None:
    for one in assignments:
        if not one.broker_ids or len(set(one.broker_ids)) < len(one.broker_ids):
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "each partition needs replicas, on different brokers")


def _created_configs(configs: dict[str, str | None]) -> list[Values]:
    source = ConfigSource.TOPIC_CONFIG
    return [{"name": name, "value": value, "config_source": source} for name, value in configs.items()]


def refuse(body: Any, error: int) -> Values:
    """An error for each topic."""
    return {"topics": [{"name": one.name, "error_code": error} for one in body.topics]}
