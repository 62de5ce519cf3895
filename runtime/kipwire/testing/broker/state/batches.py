"""Checks of a batch before a partition takes it, after Kafka's Produce request, log and LogValidator."""

from __future__ import annotations

from typing import NamedTuple

from kafka_messages.enums import ErrorCode
from kipwire.codec.checksums import crc32c
from kipwire.model.errors import DecodeError
from kipwire.records import RecordBatch, read_batches
from kipwire.records.checks import MAX_DECOMPRESSED_SIZE
from kipwire.records.compression import CompressedDataError, decompress
from kipwire.records.heads import FORMATS, RECORDS
from kipwire.testing.broker.state.refusals import Refused

NEWEST_PRODUCE = 13
"""The newest version of Produce."""
_FIRST_WITH_ZSTD = 7
_UNCOVERED = FORMATS[2].attributes
"""Bytes of the head that the checksum does not cover."""


class Limits(NamedTuple):
    """The limits of a topic; None allows all."""

    size: int | None = None
    """Bytes of a batch: `max.message.bytes`."""
    newest_timestamp: int | None = None
    """Milliseconds since 1970: `message.timestamp.after.max.ms` from now."""


NO_LIMITS = Limits()


def sent_batch(data: bytes, version: int = NEWEST_PRODUCE) -> RecordBatch:
    """The one batch that a Produce request has for a partition; a cut-off batch after it does not count.

    Args:
        data: the records of the partition.
        version: of the request.

    Raises:
        Refused: it is none, or not alone, or of a format that the version does not take.
    """
    try:
        batches = list(read_batches(data, check_crcs=False))
    except DecodeError as error:
        if error.path.endswith("attributes"):  # a codec that there is not, which Kafka does not expect
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, str(error), log_start_offset=0) from error
        raise Refused(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    if not batches:
        raise Refused(ErrorCode.INVALID_RECORD, "a partition needs one whole batch")
    first = batches[0]
    if first.magic != 2:
        raise Refused(ErrorCode.INVALID_RECORD, f"a batch needs magic 2, not {first.magic}")
    if first.compression == "zstd" and version < _FIRST_WITH_ZSTD:
        reason = f"Produce takes zstd from version {_FIRST_WITH_ZSTD} on, and this is version {version}"
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, reason)
    if len(batches) > 1:
        raise Refused(ErrorCode.INVALID_RECORD, f"a partition takes one batch at a time, not {len(batches)}")
    return first


def expect_appendable(batch: RecordBatch, data: bytes, limits: Limits) -> None:
    """Check a batch before it is appended, in Kafka's order.

    Args:
        batch: from `sent_batch`.
        data: its bytes.
        limits: of its topic.

    Raises:
        Refused: it is not what a producer may send, or it is broken.
    """
    if batch.base_offset != 0:
        raise Refused(ErrorCode.INVALID_RECORD, f"a producer's batch begins at offset 0, not {batch.base_offset}")
    if limits.size is not None and batch.size > limits.size:
        reason = f"the batch has {batch.size} bytes; the topic's max.message.bytes is {limits.size}"
        raise Refused(ErrorCode.MESSAGE_TOO_LARGE, reason)
    crc = crc32c(data[_UNCOVERED:])
    if batch.crc != crc:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"the crc is {batch.crc:#x}, but the bytes have {crc:#x}")
    reason = _wrong_head(batch)
    if reason:
        raise Refused(ErrorCode.INVALID_RECORD, reason)
    _expect_records(batch, data)
    newest = max((one.timestamp for one in batch.records), default=-1)
    if limits.newest_timestamp is not None and newest > limits.newest_timestamp:
        reason = f"the timestamp {newest} is after {limits.newest_timestamp}, the newest that the topic takes now"
        raise Refused(ErrorCode.INVALID_TIMESTAMP, reason)


def _wrong_head(batch: RecordBatch) -> str:
    count, offsets = batch.records_count or 0, batch.last_offset - batch.base_offset + 1
    if count <= 0:
        return f"a batch needs records, and this one declares {count}"
    if offsets != count:
        return f"the batch declares {count} records, and {offsets} offsets"
    if batch.is_control:
        return "a producer's batch has data records only"
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        return f"a batch of an idempotent producer needs a sequence number, not {batch.base_sequence}"
    return ""


def _expect_records(batch: RecordBatch, data: bytes) -> None:
    try:
        records = batch.records
    except DecodeError as error:
        # Kafka does not expect bytes that cannot be decompressed.
        is_section = batch.compression == "none" or _can_decompress(batch, data)
        raise Refused(ErrorCode.INVALID_RECORD if is_section else ErrorCode.UNKNOWN_SERVER_ERROR, str(error)) from error
    if batch.compression != "none" and any(one.offset != at for at, one in enumerate(records)):
        # Kafka writes such batches again, which fails.
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "the offsets of compressed records have gaps")


def _can_decompress(batch: RecordBatch, data: bytes) -> bool:
    try:
        decompress(batch.compression, data[RECORDS:], MAX_DECOMPRESSED_SIZE)
    except CompressedDataError:
        return False
    return True
