"""Magic 0 and 1: entries of message sets, of Kafka before 0.11. An entry is a message, or a compressed set of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Literal

from kafka_records.message_and_offset import v0, v1
from kipwire.codec.wire import new
from kipwire.errors import DecodeError, EncodeError
from kipwire.records.checks import TIMESTAMP_TYPES, expect_one_of, ordered_records
from kipwire.records.compression import (
    COMPRESSIONS,
    CompressedDataError,
    Compression,
    compress,
    decompress,
    lz4_from_magic_0,
    lz4_to_magic_0,
)
from kipwire.records.heads import FORMATS, KEYS, MAGIC, SIZE, SIZE_END
from kipwire.records.locations import Limits, Location, decode
from kipwire.records.model import Record, RecordBatch, TimestampType

Entry = v0.MessageAndOffset | v1.MessageAndOffset

_LAYOUTS: tuple[type[Entry], type[Entry]] = (v0.MessageAndOffset, v1.MessageAndOffset)
_CODECS = COMPRESSIONS[:4]
"""What came before zstd."""


def read(data: bytes, location: Location, *, check_crcs: bool, limits: Limits) -> RecordBatch:
    """The entry that all of the bytes hold.

    Raises:
        DecodeError: they are not an entry.
    """
    magic = data[MAGIC]
    crc, attributes = FORMATS[magic].crc_and_attributes.unpack_from(data, FORMATS[magic].crc)
    try:
        entry: Entry = decode(_LAYOUTS[magic], data, check_crcs=check_crcs)
    except DecodeError as error:
        raise location.error(magic, error.path, error.offset, error.reason) from None
    if entry.compression_type >= len(_CODECS):
        reason = f"magic {magic} has no compression {entry.compression_type}; it has 0 to {len(_CODECS) - 1}"
        raise location.error(magic, "attributes", FORMATS[magic].attributes, reason)
    is_plain = entry.compression_type == 0
    batch = new(RecordBatch)
    if is_plain:
        batch._decode = partial(_plain_record, entry)
    else:
        batch._decode = partial(_compressed_records, entry, location, check_crcs=check_crcs, limits=limits)
    batch._section = batch._records = None
    batch._base_offset = entry.offset if is_plain else None
    batch.position = location.start
    batch.size = len(data)
    batch.magic = magic
    batch.crc = crc
    batch.attributes = attributes
    batch.compression = _CODECS[entry.compression_type]
    batch.timestamp_type = _timestamp_type(entry)
    batch.last_offset = entry.offset
    batch.base_timestamp = batch.max_timestamp = _timestamp(entry)
    batch.records_count = 1 if is_plain else None
    batch.partition_leader_epoch = batch.producer_id = batch.producer_epoch = batch.base_sequence = -1
    batch.is_transactional = batch.is_control = False
    batch.delete_horizon = None
    return batch


def _timestamp(entry: Entry) -> int:
    return entry.timestamp if isinstance(entry, v1.MessageAndOffset) else -1


def _timestamp_type(entry: Entry) -> TimestampType:
    if isinstance(entry, v0.MessageAndOffset):
        return "NoTimestampType"
    return "LogAppendTime" if entry.timestamp_type else "CreateTime"


def _plain_record(entry: Entry) -> list[Record]:
    return [Record(offset=entry.offset, timestamp=_timestamp(entry), key=entry.key, value=entry.value)]


def _compressed_records(wrapper: Entry, location: Location, *, check_crcs: bool, limits: Limits) -> list[Record]:
    """The records of a compressed entry.

    Raises:
        DecodeError: they are broken.
    """
    data = _inner_bytes(wrapper, location, limits)
    entries = _inner_entries(wrapper, data, location, check_crcs=check_crcs, limits=limits)
    # Of magic 1, offsets inside are relative, and the wrapper has that of the last one. Java leaves them as they are
    # where a producer did not set the wrapper's.
    base_offset = max(wrapper.offset - entries[-1].offset, 0) if wrapper.VERSION == 1 else 0
    append_time = _timestamp(wrapper) if _timestamp_type(wrapper) == "LogAppendTime" else None
    return [
        Record(
            offset=base_offset + entry.offset,
            timestamp=_timestamp(entry) if append_time is None else append_time,
            key=entry.key,
            value=entry.value,
        )
        for entry in entries
    ]


def _inner_bytes(wrapper: Entry, location: Location, limits: Limits) -> bytes:
    """What the value of a compressed entry decompresses to."""
    magic = wrapper.VERSION
    try:
        if wrapper.value is None:
            raise CompressedDataError("a compressed entry has records in its value, which may not be null")
        compression = _CODECS[wrapper.compression_type]
        value = lz4_from_magic_0(wrapper.value) if compression == "lz4" and magic == 0 else wrapper.value
        return decompress(compression, value, limits.decompressed_size)
    except CompressedDataError as error:
        raise location.error(magic, "value", _value_at(wrapper), str(error)) from error


def _inner_entries(wrapper: Entry, data: bytes, location: Location, *, check_crcs: bool, limits: Limits) -> list[Entry]:
    """The entries inside of a compressed one, at least one."""
    magic, at = wrapper.VERSION, _value_at(wrapper)
    entries: list[Entry] = []
    pos = 0
    while pos < len(data):
        if len(entries) == limits.items:
            raise location.error(magic, "value", at, limits.too_many)
        path = f"records[{len(entries)}]"
        end = pos + SIZE_END + int.from_bytes(data[pos + SIZE : pos + SIZE_END], "big", signed=True)
        if not pos < end <= len(data):
            end = len(data)  # the size is wrong, which the reader of the record format will report
        try:
            entry = decode(_LAYOUTS[magic], data[pos:end], check_crcs=check_crcs)
            if entry.compression_type:
                reason = "a message inside of a compressed one may not be compressed itself"
                raise DecodeError(entry.NAME, magic, "attributes", FORMATS[magic].attributes, reason)
        except DecodeError as error:
            where = f"at byte {pos + error.offset} of the {len(data)} that the value decompresses to"
            raise location.error(magic, f"{path}.{error.path}", at, f"{error.reason} ({where})") from None
        entries.append(entry)
        pos = end
    if not entries:
        raise location.error(magic, "value", at, "a compressed entry has at least one record in its value")
    return entries


def _value_at(wrapper: Entry) -> int:
    """Where the value of an entry starts."""
    return KEYS[wrapper.VERSION] + len(wrapper.key or b"") + 4


def write_message_set(
    records: Iterable[Record],
    *,
    magic: Literal[0, 1],
    compression: Compression = "none",
    timestamp_type: TimestampType = "CreateTime",
    max_timestamp: int | None = None,
) -> bytes:
    """A message set, byte for byte as Kafka's Java classes write it (compressed bytes as their codec does).

    Args:
        records: in the order of their offsets, without headers; of magic 0 without timestamps, too.
        magic: the message format.
        compression: the codec; with one, the set is a single entry that all messages are compressed into.
        timestamp_type: "CreateTime" or "LogAppendTime"; magic 0 has none and ignores it.
        max_timestamp: of a compressed entry; by default the highest of the records, in milliseconds since 1970.

    Raises:
        EncodeError: a value does not fit its field, the offsets do not ascend, or the format cannot hold it.
        MissingExtraError: the codec needs cramjam, which is not installed.
    """
    if magic not in (0, 1):
        raise EncodeError("RecordBatch", magic, "magic", "a message set has magic 0 or 1")
    expect_one_of(compression, _CODECS, magic, "compression")
    if magic == 1:
        expect_one_of(timestamp_type, TIMESTAMP_TYPES, magic, "timestamp_type")
    records = ordered_records(records, magic)
    for index, record in enumerate(records):
        if record.headers:
            raise EncodeError("RecordBatch", magic, f"records[{index}].headers", f"magic {magic} has no headers")
        if magic == 0 and record.timestamp != -1:
            reason = "magic 0 has no timestamps; give -1"
            raise EncodeError("RecordBatch", magic, f"records[{index}].timestamp", reason)
    is_append_time = timestamp_type == "LogAppendTime"
    if compression == "none":
        return b"".join(_entry(magic, record, is_append_time) for record in records)
    if not records:
        raise EncodeError("RecordBatch", magic, "value", "a compressed entry needs at least one record")
    base_offset = records[0].offset if magic == 1 else 0
    value = compress(compression, b"".join(_entry(magic, record, is_append_time, base_offset) for record in records))
    if compression == "lz4" and magic == 0:
        value = lz4_to_magic_0(value)
    if max_timestamp is None:
        max_timestamp = max(record.timestamp for record in records)
    wrapper = Record(offset=records[-1].offset, timestamp=max_timestamp, value=value)
    return _entry(magic, wrapper, is_append_time, codec=_CODECS.index(compression))


def _entry(magic: int, record: Record, is_append_time: bool, base_offset: int = 0, codec: int = 0) -> bytes:
    offset = record.offset - base_offset
    entry = _LAYOUTS[magic](offset=offset, compression_type=codec, key=record.key, value=record.value)
    if isinstance(entry, v1.MessageAndOffset):  # magic 0 has no timestamps
        entry.timestamp, entry.timestamp_type = record.timestamp, is_append_time
    return entry.encode()
