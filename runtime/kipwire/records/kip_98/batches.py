"""Message sets as the draft of KIP-98 has them, with magic 2 and a checksum in each message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from kipwire.codec.checksums import crc32
from kipwire.codec.wire import new, read_varint
from kipwire.errors import DecodeError, Malformed
from kipwire.records.compression import COMPRESSIONS, CompressedDataError, decompress
from kipwire.records.control import end_marker_key
from kipwire.records.heads import MAGIC_2
from kipwire.records.locations import Limits, Location, decode
from kipwire.records.model import Record, RecordBatch
from proposals.compressed_message_set.v2 import CompressedMessageSet
from proposals.control_message_key.v0 import ControlMessageKey
from proposals.messages.v2 import Message, Messages

_CODECS = COMPRESSIONS[:4]
"""What the draft has."""
_ENDS: tuple[Literal["COMMIT"], Literal["ABORT"]] = ("COMMIT", "ABORT")
"""By the draft's number, which released Kafka has the other way round."""
_MESSAGES = CompressedMessageSet().encoded_size()
"""Where the messages start."""
_format = MAGIC_2["kip-98 draft"]


class _Fault(NamedTuple):
    """What is wrong with the messages of a set, with the path and the byte in them."""

    path: str
    offset: int
    reason: str


def read(data: bytes, location: Location, *, check_crcs: bool, limits: Limits) -> RecordBatch:
    """The set that the bytes are, from the first to the last; its messages are decompressed and decoded at once.

    Raises:
        DecodeError: they are not a set, or one with control messages and others.
    """
    try:
        # Both classes have the same header; in this one the messages stay bytes.
        header = decode(CompressedMessageSet, data, check_crcs=check_crcs)
    except DecodeError as error:
        raise location.error(2, error.path, error.offset, error.reason) from None
    if header.compression_type >= len(_CODECS):
        reason = f"the draft has no compression {header.compression_type}; it has 0 to {len(_CODECS) - 1}"
        raise location.error(2, "attributes", _format.attributes, reason)
    try:
        section = decompress(_CODECS[header.compression_type], header.compressed_messages, limits.decompressed_size)
    except CompressedDataError as error:
        raise location.error(2, "messages", _MESSAGES, str(error)) from error
    messages: list[Message] = []
    for found in _messages(section, check_crcs=check_crcs):
        if isinstance(found, _Fault):
            raise _error(found, header, section, location)
        if len(messages) == limits.items:
            raise location.error(2, "messages", _MESSAGES, limits.too_many)
        messages.append(found)
    crc, attributes = _format.crc_and_attributes.unpack_from(data, _format.crc)
    batch = new(RecordBatch)
    batch._section = None
    batch._base_offset = header.offset
    batch.position = location.start
    batch.size = len(data)
    batch.magic = 2
    batch.crc = crc
    batch.attributes = attributes
    batch.compression = _CODECS[header.compression_type]
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
    batch._records = [_record(message, index, header, location) for index, message in enumerate(messages)]
    if any(message.is_control is not batch.is_control for message in messages):
        reason = "control messages and others are in one set, which released Kafka cannot say"
        raise location.error(2, "messages", _MESSAGES, reason)
    return batch


def _messages(section: bytes, *, check_crcs: bool) -> Iterator[Message | _Fault]:
    """The messages, one by one; what is wrong with one ends them."""
    pos = number = 0
    while pos < len(section):
        size, start = section[pos], pos + 1
        try:
            if size > 127:
                size, start = read_varint(section, start, 31)
            end = min(start + size, len(section))
        except (IndexError, Malformed):
            end = len(section)  # the size is wrong, which the reader of the record format will report
        try:
            message = _message(section[pos:end], start - pos, check_crcs=check_crcs)
        except DecodeError as error:
            path = error.path.replace("messages[0]", f"messages[{number}]", 1)
            yield _Fault(path, pos + error.offset, error.reason)
            return
        yield message
        pos, number = end, number + 1


def _message(data: bytes, start: int, *, check_crcs: bool) -> Message:
    """The message that the bytes are, whose checksum covers what comes after its size, from `start` on."""
    try:
        return Messages.decode(data).messages[0]
    except DecodeError as error:
        if check_crcs or error.path != "messages[0].crc":
            raise
        right = crc32(data[start : error.offset]).to_bytes(4, "big")
        return Messages.decode(data[: error.offset] + right + data[error.offset + 4 :]).messages[0]


def _error(fault: _Fault, header: CompressedMessageSet, section: bytes, location: Location) -> DecodeError:
    if not header.compression_type:
        return location.error(2, fault.path, _MESSAGES + fault.offset, fault.reason)
    reason = f"{fault.reason} (at byte {fault.offset} of the {len(section)} that they decompress to)"
    return location.error(2, fault.path, _MESSAGES, reason)


def _record(message: Message, index: int, header: CompressedMessageSet, location: Location) -> Record:
    return Record(
        offset=header.offset + message.offset_delta,
        # The draft lets the broker set timestamps in the header alone.
        timestamp=header.max_timestamp if header.timestamp_type else message.timestamp,
        key=_released_key(message, index, location) if message.is_control else message.key,
        value=message.value,
    )


def _released_key(message: Message, index: int, location: Location) -> bytes:
    """The key of a control message as released Kafka has it, so that what reads control records understands it."""
    path = f"messages[{index}].key"
    if message.key is None:
        raise location.error(2, path, _MESSAGES, "a control message has a key, which may not be null")
    try:
        number = ControlMessageKey.decode(message.key).control_message_type
    except DecodeError as error:
        raise location.error(2, f"{path}.{error.path}", _MESSAGES, error.reason) from None
    if not 0 <= number < len(_ENDS):
        reason = f"unknown type {number} of a control message; known are 0, COMMIT, and 1, ABORT"
        raise location.error(2, path, _MESSAGES, reason)
    return end_marker_key(_ENDS[number])
