"""Magic 2: record batches, of Kafka since 0.11.

A batch is made of its head. Its bytes are kept, and decompressed and decoded at the first access to its records.
`section_of` and `records_of` are these two steps, and `model.RecordBatch` calls them. Writing packs the head itself;
where that fails, the generated class of schemas/kafka_records is asked, which names the field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter
from struct import error as StructError  # noqa: N812

from kafka_records.record_batch.v2 import RecordBatch as BatchLayout
from kipwire import native
from kipwire.codec.checksums import crc32c
from kipwire.codec.wire import BOOL_BYTE, new
from kipwire.model.errors import DecodeError, EncodeError
from kipwire.records.checks import (
    TIMESTAMP_TYPES,
    Limits,
    Location,
    error_at,
    expect_numbers,
    expect_one_of,
    expect_producer,
    no_such_timestamp,
    ordered_records,
    wrong_checksum,
)
from kipwire.records.compression import COMPRESSIONS, CompressedDataError, Compression, compress, decompress
from kipwire.records.heads import (
    BATCH,
    BATCH_START,
    COMPRESSION,
    CONTROL,
    COVERED,
    DELETE_HORIZON,
    FORMATS,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    OF_RECORDS,
    RECORDS,
    RECORDS_COUNT,
    SIZE_END,
    TRANSACTIONAL,
)
from kipwire.records.model import Record, RecordBatch, TimestampType
from kipwire.records.sections import LEAST_ITEM, has_more_items, read_section, write_section

_timestamp: Callable[[Record], int] = attrgetter("timestamp")
_CRC, _ATTRIBUTES = FORMATS[2].crc, FORMATS[2].attributes
_unpack_head, _unpack_of_records = BATCH.unpack_from, OF_RECORDS.unpack_from
_pack_start, _pack_covered = BATCH_START.pack, COVERED.pack
_BEFORE = _ATTRIBUTES - SIZE_END
"""Bytes of the head that the size counts, and the checksum does not cover."""

Source = tuple[bytes, Location, Limits]
"""Source of the records of a batch."""


@native.from_kernel("read_batch")
def read(data: bytes, location: Location, *, check_crcs: bool, limits: Limits) -> RecordBatch:
    """Decode a batch, which must take all of the bytes.

    Raises:
        DecodeError: the bytes are not exactly one batch.
    """
    batch = new(RecordBatch)
    (
        base_offset,
        _,
        batch.partition_leader_epoch,
        _,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.records_count,
    ) = _unpack_head(data)
    if check_crcs and crc32c(data[_ATTRIBUTES:]) != crc:
        raise error_at(location, 2, "crc", _CRC, wrong_checksum(crc, crc32c(data[_ATTRIBUTES:])))
    codec = attributes & COMPRESSION
    if codec >= len(COMPRESSIONS):
        reason = f"unknown compression {codec}; known are 0 to {len(COMPRESSIONS) - 1}"
        raise error_at(location, 2, "attributes", _ATTRIBUTES, reason)
    batch._source = data, location, limits
    batch._decode = records_of
    batch._section = section_of
    batch._records = None
    batch._base_offset = base_offset
    batch.position = location[1]
    batch.size = len(data)
    batch.magic = 2
    batch.crc = crc
    batch.attributes = attributes
    batch.compression = COMPRESSIONS[codec]
    batch.timestamp_type = "LogAppendTime" if attributes & LOG_APPEND_TIME else "CreateTime"
    batch.last_offset = base_offset + last_offset_delta
    batch.base_timestamp = base_timestamp
    batch.is_transactional = attributes & TRANSACTIONAL != 0
    batch.is_control = attributes & CONTROL != 0
    batch.delete_horizon = base_timestamp if attributes & DELETE_HORIZON else None
    return batch


def section_of(source: Source) -> bytes:
    """Decompress the bytes of a batch's records.

    Raises:
        DecodeError: the bytes cannot be decompressed, or are more than the limits allow.
    """
    data, location, limits = source
    section = data[RECORDS:]
    codec = data[_ATTRIBUTES + 1] & COMPRESSION
    if codec:
        try:
            section = decompress(COMPRESSIONS[codec], section, limits.decompressed_size)
        except CompressedDataError as error:
            raise error_at(location, 2, "records", RECORDS, str(error)) from error
    if len(section) > LEAST_ITEM * limits.items and has_more_items(section, limits.items):
        raise error_at(location, 2, "records", RECORDS, limits.too_many)
    return section


@native.from_kernel("records_of")
def records_of(source: Source) -> list[Record]:
    """Decode the records of a batch.

    Raises:
        DecodeError: the records are broken.
    """
    section = section_of(source)
    data, location, _ = source
    base_offset, attributes, base_timestamp, max_timestamp, count = _unpack_of_records(data)
    try:
        records = read_section(section, base_offset, base_timestamp)
    except DecodeError as error:
        if not attributes & COMPRESSION:
            raise error_at(location, 2, error.path, RECORDS + error.offset, error.reason) from None
        reason = f"{error.reason} (at byte {error.offset} of the {len(section)} that they decompress to)"
        raise error_at(location, 2, error.path, RECORDS, reason) from None
    if len(records) != count:
        reason = f"the batch declares {count} records, but has {len(records)}"
        raise error_at(location, 2, "records_count", RECORDS_COUNT, reason)
    if attributes & LOG_APPEND_TIME:
        for record in records:
            record.timestamp = max_timestamp
    return records


def created_timestamps(batch: RecordBatch) -> list[int]:
    """Decode the timestamps that the producer gave to the records of a batch of magic 2, also if the broker set others.

    Raises:
        DecodeError: the records are broken.
    """
    section = section_of(batch._source)
    return [record.timestamp for record in read_section(section, batch.base_offset, batch.base_timestamp)]


@native.from_kernel("write_batch")
def write_batch(
    records: Iterable[Record],
    *,
    compression: Compression = "none",
    base_offset: int | None = None,
    last_offset_delta: int | None = None,
    base_timestamp: int | None = None,
    max_timestamp: int | None = None,
    timestamp_type: TimestampType = "CreateTime",
    delete_horizon: int | None = None,
    partition_leader_epoch: int = -1,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
) -> bytes:
    """Encode a record batch of magic 2, byte for byte as Kafka's Java classes do (compressed bytes as the codec does).

    Args:
        records: in the order of their offsets, or all without one; a batch without any, as compaction leaves it,
            needs a `base_offset`.
        compression: the codec.
        base_offset: by default the first record's offset; 0 where records have none, which then count from it.
        last_offset_delta: where the batch ends, from `base_offset` on; by default at the last record.
        base_timestamp: by default the first record's timestamp, in milliseconds since 1970.
        max_timestamp: by default the highest of the records; with "LogAppendTime" the time of the append.
        timestamp_type: "CreateTime" or "LogAppendTime".
        delete_horizon: milliseconds since 1970; replaces `base_timestamp`.
        partition_leader_epoch: the broker's; -1 from a producer.
        producer_id: of an idempotent producer, or -1.
        producer_epoch: of an idempotent producer, or -1; a producer id needs one.
        base_sequence: the first record's sequence number, or -1; a producer id needs one, except in a control batch.
        is_transactional: True if the batch is part of a transaction; such a batch needs a producer id.
        is_control: True if the records are control records.

    Raises:
        EncodeError: a value does not fit its field, the offsets do not ascend, a timestamp is below -1, or the state
            of the producer is not whole; Kafka's builder refuses these, too.
        MissingExtraError: cramjam is not installed, which the codec needs.
    """
    # First all that is wrong whatever the records are, so that the error does not depend on them.
    expect_one_of(compression, COMPRESSIONS, 2, "compression")
    expect_one_of(timestamp_type, TIMESTAMP_TYPES, 2, "timestamp_type")
    expect_producer(
        producer_id, producer_epoch, base_sequence, is_transactional=is_transactional, is_control=is_control
    )
    expect_numbers(
        base_offset=base_offset,
        last_offset_delta=last_offset_delta,
        base_timestamp=base_timestamp,
        delete_horizon=delete_horizon,
    )
    records = ordered_records(records, 2, base_offset)
    timestamps = sorted(map(_timestamp, records))  # mostly so already; then faster than the lowest and the highest
    if timestamps and timestamps[0] < NO_TIMESTAMP:
        raise no_such_timestamp(records, 2)
    # Then the head: what is not given follows from the records. Compaction keeps the head of a batch when it removes
    # records, so a given head may span more than the records, but not less.
    first, last = (records[0], records[-1]) if records else (None, None)
    if base_offset is None:
        if first is None:
            raise EncodeError("RecordBatch", 2, "base_offset", "a batch without records needs one")
        base_offset = first.offset
    if base_timestamp is None:
        base_timestamp = first.timestamp if first else -1
    if delete_horizon is not None:
        base_timestamp = delete_horizon
    if max_timestamp is None:
        max_timestamp = timestamps[-1] if timestamps else NO_TIMESTAMP
    end = last.offset - base_offset if last else 0
    if last_offset_delta is None:
        last_offset_delta = end
    if last_offset_delta < end:
        raise EncodeError(
            "RecordBatch", 2, "last_offset_delta", f"{last_offset_delta} is before the last record: {end}"
        )
    if first and first.offset < base_offset:
        raise EncodeError("RecordBatch", 2, "base_offset", f"{base_offset} is after the first record: {first.offset}")
    # Then the bytes, from the end to the start: the length and the checksum count what follows them. Nearly all numbers
    # fit their fields, so packing finds those that do not.
    section = compress(compression, write_section(records, base_offset, base_timestamp))
    codec, is_append_time = COMPRESSIONS.index(compression), timestamp_type == "LogAppendTime"
    has_delete_horizon = delete_horizon is not None
    try:
        flags = BOOL_BYTE[is_transactional] << 4 | BOOL_BYTE[is_control] << 5
        body = _pack_covered(
            codec | is_append_time << 3 | flags | has_delete_horizon << 6,
            last_offset_delta,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            len(records),
        )
        body += section
        return _pack_start(base_offset, len(body) + _BEFORE, partition_leader_epoch, 2, crc32c(body)) + body
    except (StructError, KeyError, TypeError):  # which the generated class reports
        return BatchLayout(
            base_offset=base_offset,
            partition_leader_epoch=partition_leader_epoch,
            compression_type=codec,
            timestamp_type=is_append_time,
            is_transactional=is_transactional,
            is_control=is_control,
            has_delete_horizon=has_delete_horizon,
            last_offset_delta=last_offset_delta,
            base_timestamp=base_timestamp,
            max_timestamp=max_timestamp,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            records_count=len(records),
            records=section,
        ).encode()
