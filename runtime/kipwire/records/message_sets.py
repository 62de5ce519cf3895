"""Magic 0 and 1: entries of message sets, of Kafka before 0.11. An entry is a message, or a compressed set of them.

KIP-82's version 43 proposes such entries with headers, as magic 2: `kipwire.drafts.kip_82.batches` has their class.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct as Packer
from struct import error as StructError  # noqa: N812
from typing import Literal

from kafka_records.message_and_offset import v0, v1
from kipwire.codec.wire import new
from kipwire.model.errors import DecodeError, EncodeError
from kipwire.records.checks import (
    TIMESTAMP_TYPES,
    Limits,
    Location,
    decode,
    error_at,
    expect_one_of,
    no_such_timestamp,
    ordered_records,
)
from kipwire.records.compression import (
    COMPRESSIONS,
    CompressedDataError,
    Compression,
    compress,
    decompress,
    lz4_from_magic_0,
    lz4_to_magic_0,
)
from kipwire.records.heads import FORMATS, HAS_HEADERS, KEYS, MAGIC, NO_TIMESTAMP, SIZE, SIZE_END
from kipwire.records.model import Header, Record, RecordBatch, TimestampType

TYPE_CHECKING = False
if TYPE_CHECKING:
    Entry = v0.MessageAndOffset | v1.MessageAndOffset

_LAYOUTS = (v0.MessageAndOffset, v1.MessageAndOffset)
_format = FORMATS[0]
"""Format with the positions of fields, which are the same in all entries."""
_SIZE = Packer(">i")
_HEADER = Packer(">Ii")
_CODECS = COMPRESSIONS[:4]
"""The codecs before zstd."""


def read(data: bytes, location: Location, *, check_crcs: bool, limits: Limits) -> RecordBatch:
    """Decode an entry, which must take all of the bytes.

    Raises:
        DecodeError: the bytes are not exactly one entry.
    """
    return read_entry(_LAYOUTS[data[MAGIC]], data, location, check_crcs=check_crcs, limits=limits)


def has_more_items(data: bytes, most: int) -> bool:
    """True if an entry of KIP-82 has more headers than fit beside its record.

    Counting stops at bytes that are no header.
    """
    if len(data) <= _HEADER.size * most:
        return False
    count = 1
    try:
        if not data[_format.attributes] & HAS_HEADERS:
            return False
        (key_size,) = _SIZE.unpack_from(data, KEYS[1] - _SIZE.size)
        pos = KEYS[1] + max(key_size, 0)
        (size,) = _SIZE.unpack_from(data, pos)
        pos += _SIZE.size
        end = min(pos + size, len(data))
        while pos < end and count <= most:
            _, size = _HEADER.unpack_from(data, pos)
            if size < 0:
                return False
            pos += _HEADER.size + size
            count += 1
    except (IndexError, StructError):
        return False
    return count > most


def read_entry(
    layout: type[Entry], data: bytes, location: Location, *, check_crcs: bool, limits: Limits
) -> RecordBatch:
    """Decode an entry of one layout, which must take all of the bytes.

    Args:
        layout: the class of the entry; a draft's has the attributes of magic 1's, and may have `headers`.
        data: the entry.
        location: the place of the entry, for errors.
        check_crcs: True if a wrong checksum is an error.
        limits: the limits for its records.

    Raises:
        DecodeError: the bytes are not exactly one entry.
    """
    magic = layout.VERSION
    crc, attributes = _format.crc_and_attributes.unpack_from(data, _format.crc)
    try:
        entry: Entry = decode(layout, data, check_crcs=check_crcs)
    except DecodeError as error:
        raise error_at(location, magic, error.path, error.offset, error.reason) from None
    if entry.compression_type >= len(_CODECS):
        reason = f"unknown compression {entry.compression_type}; magic {magic} supports 0 to {len(_CODECS) - 1}"
        raise error_at(location, magic, "attributes", _format.attributes, reason)
    is_plain = entry.compression_type == 0
    batch = new(RecordBatch)
    batch._decode = _plain_record if is_plain else _compressed_records
    batch._source = entry if is_plain else (entry, location, check_crcs, limits)
    batch._section = batch._records = None
    batch._base_offset = entry.offset if is_plain else None
    batch.position = location[1]
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
    return -1 if isinstance(entry, v0.MessageAndOffset) else entry.timestamp


def _timestamp_type(entry: Entry) -> TimestampType:
    if isinstance(entry, v0.MessageAndOffset):
        return "NoTimestampType"
    return "LogAppendTime" if entry.timestamp_type else "CreateTime"


def _headers(entry: Entry) -> list[Header]:
    """Return the headers of an entry; KIP-82's keys as the KIP prints them, such as 0x00100010."""
    if isinstance(entry, _LAYOUTS):
        return []
    return [(f"0x{header.key:08x}", header.value) for header in getattr(entry, "headers", ())]


def _plain_record(entry: Entry) -> list[Record]:
    return [_record(entry, entry.offset, _timestamp(entry))]


def _record(entry: Entry, offset: int, timestamp: int) -> Record:
    return Record(offset=offset, timestamp=timestamp, key=entry.key, value=entry.value, headers=_headers(entry))


def _compressed_records(source: tuple[Entry, Location, bool, Limits]) -> list[Record]:
    """Decode the records of a compressed entry, given with its location, whether to check checksums, and the limits.

    Raises:
        DecodeError: they are broken.
    """
    wrapper, location, check_crcs, limits = source
    data = _inner_bytes(wrapper, location, limits)
    entries = _inner_entries(wrapper, data, location, check_crcs=check_crcs, limits=limits)
    # Since magic 1, offsets inside are relative, and the wrapper has the offset of the last entry. Java does not change
    # the offsets inside if a producer did not set the wrapper's.
    base_offset = max(wrapper.offset - entries[-1].offset, 0) if wrapper.VERSION else 0
    append_time = _timestamp(wrapper) if _timestamp_type(wrapper) == "LogAppendTime" else None
    return [
        _record(entry, base_offset + entry.offset, _timestamp(entry) if append_time is None else append_time)
        for entry in entries
    ]


def created_timestamps(batch: RecordBatch) -> list[int]:
    """Decode the timestamps that the producer gave to the records of an entry, also if the broker set others.

    Raises:
        DecodeError: they are broken.
    """
    if batch.compression == "none":
        return [record.timestamp for record in batch.records]
    wrapper, location, check_crcs, limits = batch._source
    data = _inner_bytes(wrapper, location, limits)
    entries = _inner_entries(wrapper, data, location, check_crcs=check_crcs, limits=limits)
    return list(map(_timestamp, entries))


def _inner_bytes(wrapper: Entry, location: Location, limits: Limits) -> bytes:
    """Decompress the value of a compressed entry."""
    magic = wrapper.VERSION
    try:
        if wrapper.value is None:
            raise CompressedDataError("a compressed entry has records in its value, which may not be null")
        compression = _CODECS[wrapper.compression_type]
        value = lz4_from_magic_0(wrapper.value) if compression == "lz4" and magic == 0 else wrapper.value
        return decompress(compression, value, limits.decompressed_size)
    except CompressedDataError as error:
        raise error_at(location, magic, "value", _value_at(wrapper), str(error)) from error


def _inner_entries(wrapper: Entry, data: bytes, location: Location, *, check_crcs: bool, limits: Limits) -> list[Entry]:
    """Decode the entries inside of a compressed one, at least one."""
    magic, layout = wrapper.VERSION, type(wrapper)
    entries: list[Entry] = []
    items = pos = 0
    while pos < len(data):
        if items >= limits.items:
            raise error_at(location, magic, "value", _value_at(wrapper), limits.too_many)
        path = f"records[{len(entries)}]"
        end = pos + SIZE_END + int.from_bytes(data[pos + SIZE : pos + SIZE_END], "big", signed=True)
        if not pos < end <= len(data):
            end = len(data)  # the size is wrong, which the reader of the record format will report
        try:
            inner = data[pos:end]
            if layout not in _LAYOUTS and has_more_items(inner, limits.items - items):
                raise DecodeError(layout.NAME, magic, "headers", KEYS[1], limits.too_many)
            entry = decode(layout, inner, check_crcs=check_crcs)
            if entry.compression_type:
                reason = "a message inside of a compressed one may not be compressed itself"
                raise DecodeError(entry.NAME, magic, "attributes", _format.attributes, reason)
        except DecodeError as error:
            where = f"at byte {pos + error.offset} of the {len(data)} that the value decompresses to"
            reason, at = f"{error.reason} ({where})", _value_at(wrapper)
            raise error_at(location, magic, f"{path}.{error.path}", at, reason) from None
        entries.append(entry)
        items += 1 + len(getattr(entry, "headers", ()))
        pos = end
    if not entries:
        reason = "a compressed entry has at least one record in its value"
        raise error_at(location, magic, "value", _value_at(wrapper), reason)
    return entries


def _value_at(wrapper: Entry) -> int:
    """Compute the position of the value of an entry, which ends with the value."""
    return wrapper.encoded_size() - len(wrapper.value or b"")


def write_message_set(
    records: Iterable[Record],
    *,
    magic: Literal[0, 1],
    compression: Compression = "none",
    timestamp_type: TimestampType = "CreateTime",
    max_timestamp: int | None = None,
) -> bytes:
    """Encode a message set, byte for byte as Kafka's Java classes do (compressed bytes as the codec does).

    Args:
        records: in the order of their offsets, or all without one, which are numbered from 0; without headers, and of
            magic 0 without timestamps, too.
        magic: the message format.
        compression: the codec; with one, the set is a single entry that all messages are compressed into.
        timestamp_type: "CreateTime" or "LogAppendTime"; magic 0 has none and ignores it.
        max_timestamp: of a compressed entry; by default the highest of the records, in milliseconds since 1970.

    Raises:
        EncodeError: a value does not fit its field, the offsets do not ascend, a timestamp is below -1, or the format
            cannot hold the value.
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
        if record.timestamp < NO_TIMESTAMP:
            raise no_such_timestamp(records, magic)
    is_append_time = timestamp_type == "LogAppendTime"
    if compression == "none":
        return b"".join(entry_bytes(magic, record, is_append_time) for record in records)
    if not records:
        raise EncodeError("RecordBatch", magic, "value", "a compressed entry needs at least one record")
    base_offset = records[0].offset if magic == 1 else 0
    value = compress(
        compression, b"".join(entry_bytes(magic, record, is_append_time, base_offset) for record in records)
    )
    if compression == "lz4" and magic == 0:
        value = lz4_to_magic_0(value)
    if max_timestamp is None:
        max_timestamp = max(record.timestamp for record in records)
    wrapper = Record(offset=records[-1].offset, timestamp=max_timestamp, value=value)
    return entry_bytes(magic, wrapper, is_append_time, codec=_CODECS.index(compression))


def entry_bytes(magic: int, record: Record, is_append_time: bool, base_offset: int = 0, codec: int = 0) -> bytes:
    """Encode one entry, whose offset counts from a base offset; with a codec, its value is a compressed set.

    Raises:
        EncodeError: a value does not fit its field.
    """
    offset = record.offset - base_offset
    entry = _LAYOUTS[magic](offset=offset, compression_type=codec, key=record.key, value=record.value)
    if isinstance(entry, v1.MessageAndOffset):  # magic 0 has no timestamps
        entry.timestamp, entry.timestamp_type = record.timestamp, is_append_time
    return entry.encode()
