"""TxnOffsetCommit, versions 0 to 6: offsets that are committed at the end of a transaction."""

from kipwire.testing.broker.apis.api import CoordinatorType, ErrorCode, Node, Sent, Values, expect, numbers_of
from kipwire.testing.broker.apis.k08_offset_commit import committed_in, committing_group
from kipwire.testing.broker.node import AnyGroup

_FIRST_ABORTABLE, _FIRST_THAT_ADDS = 4, 5
"""The first version whose clients have TRANSACTION_ABORTABLE, and the first that adds the group."""


def answer(node: Node, body: Sent) -> Values:
    def find_group() -> AnyGroup:
        expect(body.group_id, ErrorCode.INVALID_GROUP_ID)
        node.expect_coordinator(CoordinatorType.GROUP, body.group_id)
        is_abortable, adds = body.VERSION >= _FIRST_ABORTABLE, body.VERSION >= _FIRST_THAT_ADDS
        error = ErrorCode.TRANSACTION_ABORTABLE if is_abortable else ErrorCode.INVALID_TXN_STATE
        node.expect_part(body.transactional_id, numbers_of(body), groups={body.group_id}, adds=adds, error=error)
        return committing_group(node, body, is_transactional=True)

    return committed_in(node, body, find_group, lambda kept, offsets: kept.commit_later(body.producer_id, offsets))
