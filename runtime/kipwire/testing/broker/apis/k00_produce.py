"""Produce."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import NoAnswer, Values, by_partition
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.batches import sent_batch
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.topics import limits_of

_BEFORE_THE_LOG = (ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE)
"""Refusals of the log without its first offset."""


def answer(node: Node, request: Request) -> Values:
    """Append batches."""
    body: Any = request.body
    transactional_id = getattr(body, "transactional_id", None)
    if transactional_id is None and any(_is_transactional(one) for one in body.topic_data):
        return refuse(body, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    is_failed = False

    def append(topic: Any, partition: Any) -> Values:
        nonlocal is_failed
        log_start_offset = -1
        try:
            found = node.topic_of(topic)
            log = found.partition(partition.index)
            data = bytes(partition.records or b"")
            batch = sent_batch(data, request.api_version)
            node.verify((found.name, partition.index), batch, transactional_id, request.api_version)
            if body.acks not in (-1, 0, 1):
                raise Refused(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {body.acks}; it may be -1, 0 or 1")
            log_start_offset = 0  # which Kafka says with most refusals of the log
            base_offset = log.append(data, limits_of(found.configs, node.milliseconds()))
        except Refused as error:
            is_failed = True
            failure = {"index": partition.index, "error_code": error.error, "base_offset": -1}
            if error.error in _BEFORE_THE_LOG:
                log_start_offset = -1
            return {**failure, "log_start_offset": log_start_offset, "error_message": error.message}
        return {"index": partition.index, "base_offset": base_offset, "log_start_offset": 0}

    answer = {"responses": by_partition(body.topic_data, "partition_data", "partition_responses", append)}
    if is_failed and body.acks == 0:
        raise NoAnswer
    return answer


def _is_transactional(topic: Any) -> bool:
    """Whether a topic of a Produce has a batch of a transaction."""
    for partition in topic.partition_data:
        try:
            if sent_batch(bytes(partition.records or b"")).is_transactional:
                return True
        except Refused:
            pass  # which the partition answers
    return False


def refuse(body: Any, error: int) -> Values:
    """An error for each partition."""

    def refuse(topic: Any, partition: Any) -> Values:
        return {"index": partition.index, "error_code": error, "base_offset": -1}

    return {"responses": by_partition(body.topic_data, "partition_data", "partition_responses", refuse)}
