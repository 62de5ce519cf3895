"""The APIs that list, describe and delete groups."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Api, Values, refuse_all
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.groups import STABLE, Group
from kipwire.testing.broker.state.refusals import Refused

_TYPE = "classic"
_DEAD = "Dead"
_FIRST_WITH_NOT_FOUND = 6
"""The first version of DescribeGroups with an error for a group that there is not."""


def list_groups(node: Node, request: Request) -> Values:
    """All groups, or those of some states and types."""
    body: Any = request.body
    states = {one.lower() for one in getattr(body, "states_filter", ())}
    types = {one.lower() for one in getattr(body, "types_filter", ())}
    groups = [
        {
            "group_id": group.name,
            "protocol_type": group.protocol_type,
            "group_state": group.state,
            "group_type": _TYPE,
        }
        for group in _present(node)
        if (not states or group.state.lower() in states) and (not types or _TYPE in types)
    ]
    return {"groups": groups}


def describe_groups(node: Node, request: Request) -> Values:
    """The state and the members of groups."""
    body: Any = request.body
    present = {group.name: group for group in _present(node)}

    def describe(name: str) -> Values:
        if name in present:
            return _described(present[name])
        is_error = request.api_version >= _FIRST_WITH_NOT_FOUND
        error = ErrorCode.GROUP_ID_NOT_FOUND if is_error else ErrorCode.NONE
        return {"group_id": name, "group_state": _DEAD, "error_code": error}

    return {"groups": [describe(name) for name in body.groups]}


def refuse_describe_groups(body: Any, error: int) -> Values:
    """An error for each group."""
    return {"groups": [{"group_id": name, "error_code": error} for name in body.groups]}


def delete_groups(node: Node, request: Request) -> Values:
    """Delete groups without members, and their offsets."""
    body: Any = request.body
    for group in _present(node):
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


def refuse_delete_groups(body: Any, error: int) -> Values:
    """An error for each group."""
    return {"results": [{"group_id": name, "error_code": error} for name in body.groups_names]}


def _present(node: Node) -> list[Group]:
    """All groups, without members that have expired."""
    for group in node.groups.values():
        group.expire(node.now())
    return sorted(node.groups.values(), key=lambda group: group.name)


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


APIS = {
    ApiKey.LIST_GROUPS: Api(list_groups, refuse_all),
    ApiKey.DESCRIBE_GROUPS: Api(describe_groups, refuse_describe_groups),
    ApiKey.DELETE_GROUPS: Api(delete_groups, refuse_delete_groups),
}
