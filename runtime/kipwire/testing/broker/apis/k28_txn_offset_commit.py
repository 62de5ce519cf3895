"""TxnOffsetCommit."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values, numbers_of
from kipwire.testing.broker.apis.k08_offset_commit import committed_in, committing_group
from kipwire.testing.broker.apis.k08_offset_commit import refuse as refuse
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused

VERSIONS = range(5)


def answer(node: Node, request: Request) -> Values:
    """Commit offsets at the end of the transaction."""
    body: Any = request.body
    try:
        if not body.group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        node.verify_group(body.group_id, body.transactional_id, numbers_of(body), request.api_version)
        group = committing_group(node, body, is_transactional=True)
    except Refused as error:
        return {"topics": committed_in(node, body, error.error)[1]}
    offsets, topics = committed_in(node, body)
    group.offsets.commit_later(body.producer_id, offsets)
    return {"topics": topics}
