"""Reading of a set: its bytes to messages, plain or compressed, checked against the header.

A set is checked as a whole: its checksum, the size that it decompresses to, the number of messages before any is made,
each message by its generated class, and then the header against the messages. Positions in errors count within the set;
messages that were compressed have none there, so their position among the decompressed bytes is part of the reason.
`single` reads one message at a time and shares all checks of one message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from kipwire.codec.checksums import crc32
from kipwire.codec.wire import read_varint
from kipwire.drafts.kip_98.heads import (
    ATTRIBUTES,
    MAX_TIMESTAMP,
    MESSAGES,
    OFFSET_DELTA,
    fault_of_codec,
    fault_of_delta,
    read_head,
)
from kipwire.drafts.kip_98.model import CODECS, ControlMessage, DraftSet, SetHead
from kipwire.drafts.proposals.compressed_message_set.v2 import CompressedMessageSet
from kipwire.drafts.proposals.control_message_key.v0 import ControlMessageKey
from kipwire.drafts.proposals.messages.v2 import Message, Messages
from kipwire.model.errors import DecodeError, Malformed
from kipwire.records.checks import MAX_DECOMPRESSED_SIZE, MAX_ITEMS, Limits, decode
from kipwire.records.compression import CompressedDataError, decompress
from kipwire.records.heads import SIZE, SIZE_END
from kipwire.records.model import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.drafts.kip_98.heads import Buffer

TIMESTAMP_END = 9
"""Position of the offset delta in a message, after its length."""
CRC_SIZE = 4
SMALLEST_MESSAGE = 14
"""Bytes that a message has at least after its length."""


class Found(NamedTuple):
    """A message with its place in the section of messages."""

    message: Message
    type_id: int | None
    """Type of a control message; None for others."""
    key_at: int
    """Position of the key of a control message."""


class Decoded(NamedTuple):
    """A set that has been checked."""

    header: CompressedMessageSet
    found: list[Found]
    section: bytes
    """The bytes of the messages, decompressed."""

    def error(self, path: str, offset: int, reason: str) -> DecodeError:
        """Make the error for wrong messages; `offset` counts within them, the error's offset within the set."""
        return error_in(len(self.section), bool(self.header.compression_type), path, offset, reason)


def error_in(size: int, is_compressed: bool, path: str, offset: int, reason: str) -> DecodeError:
    """Make the error for the messages of a set.

    Args:
        size: bytes of the messages, decompressed.
        is_compressed: True if they are compressed in the set.
        path: of the error.
        offset: within the messages; the offset of the error is within the set.
        reason: what is wrong.
    """
    if not is_compressed:
        return _error(path, MESSAGES + offset, reason)
    return _error(path, MESSAGES, f"{reason} (at byte {offset} of the {size} that they decompress to)")


def read_set(
    data: Buffer,
    position: int = 0,
    *,
    check_crcs: bool = True,
    max_decompressed_size: int = MAX_DECOMPRESSED_SIZE,
    max_items: int = MAX_ITEMS,
) -> DraftSet:
    """Decode the set that starts at a position, also a compressed one.

    With "LogAppendTime" every message has the header's timestamp. The header must fit the messages: the offset delta
    covers them all, and none is later than the highest timestamp. A set that was compacted has a larger delta than its
    messages need.

    Args:
        data: the buffer; bytes after the set are not read.
        position: the start of the set, in bytes.
        check_crcs: True if a wrong checksum, of the set or of a message, is an error.
        max_decompressed_size: bytes that the messages may decompress to.
        max_items: messages that the set may have.

    Raises:
        DecodeError: the bytes there are not a set; the offset counts from the start of the buffer.
        MissingExtraError: the codec needs cramjam, which is not installed.
    """
    head, view = whole_set(data, position)
    limits = Limits(max_decompressed_size, max_items)
    try:
        decoded = read(bytes(view), check_crcs=check_crcs, limits=limits)
    except DecodeError as error:
        raise _error(error.path, position + error.offset, error.reason) from None
    crcs = [int.from_bytes(decoded.section[end - CRC_SIZE : end], "big") for _, end in bounds_of(decoded.section)]
    return DraftSet(head, [message_of(one, head) for one in decoded.found], crcs)


def whole_set(data: Buffer, position: int) -> tuple[SetHead, memoryview]:
    """Decode the header of the set that starts at a position, and return it with all bytes of the set.

    Raises:
        DecodeError: the bytes there are not the header of a set, or not all of the set is there; the offset counts from
            the start of the buffer.
    """
    head = read_head(data, position)
    view = memoryview(data).cast("B")[position : position + head.size]
    if len(view) < head.size:
        reason = f"declares {head.size - SIZE_END} more bytes, but only {len(view) - SIZE_END} are left"
        raise _error("length", position + SIZE, reason)
    return head, view


def read(data: bytes, *, check_crcs: bool, limits: Limits) -> Decoded:
    """Decode a set, which must take all of the bytes.

    Raises:
        DecodeError: they are not a set; path and offset are within the bytes.
    """
    # The classes of plain and of compressed sets have the same header; in this one the messages stay bytes.
    header = decode(CompressedMessageSet, data, check_crcs=check_crcs)
    if reason := fault_of_codec(header.compression_type):
        raise _error("attributes", ATTRIBUTES, reason)
    try:
        section = decompress(CODECS[header.compression_type], header.compressed_messages, limits.decompressed_size)
    except CompressedDataError as error:
        raise _error("messages", MESSAGES, str(error)) from error
    if _has_more_messages(section, limits.items):
        raise _error("messages", MESSAGES, limits.too_many)
    decoded = Decoded(header, [], section)
    try:
        decoded.found.extend(_messages(section, check_crcs=check_crcs))
    except DecodeError as error:
        raise decoded.error(error.path, error.offset, error.reason) from None
    expect_header(read_head(data), decoded.found)
    return decoded


def expect_header(head: SetHead, found: Sequence[Found]) -> None:
    """Check the header against messages of the set.

    Raises:
        DecodeError: the offset delta or the highest timestamp does not fit the messages.
    """
    needed = max((one.message.offset_delta for one in found), default=-1) + 1
    if reason := fault_of_delta(head.offset_delta, needed):
        raise _error("offset_delta", OFFSET_DELTA, reason)
    latest = max((one.message.timestamp for one in found), default=head.max_timestamp)
    if head.timestamp_type == "CreateTime" and latest > head.max_timestamp:
        reason = f"is {head.max_timestamp}, but a message of the set has {latest}"
        raise _error("max_timestamp", MAX_TIMESTAMP, reason)


def _messages(section: bytes, *, check_crcs: bool) -> Iterator[Found]:
    """Decode the messages of a decompressed section; check those that are control messages or have a negative delta.

    Raises:
        DecodeError: one is broken; path and offset are within the section.
    """
    bounds: list[Bounds] = []
    for number, message in enumerate(Messages.decode(section if check_crcs else with_right_crcs(section)).messages):
        if message.offset_delta >= 0 and not message.is_control:
            yield Found(message, None, 0)
            continue
        bounds = bounds or list(bounds_of(section))
        yield check_message(message, f"messages[{number}]", section, bounds[number].start)


class Bounds(NamedTuple):
    """The bytes of a message that its size counts."""

    start: int
    end: int


def bounds_of(data: bytes, pos: int = 0, end: int | None = None) -> Iterator[Bounds]:
    """Find the bounds of the messages from a position on, by their sizes alone; stop at a size that is wrong.

    Args:
        data: what has the messages.
        pos: where the first one starts, with its size.
        end: where the last one ends; None for the end of the data.
    """
    end = len(data) if end is None else end
    try:
        while pos < end:
            size, start = varint_at(data, pos)
            pos = start + size
            if not SMALLEST_MESSAGE <= size <= end - start:
                return
            yield Bounds(start, pos)
    except (IndexError, Malformed):
        return


def _has_more_messages(section: bytes, most: int) -> bool:
    """True if the section has more than `most` messages, before any of them is made."""
    return len(section) > most * SMALLEST_MESSAGE and next(islice(bounds_of(section), most, None), None) is not None


def with_right_crcs(section: bytes) -> bytes:
    """Replace the checksum of each message in a section by the right one."""
    parts: list[bytes] = []
    done = 0
    for start, end in bounds_of(section):
        parts += (section[done : end - CRC_SIZE], crc32(section[start : end - CRC_SIZE]).to_bytes(4, "big"))
        done = end
    return b"".join((*parts, section[done:]))


def check_message(message: Message, path: str, section: bytes, start: int) -> Found:
    """Check a message that starts after its size, and read the type of a control message.

    Raises:
        DecodeError: its offset delta is negative, or its key does not belong to a control message.
    """
    at = start + TIMESTAMP_END
    if message.offset_delta < 0:
        raise _error(f"{path}.offset_delta", at, f"is {message.offset_delta}; it counts from the set's first offset")
    assert message.key is not None, "a control message has one, or it was not decoded"
    _, at = varint_at(section, at)
    if message.value is not None:
        _, at = varint_at(section, at)
    try:
        return Found(message, ControlMessageKey.decode(message.key).control_message_type, at)
    except DecodeError as error:
        inner = f".{error.path}" if error.path else ""
        raise _error(f"{path}.key{inner}", at + error.offset, error.reason) from None


def varint_at(data: bytes, pos: int) -> tuple[int, int]:
    """Decode an unsigned varint: (the number, position after it)."""
    return (data[pos], pos + 1) if data[pos] < 128 else read_varint(data, pos + 1, 31)


def message_of(found: Found, head: SetHead) -> Record | ControlMessage:
    message, type_id, _ = found
    offset = head.base_offset + message.offset_delta
    # The draft lets the broker set timestamps in the header alone.
    timestamp = message.timestamp if head.timestamp_type == "CreateTime" else head.max_timestamp
    if type_id is None:
        return Record(offset=offset, timestamp=timestamp, key=message.key, value=message.value)
    return ControlMessage(offset=offset, type_id=type_id, timestamp=timestamp, value=message.value)


def _error(path: str, offset: int, reason: str) -> DecodeError:
    return DecodeError("MessageSet", 2, path, offset, reason)
