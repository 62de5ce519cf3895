"""DeleteGroups, versions 0 to 3: deletes groups without members, and their offsets."""

from __future__ import annotations

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused


def answer(node: Node, request: Request) -> Values:
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

    return answered(request.body, delete)
