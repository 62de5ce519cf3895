"""EndTxn, versions 0 to 5: commits or aborts a transaction; from 5 on the producer gets its next epoch (KIP-890).

Unlike Kafka:

* Transactions end at once: no producer is told to wait with CONCURRENT_TRANSACTIONS.
"""

from kipwire.testing.broker.apis.api import CoordinatorType, ErrorCode, Node, Sent, Values, current, expect, numbers_of

_FIRST_WITH_EPOCHS = 5


def answer(node: Node, body: Sent) -> Values:
    """End a transaction. The same once more is accepted, since the first answer may have been lost."""
    has_epochs = body.VERSION >= _FIRST_WITH_EPOCHS
    if has_epochs:
        node.expect_coordinator(CoordinatorType.TRANSACTION, body.transactional_id)
        transaction, is_again = node.producers.to_end(body.transactional_id, numbers_of(body))
    else:
        transaction = current(node, body, body.transactional_id, numbers_of(body))
        is_again = not transaction.is_ongoing
    if is_again:
        expect(transaction.last_was_commit is body.committed, ErrorCode.INVALID_TXN_STATE)
    else:
        expect(transaction.is_ongoing or not body.committed, ErrorCode.INVALID_TXN_STATE)
        node.end_transaction(transaction, is_commit=body.committed, has_epochs=has_epochs)
    return {"producer_id": transaction.producer_id, "producer_epoch": transaction.epoch} if has_epochs else {}
