"""Messages of a set one at a time: passed over by their sizes, and decoded where they are wanted.

To find one message of a large set, only sizes and offset deltas of those before it are read. What is read is checked as
by `reading.read_set`; what is passed over is not, and neither is the checksum of the set, which covers all of it. So a
message may be found in a set that `read_set` refuses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kipwire.drafts.kip_98.heads import MESSAGES
from kipwire.drafts.kip_98.model import ControlMessage, SetHead
from kipwire.drafts.kip_98.reading import (
    TIMESTAMP_END,
    Found,
    bounds_of,
    check_message,
    error_in,
    expect_header,
    message_of,
    varint_at,
    whole_set,
    with_right_crcs,
)
from kipwire.drafts.proposals.messages.v2 import Messages
from kipwire.model.errors import DecodeError, Malformed
from kipwire.records.checks import MAX_DECOMPRESSED_SIZE
from kipwire.records.compression import CompressedDataError, decompress
from kipwire.records.model import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.drafts.kip_98.heads import Buffer


def read_messages(
    data: Buffer, position: int = 0, *, check_crcs: bool = True, max_decompressed_size: int = MAX_DECOMPRESSED_SIZE
) -> Iterator[Record | ControlMessage]:
    """Yield the messages of the set that starts at a position; each is decoded when it is asked for.

    What is asked for is checked as by `read_set`, and so are the sizes of all messages up to there. The checksum of the
    set is not looked at, since it covers all messages; each message has its own.

    Args:
        data: the buffer; what comes after the set is not looked at.
        position: where the set starts, in bytes.
        check_crcs: whether a wrong checksum of a message is an error.
        max_decompressed_size: bytes that the messages may decompress to.

    Raises:
        DecodeError: the bytes there are not a set, as far as they were looked at; the offset counts from the start of
            the buffer.
        MissingExtraError: the codec needs cramjam, which is not installed.
    """
    section = _section(data, position, max_decompressed_size)
    for number, at, size_end, end in _each(section):
        yield _decode_message(section, number, at, size_end, end, check_crcs)


def find_message(
    data: Buffer,
    offset: int,
    position: int = 0,
    *,
    check_crcs: bool = True,
    max_decompressed_size: int = MAX_DECOMPRESSED_SIZE,
) -> Record | ControlMessage | None:
    """Find the message with an offset, in the set that starts at a position; None where the set does not have it.

    The messages before it are passed over by their sizes: of each only the size and the offset delta are read; messages
    after it are not read. `find_set` finds the set.

    Args:
        data: the buffer; bytes after the set are not read.
        offset: the offset of the message.
        position: the start of the set, in bytes.
        check_crcs: True if a wrong checksum of the message is an error. The set's checksum is not compared.
        max_decompressed_size: bytes that the messages may decompress to.

    Raises:
        DecodeError: see `read_messages`.
        MissingExtraError: the codec needs cramjam, which is not installed.
    """
    section = _section(data, position, max_decompressed_size)
    delta = offset - section.head.base_offset
    if not 0 <= delta < section.head.offset_delta:
        return None
    for number, at, size_end, end in _each(section):
        try:
            found, _ = varint_at(section.data, size_end + TIMESTAMP_END)
        except (IndexError, Malformed):
            found = delta  # decoding it says what is wrong
        if found == delta:
            return _decode_message(section, number, at, size_end, end, check_crcs)
    return None


class _Section(NamedTuple):
    """The messages of a set, decompressed."""

    head: SetHead
    data: bytes
    start: int
    """Position of the first message in `data`."""
    end: int

    def error(self, path: str, offset: int, reason: str) -> DecodeError:
        """Make the error for wrong messages; `offset` counts within `data`, the error's offset within the buffer."""
        size, is_compressed = self.end - self.start, self.head.compression != "none"
        error = error_in(size, is_compressed, path, offset - self.start, reason)
        return _move_error(error, self.head.position)


def _section(data: Buffer, position: int, max_decompressed_size: int) -> _Section:
    head, view = whole_set(data, position)
    if head.compression == "none":
        whole = (data, position) if type(data) is bytes else (bytes(view), 0)
        return _Section(head, whole[0], whole[1] + MESSAGES, whole[1] + head.size)
    try:
        section = decompress(head.compression, bytes(view[MESSAGES:]), max_decompressed_size)
    except CompressedDataError as error:
        raise DecodeError("MessageSet", 2, "messages", position + MESSAGES, str(error)) from error
    return _Section(head, section, 0, len(section))


def _each(section: _Section) -> Iterator[tuple[int, int, int, int]]:
    """Yield number and bounds of each message: where its size starts, where that ends, and where the message ends.

    Raises:
        DecodeError: a size is wrong.
    """
    at, number = section.start, 0
    for size_end, end in bounds_of(section.data, section.start, section.end):
        yield number, at, size_end, end
        at, number = end, number + 1
    if at < section.end:
        _decode_message(section, number, at, at, section.end, check_crcs=False)


def _decode_message(
    section: _Section, number: int, at: int, size_end: int, end: int, check_crcs: bool
) -> Record | ControlMessage:
    """Decode one message, and check it against the header of its set.

    Raises:
        DecodeError: it is broken, or the header is not true of it.
    """
    path, data = f"messages[{number}]", section.data[at:end]
    if not check_crcs:
        data = with_right_crcs(data)
    try:
        (message,) = Messages.decode(data).messages
    except DecodeError as error:
        raise _error_of(section, path, at, data, error) from None
    found = Found(message, None, 0)
    if message.offset_delta < 0 or message.is_control:
        try:
            found = check_message(message, path, section.data, size_end)
        except DecodeError as error:
            raise section.error(error.path, error.offset, error.reason) from None
    try:
        expect_header(section.head, (found,))
    except DecodeError as error:
        raise _move_error(error, section.head.position) from None
    return message_of(found, section.head)


def _error_of(section: _Section, path: str, at: int, data: bytes, alone: DecodeError) -> DecodeError:
    """Make the error for one message in the words of `read_set`, which counts bytes from the first message.

    Args:
        section: all messages.
        path: of this one.
        at: its position.
        data: its bytes, as they are decoded.
        alone: the error of decoding it alone.
    """
    try:
        Messages.decode(with_right_crcs(section.data[section.start : at]) + data)
    except DecodeError as error:
        if error.path.startswith(path):
            return section.error(error.path, section.start + error.offset, error.reason)
    # One before it, which was passed over, is broken, too.
    return section.error(alone.path.replace("messages[0]", path, 1), at + alone.offset, alone.reason)


def _move_error(error: DecodeError, start: int) -> DecodeError:
    """Return an error whose offset counts from the start of the buffer, not from the start of the set in it."""
    return DecodeError(error.message, error.version, error.path, start + error.offset, error.reason)
