"""The positions of fields that are read without decoding a batch; a test compares them with the specs."""

from __future__ import annotations

from struct import Struct as Packer
from typing import NamedTuple

HEAD = Packer(">qiib")
"""What all formats start with: an offset, how many bytes follow that size, four bytes of their own, the magic."""
SIZE = 8
SIZE_END = 12
MAGIC = 16

KEYS = (22, 30)
"""Of magic 0 and 1: the first byte of the key, after its length; the length of the value follows it. KIP-82's entries
have theirs where magic 1 has it, and headers between key and value if `HAS_HEADERS` is set."""
HAS_HEADERS = 0x10
"""In the attributes of an entry of KIP-82."""

_START, _COVERED = "qiibI", "hiqqqhii"
BATCH_START = Packer(f">{_START}")
"""Of magic 2, as are these, what no checksum covers: base offset, length, partition leader epoch, magic, checksum."""
COVERED = Packer(f">{_COVERED}")
"""What follows: attributes, delta of the last offset, base timestamp, highest timestamp, producer id and epoch, base
sequence, count of records."""
BATCH = Packer(f">{_START}{_COVERED}")
"""All of the head."""
OF_RECORDS = Packer(">q13xh4xqq14xi")
"""Of the head, what the records need: base offset, attributes, base timestamp, highest timestamp, count of records."""
LAST_OFFSET_DELTA = 23
RECORDS_COUNT = 57
RECORDS = 61


COMPRESSION, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40
"""In the attributes; those of magic 0 and 1 have the first two alone."""

SPANS = (Packer(">17xb"), Packer(">17xbq"), Packer(">21xhiqq"))
"""By magic, what says which offsets and times a batch has: the attributes; of magic 1 the timestamp, too; of magic 2
also the delta of the last offset, the base timestamp and the highest one."""


class Format(NamedTuple):
    """What depends on the magic."""

    size_name: str
    """The field of the size."""
    smallest: int
    """Bytes after the size that a batch has at least."""
    crc: int
    attributes: int
    crc_and_attributes: Packer
    """From the checksum on."""


FORMATS = (
    Format("message_size", 14, 12, 17, Packer(">Ixb")),
    Format("message_size", 22, 12, 17, Packer(">Ixb")),
    Format("batch_length", 49, 17, 21, Packer(">Ih")),
)
"""By magic, as Kafka released them."""

MAGIC_2 = {
    "kafka": FORMATS[2],
    "kip-82": Format("message_size", 22, 12, 17, Packer(">Ixb")),
    "kip-98 draft": Format("length", 33, 12, 17, Packer(">Ixh")),
}
"""What Kafka released with magic 2, and what was proposed with it."""
