"""SyncGroup, versions 0 to 5: gives a member its assignment, when the leader has sent all of them."""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, expect

_FIRST_WITH_PROTOCOL = 5
"""The first version in which members say which protocol they have agreed on."""


async def answer(node: Node, body: Sent) -> Values:
    has_protocol = body.VERSION >= _FIRST_WITH_PROTOCOL
    asked = (body.protocol_type, body.protocol_name) if has_protocol else ()
    expect(None not in asked, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    group = node.known_group(body.group_id)
    agreed = group.protocol_type, group.protocol_of(body.member_id)
    expect(not has_protocol or asked == agreed, ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    instance_id = getattr(body, "group_instance_id", None)
    assignments = {one.member_id: one.assignment for one in body.assignments}
    ticket = group.sync(body.member_id, instance_id, body.generation_id, assignments, node.now())
    assignment = await node.decided(group, ticket)
    protocol = group.protocol_of(body.member_id)
    return {"protocol_type": group.protocol_type, "protocol_name": protocol, "assignment": assignment}
