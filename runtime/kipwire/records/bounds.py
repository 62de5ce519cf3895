"""Which records of a log are wanted: by offset and by time. The head of a batch says whether it may have some."""

from __future__ import annotations

from typing import NamedTuple

from kipwire.records.heads import HEAD, SPANS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.records.model import Record

HEAD_BYTES = max(span.size for span in SPANS)
"""The bytes of a batch that say which offsets and times it has."""

_COMPRESSION = 0x07
_LOG_APPEND_TIME = 0x08
_DELETE_HORIZON = 0x40
"""In the attributes."""
_NONE = -1
"""The timestamp of a record that has none."""


class Bounds(NamedTuple):
    """A range of offsets and a range of times; None bounds nothing."""

    first_offset: int | None = None
    end_offset: int | None = None
    """Records from this offset on are not wanted."""
    first_timestamp: int | None = None
    """In milliseconds since 1970. Records without a timestamp are not wanted if a time is given."""
    end_timestamp: int | None = None
    """Records of this timestamp or a later one are not wanted."""

    def has(self, record: Record) -> bool:
        """Whether a record is wanted."""
        offset, timestamp = record.offset, record.timestamp
        return (
            (self.first_offset is None or offset >= self.first_offset)
            and (self.end_offset is None or offset < self.end_offset)
            and (self.first_timestamp is None or timestamp >= self.first_timestamp)
            and (self.end_timestamp is None or _NONE < timestamp < self.end_timestamp)
        )

    def may_have(self, head: bytes) -> bool:
        """Whether a batch may have wanted records.

        A batch of magic 2 is taken to have times from its base timestamp to its highest.

        Args:
            head: the first `HEAD_BYTES` bytes of the batch; all of it if it is shorter.
        """
        first_offset, last_offset, first_timestamp, last_timestamp = _span(head)
        if self.first_offset is not None and last_offset < self.first_offset:
            return False
        if self.end_offset is not None and first_offset is not None and first_offset >= self.end_offset:
            return False
        if self.first_timestamp is not None and last_timestamp < self.first_timestamp:
            return False
        if self.end_timestamp is None:
            return True
        return last_timestamp > _NONE and (first_timestamp is None or first_timestamp < self.end_timestamp)


def _span(head: bytes) -> tuple[int | None, int, int | None, int]:
    """The first and the last offset and timestamp of a batch; None if only its content says that."""
    offset, _, _, magic = HEAD.unpack_from(head)
    if magic < 2:  # the offset is that of the last record
        attributes, *timestamps = SPANS[magic].unpack_from(head)
        timestamp = timestamps[0] if timestamps else _NONE
        is_plain = not attributes & _COMPRESSION
        is_of_all = is_plain or not timestamps or attributes & _LOG_APPEND_TIME
        return offset if is_plain else None, offset, timestamp if is_of_all else None, timestamp
    attributes, delta, base_timestamp, max_timestamp = SPANS[magic].unpack_from(head)
    if attributes & _LOG_APPEND_TIME:
        return offset, offset + delta, max_timestamp, max_timestamp
    # A delete horizon takes the place of the base timestamp.
    first_timestamp = None if attributes & _DELETE_HORIZON else min(base_timestamp, max_timestamp)
    return offset, offset + delta, first_timestamp, max_timestamp
