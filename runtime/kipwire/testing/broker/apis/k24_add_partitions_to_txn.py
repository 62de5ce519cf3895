"""AddPartitionsToTxn, versions 0 to 5: makes partitions part of a transaction, or of several from version 4 on."""

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values, current, numbers_of
from kipwire.testing.broker.state import TopicPartition
from kipwire.testing.broker.state.producers import Numbers


def answer(node: Node, body: Sent) -> Values:
    """Add all partitions of a transaction, or none."""

    def results(transactional_id: str, numbers: Numbers, topics: Sent, is_tried: bool) -> list[Values]:
        places = {(topic.name, index) for topic in topics for index in topic.partitions}
        try:
            errors = _errors(node, places)
            if not errors:
                transaction = current(node, body, transactional_id, numbers)
                if is_tried:
                    added = transaction.partitions if transaction.is_ongoing else set()
                    errors = dict.fromkeys(places - added, ErrorCode.TRANSACTION_ABORTABLE)
                else:
                    node.fill_transaction(transaction, places)
        except Refused as error:
            errors = dict.fromkeys(places, error.error)
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

    if not hasattr(body, "transactions"):
        numbers = Numbers(body.v3_and_below_producer_id, body.v3_and_below_producer_epoch)
        found = results(body.v3_and_below_transactional_id, numbers, body.v3_and_below_topics, False)
        return {"results_by_topic_v3_and_below": found}
    return {
        "results_by_transaction": [
            {
                "transactional_id": one.transactional_id,
                "topic_results": results(one.transactional_id, numbers_of(one), one.topics, one.verify_only),
            }
            for one in body.transactions
        ]
    }


def _errors(node: Node, places: set[TopicPartition]) -> dict[TopicPartition, int]:
    """Errors for all partitions if there is one that does not exist."""
    unknown = {place for place in places if not node.topics.has(*place)}
    others = dict.fromkeys(places if unknown else (), int(ErrorCode.OPERATION_NOT_ATTEMPTED))
    return others | dict.fromkeys(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
