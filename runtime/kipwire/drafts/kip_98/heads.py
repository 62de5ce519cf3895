"""The headers of sets, read without looking at their messages."""

from __future__ import annotations

from struct import Struct as Packer

from kipwire.drafts.kip_98.model import CODECS, SetHead
from kipwire.model.errors import DecodeError
from kipwire.records.heads import FORMATS, HEAD, MAGIC, MAGIC_2, SIZE, SIZE_END
from kipwire.tools.text import only_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mmap import mmap

    Buffer = bytes | bytearray | memoryview | mmap

ATTRIBUTES = 17
OFFSET_DELTA = 19
MAX_TIMESTAMP = 23
MESSAGES = 45
KNOWN_ATTRIBUTES = 0x1F
_HEADER = Packer(">qiIbhiqqhi")
"""Fields from Offset to Sequence."""
_DELTA = Packer(">i")
_FORMATS = (*FORMATS[:2], MAGIC_2["kip-98 draft"])


def read_head(data: Buffer, position: int = 0) -> SetHead:
    """Decode the header of the set that starts at a position. Its messages and its checksum are not looked at.

    Raises:
        DecodeError: the bytes there are not the header of a set; the offset counts from the start of the buffer.
    """
    view = memoryview(data).cast("B")
    if len(view) - position < MESSAGES:
        raise _error("", position, f"the header has {MESSAGES} bytes, {only_left(max(len(view) - position, 0))}")
    values = _HEADER.unpack_from(view, position)
    offset, length, crc, magic, attributes, delta, max_timestamp, producer_id, epoch, sequence = values
    _expect_length(length, magic, position)
    if magic != 2:
        raise _error("magic", position + MAGIC, f"is {magic}; a set of the draft has 2")
    if attributes & ~KNOWN_ATTRIBUTES:
        reason = f"0x{attributes & 0xFFFF:04x} has bits without a meaning; they must be 0"
        raise _error("attributes", position + ATTRIBUTES, reason)
    if reason := fault_of_codec(attributes & 7):
        raise _error("attributes", position + ATTRIBUTES, reason)
    if reason := fault_of_delta(delta, 0):
        raise _error("offset_delta", position + OFFSET_DELTA, reason)
    size = SIZE_END + length
    return SetHead(
        position, size, crc, attributes, offset, delta, max_timestamp, producer_id, epoch, sequence
    )  # fmt: skip


def find_set(data: Buffer, offset: int) -> int | None:
    """Find the set that reading from an offset begins with: the first that ends at the offset or after it.

    The set has the offset, except where compaction has removed whole sets: then it is the next one that is left. Only
    headers are read. Entries of magic 0 and 1, which a log may have before its first set, are found in the same way.

    Args:
        data: the buffer; a last set that is cut short is found, too, if its header is whole.
        offset: the offset to read from.

    Returns:
        where the set or the entry starts, in bytes; None if all of them end before the offset.

    Raises:
        DecodeError: bytes are not a header of magic 0 or 1, or of a set of the draft.
    """
    view = memoryview(data).cast("B")
    position, end = 0, len(view)
    while end - position >= OFFSET_DELTA + _DELTA.size:
        first, length, _, magic = HEAD.unpack_from(view, position)
        if not 0 <= magic <= 2:
            reason = f"unknown message format {magic}; known are 0, 1 and 2"
            raise _error("magic", position + MAGIC, reason, magic)
        _expect_length(length, magic, position)
        following = first + 1
        if magic == 2:
            (delta,) = _DELTA.unpack_from(view, position + OFFSET_DELTA)
            if reason := fault_of_delta(delta, 0):
                raise _error("offset_delta", position + OFFSET_DELTA, reason)
            following = first + delta
        if offset < following:
            return position
        position += SIZE_END + length
    return None


def fault_of_codec(number: int) -> str:
    """Find the fault of a codec's number; "" if there is none."""
    if number < len(CODECS):
        return ""
    return f"unknown compression {number}; the draft supports 0 to {len(CODECS) - 1}"


def fault_of_delta(delta: int, needed: int) -> str:
    """Find the fault of a set's OffsetDelta, "" if there is none; `needed` is the lowest that its messages allow."""
    if delta >= needed:
        return ""
    if not needed:
        return f"is {delta}; it must not be negative"
    return f"is {delta}, but the messages of the set need {needed} or more"


def _expect_length(length: int, magic: int, position: int) -> None:
    format_ = _FORMATS[magic] if 0 <= magic <= 2 else _FORMATS[2]
    if length < format_.smallest:
        reason = f"a set cannot have {length} bytes after it; the smallest has {format_.smallest}"
        raise _error(format_.size_name, position + SIZE, reason, magic)


def _error(path: str, offset: int, reason: str, magic: int = 2) -> DecodeError:
    return DecodeError("MessageSet", magic, path, offset, reason)
