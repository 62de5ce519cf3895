"""FindCoordinator, versions 0 to 6: the nodes that coordinate groups and transactions."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused

_COORDINATED = (CoordinatorType.GROUP, CoordinatorType.TRANSACTION)


def answer(node: Node, request: Request) -> Values:
    """Name a coordinator for each key."""
    body: Any = request.body
    kind = getattr(body, "key_type", CoordinatorType.GROUP)
    if kind not in _COORDINATED:
        raise Refused(ErrorCode.INVALID_REQUEST)

    def address(key: str) -> Values:
        return node.nodes[node.nodes.coordinator(CoordinatorType(kind), key)].address

    if not hasattr(body, "coordinator_keys"):
        return address(body.key)
    return {"coordinators": [{"key": key, **address(key)} for key in body.coordinator_keys]}
