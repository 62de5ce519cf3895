"""TxnOffsetCommit, versions 0 to 6: offsets that are committed at the end of a transaction."""

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values, numbers_of
from kipwire.testing.broker.apis.k08_offset_commit import committed_in, committing_group


def answer(node: Node, body: Sent) -> Values:
    """Keep offsets for the end."""
    try:
        if not body.group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        node.expect_coordinator(CoordinatorType.GROUP, body.group_id)
        node.verify_group(body.group_id, body.transactional_id, numbers_of(body), body.VERSION)
        group = committing_group(node, body, is_transactional=True)
    except Refused as error:
        return committed_in(node, body, error)[1]
    offsets, values = committed_in(node, body)
    group.offsets.commit_later(body.producer_id, offsets)
    return values
