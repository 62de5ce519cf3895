"""Heartbeat, versions 0 to 4: keeps a member alive."""

from kipwire.testing.broker.apis.api import Node, Sent, Values


def answer(node: Node, body: Sent) -> Values:
    instance_id = getattr(body, "group_instance_id", None)
    node.known_group(body.group_id).heartbeat(body.member_id, instance_id, body.generation_id, node.now())
    return {}
