"""Fetch, versions 4 to 18: whole batches, once there are as many bytes as are asked for or the time is over.

Unlike Kafka:

* Followers do not answer Fetch (KIP-392).
* Of 1,000 fetch sessions, one gives way only after two unused minutes, whatever its size.
"""

from typing import Any

from kafka_messages.enums import IsolationLevel
from kipwire import Message, build
from kipwire.testing.broker.apis.api import ErrorCode, Node, Refused, Sent, Values, answered, expect
from kipwire.testing.broker.apis.rows import with_endpoints
from kipwire.testing.broker.state.nodes import BEGINNING, OUTSIDE, Asked, FetchSession, all_asked

Key = tuple[Any, int]
_NOTHING = {"high_watermark": -1, "records": b""}
_SESSION_ERRORS = {
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
}
"""The errors of Fetch that are not about a partition."""
_FIRST_WITH_IDS = 13
_FIRST_WITH_LEADERS = 16
"""The first version in which Kafka says who leads instead (KIP-951); those before it have a place for it already."""


async def answer(node: Node, body: Sent) -> Values:
    """Read what is asked for; of a session that goes on, answer with what has changed."""
    epoch = getattr(body, "session_epoch", OUTSIDE)
    session = _session(node, body, epoch)
    asked = all_asked(body.topics) if session is None else dict(session.asked)
    until = node.now() + body.max_wait_ms / 1000
    enough = min(body.min_bytes, body.max_bytes)
    while True:
        found = _read(node, body, asked)
        is_enough = sum(len(one["records"]) for one in found.values()) >= enough
        if is_enough or not asked or node.now() >= until or any("error_code" in one for one in found.values()):
            break
        await node.changes.wait(min(until, node.producers.next_expiry) - node.now())
        node.expire_transactions()
    session_id = 0
    if session is not None:
        session_id, found = body.session_id, session.changes(found)
    elif epoch == BEGINNING:
        begun = FetchSession(body.VERSION >= _FIRST_WITH_IDS, node.now(), dict(asked))
        begun.changes(found)
        session_id = node.fetch_sessions.begin(begun)
    return with_endpoints(node, {"session_id": session_id, "responses": _responses(found, asked)})


def _session(node: Node, body: Sent, epoch: int) -> FetchSession | None:
    """Find the session that a request goes on with, and apply its changes; None where it is answered in full."""
    if epoch in (OUTSIDE, BEGINNING):
        node.fetch_sessions.pop(getattr(body, "session_id", 0), None)
        return None
    session = node.fetch_sessions.going_on(body.session_id, epoch, has_ids=body.VERSION >= _FIRST_WITH_IDS)
    session.update(body.topics, body.forgotten_topics_data)
    session.advance(node.now())
    if session.asked:
        return session
    node.fetch_sessions.pop(body.session_id, None)
    return None


def _read(node: Node, body: Sent, asked: dict[Key, Asked]) -> dict[Key, Values]:
    """Read once, for all partitions, what a Fetch asks for."""
    found: dict[Key, Values] = {}
    size = 0
    for place, one in asked.items():
        found[place] = _partition_read(node, body, one, size)
        size += len(found[place]["records"])
    return found


def _partition_read(node: Node, body: Sent, one: Asked, size: int) -> Values:
    """Read the batches of one partition, after so many bytes of others."""
    asked, left = one.partition, body.max_bytes - size
    is_committed = getattr(body, "isolation_level", 0) == IsolationLevel.READ_COMMITTED
    try:
        log = node.led(node.topic_of(one.topic), asked.partition, asked)
        end_offset = log.last_stable_offset if is_committed else log.end_offset
        expect(log.start_offset <= asked.fetch_offset <= log.end_offset, ErrorCode.OFFSET_OUT_OF_RANGE)
    except Refused as error:
        leader = error.values if body.VERSION >= _FIRST_WITH_LEADERS else {}
        return {"partition_index": asked.partition, "error_code": error.error, **_NOTHING, **leader}
    found = b""
    if left > 0 or not size:
        # The first batch of a response is sent whole even if it is larger than what is asked for.
        found = log.read(asked.fetch_offset, min(left, asked.partition_max_bytes), end_offset)
        if size and len(found) > left:
            found = b""
    aborted = log.aborted_between(asked.fetch_offset, end_offset) if is_committed else None
    return {
        "partition_index": asked.partition,
        "high_watermark": log.end_offset,
        "last_stable_offset": log.last_stable_offset,
        "log_start_offset": log.start_offset,
        "aborted_transactions": aborted
        and [{"producer_id": one.producer_id, "first_offset": one.first_offset} for one in aborted],
        "records": found,
    }


def _responses(found: dict[Key, Values], asked: dict[Key, Asked]) -> list[Values]:
    """Group the rows by topic for a response, in the order in which the topics' first partitions were asked for."""
    topics: dict[Any, Values] = {}
    for place, values in found.items():
        topic = asked[place].topic
        names = {name: getattr(topic, name) for name in ("topic", "topic_id") if hasattr(topic, name)}
        topics.setdefault(place[0], {**names, "partitions": []})["partitions"].append(values)
    return list(topics.values())


def refuse(body: Sent, error: int) -> Message:
    """Answer each partition with an error; or the whole request, if it is about the session, or names no partition."""

    def refuse_row(*_: Sent) -> Values:
        raise Refused(error)

    is_whole = error in _SESSION_ERRORS or not body.topics
    response: type[Message] = body.RESPONSE
    return build(response, {"error_code": error} if is_whole else answered(body, refuse_row))
