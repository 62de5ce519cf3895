"""LeaveGroup."""

from __future__ import annotations

from typing import Any

from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused


def answer(node: Node, request: Request) -> Values:
    """Remove members."""
    body: Any = request.body
    if hasattr(body, "member_id"):
        node.known_group(body.group_id).leave(body.member_id, None, node.now())
        return {}

    def leave(asked: Any) -> Values:
        identity = {"member_id": asked.member_id, "group_instance_id": asked.group_instance_id}
        try:
            node.known_group(body.group_id).leave(asked.member_id, asked.group_instance_id, node.now())
        except Refused as error:
            return {**identity, "error_code": error.error}
        return identity

    return {"members": [leave(one) for one in body.members]}
