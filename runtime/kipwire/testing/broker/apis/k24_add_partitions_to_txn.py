"""AddPartitionsToTxn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values, current
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.transactions import Numbers

VERSIONS = range(4)


def answer(node: Node, request: Request) -> Values:
    """Make partitions part of a transaction, which begins with the first."""
    body: Any = request.body
    places = {(topic.name, index) for topic in body.v3_and_below_topics for index in topic.partitions}
    unknown = {place for place in places if not _exists(node, *place)}
    if unknown:
        others = dict.fromkeys(places - unknown, ErrorCode.OPERATION_NOT_ATTEMPTED)
        return _added(body, others | dict.fromkeys(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    numbers = Numbers(body.v3_and_below_producer_id, body.v3_and_below_producer_epoch)
    current(node, request, body.v3_and_below_transactional_id, numbers).add(places)
    return _added(body, {})


def _exists(node: Node, name: str, index: int) -> bool:
    try:
        node.topics.named(name).partition(index)
    except Refused:
        return False
    return True


def _added(body: Any, errors: Mapping[tuple[str, int], int]) -> Values:
    topics = [
        {
            "name": topic.name,
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": errors.get((topic.name, index), ErrorCode.NONE)}
                for index in topic.partitions
            ],
        }
        for topic in body.v3_and_below_topics
    ]
    return {"results_by_topic_v3_and_below": topics}


def refuse(body: Any, error: int) -> Values:
    """An error for each partition."""
    return _added(body, {(topic.name, at): error for topic in body.v3_and_below_topics for at in topic.partitions})
