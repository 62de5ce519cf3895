"""DescribeGroups."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.groups import STABLE, Group

_DEAD = "Dead"
_FIRST_WITH_NOT_FOUND = 6
"""The first version of DescribeGroups with an error for a group that there is not."""


def answer(node: Node, request: Request) -> Values:
    """The state and the members of groups."""
    body: Any = request.body
    present = {group.name: group for group in node.present_groups()}

    def describe(name: str) -> Values:
        if name in present:
            return _described(present[name])
        is_error = request.api_version >= _FIRST_WITH_NOT_FOUND
        error = ErrorCode.GROUP_ID_NOT_FOUND if is_error else ErrorCode.NONE
        return {"group_id": name, "group_state": _DEAD, "error_code": error}

    return {"groups": [describe(name) for name in body.groups]}


def _described(group: Group) -> Values:
    return {
        "group_id": group.name,
        "group_state": group.state,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol if group.state == STABLE else "",
        "members": [
            {
                "member_id": one.member_id,
                "group_instance_id": one.asked.instance_id,
                "client_id": one.asked.client_id,
                "client_host": f"/{one.asked.client_host}",
                "member_metadata": one.asked.protocols.get(group.protocol, b"") if group.state == STABLE else b"",
                "member_assignment": one.assignment,
            }
            for one in group.members.values()
        ],
    }


def refuse(body: Any, error: int) -> Values:
    """An error for each group."""
    return {"groups": [{"group_id": name, "error_code": error} for name in body.groups]}
