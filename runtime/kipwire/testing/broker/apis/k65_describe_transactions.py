"""DescribeTransactions, version 0: the state and the partitions of transactions."""

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values, answered
from kipwire.testing.broker.state import indexes_by_topic


def answer(node: Node, body: Sent) -> Values:
    """Describe transactions."""

    def describe(transactional_id: str) -> Values:
        if not transactional_id:
            raise Refused(ErrorCode.INVALID_REQUEST)
        node.expect_coordinator(CoordinatorType.TRANSACTION, transactional_id)
        found = node.producers.transactions.get(transactional_id)
        if found is None:
            raise Refused(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return {
            "transaction_state": found.state,
            "transaction_timeout_ms": found.timeout,
            "transaction_start_time_ms": found.started,
            "producer_id": found.producer_id,
            "producer_epoch": found.epoch,
            "topics": [
                {"topic": name, "partitions": indexes} for name, indexes in indexes_by_topic(found.partitions).items()
            ],
        }

    return answered(body, describe)
