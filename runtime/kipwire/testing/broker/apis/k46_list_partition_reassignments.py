"""ListPartitionReassignments, version 0: none, since nothing is ever reassigned."""

from __future__ import annotations

from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node


def answer(node: Node, request: Request) -> Values:
    """List nothing."""
    return {}
