"""What stands behind the header of a batch of magic 2, once it is decompressed: the records, side by side."""

from __future__ import annotations

from kafka_records.records.v2 import Record as RecordLayout
from kafka_records.records.v2 import RecordHeader, Records
from kipwire import native
from kipwire.records.model import Record
from kipwire.wire import new


def read_section(data: bytes, base_offset: int, base_timestamp: int) -> list[Record]:
    """The records that the bytes are, their offsets and timestamps counted from these.

    Raises:
        DecodeError: they are none; it tells of Records v2, with path and offset in these bytes.
    """
    if native.kernel is not None:
        found: list[Record] | None = native.kernel.read_records(data, base_offset, base_timestamp)
        if found is not None:
            return found
    records = []
    for layout in Records.decode(data).records:
        record = new(Record)
        record.offset = base_offset + layout.offset_delta
        record.timestamp = base_timestamp + layout.timestamp_delta
        record.key = layout.key
        record.value = layout.value
        record.headers = [(one.key, one.value) for one in layout.headers] if layout.headers else []
        records.append(record)
    return records


def write_section(records: list[Record], base_offset: int, base_timestamp: int) -> bytes:
    """The bytes of records, their offsets and timestamps told from these.

    Raises:
        EncodeError: a value does not fit its field; it tells the path in Records v2.
    """
    if native.kernel is not None:
        section: bytes | None = native.kernel.write_records(records, base_offset, base_timestamp)
        if section is not None:
            return section
    layouts = []
    for record in records:
        layout = new(RecordLayout)  # setting its slots takes half the time of a call
        layout.attributes = 0
        layout.timestamp_delta = record.timestamp - base_timestamp
        layout.offset_delta = record.offset - base_offset
        layout.key = record.key
        layout.value = record.value
        layout.headers = [RecordHeader(key=key, value=value) for key, value in record.headers] if record.headers else []
        layouts.append(layout)
    return Records(records=layouts).encode()
