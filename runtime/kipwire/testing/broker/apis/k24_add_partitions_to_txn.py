"""AddPartitionsToTxn, versions 0 to 5: makes partitions part of a transaction, or of several from version 4 on."""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Refused, Sent, Values, answered, current, numbers_of
from kipwire.testing.broker.state import TopicPartition
from kipwire.testing.broker.state.producers import Numbers


def answer(node: Node, body: Sent) -> Values:
    if hasattr(body, "transactions"):
        errors = {
            id(one): _added(node, body, one.transactional_id, numbers_of(one), one.topics, is_tried=one.verify_only)
            for one in body.transactions
        }
        return answered(body, lambda one, topic, index: {"partition_error_code": errors[id(one)][topic.name, index]})
    numbers = Numbers(body.v3_and_below_producer_id, body.v3_and_below_producer_epoch)
    found = _added(node, body, body.v3_and_below_transactional_id, numbers, body.v3_and_below_topics)
    return answered(body, lambda topic, index: {"partition_error_code": found[topic.name, index]})


def _added(
    node: Node, body: Sent, transactional_id: str, numbers: Numbers, topics: Sent, *, is_tried: bool = False
) -> dict[TopicPartition, int]:
    """Add all partitions of a transaction, or none; return their errors."""
    places = {(topic.name, index) for topic in topics for index in topic.partitions}
    unknown = {place for place in places if not node.topics.has(*place)}
    if unknown:
        others = dict.fromkeys(places, int(ErrorCode.OPERATION_NOT_ATTEMPTED))
        return others | dict.fromkeys(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    no_errors = dict.fromkeys(places, int(ErrorCode.NONE))
    try:
        transaction = current(node, body, transactional_id, numbers)
    except Refused as error:
        return dict.fromkeys(places, error.error)
    if is_tried:
        added = transaction.partitions if transaction.is_ongoing else set()
        return no_errors | dict.fromkeys(places - added, ErrorCode.TRANSACTION_ABORTABLE)
    node.fill_transaction(transaction, places)
    return no_errors
