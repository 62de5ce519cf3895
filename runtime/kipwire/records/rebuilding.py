"""Batches made again from their heads and their records, also batches that logs have, but no builder makes.

A batch without compression has the same bytes again, except for bytes that no reader uses: the attributes of records,
and varints that are longer than they need to be. Compressed bytes depend on the codec; decompressed, they are the same.
A compressed entry of magic 0 or 1 is made without its key, and without timestamps that a broker has overruled; an entry
of KIP-82 without its own key and headers. The packages of the drafts make the drafts' batches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol

from kipwire.codec.checksums import crc32, crc32c
from kipwire.model.errors import EncodeError
from kipwire.records.checks import MAX_ITEMS
from kipwire.records.compression import COMPRESSIONS, compress, lz4_to_magic_0
from kipwire.records.heads import (
    BATCH_START,
    COMPRESSION,
    COVERED,
    FORMATS,
    HIGHEST_INT32,
    LOG_APPEND_TIME,
    SIZE_END,
)
from kipwire.records.message_sets import entry_bytes
from kipwire.records.model import Record, RecordBatch
from kipwire.records.reading import MagicTwo, draft, read_batches
from kipwire.records.sections import write_section


class BatchHead(NamedTuple):
    """The head of a batch, with the names of `RecordBatch`; each number fits its field."""

    magic: int
    attributes: int
    """All flags, and bits without meaning."""
    base_offset: int
    last_offset: int
    base_timestamp: int
    max_timestamp: int
    partition_leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_control: bool = False
    """True for control messages in a set of the KIP-98 draft, whose attributes have no bit for them."""

    @property
    def codec(self) -> int:
        """The number of the compression."""
        return self.attributes & COMPRESSION

    @property
    def is_append_time(self) -> bool:
        """True if the broker has set the timestamp of all records; magic 0 has none."""
        return self.magic > 0 and self.attributes & LOG_APPEND_TIME != 0


def rebuilt_batch(head: BatchHead, records: list[Record], magic_2: MagicTwo = "kafka") -> bytes:
    """Encode a batch of any magic, with the right checksum.

    Args:
        head: everything but the size, the checksum and the count of the records, which follow from them.
        records: with the timestamps that their producer gave them, also if the broker has set others.
        magic_2: the format of batches with magic 2, as for `read_batches`.

    Raises:
        EncodeError: the records do not fit the head, or there is no such compression.
        MissingExtraError: the codec needs cramjam, which is not installed.
    """
    is_newest = head.magic == len(FORMATS) - 1
    if head.codec >= len(COMPRESSIONS) - (not is_newest or magic_2 != "kafka"):  # zstd is Kafka's alone
        raise EncodeError("RecordBatch", head.magic, "attributes", f"magic {head.magic} has no codec {head.codec}")
    if len(records) > MAX_ITEMS:
        raise EncodeError("RecordBatch", head.magic, "records", f"are more than {MAX_ITEMS:,}, which no reader takes")
    if not is_newest:
        entry = rebuilt_entry(head, records, partial(entry_bytes, head.magic))
        return _with_attributes(head, entry)
    if magic_2 != "kafka":
        return bytes(draft(magic_2).rebuilt(head, records))
    return _record_batch(head, records)


def _record_batch(head: BatchHead, records: list[Record]) -> bytes:
    last_offset_delta = head.last_offset - head.base_offset
    if not -HIGHEST_INT32 - 1 <= last_offset_delta <= HIGHEST_INT32:
        reason = f"{head.last_offset} is too far from the base offset, {head.base_offset}"
        raise EncodeError("RecordBatch", head.magic, "last_offset", reason)
    section = write_section(records, head.base_offset, head.base_timestamp)
    body = COVERED.pack(
        head.attributes,
        last_offset_delta,
        head.base_timestamp,
        head.max_timestamp,
        head.producer_id,
        head.producer_epoch,
        head.base_sequence,
        len(records),
    ) + compress(COMPRESSIONS[head.codec], section)
    size = FORMATS[head.magic].attributes - SIZE_END + len(body)
    return BATCH_START.pack(head.base_offset, size, head.partition_leader_epoch, head.magic, crc32c(body)) + body


class _EncodeEntry(Protocol):
    """Encodes one entry, as `entry_bytes` does."""

    def __call__(self, record: Record, is_append_time: bool, base_offset: int = 0, codec: int = 0, /) -> bytes: ...


def rebuilt_entry(head: BatchHead, records: list[Record], encode: _EncodeEntry) -> bytes:
    """Encode an entry of a message set, which is one message, or a compressed set of them.

    Raises:
        EncodeError: the records do not fit the head.
    """
    magic, is_append_time = head.magic, head.is_append_time
    if not head.codec:
        if len(records) != 1:
            reason = f"a message of magic {magic} that is not compressed is one record, not {len(records)}"
            raise EncodeError("RecordBatch", magic, "records", reason)
        return encode(records[0], is_append_time)
    if not records:
        raise EncodeError("RecordBatch", magic, "records", "a compressed entry needs at least one record")
    first, last = records[0].offset, records[-1].offset
    # As in `message_sets`: offsets inside are relative since magic 1, unless the entry does not have the offset of the
    # last one.
    is_relative = magic > 0 and first >= 0 and head.last_offset >= last
    inner = [encode(record, is_append_time, first if is_relative else 0) for record in records]
    compression = COMPRESSIONS[head.codec]
    value = compress(compression, b"".join(inner))
    if compression == "lz4" and magic == 0:
        value = lz4_to_magic_0(value)
    offset = min(head.last_offset, last) if magic else head.last_offset
    wrapper = Record(offset=offset, timestamp=head.base_timestamp, value=value)
    return encode(wrapper, is_append_time, 0, head.codec)


def _with_attributes(head: BatchHead, entry: bytes) -> bytes:
    """Set the bits without a meaning in the attributes of an entry, and put its checksum right."""
    format_ = FORMATS[head.magic]
    attributes = head.attributes.to_bytes(1, "big", signed=True)
    if entry[format_.attributes : format_.attributes + 1] == attributes:
        return entry
    covered = entry[format_.crc + 4 : format_.attributes] + attributes + entry[format_.attributes + 1 :]
    return entry[: format_.crc] + crc32(covered).to_bytes(4, "big") + covered


# Batches with changed records, for a proxy between a client and a broker.


def change_records(data: bytes, change: Callable[[Record], None]) -> bytes:
    """Change the records of the batches in a buffer; offsets, producers, codecs and all else of a batch stay.

    A batch in which nothing has changed is copied byte for byte. So are control batches, and what follows the last
    whole batch, as brokers cut one short. A codec may compress to other bytes than the producer's.

    Args:
        data: record batches and message sets, as the `records` of messages have them.
        change: called with each record, whose key, value and headers it may change.

    Raises:
        DecodeError: the batches are broken.
        EncodeError: a changed value does not fit its field.
    """
    parts: list[bytes] = []
    end = 0
    for batch in read_batches(data):
        start, end = end, batch.position + batch.size
        written = None if batch.is_control else _change_batch(batch, change)
        parts.append(data[start:end] if written is None else written)
    return b"".join([*parts, data[end:]])


def _change_batch(batch: RecordBatch, change: Callable[[Record], None]) -> bytes | None:
    """Write a batch again whose records were changed; return None if none was."""
    is_changed = False
    for record in batch.records:
        before = _content(record)
        change(record)
        is_changed = is_changed or _content(record) != before
    if not is_changed:
        return None
    head = BatchHead(*(getattr(batch, name) for name in BatchHead._fields))
    return rebuilt_batch(head, batch.records)


def _content(record: Record) -> Any:
    return record.key, record.value, tuple(record.headers)
