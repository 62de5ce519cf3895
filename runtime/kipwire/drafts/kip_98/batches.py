"""Sets of the draft as batches, so that logs with them are read and converted like any others."""

from __future__ import annotations

from typing import Literal

from kipwire.codec.wire import new
from kipwire.drafts.kip_98 import reading
from kipwire.drafts.kip_98.heads import MESSAGES
from kipwire.drafts.kip_98.model import CODECS
from kipwire.drafts.kip_98.reading import Decoded, Found
from kipwire.model.errors import DecodeError, MissingExtraError
from kipwire.records.checks import DEFAULT_LIMITS, Limits, Location, error_at
from kipwire.records.control import end_marker_key
from kipwire.records.heads import MAGIC_2
from kipwire.records.model import Record, RecordBatch

_ENDS: tuple[Literal["COMMIT"], Literal["ABORT"]] = ("COMMIT", "ABORT")
"""Types of markers by the draft's number; released Kafka has the two numbers the other way round."""
_format = MAGIC_2["kip-98 draft"]


def read(data: bytes, location: Location, *, check_crcs: bool, limits: Limits) -> RecordBatch:
    """Decode the set that the bytes are, from the first to the last; decompress and decode its messages at once.

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
    batch._source, batch._decode, batch._section = records, list, None
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
