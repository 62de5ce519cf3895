"""TxnOffsetCommit, versions 0 to 6: offsets that are committed at the end of a transaction."""

from functools import partial

from kipwire.testing.broker.apis.api import CoordinatorType, ErrorCode, Node, Sent, Values, expect, numbers_of
from kipwire.testing.broker.apis.k08_offset_commit import Commit, committed_in, committing_group

_FIRST_ABORTABLE, _FIRST_THAT_ADDS = 4, 5
"""The first version whose clients have TRANSACTION_ABORTABLE, and the first that adds the group."""


def answer(node: Node, body: Sent) -> Values:
    def find() -> Commit:
        expect(body.group_id, ErrorCode.INVALID_GROUP_ID)
        node.expect_coordinator(CoordinatorType.GROUP, body.group_id)
        numbers, groups = numbers_of(body), {body.group_id}
        is_abortable, adds = body.VERSION >= _FIRST_ABORTABLE, body.VERSION >= _FIRST_THAT_ADDS
        node.expect_part(body.transactional_id, numbers, groups=groups, adds=adds, is_abortable=is_abortable)
        group = committing_group(node, body, is_transactional=True)
        return partial(group.offsets.commit_later, body.producer_id)

    return committed_in(node, body, find)
