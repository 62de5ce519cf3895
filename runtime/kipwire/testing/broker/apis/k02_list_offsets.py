"""ListOffsets, versions 1 to 11: the first and last offsets of partitions, and the offsets of timestamps."""

from kafka_messages.enums import IsolationLevel, ListOffsetsTimestamp
from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, by_distinct_row, expect
from kipwire.testing.broker.state.logs import Log

_FIRST_WITH = {
    ListOffsetsTimestamp.EARLIEST: 1,
    ListOffsetsTimestamp.LATEST: 1,
    ListOffsetsTimestamp.MAX: 7,
    ListOffsetsTimestamp.EARLIEST_LOCAL: 8,
    ListOffsetsTimestamp.LATEST_TIERED: 9,
    ListOffsetsTimestamp.EARLIEST_PENDING_UPLOAD: 11,
}
"""The first version of ListOffsets that has each of the timestamps below 0."""


@by_distinct_row
def answer(node: Node, body: Sent, topic: Sent, asked: Sent) -> Values:
    has_timestamp = asked.timestamp >= 0 or _FIRST_WITH.get(asked.timestamp, body.VERSION + 1) <= body.VERSION
    expect(has_timestamp, ErrorCode.UNSUPPORTED_VERSION)
    log = node.led(node.topic_of(topic), asked.partition_index, asked)
    is_committed = getattr(body, "isolation_level", 0) == IsolationLevel.READ_COMMITTED
    timestamp, offset = _offset_at(log, asked.timestamp, is_committed)
    found = {"timestamp": timestamp, "offset": offset}
    # Versions before 4 have no epoch, and it is not ignorable.
    has_epoch = offset >= 0 and hasattr(asked, "current_leader_epoch")
    return {**found, "leader_epoch": log.epoch_at(offset)} if has_epoch else found


def _offset_at(log: Log, asked: int, is_committed: bool) -> tuple[int, int]:
    """Find the timestamp and the offset that a ListOffsets asks for; -1 where there is nothing."""
    if asked == ListOffsetsTimestamp.LATEST:
        return -1, log.last_stable_offset if is_committed else log.end_offset
    if asked in (ListOffsetsTimestamp.EARLIEST, ListOffsetsTimestamp.EARLIEST_LOCAL):
        return -1, log.start_offset
    if asked == ListOffsetsTimestamp.MAX:
        record = log.newest()
    else:
        record = log.first_since(asked) if asked >= 0 else None  # nothing is in tiered storage
    return (-1, -1) if record is None else (record.timestamp, record.offset)
