"""OffsetForLeaderEpoch, versions 2 to 4: the ends of leader epochs."""

from __future__ import annotations

from typing import Any

from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node


def answer(node: Node, request: Request) -> Values:
    """Find the end of an epoch in each partition."""

    def find(topic: Any, asked: Any) -> Values:
        found = node.led(node.topic_of(topic), asked.partition, asked).end_of_epoch(asked.leader_epoch)
        return {} if found is None else {"leader_epoch": found[0], "end_offset": found[1]}

    return answered(request.body, find)
