"""ListTransactions, versions 0 to 2: the transactions of a node, selected by state, producer, age and name."""

from kipwire.testing.broker.apis.api import CoordinatorType, Node, Sent, Values
from kipwire.testing.broker.state import matching
from kipwire.testing.broker.state.producers import STATES


def answer(node: Node, body: Sent) -> Values:
    pattern = getattr(body, "transactional_id_pattern", None)
    is_named = matching(pattern) if pattern else None
    producers, duration = body.producer_id_filters, getattr(body, "duration_filter", -1)
    found = [
        {"transactional_id": name, "producer_id": one.producer_id, "transaction_state": one.state}
        for name, one in sorted(node.producers.transactions.items())
        if node.coordinates(CoordinatorType.TRANSACTION, name)
        and (not body.state_filters or one.state in body.state_filters)
        and (not producers or one.producer_id in producers)
        and (duration < 0 or node.milliseconds() - one.started > duration)
        and (is_named is None or is_named(name))
    ]
    unknown = [state for state in body.state_filters if state not in STATES]
    return {"unknown_state_filters": unknown, "transaction_states": found}
