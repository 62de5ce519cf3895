"""The decompressed bytes after the header of a batch of magic 2: the records, side by side.

The generated classes define the result, and report what is wrong. Valid bytes and usual values take a shorter way: the
kernel, or without it plain Python with the format written out by hand, in half the time of the generated classes. Plain
Python returns None for all else. Tests compare the three.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kafka_records.records.v2 import Record as RecordLayout
from kafka_records.records.v2 import RecordHeader, Records
from kipwire import native
from kipwire.codec.wire import VARINTS, new, read_packed, read_varint, write_packed
from kipwire.model.errors import EncodeError, Malformed, abbreviate
from kipwire.records.model import Header, RawHeaderKey, Record, bytes_of_key, header_key


@native.from_kernel("read_records")
def read_section(data: bytes, base_offset: int, base_timestamp: int) -> list[Record]:
    """Decode records, which must take all of the bytes; offsets and timestamps count from the given bases.

    Raises:
        DecodeError: the bytes are not exactly records; the error names Records v2, with path and offset in the bytes.
    """
    found = read_plainly(data, base_offset, base_timestamp)
    return read_by_classes(data, base_offset, base_timestamp) if found is None else found


def read_by_classes(data: bytes, base_offset: int, base_timestamp: int) -> list[Record]:
    """Decode the same as `read_section`, through the generated classes.

    Raises:
        DecodeError: as `read_section`.
    """
    items: list[Any] = Records.decode(data).records
    for index, layout in enumerate(items):  # replaced in the list, so that each layout is freed when its record exists
        items[index] = record = new(Record)
        record.offset = base_offset + layout.offset_delta
        record.timestamp = base_timestamp + layout.timestamp_delta
        record.key = layout.key
        record.value = layout.value
        record.headers = headers = layout.headers
        for number, header in enumerate(headers):
            headers[number] = header_key(header.key), header.value
    return items


LEAST_ITEM = 2
"""Bytes of the smallest header, which has two sizes; records have more."""


@native.from_kernel("has_more_items")
def has_more_items(data: bytes, most: int) -> bool:
    """True if the bytes have more than `most` records and headers; counting stops at bytes that are no record.

    Each takes at least `LEAST_ITEM` bytes, so data of no more than `most` times as many needs no call.
    """
    count = pos = 0
    try:
        while pos < len(data):
            size, pos = _varint(data, pos, 32)
            end = pos + size
            _, pos = _varint(data, pos + 1, 64)
            _, pos = _varint(data, pos, 32)
            for _ in ("key", "value"):
                size, pos = _varint(data, pos, 32)
                pos += max(size, 0)
            headers, pos = _varint(data, pos, 32)
            if not pos <= end <= len(data) or headers < 0:
                return False
            count += 1 + headers
            if count > most:
                return True
            pos = end
    except (IndexError, Malformed):
        pass
    return False


def _varint(data: bytes, pos: int, bits: int) -> tuple[int, int]:
    """Decode a zigzag varint: (the number, position after it)."""
    number = data[pos]
    pos += 1
    return read_packed(data, pos, bits) if number > 127 else ((number >> 1) ^ -(number & 1), pos)


@native.from_kernel("write_records")
def write_section(records: list[Record], base_offset: int, base_timestamp: int) -> bytes:
    """Encode records, whose offsets and timestamps count from the given bases.

    Raises:
        EncodeError: a value does not fit its field; the error has the path in Records v2.
    """
    section = write_plainly(records, base_offset, base_timestamp)
    return write_by_classes(records, base_offset, base_timestamp) if section is None else section


def write_by_classes(records: list[Record], base_offset: int, base_timestamp: int) -> bytes:
    """Encode the same as `write_section`, through the generated classes.

    Raises:
        EncodeError: as `write_section`.
    """
    layouts = []
    for index, record in enumerate(records):
        layout = new(RecordLayout)  # setting its slots takes half the time of a call
        layout.attributes = 0
        layout.timestamp_delta = record.timestamp - base_timestamp
        layout.offset_delta = record.offset - base_offset
        layout.key = record.key
        layout.value = record.value
        layout.headers = list(_header_layouts(record.headers, f"records[{index}].headers"))
        layouts.append(layout)
    return Records(records=layouts).encode()


def _header_layouts(headers: object, path: str) -> Iterator[RecordHeader]:
    """Make the headers of a record from any value that a program has set.

    Raises:
        EncodeError: the value is not pairs, or a key is not a text that UTF-8 has.
    """
    if isinstance(headers, str | bytes | Mapping) or not isinstance(headers, Iterable):
        raise _wrong(path, f"must be pairs of a key and a value, not {type(headers).__name__}")
    for number, pair in enumerate(headers):
        try:
            if isinstance(pair, str | bytes):
                raise TypeError
            key, value = pair
        except (TypeError, ValueError):
            raise _wrong(f"{path}[{number}]", f"must be a pair of a key and a value, not {abbreviate(pair)}") from None
        try:
            yield RecordHeader(key=bytes_of_key(key), value=value)
        except TypeError:
            reason = "must not be null" if key is None else f"must be a str, not {type(key).__name__}"
            raise _wrong(f"{path}[{number}].key", reason) from None
        except UnicodeEncodeError as error:
            reason = f"cannot be written as UTF-8: character {error.start} is a lone surrogate"
            raise _wrong(f"{path}[{number}].key", reason) from None


def _wrong(path: str, reason: str) -> EncodeError:
    return EncodeError(Records.NAME, Records.VERSION, path, reason)


def read_plainly(data: bytes, base_offset: int, base_timestamp: int) -> list[Record] | None:
    """Decode records, which must take all of the bytes, as `read_section`; return None if the bytes are not valid."""
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
    """Decode the headers of a record that ends at `limit`, and return the position after them, too.

    Raises:
        Malformed: the headers are not valid; other errors, which `read_plainly` catches, mean the same.
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
    """Decode a size that is not negative, and return the position after it, too."""
    size = data[pos]
    pos += 1
    if size > 127:
        size, pos = read_varint(data, pos, 32)
    if size & 1:
        raise Malformed
    return size >> 1, pos


def write_plainly(records: list[Record], base_offset: int, base_timestamp: int) -> bytes | None:
    """Encode records as `write_section`; return None if a value is unusual."""
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
        Malformed: a header is unusual; other errors, which `write_plainly` catches, mean the same.
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
