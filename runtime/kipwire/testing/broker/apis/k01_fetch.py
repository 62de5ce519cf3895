"""Fetch, versions 4 to 18: whole batches, once there are as many bytes as are asked for or the time is over.

Unlike Kafka:

* Fetch sessions are not kept: each Fetch is answered in full, with session id 0.
"""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode, IsolationLevel
from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values, answered, refusal
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused

_SESSION_ERRORS = {
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
}
"""Those of Fetch that are not about a partition."""
ROWS = {"responses": "topics"}
REFUSED = {"high_watermark": -1, "records": b""}
_FULL = (-1, 0)
"""Epochs of a Fetch that asks for all its partitions, whatever its session: outside one, or to begin one."""


async def answer(node: Node, request: Request) -> Values:
    """Whole batches; once there are as many bytes as are asked for, or after the time that the client waits."""
    body: Any = request.body
    if getattr(body, "session_epoch", _FULL[0]) not in _FULL:
        raise Refused(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)  # no session was ever begun
    until = node.now() + body.max_wait_ms / 1000
    enough = min(body.min_bytes, body.max_bytes)
    while True:
        read = _Read(node, body)
        is_enough = read.has_error or read.size >= enough or not body.topics
        if is_enough or node.now() >= until:
            return read.values
        await node.changes.wait(min(until, node.next_expiry) - node.now())
        node.expire_transactions()


class _Read:
    """One look at what a Fetch asks for."""

    def __init__(self, node: Node, body: Any) -> None:
        self.node = node
        self.is_committed = getattr(body, "isolation_level", 0) == IsolationLevel.READ_COMMITTED
        self.left = body.max_bytes
        """Bytes that may still be added."""
        self.size = 0
        self.has_error = False
        self.values = answered(body, self.partition, rows=ROWS, refused=REFUSED)

    def partition(self, topic: Any, asked: Any) -> Values:
        """The batches of one partition."""
        try:
            log = self.node.topic_of(topic).partition(asked.partition)
            log.expect_epoch(asked)
            end_offset = log.last_stable_offset if self.is_committed else log.end_offset
            if not log.start_offset <= asked.fetch_offset <= log.end_offset:
                raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        except Refused:
            self.has_error = True
            raise
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
            "high_watermark": log.end_offset,
            "last_stable_offset": log.last_stable_offset,
            "log_start_offset": log.start_offset,
            "aborted_transactions": aborted
            and [{"producer_id": one.producer_id, "first_offset": one.first_offset} for one in aborted],
            "records": found,
        }


def refuse(body: Any, error: int) -> Values:
    """An error for each partition, or one for the request if it is about the session."""
    return refusal(body, error, is_at_top=error in _SESSION_ERRORS, rows=ROWS, refused=REFUSED)
