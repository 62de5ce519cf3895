"""Heartbeat, versions 0 to 4: keeps a member alive."""

from __future__ import annotations

from typing import Any

from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node


def answer(node: Node, request: Request) -> Values:
    """Keep a member alive."""
    body: Any = request.body
    instance_id = getattr(body, "group_instance_id", None)
    node.known_group(body.group_id).heartbeat(body.member_id, instance_id, body.generation_id, node.now())
    return {}
