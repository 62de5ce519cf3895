"""DescribeTransactions, version 0: the state and the partitions of transactions."""

from kipwire.testing.broker.apis.api import CoordinatorType, ErrorCode, Node, Refused, Sent, Values, by_row, expect
from kipwire.testing.broker.state import indexes_by_topic


@by_row
def answer(node: Node, body: Sent, transactional_id: str) -> Values:
    expect(transactional_id, ErrorCode.INVALID_REQUEST)
    node.expect_coordinator(CoordinatorType.TRANSACTION, transactional_id)
    found = node.producers.transactions.get(transactional_id)
    if found is None:
        raise Refused(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    by_topic = indexes_by_topic(found.partitions)
    return {
        "transaction_state": found.state,
        "transaction_timeout_ms": found.timeout,
        "transaction_start_time_ms": found.started,
        "producer_id": found.producer_id,
        "producer_epoch": found.epoch,
        "topics": [{"topic": name, "partitions": indexes} for name, indexes in by_topic.items()],
    }
