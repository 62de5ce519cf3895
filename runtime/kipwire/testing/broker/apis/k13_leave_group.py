"""LeaveGroup, versions 0 to 5: removes members."""

from kipwire.testing.broker.apis.api import CoordinatorType, Node, Sent, Values, answered


def answer(node: Node, body: Sent) -> Values:
    node.expect_coordinator(CoordinatorType.GROUP, body.group_id)

    def leave(asked: Sent) -> Values:
        instance_id = getattr(asked, "group_instance_id", None)
        node.known_group(body.group_id).leave(asked.member_id, instance_id, node.now())
        return {}

    return leave(body) if hasattr(body, "member_id") else answered(body, leave)
