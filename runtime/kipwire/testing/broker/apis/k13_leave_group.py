"""LeaveGroup, versions 0 to 5: removes members."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import CoordinatorType
from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node


def answer(node: Node, request: Request) -> Values:
    """Remove one member, or several."""
    body: Any = request.body
    node.expect_coordinator(CoordinatorType.GROUP, body.group_id)

    def leave(asked: Any) -> Values:
        instance_id = getattr(asked, "group_instance_id", None)
        node.known_group(body.group_id).leave(asked.member_id, instance_id, node.now())
        return {}

    return leave(body) if hasattr(body, "member_id") else answered(body, leave)
