"""ListOffsets."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka_messages.enums import ErrorCode, IsolationLevel, ListOffsetsTimestamp
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values, by_partition
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.logs import LEADER_EPOCH, Log
from kipwire.testing.broker.state.refusals import Refused

_FIRST_WITH = {
    ListOffsetsTimestamp.EARLIEST: 1,
    ListOffsetsTimestamp.LATEST: 1,
    ListOffsetsTimestamp.MAX: 7,
    ListOffsetsTimestamp.EARLIEST_LOCAL: 8,
    ListOffsetsTimestamp.LATEST_TIERED: 9,
    ListOffsetsTimestamp.EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version of ListOffsets that has each of the timestamps below 0."""


def answer(node: Node, request: Request) -> Values:
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
            log.expect_epoch(asked)
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


def refuse(body: Any, error: int) -> Values:
    """An error for each partition."""

    def refuse(topic: Any, asked: Any) -> Values:
        return _unlisted(asked.partition_index, error)

    return {"topics": by_partition(body.topics, "partitions", "partitions", refuse)}
