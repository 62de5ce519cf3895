"""Entries of KIP-82 as batches, so that logs with them are read, converted and made again like any others."""

from __future__ import annotations

from typing import Any

from kipwire.drafts.kip_82.reading import headers_of
from kipwire.drafts.proposals.message_and_offset.v2 import Header, MessageAndOffset
from kipwire.model.errors import DecodeError, EncodeError
from kipwire.records import message_sets
from kipwire.records.checks import Limits, Location, decode, error_at
from kipwire.records.heads import HAS_HEADERS, KEYS
from kipwire.records.message_sets import has_more_items, read_entry
from kipwire.records.model import Record, RecordBatch
from kipwire.records.rebuilding import BatchHead, rebuilt_entry

_LAYOUT: type[Any] = MessageAndOffset
_KNOWN_ATTRIBUTES = 0x1F


def read(data: bytes, location: Location, *, check_crcs: bool, limits: Limits) -> RecordBatch:
    """Decode the entry of KIP-82 that all of the bytes hold.

    Raises:
        DecodeError: they are not an entry.
    """
    if has_more_items(data, limits.items):
        raise error_at(location, MessageAndOffset.VERSION, "headers", KEYS[1], limits.too_many)
    return read_entry(_LAYOUT, data, location, check_crcs=check_crcs, limits=limits)


def is_whole(data: bytes) -> bool:
    """True if all of the bytes are an entry of KIP-82 with the right checksum."""
    try:
        MessageAndOffset.decode(data)
    except DecodeError:
        return False
    return True


def created_timestamps(batch: RecordBatch) -> list[int]:
    """Decode the timestamps that the producer gave to the records of an entry, also if the broker set others.

    Raises:
        DecodeError: they are broken.
    """
    return message_sets.created_timestamps(batch)


def rebuilt(head: BatchHead, records: list[Record]) -> bytes:
    """Encode an entry from its head and its records, whose headers have the texts that reading gives them.

    Raises:
        EncodeError: the records do not fit the head, or a header is none of KIP-82.
        MissingExtraError: the codec needs cramjam, which is not installed.
    """
    if not 0 <= head.attributes <= _KNOWN_ATTRIBUTES:
        raise _error("attributes", f"{head.attributes} has bits without a meaning; they must be 0")
    return rebuilt_entry(head, records, _encoded)


def _encoded(record: Record, is_append_time: bool, base_offset: int = 0, codec: int = 0, /) -> bytes:
    try:
        headers = headers_of(record)
    except (TypeError, ValueError) as error:
        raise _error("headers", f"{error}; a key is a number such as '0x00000001'") from None
    if any(value is None for _, value in record.headers):
        raise _error("headers", "a value is null; KIP-82 knows no null")
    message = MessageAndOffset(
        offset=record.offset - base_offset,
        compression_type=codec,
        timestamp_type=is_append_time,
        timestamp=record.timestamp,
        key=record.key,
        headers=[Header(key=key, value=value) for key, value in headers.items()],
        value=record.value,
    )
    return message.encode()


def _error(path: str, reason: str) -> EncodeError:
    return EncodeError(MessageAndOffset.NAME, MessageAndOffset.VERSION, path, reason)


def headers_of_entry(batch: RecordBatch, data: memoryview) -> int:
    """Count the headers that a compressed entry of KIP-82 has itself; its records do not have them.

    Args:
        batch: the batch read from the entry; entries of magic 0 and 1 have none.
        data: the buffer that it was read from.
    """
    if batch.magic < MessageAndOffset.VERSION or batch.compression == "none" or not batch.attributes & HAS_HEADERS:
        return 0
    entry = bytes(data[batch.position : batch.position + batch.size])
    return len(decode(MessageAndOffset, entry, check_crcs=False).headers)
