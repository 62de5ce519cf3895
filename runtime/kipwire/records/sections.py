"""The decompressed bytes after the header of a batch of magic 2: the records, side by side.

Valid bytes and usual values take the shortest way: through the kernel, or `plain_sections`. All else goes through the
generated classes, which report what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kafka_records.records.v2 import Record as RecordLayout
from kafka_records.records.v2 import RecordHeader, Records
from kipwire import native
from kipwire.codec.wire import new, read_packed
from kipwire.errors import EncodeError, Malformed, shown
from kipwire.records.model import Record, bytes_of_key, header_key
from kipwire.records.plain_sections import read_plainly, write_plainly


def read_section(data: bytes, base_offset: int, base_timestamp: int) -> list[Record]:
    """The records that the bytes are, their offsets and timestamps counted from these.

    Raises:
        DecodeError: they are not records; it names Records v2, with path and offset in these bytes.
    """
    if native.kernel is not None:
        found: list[Record] | None = native.kernel.read_records(data, base_offset, base_timestamp)
    else:
        found = read_plainly(data, base_offset, base_timestamp)
    return read_by_classes(data, base_offset, base_timestamp) if found is None else found


def read_by_classes(data: bytes, base_offset: int, base_timestamp: int) -> list[Record]:
    """The same through the generated classes.

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


def has_more_items(data: bytes, most: int) -> bool:
    """Whether the bytes have more records and headers than that; the count ends where they are not records.

    Only data with more than `LEAST_ITEM` bytes for each can, so there is no need to ask of less.
    """
    if native.kernel is not None:
        more: bool = native.kernel.has_more_items(data, most)
        return more
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
    """A zigzag varint: (the number, position after it)."""
    number = data[pos]
    pos += 1
    return read_packed(data, pos, bits) if number > 127 else ((number >> 1) ^ -(number & 1), pos)


def write_section(records: list[Record], base_offset: int, base_timestamp: int) -> bytes:
    """The bytes of records, whose offsets and timestamps count from these.

    Raises:
        EncodeError: a value does not fit its field; it has the path in Records v2.
    """
    if native.kernel is not None:
        section: bytes | None = native.kernel.write_records(records, base_offset, base_timestamp)
    else:
        section = write_plainly(records, base_offset, base_timestamp)
    return write_by_classes(records, base_offset, base_timestamp) if section is None else section


def write_by_classes(records: list[Record], base_offset: int, base_timestamp: int) -> bytes:
    """The same through the generated classes.

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
    """Make the headers of a record, which may be anything that its user has set.

    Raises:
        EncodeError: they are not pairs, or a key is not a text that UTF-8 has.
    """
    if isinstance(headers, str | bytes | Mapping) or not isinstance(headers, Iterable):
        raise _wrong(path, f"must be pairs of a key and a value, not {type(headers).__name__}")
    for number, pair in enumerate(headers):
        try:
            if isinstance(pair, str | bytes):
                raise TypeError
            key, value = pair
        except (TypeError, ValueError):
            raise _wrong(f"{path}[{number}]", f"must be a pair of a key and a value, not {shown(pair)}") from None
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
