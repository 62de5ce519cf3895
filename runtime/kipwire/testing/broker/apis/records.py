"""Produce, Fetch, and the APIs that find offsets."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka_messages.enums import ApiKey, ErrorCode, IsolationLevel, ListOffsetsTimestamp
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Api, NoAnswer, Values, by_partition
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.batches import sent_batch
from kipwire.testing.broker.state.logs import LEADER_EPOCH, Log
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.topics import limits_of

_SESSION_ERRORS = {
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
}
"""Those of Fetch that are not about a partition."""

_BEFORE_THE_LOG = (ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE)
"""Refusals of the log without its first offset."""
_FULL = (-1, 0)
"""Epochs of a Fetch that asks for all its partitions, whatever its session: outside one, or to begin one."""
_FIRST_WITH = {
    ListOffsetsTimestamp.EARLIEST: 1,
    ListOffsetsTimestamp.LATEST: 1,
    ListOffsetsTimestamp.MAX: 7,
    ListOffsetsTimestamp.EARLIEST_LOCAL: 8,
    ListOffsetsTimestamp.LATEST_TIERED: 9,
    ListOffsetsTimestamp.EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version of ListOffsets that has each of the timestamps below 0."""


def produce(node: Node, request: Request) -> Values:
    """Append batches."""
    body: Any = request.body
    transactional_id = getattr(body, "transactional_id", None)
    if transactional_id is None and any(_is_transactional(one) for one in body.topic_data):
        return refuse_produce(body, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
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


def refuse_produce(body: Any, error: int) -> Values:
    """An error for each partition."""

    def refuse(topic: Any, partition: Any) -> Values:
        return {"index": partition.index, "error_code": error, "base_offset": -1}

    return {"responses": by_partition(body.topic_data, "partition_data", "partition_responses", refuse)}


class _Read:
    """One look at what a Fetch asks for."""

    def __init__(self, node: Node, body: Any) -> None:
        self.node = node
        self.is_committed = getattr(body, "isolation_level", 0) == IsolationLevel.READ_COMMITTED
        self.left = body.max_bytes
        """Bytes that may still be added."""
        self.size = 0
        self.has_error = False
        self.responses = by_partition(body.topics, "partitions", "partitions", self.partition)

    def partition(self, topic: Any, asked: Any) -> Values:
        """The batches of one partition."""
        try:
            log = self.node.topic_of(topic).partition(asked.partition)
            expect_epoch(asked)
            end_offset = log.last_stable_offset if self.is_committed else log.end_offset
            if not 0 <= asked.fetch_offset <= log.end_offset:
                raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        except Refused as error:
            self.has_error = True
            return _unread(asked.partition, error.error)
        found = b""
        if self.left > 0 or not self.size:
            # The first batch of a response is sent whole even if it is larger than what is asked for.
            found = log.read(asked.fetch_offset, min(self.left, asked.partition_max_bytes), end_offset)
            if self.size and len(found) > self.left:
                found = b""
        self.size += len(found)
        self.left -= len(found)
        aborted = log.aborted_between(asked.fetch_offset, end_offset) if self.is_committed else None
        return {
            "partition_index": asked.partition,
            "high_watermark": log.end_offset,
            "last_stable_offset": log.last_stable_offset,
            "log_start_offset": 0,
            "aborted_transactions": aborted
            and [{"producer_id": one.producer_id, "first_offset": one.first_offset} for one in aborted],
            "records": found,
        }


async def fetch(node: Node, request: Request) -> Values:
    """Whole batches; once there are as many bytes as are asked for, or after the time that the client waits."""
    body: Any = request.body
    if getattr(body, "session_epoch", _FULL[0]) not in _FULL:
        return refuse_fetch(body, ErrorCode.FETCH_SESSION_ID_NOT_FOUND)  # no session was ever begun
    until = node.now() + body.max_wait_ms / 1000
    enough = min(body.min_bytes, body.max_bytes)
    while True:
        read = _Read(node, body)
        is_enough = read.has_error or read.size >= enough or not body.topics
        if is_enough or not await node.changes.wait(until - node.now()):
            return {"responses": read.responses}


def refuse_fetch(body: Any, error: int) -> Values:
    """An error for each partition, or one for the request if it is about the session."""
    if error in _SESSION_ERRORS:
        return {"error_code": error}

    def refuse(topic: Any, asked: Any) -> Values:
        return _unread(asked.partition, error)

    return {"responses": by_partition(body.topics, "partitions", "partitions", refuse)}


def _unread(partition: int, error: int) -> Values:
    return {"partition_index": partition, "error_code": error, "high_watermark": -1, "records": b""}


def expect_epoch(asked: Any) -> None:
    """Check that a client knows the leader's epoch, or none.

    Raises:
        Refused: it knows another one.
    """
    epoch = getattr(asked, "current_leader_epoch", -1)
    if epoch > LEADER_EPOCH:
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH)
    if -1 < epoch < LEADER_EPOCH:
        raise Refused(ErrorCode.FENCED_LEADER_EPOCH)


def list_offsets(node: Node, request: Request) -> Values:
    """First and last offsets, and those of timestamps."""
    body: Any = request.body
    is_committed = getattr(body, "isolation_level", 0) == IsolationLevel.READ_COMMITTED
    places = Counter((topic.name, asked.partition_index) for topic in body.topics for asked in topic.partitions)

    def find(topic: Any, asked: Any) -> Values:
        if places[topic.name, asked.partition_index] > 1:
            return _unlisted(asked.partition_index, ErrorCode.INVALID_REQUEST)
        if asked.timestamp < 0 and request.api_version < _FIRST_WITH.get(asked.timestamp, request.api_version + 1):
            return _unlisted(asked.partition_index, ErrorCode.UNSUPPORTED_VERSION)
        try:
            log = node.topic_of(topic).partition(asked.partition_index)
            expect_epoch(asked)
        except Refused as error:
            return _unlisted(asked.partition_index, error.error)
        timestamp, offset = _offset_at(log, asked.timestamp, is_committed)
        epoch = -1 if offset < 0 else LEADER_EPOCH
        found = {"timestamp": timestamp, "offset": offset, "leader_epoch": epoch}
        # Versions before 4 have no epoch, and it is not ignorable.
        if not hasattr(asked, "current_leader_epoch"):
            del found["leader_epoch"]
        return {"partition_index": asked.partition_index, **found}

    return {"topics": by_partition(body.topics, "partitions", "partitions", find)}


def refuse_list_offsets(body: Any, error: int) -> Values:
    """An error for each partition."""

    def refuse(topic: Any, asked: Any) -> Values:
        return _unlisted(asked.partition_index, error)

    return {"topics": by_partition(body.topics, "partitions", "partitions", refuse)}


def _unlisted(partition: int, error: int) -> Values:
    return {"partition_index": partition, "error_code": error, "timestamp": -1, "offset": -1}


def _offset_at(log: Log, asked: int, is_committed: bool) -> tuple[int, int]:
    """Timestamp and offset of what a ListOffsets asks for; -1 where there is nothing."""
    if asked == ListOffsetsTimestamp.LATEST:
        return -1, log.last_stable_offset if is_committed else log.end_offset
    if asked in (ListOffsetsTimestamp.EARLIEST, ListOffsetsTimestamp.EARLIEST_LOCAL):
        return -1, 0
    if asked == ListOffsetsTimestamp.MAX:
        record = log.newest()
    else:
        record = log.first_since(asked) if asked >= 0 else None  # nothing is in tiered storage
    return (-1, -1) if record is None else (record.timestamp, record.offset)


def epochs(node: Node, request: Request) -> Values:
    """The end of the only leader epoch that there is."""
    body: Any = request.body

    def find(topic: Any, asked: Any) -> Values:
        try:
            log = node.topic_of(topic).partition(asked.partition)
            expect_epoch(asked)
        except Refused as error:
            return {"partition": asked.partition, "error_code": error.error}
        if asked.leader_epoch != LEADER_EPOCH:
            return {"partition": asked.partition}
        return {"partition": asked.partition, "leader_epoch": LEADER_EPOCH, "end_offset": log.end_offset}

    return {"topics": by_partition(body.topics, "partitions", "partitions", find)}


def refuse_epochs(body: Any, error: int) -> Values:
    """An error for each partition."""

    def refuse(topic: Any, asked: Any) -> Values:
        return {"partition": asked.partition, "error_code": error}

    return {"topics": by_partition(body.topics, "partitions", "partitions", refuse)}


APIS = {
    ApiKey.PRODUCE: Api(produce, refuse_produce),
    ApiKey.FETCH: Api(fetch, refuse_fetch),
    ApiKey.LIST_OFFSETS: Api(list_offsets, refuse_list_offsets),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: Api(epochs, refuse_epochs),
}
