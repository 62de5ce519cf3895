"""InitProducerId, versions 0 to 5: a producer id; with a transactional id the next epoch of the one it has."""

from kipwire.testing.broker.apis.api import CoordinatorType, ErrorCode, Node, Sent, Values, expect, known_codes
from kipwire.testing.broker.state.producers import Numbers

VERSIONS = range(6)

_LONGEST_TIMEOUT = 900_000
"""Milliseconds, Kafka's default of `transaction.max.timeout.ms`."""
_FIRST_WITH_FENCED = 4
"""The first version whose clients have the code PRODUCER_FENCED."""


def answer(node: Node, body: Sent) -> Values:
    numbers = Numbers(getattr(body, "producer_id", -1), getattr(body, "producer_epoch", -1))
    reason = "producer id and epoch must be set together"
    expect((numbers.producer_id == -1) == (numbers.epoch == -1), ErrorCode.INVALID_REQUEST, reason)
    if body.transactional_id is None:
        return {"producer_id": node.producers.new_id(), "producer_epoch": 0}
    expect(body.transactional_id, ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    node.expect_coordinator(CoordinatorType.TRANSACTION, body.transactional_id)
    timeout = body.transaction_timeout_ms
    reason = f"the transaction timeout is {timeout} ms; it may be 1 to {_LONGEST_TIMEOUT}"
    expect(0 < timeout <= _LONGEST_TIMEOUT, ErrorCode.INVALID_TRANSACTION_TIMEOUT, reason)
    expected = None if numbers.producer_id == -1 else numbers
    with known_codes(body, _FIRST_WITH_FENCED):
        known = node.producers.to_begin(body.transactional_id, expected)
        if known is not None and known.is_ongoing:
            node.abort(known)
        transaction = node.producers.begin(body.transactional_id, expected)
    transaction.timeout = timeout
    return {"producer_id": transaction.producer_id, "producer_epoch": transaction.epoch}
