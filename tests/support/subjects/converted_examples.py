"""Records in all message formats, written out by hand, and their remains in older formats."""

from __future__ import annotations

from typing import Any

from kipwire.records import Record, read_batches
from tests.support.hex_tables import octets

RECORDS = [
    Record(offset=5, timestamp=256, key=b"k", value=b"v", headers=[("h", b"1")]),
    Record(offset=7, timestamp=255, key=None, value=None),
]
MAGIC_2 = octets("""
    0000000000000005 00000045      # BaseOffset 5, BatchLength 69
    ffffffff 02                    # PartitionLeaderEpoch -1, Magic 2
    9a64cd7f 0000 00000002         # CRC, Attributes, LastOffsetDelta 2
    0000000000000100               # BaseTimestamp 256
    0000000000000100               # MaxTimestamp 256
    ffffffffffffffff ffff ffffffff # ProducerId, ProducerEpoch, BaseSequence: -1
    00000002                       # RecordsCount 2
    18 00 00 00 02 6b 02 76        # Length 12, Attributes, TimestampDelta 0, OffsetDelta 0, Key "k", Value "v"
    02 02 68 02 31                 # Headers 1: "h", "1"
    0c 00 01 04 01 01 00           # Length 6, Attributes, TimestampDelta -1, OffsetDelta 2, Key, Value null, Headers 0
""")
ENTRIES = {
    1: octets("""
        0000000000000005 00000018  # Offset 5, MessageSize 24
        00000000 01 00             # CRC (put in below), Magic 1, Attributes
        0000000000000100           # Timestamp 256
        00000001 6b 00000001 76    # Key "k", Value "v"
        0000000000000007 00000016  # Offset 7, MessageSize 22
        00000000 01 00             # CRC, Magic 1, Attributes
        00000000000000ff           # Timestamp 255
        ffffffff ffffffff          # Key null, Value null
    """),
    0: octets("""
        0000000000000005 00000010  # Offset 5, MessageSize 16
        00000000 00 00             # CRC, Magic 0, Attributes
        00000001 6b 00000001 76    # Key "k", Value "v"
        0000000000000007 0000000e  # Offset 7, MessageSize 14
        00000000 00 00             # CRC, Magic 0, Attributes
        ffffffff ffffffff          # Key null, Value null
    """),
}
FIRST_SIZE = {1: 12 + 24, 0: 12 + 16}


def lowered(magic: int, records: list[Record] = RECORDS) -> list[Record]:
    """What is left of records in an older format."""
    return [
        Record(offset=one.offset, timestamp=one.timestamp if magic else -1, key=one.key, value=one.value)
        for one in records
    ]


def records_of(data: bytes, **options: Any) -> list[Record]:
    return [record for batch in read_batches(data, **options) for record in batch.records]
