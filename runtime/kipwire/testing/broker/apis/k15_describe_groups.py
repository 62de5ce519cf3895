"""DescribeGroups, versions 0 to 6: the state and the members of groups of the classic protocol."""

from kipwire.testing.broker.apis.api import CoordinatorType, ErrorCode, Node, Refused, Sent, Values, by_row
from kipwire.testing.broker.state.classic_groups import Group
from kipwire.testing.broker.state.groups import STABLE

_DEAD = "Dead"
_FIRST_WITH_NOT_FOUND = 6
"""The first version with an error for a group that there is not."""


@by_row
def answer(node: Node, body: Sent, name: str) -> Values:
    node.expect_coordinator(CoordinatorType.GROUP, name)
    group = node.present_group(name)
    if not isinstance(group, Group):
        if body.VERSION >= _FIRST_WITH_NOT_FOUND:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, group_state=_DEAD)
        return {"group_state": _DEAD}
    is_stable = group.state == STABLE
    return {
        "group_state": group.state,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol if is_stable else "",
        "members": [
            {
                "member_id": one.member_id,
                "group_instance_id": one.asked.instance_id,
                "client_id": one.asked.client_id,
                "client_host": f"/{one.asked.client_host}",
                "member_metadata": one.asked.protocols.get(group.protocol, b"") if is_stable else b"",
                "member_assignment": one.assignment,
            }
            for one in group.members.values()
        ],
    }
