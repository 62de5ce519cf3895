"""DescribeProducers, version 0: the idempotent and transactional producers of partitions."""

from __future__ import annotations

from typing import Any

from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.logs import Log


def answer(node: Node, request: Request) -> Values:
    """Describe producers."""

    def describe(topic: Any, index: int) -> Values:
        node.topics.check_name(topic.name)
        return {"active_producers": _described(node.led(node.topics.named(topic.name), index))}

    return answered(request.body, describe)


def _described(log: Log) -> list[Values]:
    return [
        {
            "producer_id": producer_id,
            "producer_epoch": one.epoch,
            "last_sequence": one.recent[-1].last if one.recent else -1,
            "last_timestamp": one.last_timestamp,
            "coordinator_epoch": one.coordinator_epoch,
            "current_txn_start_offset": -1 if one.first_of_transaction is None else one.first_of_transaction,
        }
        for producer_id, one in sorted(log.producers.by_id.items())
    ]
