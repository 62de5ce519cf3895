"""EndTxn, versions 0 to 4: commits or aborts a transaction.

Unlike Kafka:

* Transactions do not time out.
* Transactions end at once: no producer is told to wait with CONCURRENT_TRANSACTIONS.
"""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import current, numbers_of
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused

VERSIONS = range(5)


def answer(node: Node, request: Request) -> Values:
    """Commit or abort. The same once more is accepted, since the first answer may have been lost."""
    body: Any = request.body
    transaction = current(node, request, body.transactional_id, numbers_of(body))
    if transaction.is_ongoing:
        node.end_transaction(transaction, is_commit=body.committed)
    elif transaction.last_was_commit is not body.committed:
        raise Refused(ErrorCode.INVALID_TXN_STATE)
    return {}
