"""ListGroups, versions 0 to 5: all groups of a node, or the ones in some states and of some types."""

from kipwire.testing.broker.apis.api import Node, Sent, Values
from kipwire.testing.broker.state.classic_groups import Group


def answer(node: Node, body: Sent) -> Values:
    states = {one.lower() for one in getattr(body, "states_filter", ())}
    types = {one.lower() for one in getattr(body, "types_filter", ())}
    groups = [
        {
            "group_id": group.name,
            "protocol_type": group.protocol_type,
            "group_state": group.state,
            "group_type": "classic" if isinstance(group, Group) else "consumer",
        }
        for group in node.present_groups()
        if not states or group.state.lower() in states
    ]
    return {"groups": [one for one in groups if not types or one["group_type"] in types]}
