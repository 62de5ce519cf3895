"""Producer ids and transactions, in the versions that clients use before KIP-890's second part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Api, Values, refuse_all
from kipwire.testing.broker.apis.group_offsets import committed_in, committing_group, refuse_offset_commit
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.transactions import Numbers, Transaction, expect_timeout

_FIRST_WITH_FENCED = 2
"""The first version of these APIs whose clients know PRODUCER_FENCED."""
_FIRST_INIT_WITH_FENCED = 4
"""The same of InitProducerId."""


def init_producer_id(node: Node, request: Request) -> Values:
    """A producer id; with a transactional id the next epoch of the one it has, whose transaction is aborted."""
    body: Any = request.body
    numbers = Numbers(getattr(body, "producer_id", -1), getattr(body, "producer_epoch", -1))
    if (numbers.producer_id == -1) != (numbers.epoch == -1):
        raise Refused(ErrorCode.INVALID_REQUEST, "a producer id comes with an epoch, and an epoch with a producer id")
    if body.transactional_id is None:
        return {"producer_id": node.producers.new_id(), "producer_epoch": 0}
    if not body.transactional_id:
        raise Refused(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
    expect_timeout(body.transaction_timeout_ms)
    try:
        transaction = node.begin_producer(body.transactional_id, None if numbers.producer_id == -1 else numbers)
    except Refused as error:
        raise _known(error, request.api_version, _FIRST_INIT_WITH_FENCED) from None
    return {"producer_id": transaction.producer_id, "producer_epoch": transaction.epoch}


def refuse_init_producer_id(body: Any, error: int) -> Values:
    """An error, and no id."""
    return {"error_code": error, "producer_id": -1, "producer_epoch": -1}


def add_partitions(node: Node, request: Request) -> Values:
    """Make partitions part of a transaction, which begins with the first."""
    body: Any = request.body
    places = {(topic.name, index) for topic in body.v3_and_below_topics for index in topic.partitions}
    unknown = {place for place in places if not _exists(node, *place)}
    if unknown:
        others = dict.fromkeys(places - unknown, ErrorCode.OPERATION_NOT_ATTEMPTED)
        return _added(body, others | dict.fromkeys(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    numbers = Numbers(body.v3_and_below_producer_id, body.v3_and_below_producer_epoch)
    _current(node, request, body.v3_and_below_transactional_id, numbers).add(places)
    return _added(body, {})


def refuse_add_partitions(body: Any, error: int) -> Values:
    """An error for each partition."""
    return _added(body, {(topic.name, at): error for topic in body.v3_and_below_topics for at in topic.partitions})


def _exists(node: Node, name: str, index: int) -> bool:
    try:
        node.topics.named(name).partition(index)
    except Refused:
        return False
    return True


def _added(body: Any, errors: Mapping[tuple[str, int], int]) -> Values:
    topics = [
        {
            "name": topic.name,
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": errors.get((topic.name, index), ErrorCode.NONE)}
                for index in topic.partitions
            ],
        }
        for topic in body.v3_and_below_topics
    ]
    return {"results_by_topic_v3_and_below": topics}


def add_offsets(node: Node, request: Request) -> Values:
    """Make the offsets of a group part of a transaction."""
    body: Any = request.body
    _current(node, request, body.transactional_id, _numbers(body)).add_group(body.group_id)
    return {}


def commit_offsets(node: Node, request: Request) -> Values:
    """Commit offsets at the end of the transaction."""
    body: Any = request.body
    try:
        if not body.group_id:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        node.verify_group(body.group_id, body.transactional_id, _numbers(body), request.api_version)
        group = committing_group(node, body, is_transactional=True)
    except Refused as error:
        return {"topics": committed_in(node, body, error.error)[1]}
    offsets, topics = committed_in(node, body)
    group.offsets.commit_later(body.producer_id, offsets)
    return {"topics": topics}


def end_transaction(node: Node, request: Request) -> Values:
    """Commit or abort. The same once more is accepted, since the first answer may have been lost."""
    body: Any = request.body
    transaction = _current(node, request, body.transactional_id, _numbers(body))
    if transaction.is_ongoing:
        node.end_transaction(transaction, is_commit=body.committed)
    elif transaction.last_was_commit is not body.committed:
        raise Refused(ErrorCode.INVALID_TXN_STATE)
    return {}


def _numbers(body: Any) -> Numbers:
    return Numbers(body.producer_id, body.producer_epoch)


def _current(node: Node, request: Request, transactional_id: str, numbers: Numbers) -> Transaction:
    """The transaction of a producer.

    Raises:
        Refused: another producer has its transactional id now.
    """
    try:
        return node.producers.current(transactional_id, numbers)
    except Refused as error:
        raise _known(error, request.api_version, _FIRST_WITH_FENCED) from None


def _known(error: Refused, version: int, first_with_fenced: int) -> Refused:
    """A refusal in the words that clients of a version know."""
    is_new = error.error == ErrorCode.PRODUCER_FENCED and version < first_with_fenced
    return Refused(ErrorCode.INVALID_PRODUCER_EPOCH) if is_new else error


APIS = {
    ApiKey.INIT_PRODUCER_ID: Api(init_producer_id, refuse_init_producer_id, range(6)),
    ApiKey.ADD_PARTITIONS_TO_TXN: Api(add_partitions, refuse_add_partitions, range(4)),
    ApiKey.ADD_OFFSETS_TO_TXN: Api(add_offsets, refuse_all),
    ApiKey.TXN_OFFSET_COMMIT: Api(commit_offsets, refuse_offset_commit, range(5)),
    ApiKey.END_TXN: Api(end_transaction, refuse_all, range(5)),
}
