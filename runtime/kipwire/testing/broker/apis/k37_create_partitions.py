"""CreatePartitions."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values, outcome
from kipwire.testing.broker.apis.k19_create_topics import DUPLICATE, expect_brokers
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.topics import MOST_PARTITIONS


def answer(node: Node, request: Request) -> Values:
    """Give topics more partitions."""
    body: Any = request.body
    times = Counter(one.name for one in body.topics)
    distinct = {one.name: one for one in body.topics}.values()
    known = [(one.count, node.topics.by_name[one.name]) for one in distinct if one.name in node.topics.by_name]
    if sum(max(count - len(topic.partitions), 0) for count, topic in known) > MOST_PARTITIONS:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "one request asks for too many partitions")

    def extend(asked: Any) -> Values:
        if times[asked.name] > 1:
            raise DUPLICATE
        topic = node.topics.check_more_partitions(asked.name, asked.count)
        if asked.assignments is not None:
            if len(asked.assignments) != asked.count - len(topic.partitions):
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "each new partition needs an assignment")
            expect_brokers(asked.assignments)
        if not body.validate_only:
            topic.extend(asked.count)
        return {"error_message": None}

    return {"results": [{"name": one.name, **outcome(extend, one)} for one in distinct]}


def refuse(body: Any, error: int) -> Values:
    """An error for each topic."""
    return {"results": [{"name": one.name, "error_code": error} for one in body.topics]}
