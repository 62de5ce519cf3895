"""ListPartitionReassignments, version 0: none, since nothing is ever reassigned."""

from kipwire.testing.broker.apis.api import Node, Sent, Values


def answer(node: Node, body: Sent) -> Values:
    return {}
