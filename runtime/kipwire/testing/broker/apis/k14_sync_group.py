"""SyncGroup, versions 0 to 5: gives a member its assignment."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused

_FIRST_WITH_PROTOCOL = 5
"""The first version in which members say which protocol they have agreed on."""


async def answer(node: Node, request: Request) -> Values:
    """Answer with the assignment when the leader has sent all of them."""
    body: Any = request.body
    has_protocol = request.api_version >= _FIRST_WITH_PROTOCOL
    if has_protocol and (body.protocol_type is None or body.protocol_name is None):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    group = node.known_group(body.group_id)
    if has_protocol and (body.protocol_type, body.protocol_name) != (group.protocol_type, group.protocol):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    instance_id = getattr(body, "group_instance_id", None)
    assignments = {one.member_id: one.assignment for one in body.assignments}
    ticket = group.sync(body.member_id, instance_id, body.generation_id, assignments, node.now())
    assignment = await node.decided(group, ticket)
    return {"protocol_type": group.protocol_type, "protocol_name": group.protocol, "assignment": assignment}
