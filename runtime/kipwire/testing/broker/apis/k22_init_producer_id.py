"""InitProducerId, versions 0 to 5: a producer id; with a transactional id the next epoch of the one it has."""

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values, in_version
from kipwire.testing.broker.state.producers import Numbers

VERSIONS = range(6)

_LONGEST_TIMEOUT = 900_000
"""Milliseconds, Kafka's default of `transaction.max.timeout.ms`."""
_FIRST_WITH_FENCED = 4
"""The first version whose clients have the code PRODUCER_FENCED."""


def answer(node: Node, body: Sent) -> Values:
    """A producer id; with a transactional id the next epoch of the one it has, whose transaction is aborted."""
    numbers = Numbers(getattr(body, "producer_id", -1), getattr(body, "producer_epoch", -1))
    if (numbers.producer_id == -1) != (numbers.epoch == -1):
        raise Refused(ErrorCode.INVALID_REQUEST, "a producer id comes with an epoch, and an epoch with a producer id")
    if body.transactional_id is None:
        return {"producer_id": node.producers.new_id(), "producer_epoch": 0}
    if not body.transactional_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    node.expect_coordinator(CoordinatorType.TRANSACTION, body.transactional_id)
    if not 0 < body.transaction_timeout_ms <= _LONGEST_TIMEOUT:
        reason = f"the transaction timeout is {body.transaction_timeout_ms} ms; it may be 1 to {_LONGEST_TIMEOUT}"
        raise Refused(ErrorCode.INVALID_TRANSACTION_TIMEOUT, reason)
    try:
        transaction = node.begin_producer(
            body.transactional_id, None if numbers.producer_id == -1 else numbers, body.transaction_timeout_ms
        )
    except Refused as error:
        raise in_version(error, body.VERSION, _FIRST_WITH_FENCED) from None
    return {"producer_id": transaction.producer_id, "producer_epoch": transaction.epoch}
