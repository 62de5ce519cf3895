"""AddPartitionsToTxn, versions 0 to 5: makes partitions part of a transaction, or of several from version 4 on."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import current
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.offsets import TopicPartition
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.transactions import Numbers, Transaction


def answer(node: Node, request: Request) -> Values:
    """Add all partitions of a transaction, or none."""
    body: Any = request.body
    if hasattr(body, "transactions"):
        return {"results_by_transaction": [_of_one(node, request, one) for one in body.transactions]}
    numbers = Numbers(body.v3_and_below_producer_id, body.v3_and_below_producer_epoch)
    places = _places(body.v3_and_below_topics)
    errors = _unknown(node, places)
    if not errors:
        transaction = current(node, request, body.v3_and_below_transactional_id, numbers)
        node.fill_transaction(transaction, places)
    return {"results_by_topic_v3_and_below": _results(body.v3_and_below_topics, errors)}


def _of_one(node: Node, request: Request, asked: Any) -> Values:
    """The result of one transaction of several, which other brokers may only want to verify."""
    places = _places(asked.topics)
    errors = _unknown(node, places)
    if not errors:
        try:
            numbers = Numbers(asked.producer_id, asked.producer_epoch)
            transaction = current(node, request, asked.transactional_id, numbers)
            if asked.verify_only:
                errors = _not_added(transaction, places)
            else:
                node.fill_transaction(transaction, places)
        except Refused as error:
            errors = dict.fromkeys(places, error.error)
    return {"transactional_id": asked.transactional_id, "topic_results": _results(asked.topics, errors)}


def _places(topics: Any) -> set[TopicPartition]:
    return {(topic.name, index) for topic in topics for index in topic.partitions}


def _unknown(node: Node, places: set[TopicPartition]) -> dict[TopicPartition, int]:
    """Errors for all partitions if there is one that does not exist."""
    unknown = {place for place in places if not node.topics.has(*place)}
    if not unknown:
        return {}
    others = ErrorCode.OPERATION_NOT_ATTEMPTED
    return {one: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if one in unknown else others for one in places}


def _not_added(transaction: Transaction, places: set[TopicPartition]) -> dict[TopicPartition, int]:
    added = transaction.partitions if transaction.is_ongoing else set()
    return dict.fromkeys(places - added, ErrorCode.TRANSACTION_ABORTABLE)


def _results(topics: Any, errors: dict[TopicPartition, int]) -> list[Values]:
    return [
        {
            "name": topic.name,
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": errors.get((topic.name, index), ErrorCode.NONE)}
                for index in topic.partitions
            ],
        }
        for topic in topics
    ]
