"""Sets of the draft as batches, so that logs with them are read, converted and made again like any others."""

from __future__ import annotations

from typing import Literal

from kipwire.codec.wire import new
from kipwire.drafts.kip_98 import reading
from kipwire.drafts.kip_98.heads import KNOWN_ATTRIBUTES, MESSAGES
from kipwire.drafts.kip_98.model import CODECS, ControlMessage
from kipwire.drafts.kip_98.reading import Decoded, Found
from kipwire.drafts.kip_98.writing import write_set
from kipwire.model.errors import DecodeError, EncodeError, MissingExtraError
from kipwire.records.checks import DEFAULT_LIMITS, Limits, Location, error_at
from kipwire.records.control import end_marker_key
from kipwire.records.heads import MAGIC_2, TRANSACTIONAL
from kipwire.records.model import Record, RecordBatch
from kipwire.records.rebuilding import BatchHead

_ENDS: tuple[Literal["COMMIT"], Literal["ABORT"]] = ("COMMIT", "ABORT")
"""Types of markers by the draft's number; released Kafka has the two numbers the other way round."""
_format = MAGIC_2["kip-98 draft"]


def read(data: bytes, location: Location, *, check_crcs: bool, limits: Limits) -> RecordBatch:
    """Decode a set, which must take all of the bytes; decompress and decode its messages at once.

    Raises:
        DecodeError: they are not a set, or one with control messages and others.
    """
    try:
        decoded = reading.read(data, check_crcs=check_crcs, limits=limits)
        records = [_record(found, index, decoded) for index, found in enumerate(decoded.found)]
    except DecodeError as error:
        raise error_at(location, 2, error.path, error.offset, error.reason) from error.__cause__
    header, messages = decoded.header, [found.message for found in decoded.found]
    crc, attributes = _format.crc_and_attributes.unpack_from(data, _format.crc)
    batch = new(RecordBatch)
    batch._source = records, [message.timestamp for message in messages]
    batch._decode, batch._section = _records, None
    batch._base_offset = header.offset
    batch.position = location[1]
    batch.size = len(data)
    batch.magic = 2
    batch.crc = crc
    batch.attributes = attributes
    batch.compression = CODECS[header.compression_type]
    batch.timestamp_type = "LogAppendTime" if header.timestamp_type else "CreateTime"
    batch.last_offset = header.offset + header.offset_delta - 1  # the next set starts at the sum
    batch.base_timestamp = messages[0].timestamp if messages else -1
    batch.max_timestamp = header.max_timestamp
    batch.records_count = len(messages)
    batch.partition_leader_epoch = -1
    batch.producer_id = header.pid
    batch.producer_epoch = header.epoch
    batch.base_sequence = header.sequence
    batch.is_transactional = header.is_transactional
    batch.is_control = bool(messages) and messages[0].is_control
    batch.delete_horizon = None
    batch._records = records
    if any(message.is_control is not batch.is_control for message in messages):
        reason = "the set mixes control messages and others, which released Kafka cannot represent"
        raise error_at(location, 2, "messages", MESSAGES, reason)
    return batch


def _records(source: tuple[list[Record], list[int]]) -> list[Record]:
    return list(source[0])


def created_timestamps(batch: RecordBatch) -> list[int]:
    """Return the timestamps that the producer gave to the records of a set, also if the broker set another."""
    timestamps: list[int] = batch._source[1]
    return list(timestamps)


def rebuilt(head: BatchHead, records: list[Record]) -> bytes:
    """Encode a set from its head and its records; control records have the keys that reading gives them.

    Raises:
        EncodeError: the records do not fit the head.
        MissingExtraError: the codec needs cramjam, which is not installed.
    """
    if not 0 <= head.attributes <= KNOWN_ATTRIBUTES:
        raise EncodeError("MessageSet", 2, "attributes", f"{head.attributes} has bits without a meaning")
    return write_set(
        [_control(record, index) for index, record in enumerate(records)] if head.is_control else records,
        compression=CODECS[head.codec],
        base_offset=head.base_offset,
        offset_delta=head.last_offset - head.base_offset + 1,
        max_timestamp=head.max_timestamp,
        timestamp_type="LogAppendTime" if head.is_append_time else "CreateTime",
        producer_id=head.producer_id,
        producer_epoch=head.producer_epoch,
        base_sequence=head.base_sequence,
        is_transactional=bool(head.attributes & TRANSACTIONAL),
    )


def _control(record: Record, index: int) -> ControlMessage:
    keys = [end_marker_key(end) for end in _ENDS]
    number = keys.index(record.key) if record.key in keys else None
    if number is None:
        reason = f"{record.key!r} is not the key of a COMMIT or an ABORT"
        raise EncodeError("MessageSet", 2, f"messages[{index}].key", reason)
    return ControlMessage(offset=record.offset, type_id=number, timestamp=record.timestamp, value=record.value)


def is_whole(data: bytes) -> bool:
    """True if all of the bytes are a set of the draft with the right checksum."""
    try:
        reading.read(data, check_crcs=True, limits=DEFAULT_LIMITS)
    except MissingExtraError:
        return True  # its header is right, and the codec of its messages is known
    except DecodeError:
        return False
    return True


def _record(found: Found, index: int, decoded: Decoded) -> Record:
    message, type_id, key_at = found
    header = decoded.header
    key = message.key
    if type_id is not None:
        # As released Kafka has it, so that what reads control records understands it.
        if not 0 <= type_id < len(_ENDS):
            reason = f"unknown type {type_id} of a control message; known are 0, COMMIT, and 1, ABORT"
            raise decoded.error(f"messages[{index}].key", key_at, reason)
        key = end_marker_key(_ENDS[type_id])
    return Record(
        offset=header.offset + message.offset_delta,
        # The draft lets the broker set timestamps in the header alone.
        timestamp=header.max_timestamp if header.timestamp_type else message.timestamp,
        key=key,
        value=message.value,
    )
