"""Headers found in the bytes of a message, without reading the rest of it.

Keys ascend, so a look-up ends at the header that it looks for, or at the first one with a higher key.

Checked: the size of the message, its magic byte, the lengths of its key and of its headers together; of each header
that is found or passed, its length, and that its key is above the one before. Not checked: the CRC, the bits of the
attributes without a meaning, later headers, the value, and that no byte is left over. So bytes that
`MessageAndOffset.decode` refuses may have an answer here. Bytes that it accepts have the same answer.
"""

from __future__ import annotations

from struct import Struct as Packer

from kipwire.codec.wire import unpack_i
from kipwire.drafts.kip_82.headers import Headers, check_key, trusted_headers
from kipwire.model.errors import DecodeError
from kipwire.records.heads import FORMATS, HAS_HEADERS, HEAD, KEYS, MAGIC, MAGIC_2, SIZE, SIZE_END
from kipwire.tools.text import count_of, only_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

    Buffer = bytes | bytearray | memoryview | mmap

_NAME, _VERSION = "MessageAndOffset", 2
_SMALLEST = (FORMATS[0].smallest, FORMATS[1].smallest, MAGIC_2["kip-82"].smallest)
"""Lowest number of bytes of a message after its size, by magic."""
_ATTRIBUTES = MAGIC_2["kip-82"].attributes
_KEY = KEYS[1]
"""The first byte of the message's key, after its length."""
_header_at = Packer(">Ii").unpack_from
_HEADER = 8
"""Bytes of a header before its value."""


def find_header(data: Buffer, key: int, offset: int = 0) -> bytes | None:
    """Find the value of a header in an encoded message; None where the message does not have it.

    No header after that key is read. Messages of magic 0 and 1 have no headers. A compressed message is searched for
    its own headers, not for headers of the messages inside.

    Args:
        data: the bytes of a message, or a longer buffer such as a message set.
        key: the header's key.
        offset: where the message starts in the buffer.

    Raises:
        DecodeError: the bytes read are not a message; its offset counts from the start of the buffer.
        TypeError: the key is not an int.
        ValueError: the key is not in 0 to 0xffffffff, or `offset` is outside the buffer.
    """
    whole = _as_bytes(data)
    start, end = _section(whole, offset)
    return _find(whole, start, end, check_key(key))


def find_header_in_section(section: Buffer, key: int) -> bytes | None:
    """Find the value of a header in an encoded section of headers, without its length; None where it is not there.

    Raises:
        DecodeError: what was read is not a section of headers; its offset counts from the start of the section.
        TypeError: the key is not an int.
        ValueError: the key is not in 0 to 0xffffffff.
    """
    whole = _as_bytes(section)
    return _find(whole, 0, len(whole), check_key(key))


def headers_up_to(data: Buffer, highest: int, offset: int = 0) -> Headers:
    """Find the headers of an encoded message whose keys are not above one, such as all of Kafka's own up to 0xffff.

    Of higher ones only the first is looked at, and its value is not read.

    Args:
        data: as for `find_header`.
        highest: the highest key.
        offset: as for `find_header`.

    Raises:
        DecodeError: as `find_header`.
        TypeError: the key is not an int.
        ValueError: the key is not in 0 to 0xffffffff, or `offset` is outside the buffer.
    """
    whole = _as_bytes(data)
    start, end = _section(whole, offset)
    found = _headers(whole, start, end, check_key(highest))
    return trusted_headers({key: bytes(whole[at:to]) for key, at, to in found})


def _as_bytes(data: Buffer) -> bytes | memoryview:
    """Return the buffer itself, or a view of its bytes; nothing is copied."""
    return data if type(data) is bytes else memoryview(data).cast("B")


def _section(data: bytes | memoryview, offset: int) -> tuple[int, int]:
    """Find start and end of the section of headers in a message; they are equal where there is none.

    Raises:
        DecodeError: the bytes from there on are not a message as far as its headers, or not a whole one.
        ValueError: the offset is outside the buffer.
    """
    if not 0 <= offset <= len(data):
        raise ValueError(f"offset {offset} is outside the buffer of {len(data)} bytes")
    left = len(data) - offset
    if left < HEAD.size:
        raise _error("", len(data), f"a message starts with {HEAD.size} bytes, {only_left(left)}")
    _, size, _, magic = HEAD.unpack_from(data, offset)
    if not 0 <= magic <= _VERSION:
        raise _error("magic_byte", offset + MAGIC, f"unknown message format {magic}; known are 0, 1 and 2")
    if size < _SMALLEST[magic]:
        reason = f"a message of magic {magic} cannot have {size} bytes; the smallest has {_SMALLEST[magic]}"
        raise _error("message_size", offset + SIZE, reason)
    end = offset + SIZE_END + size
    if end > len(data):
        reason = f"declares {count_of(size, 'more byte')}, {only_left(left - SIZE_END)}"
        raise _error("message_size", offset + SIZE, reason)
    if magic < _VERSION or not data[offset + _ATTRIBUTES] & HAS_HEADERS:
        return end, end
    pos = offset + _KEY
    (size,) = unpack_i(data, pos - 4)
    if size < -1:
        raise _error("key", pos - 4, f"a length of {size} is below -1, which is null")
    pos += max(size, 0)
    if pos > end:
        raise _error("key", offset + _KEY, f"need {count_of(size, 'byte')}, {only_left(end - offset - _KEY)}")
    if end - pos < 4:
        raise _error("headers", pos, f"need 4 bytes, {only_left(end - pos)}")
    (size,) = unpack_i(data, pos)
    if size < 0:
        raise _error("headers", pos, f"a length of {size} is negative")
    pos += 4
    if size > end - pos:
        raise _error("headers", pos, f"need {count_of(size, 'byte')}, {only_left(end - pos)}")
    return pos, pos + size


def _find(data: bytes | memoryview, pos: int, end: int, key: int) -> bytes | None:
    for found, at, to in _headers(data, pos, end, key):
        if found == key:
            return bytes(data[at:to])
    return None


def _headers(data: bytes | memoryview, pos: int, end: int, highest: int) -> Iterator[tuple[int, int, int]]:
    """Yield the headers of a section up to a key: the key of each, and where its value starts and ends.

    Raises:
        DecodeError: one is cut short, or its key is not above the one before.
    """
    before, number = -1, 0
    while pos < end:
        if end - pos < _HEADER:
            name, at = ("key", pos) if end - pos < 4 else ("value", pos + 4)
            raise _error(f"headers[{number}].{name}", at, f"need 4 bytes, {only_left(end - at)}")
        key, size = _header_at(data, pos)
        if key <= before:
            raise _error(f"headers[{number}].key", pos, f"key {key} follows {before}; keys must ascend")
        if key > highest:
            return
        at = pos + _HEADER
        pos = at + size
        if size < 0:
            raise _error(f"headers[{number}].value", at - 4, f"a length of {size} is negative")
        if pos > end:
            raise _error(f"headers[{number}].value", at, f"need {count_of(size, 'byte')}, {only_left(end - at)}")
        yield key, at, pos
        before = key
        number += 1


def _error(path: str, offset: int, reason: str) -> DecodeError:
    return DecodeError(_NAME, _VERSION, path, offset, reason)
