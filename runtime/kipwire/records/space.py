"""Bytes that a log has beyond keys and values, and what the same records would have in the other message formats.

The draft of KIP-98 has such a table for messages of one size; here the batches come from a log. All formats are counted
without compression, since the size of compressed bytes is not known before a codec has run. Batches of magic 2 stay as
they are grouped. Messages of magic 0 and 1 in a row become one batch, as `converting` groups them; in the other
direction each record is a message of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kipwire.records.converting import may_follow
from kipwire.records.heads import RECORDS
from kipwire.records.model import Record, RecordBatch, bytes_of_key
from kipwire.records.record_batches import created_timestamps

MAGIC_0, MAGIC_1, DRAFT, KAFKA = "magic 0", "magic 1", "kip-98 draft", "kafka"
_OF_MESSAGE = {MAGIC_0: 26, MAGIC_1: 34}
"""Bytes of a message beyond key and value: offset, size, checksum, magic, attributes, timestamp, two lengths."""
_SET_HEADER = 45
_OF_DRAFT_MESSAGE = 1 + 8 + 4
"""Attributes, timestamp and checksum of a message of the draft."""
_MOST_OFFSETS = 2**31 - 1


@dataclass
class Space:
    """The bytes of records by their purpose. Control batches are left out: only magic 2 has them."""

    records: int = 0
    contents: int = 0
    """Bytes of keys and values."""
    headers: int = 0
    """Bytes of headers, which only Kafka's batches hold: keys and values with their lengths."""
    beyond: dict[str, int] = field(default_factory=lambda: dict.fromkeys((MAGIC_0, MAGIC_1, DRAFT, KAFKA), 0))
    """By format, the bytes beyond keys, values and headers."""

    def __add__(self, other: Space) -> Space:
        """Return the sums."""
        sums = {name: self.beyond[name] + other.beyond[name] for name in self.beyond}
        return Space(self.records + other.records, self.contents + other.contents, self.headers + other.headers, sums)


def space_of(batches: Iterable[RecordBatch]) -> Space:
    """Count the bytes beyond keys and values of batches, in the format of each and in the others.

    Args:
        batches: of one log, in their order, such as `read_segment` gives, in formats of Kafka. All their records are
            decoded.

    Raises:
        DecodeError: records are broken.
    """
    counter = SpaceCounter()
    for batch in batches:
        counter.add(batch)
    return counter.space


class SpaceCounter:
    """Counts the space of batches of one log, one after the other."""

    def __init__(self) -> None:
        self.space = Space()
        self._run: list[RecordBatch] = []
        """The first and the last of the messages that become one batch."""
        self._timestamp = 0
        """The timestamp from which the records of a batch count."""

    def add(self, batch: RecordBatch) -> None:
        """Count a batch.

        Raises:
            DecodeError: its records are broken.
        """
        if batch.is_control:
            self._run = []
            return
        records = batch.records
        if batch.magic < 2 and self._run and may_follow(self._run, batch, _MOST_OFFSETS):
            self._run = [self._run[0], batch]
        else:
            self._run = [batch] if batch.magic < 2 else []
            self._begin(batch, records)
        self._count(batch, records)

    def _begin(self, batch: RecordBatch, records: list[Record]) -> None:
        self._base_offset = batch.base_offset
        self._timestamp = batch.base_timestamp if batch.magic == 2 or not records else records[0].timestamp
        self.space.beyond[KAFKA] += RECORDS
        self.space.beyond[DRAFT] += _SET_HEADER

    def _count(self, batch: RecordBatch, records: list[Record]) -> None:
        space, base_offset, base_timestamp = self.space, self._base_offset, self._timestamp
        timestamps = [record.timestamp for record in records]
        if batch.timestamp_type == "LogAppendTime" and batch.magic == 2:
            timestamps = created_timestamps(batch)
        contents = headers = kafka = draft = 0
        for record, timestamp in zip(records, timestamps, strict=True):
            delta, key = record.offset - base_offset, record.key
            key_size, value_size = _size(key), _size(record.value)
            content = max(key_size, 0) + max(value_size, 0)
            contents += content
            of_headers = sum(_header_size(*header) for header in record.headers) if record.headers else 0
            headers += of_headers
            beyond = 1 + _signed(timestamp - base_timestamp) + _signed(delta) + _signed(key_size) + _signed(value_size)
            beyond += _signed(len(record.headers))
            kafka += beyond + _signed(beyond + content + of_headers)
            # The length of a key is there if both are: otherwise what is there takes the rest.
            beyond = _OF_DRAFT_MESSAGE + _unsigned(delta)
            beyond += _unsigned(key_size) if key is not None and value_size >= 0 else 0
            draft += beyond + _unsigned(beyond + content)
        space.records += len(records)
        space.contents += contents
        space.headers += headers
        space.beyond[KAFKA] += kafka
        space.beyond[DRAFT] += draft
        for name, size in _OF_MESSAGE.items():
            space.beyond[name] += size * len(records)


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _header_size(key: str, value: bytes | None) -> int:
    raw = bytes_of_key(key)
    return _signed(len(raw)) + len(raw) + _signed(_size(value)) + max(_size(value), 0)


def _unsigned(number: int) -> int:
    """Return the bytes of an unsigned varint."""
    return (number.bit_length() + 6) // 7 or 1


def _signed(number: int) -> int:
    """Return the bytes of a varint in zigzag form."""
    return _unsigned(2 * number if number >= 0 else -2 * number - 1)
