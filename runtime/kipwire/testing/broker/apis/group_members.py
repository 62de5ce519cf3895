"""The APIs of a group's members: join, ask for an assignment, stay alive, leave."""

from __future__ import annotations

from typing import Any, TypeVar

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Api, Values, refuse_all
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.groups import Group, Joining, Ticket
from kipwire.testing.broker.state.refusals import MemberIdRequired, Refused

T = TypeVar("T")

_FIRST_WITH_ID_FIRST = 4
"""The first version of JoinGroup in which new members join in two steps."""
_FIRST_WITH_PROTOCOL = 5
"""The first version of SyncGroup in which members say which protocol they have agreed on."""


async def join_group(node: Node, request: Request) -> Values:
    """Join a group; answered when all its members have joined, or did not in time."""
    body: Any = request.body
    if not body.group_id:
        raise Refused(ErrorCode.INVALID_GROUP_ID)
    if body.session_timeout_ms <= 0:
        raise Refused(ErrorCode.INVALID_SESSION_TIMEOUT)
    asked = Joining(
        member_id=body.member_id,
        instance_id=getattr(body, "group_instance_id", None),
        client_id=request.header.client_id or "",
        client_host=node.host,
        session_timeout=body.session_timeout_ms / 1000,
        rebalance_timeout=getattr(body, "rebalance_timeout_ms", body.session_timeout_ms) / 1000,
        protocol_type=body.protocol_type,
        protocols={one.name: one.metadata for one in body.protocols},
        takes_id_first=request.api_version >= _FIRST_WITH_ID_FIRST,
    )
    group = node.group(body.group_id)
    try:
        joined = await _decided(node, group, group.join(asked, node.now()))
    except MemberIdRequired as error:
        return {"error_code": error.error, "member_id": error.member_id}
    members = [
        {"member_id": member_id, "group_instance_id": instance_id, "metadata": metadata}
        for member_id, instance_id, metadata in joined.members
    ]
    return {
        "generation_id": joined.generation,
        "protocol_type": joined.protocol_type,
        "protocol_name": joined.protocol,
        "leader": joined.leader,
        "member_id": joined.member_id,
        "members": members,
    }


def refuse_join(body: Any, error: int) -> Values:
    """An error, with the id that the member gave."""
    return {"error_code": error, "member_id": body.member_id}


async def sync_group(node: Node, request: Request) -> Values:
    """A member's assignment; answered when the leader has sent all of them."""
    body: Any = request.body
    has_protocol = request.api_version >= _FIRST_WITH_PROTOCOL
    if has_protocol and (body.protocol_type is None or body.protocol_name is None):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    group = node.known_group(body.group_id)
    assignments = {one.member_id: one.assignment for one in body.assignments}
    if has_protocol and (body.protocol_type, body.protocol_name) != (group.protocol_type, group.protocol):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    ticket = group.sync(body.member_id, _instance(body), body.generation_id, assignments, node.now())
    assignment = await _decided(node, group, ticket)
    return {"protocol_type": group.protocol_type, "protocol_name": group.protocol, "assignment": assignment}


def heartbeat(node: Node, request: Request) -> Values:
    """Keep a member alive."""
    body: Any = request.body
    node.known_group(body.group_id).heartbeat(body.member_id, _instance(body), body.generation_id, node.now())
    return {}


def leave_group(node: Node, request: Request) -> Values:
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


def _instance(body: Any) -> str | None:
    instance_id: str | None = getattr(body, "group_instance_id", None)
    return instance_id


async def _decided(node: Node, group: Group, ticket: Ticket[T]) -> T:
    """What a member waits for.

    Raises:
        Refused: the group has decided against it.
    """
    node.changes.notify()  # those who were waiting for this member
    while (found := ticket.found()) is None:
        await node.changes.wait(group.next_expiry - node.now())
        if group.expire(node.now()):
            node.changes.notify()
    return found


APIS = {
    ApiKey.JOIN_GROUP: Api(join_group, refuse_join),
    ApiKey.SYNC_GROUP: Api(sync_group, refuse_all),
    ApiKey.HEARTBEAT: Api(heartbeat, refuse_all),
    ApiKey.LEAVE_GROUP: Api(leave_group, refuse_all),
}
