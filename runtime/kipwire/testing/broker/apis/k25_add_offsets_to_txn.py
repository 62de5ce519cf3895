"""AddOffsetsToTxn, versions 0 to 4: makes the offsets of a group part of a transaction."""

from kipwire.testing.broker.apis.api import Node, Sent, Values, current, numbers_of


def answer(node: Node, body: Sent) -> Values:
    node.fill_transaction(current(node, body, body.transactional_id, numbers_of(body)), groups={body.group_id})
    return {}
