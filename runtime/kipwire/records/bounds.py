"""Filter for the records of a log, by offset and by time, and for the batches that may contain them.

There is one rule for batches, `Bounds.allows`. The rule takes the fields of one head as numbers, or of many heads as
arrays. No batch with a wanted record is passed over. So the rule trusts the highest timestamp, which brokers set, and
not the base timestamp: a producer's times may be in any order, and the first record's need not be the lowest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kipwire.records.heads import COMPRESSION, DRAFT_SPAN, HEAD, LOG_APPEND_TIME, MAGIC_2, NO_TIMESTAMP, SPANS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.records.model import Record

HEAD_BYTES = max(span.size for span in SPANS)
"""Bytes from the start of a batch that have all fields of offsets and times."""

UNKNOWN = -(2**63)
"""A lowest offset or timestamp that is only in the content of a batch."""


class Span(NamedTuple):
    """The offsets and timestamps of a batch by its head: numbers, or arrays with an element for each batch."""

    first_offset: Any
    """`UNKNOWN` for a compressed entry of magic 0 or 1."""
    last_offset: Any
    lowest_timestamp: Any
    """`UNKNOWN` unless all records have the same."""
    highest_timestamp: Any


class Bounds(NamedTuple):
    """A range of offsets and a range of times; None bounds nothing."""

    first_offset: int | None = None
    end_offset: int | None = None
    """Records from this offset on are not wanted."""
    first_timestamp: int | None = None
    """Milliseconds since 1970. If a time is given, records without a timestamp are not wanted."""
    end_timestamp: int | None = None
    """Records of this timestamp or a later one are not wanted."""

    @property
    def has_times(self) -> bool:
        """True if a time is given."""
        return self.first_timestamp is not None or self.end_timestamp is not None

    def has(self, record: Record) -> bool:
        """Decide whether a record is wanted."""
        offset, timestamp = record.offset, record.timestamp
        return (
            (self.first_offset is None or offset >= self.first_offset)
            and (self.end_offset is None or offset < self.end_offset)
            and (timestamp != NO_TIMESTAMP or not self.has_times)
            and (self.first_timestamp is None or timestamp >= self.first_timestamp)
            and (self.end_timestamp is None or timestamp < self.end_timestamp)
        )

    def allows(self, span: Span) -> Any:
        """Decide whether batches may have wanted records: a bool, or an array of them if the span has arrays."""
        may: Any = True
        if self.first_offset is not None:
            may = may & (span.last_offset >= self.first_offset)
        if self.end_offset is not None:
            may = may & (span.first_offset < self.end_offset)
        if self.first_timestamp is not None:
            may = may & (span.highest_timestamp >= self.first_timestamp)
        if self.end_timestamp is not None:
            may = may & (span.lowest_timestamp < self.end_timestamp)
        return may

    def may_have(self, head: bytes, magic_2: str = "kafka") -> bool:
        """Decide whether a batch may have wanted records.

        Args:
            head: the first `HEAD_BYTES` bytes of the batch; all of it if it is shorter.
            magic_2: the format of batches with magic 2.
        """
        return bool(self.allows(span_of(head, magic_2)))


def span_of(head: bytes, magic_2: str = "kafka") -> Span:
    """Read offsets and timestamps from the head of a batch."""
    offset, _, _, magic = HEAD.unpack_from(head)
    if magic == 2 and magic_2 == "kip-98 draft":
        attributes, delta, highest = DRAFT_SPAN.unpack_from(head)
        last = offset + delta - MAGIC_2[magic_2].beyond
        return Span(offset, last, highest if attributes & LOG_APPEND_TIME else UNKNOWN, highest)
    if magic == 2 and magic_2 == "kip-82":
        magic = 1  # which has the same fields up to the key
    if magic < 2:  # the offset is the last one
        attributes, *timestamps = SPANS[magic].unpack_from(head)
        timestamp = timestamps[0] if timestamps else NO_TIMESTAMP
        is_plain = not attributes & COMPRESSION
        is_of_all = is_plain or attributes & LOG_APPEND_TIME
        return Span(offset if is_plain else UNKNOWN, offset, timestamp if is_of_all else UNKNOWN, timestamp)
    attributes, delta, _, highest = SPANS[magic].unpack_from(head)
    return Span(offset, offset + delta, highest if attributes & LOG_APPEND_TIME else UNKNOWN, highest)
