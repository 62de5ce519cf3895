"""SyncGroup, versions 0 to 5: gives a member its assignment."""

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values

_FIRST_WITH_PROTOCOL = 5
"""The first version in which members say which protocol they have agreed on."""


async def answer(node: Node, body: Sent) -> Values:
    """Answer with the assignment when the leader has sent all of them."""
    has_protocol = body.VERSION >= _FIRST_WITH_PROTOCOL
    if has_protocol and (body.protocol_type is None or body.protocol_name is None):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    group = node.known_group(body.group_id)
    protocol = group.protocol_of(body.member_id)
    if has_protocol and (body.protocol_type, body.protocol_name) != (group.protocol_type, protocol):
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    instance_id = getattr(body, "group_instance_id", None)
    assignments = {one.member_id: one.assignment for one in body.assignments}
    ticket = group.sync(body.member_id, instance_id, body.generation_id, assignments, node.now())
    assignment = await node.decided(group, ticket)
    return {
        "protocol_type": group.protocol_type,
        "protocol_name": group.protocol_of(body.member_id),
        "assignment": assignment,
    }
