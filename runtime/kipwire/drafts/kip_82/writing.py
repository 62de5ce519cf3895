"""From records with numbered headers to the messages of KIP-82's version 43."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Protocol

from kipwire.drafts.proposals.message_and_offset.v2 import Header, MessageAndOffset
from kipwire.model.errors import EncodeError
from kipwire.records.checks import TIMESTAMP_TYPES, expect_one_of
from kipwire.records.compression import COMPRESSIONS, Compression, compress
from kipwire.records.heads import NO_TIMESTAMP
from kipwire.records.model import TimestampType

_CODECS = COMPRESSIONS[:4]
"""What the format has: as magic 1, all that came before zstd."""


class Writable(Protocol):
    """What a record has: a ProducerRecord and a ConsumerRecord are such."""

    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Mapping[int, bytes]: ...


def write_records(
    records: Iterable[Writable],
    *,
    compression: Compression = "none",
    timestamp_type: TimestampType = "CreateTime",
    max_timestamp: int | None = None,
) -> bytes:
    """A message set of magic 2 as version 43 of KIP-82 has it: a message for each record, or a compressed one for all.

    Args:
        records: in the order of their offsets: ProducerRecord, ConsumerRecord, or anything with their attributes.
        compression: the codec; with one, the offsets inside are relative to the first, as in magic 1.
        timestamp_type: "CreateTime" or "LogAppendTime".
        max_timestamp: of a compressed message; by default the highest of the records, in milliseconds since 1970.

    Raises:
        EncodeError: a value does not fit its field, the offsets do not ascend, a timestamp is below -1, or there is
            nothing to compress; the path says which record.
        MissingExtraError: the codec needs cramjam, which is not installed.
    """
    expect_one_of(compression, _CODECS, 2, "compression")
    expect_one_of(timestamp_type, TIMESTAMP_TYPES, 2, "timestamp_type")
    records = list(records)
    for index, (one, following) in enumerate(pairwise(records), 1):
        if following.offset <= one.offset:
            raise _error(f"records[{index}].offset", f"{following.offset} is not above {one.offset}; offsets ascend")
    is_append_time = timestamp_type == "LogAppendTime"
    if compression == "none":
        return b"".join(_message(record, index, is_append_time) for index, record in enumerate(records))
    if not records:
        raise _error("value", "a compressed message needs at least one record")
    base_offset = records[0].offset
    inner = b"".join(_message(record, index, is_append_time, base_offset) for index, record in enumerate(records))
    return MessageAndOffset(
        offset=records[-1].offset,
        compression_type=_CODECS.index(compression),
        timestamp_type=is_append_time,
        timestamp=max(record.timestamp for record in records) if max_timestamp is None else max_timestamp,
        value=compress(compression, inner),
    ).encode()


def _message(record: Writable, index: int, is_append_time: bool, base_offset: int = 0) -> bytes:
    if record.timestamp < NO_TIMESTAMP:
        reason = f"{record.timestamp} is before 1970; give 0 or more, or -1 for none"
        raise _error(f"records[{index}].timestamp", reason)
    message = MessageAndOffset(
        offset=record.offset - base_offset,
        timestamp_type=is_append_time,
        timestamp=record.timestamp,
        key=record.key,
        headers=[Header(key=key, value=value) for key, value in record.headers.items()],
        value=record.value,
    )
    try:
        return message.encode()
    except EncodeError as error:
        raise _error(f"records[{index}].{error.path}", error.reason) from None


def _error(path: str, reason: str) -> EncodeError:
    return EncodeError(MessageAndOffset.NAME, MessageAndOffset.VERSION, path, reason)
