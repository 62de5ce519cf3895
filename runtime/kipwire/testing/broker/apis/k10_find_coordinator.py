"""FindCoordinator, versions 0 to 6: the nodes that coordinate groups and transactions."""

from kipwire.testing.broker.apis.api import CoordinatorType, ErrorCode, Node, Sent, Values, expect


def answer(node: Node, body: Sent) -> Values:
    kind = getattr(body, "key_type", CoordinatorType.GROUP)
    expect(kind in (CoordinatorType.GROUP, CoordinatorType.TRANSACTION), ErrorCode.INVALID_REQUEST)

    def address(key: str) -> Values:
        return node.nodes[node.nodes.coordinator(CoordinatorType(kind), key)].address

    if not hasattr(body, "coordinator_keys"):
        return address(body.key)
    return {"coordinators": [{"key": key, **address(key)} for key in body.coordinator_keys]}
