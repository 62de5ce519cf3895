"""Test values for fields of type `records`: one small batch of the format that the message's version has."""

from __future__ import annotations

from functools import cache

from kipwire.records import Record, write_batch, write_message_set

_FORMATS = {"ProduceRequest": {0: 0, 1: 0, 2: 1}, "FetchResponse": {0: 0, 1: 0, 2: 1, 3: 1}}
"""The magic of record batches in old versions of Kafka's messages; it is 2 in all others."""
_TIMESTAMP = 1_700_000_000_000
"""Milliseconds since 1970."""


def batch_for(message: str, version: int) -> bytes:
    """Build a batch, or a message set, of one record without compression."""
    return _batch(_FORMATS.get(message, {}).get(version, 2))


@cache
def _batch(magic: int) -> bytes:
    if magic == 0:
        return write_message_set([Record(key=b"k", value=b"v", offset=0)], magic=0)
    record = Record(key=b"k", value=b"v", offset=0, timestamp=_TIMESTAMP)
    return write_message_set([record], magic=1) if magic == 1 else write_batch([record])
