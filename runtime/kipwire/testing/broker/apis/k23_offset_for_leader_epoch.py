"""OffsetForLeaderEpoch."""

from __future__ import annotations

from typing import Any

from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values, by_partition
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.logs import LEADER_EPOCH
from kipwire.testing.broker.state.refusals import Refused


def answer(node: Node, request: Request) -> Values:
    """The end of the only leader epoch that there is."""
    body: Any = request.body

    def find(topic: Any, asked: Any) -> Values:
        try:
            log = node.topic_of(topic).partition(asked.partition)
            log.expect_epoch(asked)
        except Refused as error:
            return {"partition": asked.partition, "error_code": error.error}
        if asked.leader_epoch != LEADER_EPOCH:
            return {"partition": asked.partition}
        return {"partition": asked.partition, "leader_epoch": LEADER_EPOCH, "end_offset": log.end_offset}

    return {"topics": by_partition(body.topics, "partitions", "partitions", find)}


def refuse(body: Any, error: int) -> Values:
    """An error for each partition."""

    def refuse(topic: Any, asked: Any) -> Values:
        return {"partition": asked.partition, "error_code": error}

    return {"topics": by_partition(body.topics, "partitions", "partitions", refuse)}
