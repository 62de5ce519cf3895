"""DeleteGroups."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused


def answer(node: Node, request: Request) -> Values:
    """Delete groups without members, and their offsets."""
    body: Any = request.body
    for group in node.present_groups():
        group.expire(node.now())

    def delete(name: str) -> Values:
        try:
            if node.known_group(name, ErrorCode.GROUP_ID_NOT_FOUND).members:
                raise Refused(ErrorCode.NON_EMPTY_GROUP)
        except Refused as error:
            return {"group_id": name, "error_code": error.error}
        del node.groups[name]
        return {"group_id": name}

    return {"results": [delete(name) for name in body.groups_names]}


def refuse(body: Any, error: int) -> Values:
    """An error for each group."""
    return {"results": [{"group_id": name, "error_code": error} for name in body.groups_names]}
