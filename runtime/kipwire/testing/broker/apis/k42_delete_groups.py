"""DeleteGroups, versions 0 to 3: deletes groups without members, and their offsets."""

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values, answered


def answer(node: Node, body: Sent) -> Values:
    """Delete groups."""
    present = {group.name: group for group in node.present_groups()}

    def delete(name: str) -> Values:
        node.expect_coordinator(CoordinatorType.GROUP, name)
        if name not in present:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND)
        if present[name].members:
            raise Refused(ErrorCode.NON_EMPTY_GROUP)
        node.groups.pop(name, None)
        return {}

    return answered(body, delete)
