"""A message set of the draft, its header alone, and a control message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kipwire.records.compression import COMPRESSIONS, Compression
from kipwire.records.model import Record
from kipwire.records.producer_sequence import next_sequence

CODECS = COMPRESSIONS[:4]
"""The codecs of the draft, by its numbers."""
COMMIT = 0
"""The type of a control message that commits a transaction. Released Kafka has 1 for it."""
ABORT = 1
"""The type of a control message that aborts a transaction. Released Kafka has 0 for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlMessage:
    """A message that is not for applications: by its type it ends a transaction."""

    offset: int
    type_id: int
    """The number in its key: `COMMIT` or `ABORT`; the draft has no others, but leaves room for them."""
    timestamp: int = -1
    """Milliseconds since 1970."""
    value: bytes | None = None
    """The draft has no schema of it."""

    @property
    def type(self) -> Literal["COMMIT", "ABORT", "UNKNOWN"]:
        """Meaning of its number in the draft."""
        return {COMMIT: "COMMIT", ABORT: "ABORT"}.get(self.type_id, "UNKNOWN")  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class SetHead:
    """The header of a set, read without its messages. Compaction changes none of its offsets and numbers."""

    position: int
    """Position of the set in its buffer, in bytes."""
    size: int
    """Bytes of the set, its header included; the next set starts at `position + size`."""
    crc: int
    attributes: int
    base_offset: int
    """First offset of the set: the offset of its first message when it was written."""
    offset_delta: int
    """Number of offsets in the set, also after compaction has removed messages."""
    max_timestamp: int
    """Milliseconds since 1970: the highest of the messages; with "LogAppendTime" the timestamp of all."""
    producer_id: int
    producer_epoch: int
    base_sequence: int
    """The sequence number of `base_offset`; negative if there is none."""

    @property
    def compression(self) -> Compression:
        """The codec of the messages."""
        return CODECS[self.attributes & 7]

    @property
    def timestamp_type(self) -> Literal["CreateTime", "LogAppendTime"]:
        """Source of the timestamps: with "LogAppendTime" the broker."""
        return "LogAppendTime" if self.attributes & 8 else "CreateTime"

    @property
    def is_transactional(self) -> bool:
        """True if the set is part of a transaction, so that a control message follows."""
        return bool(self.attributes & 16)

    @property
    def next_offset(self) -> int:
        """The offset that the next set starts at."""
        return self.base_offset + self.offset_delta

    @property
    def last_offset(self) -> int:
        """The offset that the set ends at, even if compaction has removed that message."""
        return self.next_offset - 1

    @property
    def next_sequence(self) -> int:
        """The sequence number of the producer's next set in the partition; -1 if there is none."""
        return self.sequence_at(self.next_offset)

    @property
    def last_sequence(self) -> int:
        """The sequence number of `last_offset`; -1 if there is none."""
        return self.sequence_at(self.last_offset)

    def sequence_at(self, offset: int) -> int:
        """Compute the sequence number of an offset of the set; -1 if the set has none.

        Raises:
            ValueError: the offset is before the set.
        """
        return -1 if self.base_sequence < 0 else next_sequence(self.base_sequence, offset - self.base_offset)


@dataclass(frozen=True, slots=True)
class DraftSet:
    """A message set of the draft."""

    head: SetHead
    messages: list[Record | ControlMessage]
    """The messages that compaction has left, with their own offsets."""
    crcs: list[int] = field(default_factory=list)
    """The checksum of each of the messages as it stands in the bytes, for auditors. CRC-32 of the message from its
    attributes to its checksum, so a message has the same one in every set that has it at the same offset delta."""

    @property
    def records(self) -> list[Record]:
        """The messages that are for applications."""
        return [one for one in self.messages if isinstance(one, Record)]
