"""Entries of KIP-82 as batches, so that logs with them are read and converted like any others."""

from __future__ import annotations

from typing import Any

from kipwire.drafts.proposals.message_and_offset.v2 import MessageAndOffset
from kipwire.model.errors import DecodeError
from kipwire.records.checks import Limits, Location, decode, error_at
from kipwire.records.heads import HAS_HEADERS, KEYS
from kipwire.records.message_sets import has_more_items, read_entry
from kipwire.records.model import RecordBatch

_LAYOUT: type[Any] = MessageAndOffset


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
