"""Records of magic 2 from and to bytes in plain Python, without the generated classes, which take twice as long.

The format is written out here by hand; tests compare it with those classes, to which it leaves all that is not usual.
"""

from __future__ import annotations

from kipwire.codec.varints import VARINTS
from kipwire.codec.wire import new, read_varint, write_packed
from kipwire.errors import Malformed
from kipwire.records.model import Header, RawHeaderKey, Record, bytes_of_key


def read_plainly(data: bytes, base_offset: int, base_timestamp: int) -> list[Record] | None:
    """The records that the bytes are, their offsets and timestamps counted from these; None if they are not valid."""
    records = []
    pos, bound = 0, len(data)
    try:
        while pos < bound:
            size = data[pos]
            pos += 1
            if size > 127:
                size, pos = read_varint(data, pos, 32)
            limit = pos + (size >> 1)
            if size & 1 or limit > bound:
                return None
            record = new(Record)
            pos += 1  # the attributes, which have no meaning as yet
            number = data[pos]
            pos += 1
            if number > 127:
                number, pos = read_varint(data, pos, 64)
            record.timestamp = base_timestamp + ((number >> 1) ^ -(number & 1))
            number = data[pos]
            pos += 1
            if number > 127:
                number, pos = read_varint(data, pos, 32)
            record.offset = base_offset + ((number >> 1) ^ -(number & 1))
            size = data[pos]
            pos += 1
            if size > 127:
                size, pos = read_varint(data, pos, 32)
            if size & 1:
                if size != 1:
                    return None
                record.key = None
            else:
                end = pos + (size >> 1)
                record.key, pos = data[pos:end], end
            size = data[pos]
            pos += 1
            if size > 127:
                size, pos = read_varint(data, pos, 32)
            if size & 1:
                if size != 1:
                    return None
                record.value = None
            else:
                end = pos + (size >> 1)
                record.value, pos = data[pos:end], end
            if data[pos]:
                record.headers, pos = _read_headers(data, pos, limit)
            else:
                record.headers = []
                pos += 1
            if pos != limit:
                return None
            records.append(record)
    except (Malformed, IndexError):
        return None
    return records


def _read_headers(data: bytes, pos: int, limit: int) -> tuple[list[Header], int]:
    """The headers of a record that ends there, and the position after them.

    Raises:
        Malformed: they are not valid; as do the other errors that `read_plainly` expects.
    """
    count, pos = _size(data, pos)
    headers: list[Header] = []
    if 2 * count > limit - pos:  # each has two sizes
        raise Malformed
    for _ in range(count):
        size = data[pos]
        if size < 128 and not size & 1:
            pos += 1
            size >>= 1
        else:
            size, pos = _size(data, pos)
        raw = data[pos : pos + size]
        try:
            key = raw.decode()
        except UnicodeDecodeError:
            key = RawHeaderKey(raw)
        pos += size
        size = data[pos]
        if size == 1:
            headers.append((key, None))
            pos += 1
            continue
        if size < 128 and not size & 1:
            pos += 1
            size >>= 1
        else:
            size, pos = _size(data, pos)
        headers.append((key, data[pos : pos + size]))
        pos += size
    return headers, pos


def _size(data: bytes, pos: int) -> tuple[int, int]:
    """A size that is not negative, and the position after it."""
    size = data[pos]
    pos += 1
    if size > 127:
        size, pos = read_varint(data, pos, 32)
    if size & 1:
        raise Malformed
    return size >> 1, pos


def write_plainly(records: list[Record], base_offset: int, base_timestamp: int) -> bytes | None:
    """The bytes of records, whose offsets and timestamps count from these; None if something in them is not usual."""
    out: list[bytes] = []
    try:
        for record in records:
            delta = record.timestamp - base_timestamp
            number = (delta << 1) ^ (delta >> 63)
            parts = [b"\0", VARINTS[number] if 0 <= number < 16384 else write_packed(delta, 64)]
            delta = record.offset - base_offset
            number = (delta << 1) ^ (delta >> 31)
            parts.append(VARINTS[number] if 0 <= number < 16384 else write_packed(delta, 32))
            for value in (record.key, record.value):
                if value is None:
                    parts.append(b"\1")
                elif type(value) is bytes:
                    size = len(value)
                    parts += (VARINTS[size << 1] if size < 8192 else write_packed(size, 32), value)
                else:
                    return None
            headers = record.headers
            if type(headers) is not list:
                return None
            if headers:
                _write_headers(headers, parts)
            else:
                parts.append(b"\0")
            body = b"".join(parts)
            size = len(body)
            out += (VARINTS[size << 1] if size < 8192 else write_packed(size, 32), body)
    except (Malformed, AttributeError, TypeError, ValueError):
        return None
    return b"".join(out)


def _write_headers(headers: list[Header], parts: list[bytes]) -> None:
    """Add headers to the parts of a record.

    Raises:
        Malformed: something in them is not usual; as do the other errors that `write_plainly` expects.
    """
    count = len(headers)
    parts.append(VARINTS[count << 1] if count < 8192 else write_packed(count, 32))
    for key, value in headers:
        raw = str.encode(key) if type(key) is str else bytes_of_key(key)
        size = len(raw)
        parts += (VARINTS[size << 1] if size < 8192 else write_packed(size, 32), raw)
        if value is None:
            parts.append(b"\1")
        elif type(value) is bytes:
            size = len(value)
            parts += (VARINTS[size << 1] if size < 8192 else write_packed(size, 32), value)
        else:
            raise Malformed
