"""Magic 2: record batches, of Kafka since 0.11."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter

from kafka_records.record_batch.v2 import RecordBatch as BatchLayout
from kipwire.codec.wire import new
from kipwire.errors import DecodeError, EncodeError
from kipwire.records.checks import (
    NO_TIMESTAMP,
    TIMESTAMP_TYPES,
    expect_one_of,
    expect_producer,
    no_such_timestamp,
    ordered_records,
)
from kipwire.records.compression import COMPRESSIONS, CompressedDataError, Compression, compress, decompress
from kipwire.records.heads import FORMATS, RECORDS, RECORDS_COUNT
from kipwire.records.locations import Limits, Location, decode
from kipwire.records.model import Record, RecordBatch, TimestampType
from kipwire.records.sections import LEAST_ITEM, has_more_items, read_section, write_section

_timestamp: Callable[[Record], int] = attrgetter("timestamp")
_CRC, _ATTRIBUTES = FORMATS[2].crc, FORMATS[2].attributes
_crc_and_attributes = FORMATS[2].crc_and_attributes.unpack_from


def read(data: bytes, location: Location, *, check_crcs: bool, limits: Limits) -> RecordBatch:
    """The batch that the bytes are, from the first to the last.

    Raises:
        DecodeError: they are none.
    """
    try:
        header = decode(BatchLayout, data, check_crcs=check_crcs)
    except DecodeError as error:
        raise location.error(2, error.path, error.offset, error.reason) from None
    crc, attributes = _crc_and_attributes(data, _CRC)
    if header.compression_type >= len(COMPRESSIONS):
        reason = f"unknown compression {header.compression_type}; known are 0 to {len(COMPRESSIONS) - 1}"
        raise location.error(2, "attributes", _ATTRIBUTES, reason)
    batch = new(RecordBatch)
    batch._decode = partial(_records, header, location, limits)
    batch._section = partial(_section, header, location, limits)
    batch._records = None
    batch._base_offset = base_offset = header.base_offset
    batch.position = location.start
    batch.size = len(data)
    batch.magic = 2
    batch.crc = crc
    batch.attributes = attributes
    batch.compression = COMPRESSIONS[header.compression_type]
    batch.timestamp_type = "LogAppendTime" if header.timestamp_type else "CreateTime"
    batch.last_offset = base_offset + header.last_offset_delta
    batch.base_timestamp = header.base_timestamp
    batch.max_timestamp = header.max_timestamp
    batch.records_count = header.records_count
    batch.partition_leader_epoch = header.partition_leader_epoch
    batch.producer_id = header.producer_id
    batch.producer_epoch = header.producer_epoch
    batch.base_sequence = header.base_sequence
    batch.is_transactional = header.is_transactional
    batch.is_control = header.is_control
    batch.delete_horizon = header.base_timestamp if header.has_delete_horizon else None
    return batch


def _section(header: BatchLayout, location: Location, limits: Limits) -> bytes:
    """The bytes of a batch's records, decompressed.

    Raises:
        DecodeError: they cannot be decompressed, or are more than the limits allow.
    """
    section = header.records
    if header.compression_type:
        try:
            section = decompress(COMPRESSIONS[header.compression_type], section, limits.decompressed_size)
        except CompressedDataError as error:
            raise location.error(2, "records", RECORDS, str(error)) from error
    if len(section) > LEAST_ITEM * limits.items and has_more_items(section, limits.items):
        raise location.error(2, "records", RECORDS, limits.too_many)
    return section


def _records(header: BatchLayout, location: Location, limits: Limits) -> list[Record]:
    """The records of a batch.

    Raises:
        DecodeError: they are broken.
    """
    section = _section(header, location, limits)
    try:
        records = read_section(section, header.base_offset, header.base_timestamp)
    except DecodeError as error:
        if not header.compression_type:
            raise location.error(2, error.path, RECORDS + error.offset, error.reason) from None
        reason = f"{error.reason} (at byte {error.offset} of the {len(section)} that they decompress to)"
        raise location.error(2, error.path, RECORDS, reason) from None
    if len(records) != header.records_count:
        reason = f"the batch declares {header.records_count} records, but has {len(records)}"
        raise location.error(2, "records_count", RECORDS_COUNT, reason)
    if header.timestamp_type:
        for record in records:
            record.timestamp = header.max_timestamp
    return records


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
    """A record batch of magic 2, byte for byte as Kafka's Java classes write it (compressed bytes as their codec does).

    Args:
        records: in the order of their offsets; a batch without any, as compaction leaves it, needs a `base_offset`.
        compression: the codec.
        base_offset: by default the first record's offset.
        last_offset_delta: where the batch ends, from `base_offset` on; by default at the last record.
        base_timestamp: by default the first record's timestamp, in milliseconds since 1970.
        max_timestamp: by default the highest of the records; with "LogAppendTime" the time of the append.
        timestamp_type: "CreateTime" or "LogAppendTime".
        delete_horizon: milliseconds since 1970; replaces `base_timestamp`.
        partition_leader_epoch: the broker's; -1 from a producer.
        producer_id: of an idempotent producer, or -1.
        producer_epoch: of an idempotent producer, or -1; a producer id needs one.
        base_sequence: the first record's sequence number, or -1; a producer id needs one, except in a control batch.
        is_transactional: whether the batch is part of a transaction; it needs a producer id.
        is_control: whether the records are control records.

    Raises:
        EncodeError: a value does not fit its field, the offsets do not ascend, a timestamp is below -1, or the state
            of the producer is not whole; Kafka's builder refuses these, too.
        MissingExtraError: cramjam is not installed, which the codec needs.
    """
    expect_one_of(compression, COMPRESSIONS, 2, "compression")
    expect_one_of(timestamp_type, TIMESTAMP_TYPES, 2, "timestamp_type")
    expect_producer(
        producer_id, producer_epoch, base_sequence, is_transactional=is_transactional, is_control=is_control
    )
    records = ordered_records(records, 2)
    timestamps = sorted(map(_timestamp, records))  # mostly so already; then faster than the lowest and the highest
    if timestamps and timestamps[0] < NO_TIMESTAMP:
        raise no_such_timestamp(records, 2)
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
    section = write_section(records, base_offset, base_timestamp)
    layout = new(BatchLayout)  # setting its slots takes half the time of a call
    layout.base_offset = base_offset
    layout.partition_leader_epoch = partition_leader_epoch
    layout.compression_type = COMPRESSIONS.index(compression)
    layout.timestamp_type = timestamp_type == "LogAppendTime"
    layout.is_transactional = is_transactional
    layout.is_control = is_control
    layout.has_delete_horizon = delete_horizon is not None
    layout.unused_bits = 0
    layout.last_offset_delta = last_offset_delta
    layout.base_timestamp = base_timestamp
    layout.max_timestamp = max_timestamp
    layout.producer_id = producer_id
    layout.producer_epoch = producer_epoch
    layout.base_sequence = base_sequence
    layout.records_count = len(records)
    layout.records = compress(compression, section)
    return layout.encode()
