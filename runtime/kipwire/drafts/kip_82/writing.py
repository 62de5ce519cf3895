"""From records with numbered headers, or from older messages, to the messages of KIP-82's version 43.

The generated class of the proposal writes each message, and this module adds what its spec cannot express: ascending
offsets, which are relative within a compressed message as in magic 1, and one timestamp for it. Codecs end before zstd,
as in magic 1. `lookup` reads headers, and `kipwire.records.converting` has the conversion down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Protocol

from kipwire.drafts.kip_82.model import ConsumerRecord
from kipwire.drafts.proposals.message_and_offset.v2 import Header, MessageAndOffset
from kipwire.model.errors import EncodeError
from kipwire.records.checks import TIMESTAMP_TYPES, expect_one_of
from kipwire.records.compression import COMPRESSIONS, Compression, compress
from kipwire.records.converting import Converted, Loss, losses
from kipwire.records.heads import NO_TIMESTAMP
from kipwire.records.model import TimestampType
from kipwire.records.reading import read_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mmap import mmap
    from typing import Unpack

    from kipwire.records.model import RecordBatch
    from kipwire.records.reading import BatchOptions

_CODECS = COMPRESSIONS[:4]
"""The codecs of the format: as in magic 1, all before zstd."""


class Writable(Protocol):
    """The attributes of a record that is written, such as ProducerRecord and ConsumerRecord."""

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
    """Write a message set of version 43 of KIP-82: a message for each record, or one compressed message for all.

    Args:
        records: ProducerRecord, ConsumerRecord, or anything with their attributes, in the order of their offsets.
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


_MAGIC = 2


def to_magic_2(
    data: bytes | bytearray | memoryview | mmap,
    **options: Unpack[BatchOptions],
) -> Converted:
    """Convert the messages of a buffer to magic 2 of KIP-82; messages of magic 0 and 1 get empty headers.

    Messages of magic 2 stay as they are, byte for byte. Every other one becomes one message: offsets, timestamps and
    their type are kept, magic 0 gets -1, and a compressed one keeps its codec. For the other direction, see
    `kipwire.records.down_convert` with `magic_2="kip-82"`.

    Args:
        data: the buffer; only one batch of it is decoded at a time.
        options: as for `kipwire.records.read_batches`, without `magic_2`.

    Raises:
        DecodeError: bytes are not a message, or messages inside a compressed one are broken.
        EncodeError: a compressed message whose offsets do not ascend.
        MissingExtraError: a codec needs cramjam, which is not installed.

    Source: KIP-82 version 43, "Message version migration would be handled as like in KIP-32".
    """
    batches = read_batches(data, magic_2="kip-82", **options)
    parts: list[bytes | memoryview] = []
    lost: list[Loss] = []
    view = memoryview(data).cast("B")
    for number, batch in enumerate(batches):
        if batch.magic == _MAGIC:
            parts.append(view[batch.position : batch.position + batch.size])
        else:
            lost += losses(batch, batch.records, number, _MAGIC)
            parts.append(_with_magic_2(batch))
    return Converted(b"".join(parts), lost)


def _with_magic_2(batch: RecordBatch) -> bytes:
    is_append_time = batch.timestamp_type == "LogAppendTime"
    return write_records(
        [
            ConsumerRecord(offset=one.offset, timestamp=one.timestamp, key=one.key, value=one.value)
            for one in batch.records
        ],
        compression=batch.compression,
        timestamp_type="LogAppendTime" if is_append_time else "CreateTime",
        max_timestamp=batch.max_timestamp if is_append_time else None,
    )
