"""TxnOffsetCommit, versions 0 to 6: offsets that are committed at the end of a transaction."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import numbers_of
from kipwire.testing.broker.apis.k08_offset_commit import committed_in, committing_group
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused


def answer(node: Node, request: Request) -> Values:
    """Keep offsets for the end."""
    body: Any = request.body
    try:
        if not body.group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        node.expect_coordinator(CoordinatorType.GROUP, body.group_id)
        node.verify_group(body.group_id, body.transactional_id, numbers_of(body), request.api_version)
        group = committing_group(node, request, is_transactional=True)
    except Refused as error:
        return committed_in(node, body, error)[1]
    offsets, values = committed_in(node, body)
    group.offsets.commit_later(body.producer_id, offsets)
    return values
