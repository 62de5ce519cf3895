"""FindCoordinator, versions 0 to 6: the nodes that coordinate groups and transactions."""

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values

_COORDINATED = (CoordinatorType.GROUP, CoordinatorType.TRANSACTION)


def answer(node: Node, body: Sent) -> Values:
    """Name a coordinator for each key."""
    kind = getattr(body, "key_type", CoordinatorType.GROUP)
    if kind not in _COORDINATED:
        raise Refused(ErrorCode.INVALID_REQUEST)

    def address(key: str) -> Values:
        return node.nodes[node.nodes.coordinator(CoordinatorType(kind), key)].address

    if not hasattr(body, "coordinator_keys"):
        return address(body.key)
    return {"coordinators": [{"key": key, **address(key)} for key in body.coordinator_keys]}
