"""OffsetForLeaderEpoch, versions 2 to 4: the end of the only leader epoch that there is."""

from __future__ import annotations

from typing import Any

from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.logs import LEADER_EPOCH


def answer(node: Node, request: Request) -> Values:
    """Find the end of an epoch in each partition."""

    def find(topic: Any, asked: Any) -> Values:
        log = node.topic_of(topic).partition(asked.partition)
        log.expect_epoch(asked)
        if asked.leader_epoch != LEADER_EPOCH:
            return {}
        return {"leader_epoch": LEADER_EPOCH, "end_offset": log.end_offset}

    return answered(request.body, find)
