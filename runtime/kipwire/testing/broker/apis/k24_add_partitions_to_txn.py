"""AddPartitionsToTxn, versions 0 to 3: makes partitions part of a transaction, which begins with the first."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import current
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.transactions import Numbers

VERSIONS = range(4)


def answer(node: Node, request: Request) -> Values:
    """Add all partitions, or none."""
    body: Any = request.body
    places = {(topic.name, index) for topic in body.v3_and_below_topics for index in topic.partitions}
    unknown = {place for place in places if not node.topics.has(*place)}
    if not unknown:
        numbers = Numbers(body.v3_and_below_producer_id, body.v3_and_below_producer_epoch)
        current(node, request, body.v3_and_below_transactional_id, numbers).add(places)

    def outcome(topic: Any, index: int) -> Values:
        if unknown:
            is_unknown = (topic.name, index) in unknown
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_unknown else ErrorCode.OPERATION_NOT_ATTEMPTED)
        return {}

    return answered(body, outcome)
