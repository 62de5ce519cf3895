"""FindCoordinator."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values
from kipwire.testing.broker.node import Node

_COORDINATED = (CoordinatorType.GROUP, CoordinatorType.TRANSACTION)


def answer(node: Node, request: Request) -> Values:
    """The broker itself, for groups and transactions."""
    body: Any = request.body
    if getattr(body, "key_type", CoordinatorType.GROUP) not in _COORDINATED:
        return refuse(body, ErrorCode.INVALID_REQUEST)
    if not hasattr(body, "coordinator_keys"):
        return node.address
    return {"coordinators": [{"key": key, **node.address} for key in body.coordinator_keys]}


def refuse(body: Any, error: int) -> Values:
    """An error for each key."""
    nobody = {"error_code": error, "node_id": -1, "port": -1}
    if not hasattr(body, "coordinator_keys"):
        return nobody
    return {"coordinators": [{"key": key, **nobody} for key in body.coordinator_keys]}
