"""AddOffsetsToTxn, versions 0 to 4: makes the offsets of a group part of a transaction."""

from __future__ import annotations

from typing import Any

from kipwire.connection import Request
from kipwire.testing.broker.apis.api import current, numbers_of
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node


def answer(node: Node, request: Request) -> Values:
    """Add a group."""
    body: Any = request.body
    node.fill_transaction(current(node, request, body.transactional_id, numbers_of(body)), groups={body.group_id})
    return {}
