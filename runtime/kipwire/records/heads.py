"""The heads of batches: the positions of fields, to read them without decoding; new offsets and times.

A test compares the positions with the specs.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct as Packer
from typing import Literal, NamedTuple

from kipwire.codec.checksums import crc32, crc32c
from kipwire.message.messages import content_of
from kipwire.model.errors import DecodeError, EncodeError, abbreviate
from kipwire.tools.text import leftover_reason

HEAD = Packer(">qiib")
"""Start of all formats: an offset, the number of bytes after the size, four bytes that depend on the format, the magic.
"""
SIZE = 8
SIZE_END = 12
MAGIC = 16

KEYS = (22, 30)
"""Position of the key in magic 0 and 1, after the length of the key; the length of the value follows the key. KIP-82's
entries have the key where magic 1 has it, and headers between key and value if `HAS_HEADERS` is set.
"""
HAS_HEADERS = 0x10
"""Bit in the attributes of an entry of KIP-82."""

_START, _COVERED = "qiibI", "hiqqqhii"
BATCH_START = Packer(f">{_START}")
"""Fields of magic 2 that no checksum covers: base offset, length, partition leader epoch, magic, checksum."""
COVERED = Packer(f">{_COVERED}")
"""Fields after the checksum: attributes, delta of the last offset, base timestamp, highest timestamp, producer id and
epoch, base sequence, count of records.
"""
BATCH = Packer(f">{_START}{_COVERED}")
"""All of the head."""
OF_RECORDS = Packer(">q13xh4xqq14xi")
"""Header fields needed to decode records: base offset, attributes, base timestamp, highest timestamp, count of records.
"""
LAST_OFFSET_DELTA = 23
RECORDS_COUNT = 57
RECORDS = 61

HIGHEST_INT32 = 2**31 - 1
"""The highest partition, epoch, and distance of an offset from the first one of its batch."""
HIGHEST_OFFSET = 2**63 - 1

NO_TIMESTAMP = -1
"""The timestamp of a record that has none; also the highest one of a batch without records."""

COMPRESSION, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 0x07, 0x08, 0x10, 0x20, 0x40
"""Bits in the attributes."""
KNOWN_ATTRIBUTES = (
    COMPRESSION,
    COMPRESSION | LOG_APPEND_TIME,
    COMPRESSION | LOG_APPEND_TIME | TRANSACTIONAL | CONTROL | DELETE_HORIZON,
)
"""Bits of the attributes that have a meaning, by magic."""

SPANS = (Packer(">17xb"), Packer(">17xbq"), Packer(">21xhiqq"))
"""Fields for the offsets and times of a batch, by magic: the attributes; in magic 1 the timestamp, too; in magic 2 also
the delta of the last offset, the base timestamp and the highest one.
"""
DRAFT_SPAN = Packer(">17xhiq")
"""The same of a set of the KIP-98 draft: attributes, offset delta and the highest timestamp."""


class BatchFormat(NamedTuple):
    """Positions and names that depend on the magic."""

    size_name: str
    """The field of the size."""
    smallest: int
    """Bytes after the size that a batch has at least."""
    crc: int
    attributes: int
    crc_and_attributes: Packer
    """Packs the fields from the checksum on."""
    checksum: Callable[[bytes, int], int] = crc32
    """Computes the checksum, which covers the bytes after it."""
    delta: int = 0
    """Position of the delta that leads from the first offset to the last; 0 if the head has the last one alone."""
    beyond: int = 0
    """1 if the delta leads to the offset after the last one."""


FORMATS = (
    BatchFormat("message_size", 14, 12, 17, Packer(">Ixb")),
    BatchFormat("message_size", 22, 12, 17, Packer(">Ixb")),
    BatchFormat("batch_length", 49, 17, 21, Packer(">Ih"), crc32c, LAST_OFFSET_DELTA),
)
"""Formats as Kafka released them, by magic."""

MAGIC_2 = {
    "kafka": FORMATS[2],
    "kip-82": BatchFormat("message_size", 22, 12, 17, Packer(">Ixb")),
    "kip-98 draft": BatchFormat("length", 33, 12, 17, Packer(">Ixh"), crc32, 19, 1),
}
"""The format that Kafka released with magic 2, and the proposed ones."""


# A batch gets its offsets in a log, and the time of its append, without being decoded.


_MAGIC = 2
_OFFSET = _TIMESTAMP = Packer(">q")
_MAX_TIMESTAMPS = {"kafka": 35, "kip-98 draft": 23}
"""Position of the highest timestamp, in formats whose head has room for one of all records."""
_LEADER_EPOCH = Packer(">i")
_LEADER_EPOCH_AT = 12
_MOST_ATTRIBUTES = 0x1F
"""The highest attributes in one byte of a message of KIP-82; the first of two of a set of the KIP-98 draft is 0."""


def with_offsets(
    batch: bytes,
    base_offset: int,
    partition_leader_epoch: int | None = None,
    *,
    magic_2: Literal["kafka", "kip-98 draft"] = "kafka",
) -> bytes:
    """Move a batch to another offset in the log: the offsets of its records count from there.

    Nothing is decoded. The checksum stays right, since it covers neither the offset nor the epoch.

    Args:
        batch: one record batch of magic 2, and nothing after it.
        base_offset: the offset of its first record after the move.
        partition_leader_epoch: the broker's; None leaves it as it is.
        magic_2: the format of the batch: "kafka" for the released one, "kip-98 draft" for a set of that draft, which
            has no epoch and its checksum in that place.

    Raises:
        DecodeError: the bytes are not one whole batch of that format. The bytes under its checksum are not read.
        EncodeError: a number does not fit its field, or an epoch is given for a set of the draft.
        ValueError: `magic_2` is another text.
    """
    batch = _whole_batch(batch, magic_2, "moved")
    if magic_2 != "kafka" and partition_leader_epoch is not None:
        reason = "a set of the KIP-98 draft has no leader epoch, but its checksum in that place"
        raise EncodeError("MessageSet", _MAGIC, "partition_leader_epoch", reason)
    head = _pack(_OFFSET, "base_offset", base_offset)
    if partition_leader_epoch is None:
        return head + batch[_OFFSET.size :]
    epoch = _pack(_LEADER_EPOCH, "partition_leader_epoch", partition_leader_epoch)
    return head + batch[_OFFSET.size : _LEADER_EPOCH_AT] + epoch + batch[_LEADER_EPOCH_AT + len(epoch) :]


def with_append_time(batch: bytes, timestamp: int, *, magic_2: Literal["kafka", "kip-98 draft"] = "kafka") -> bytes:
    """Give all records of a batch the time of its append, as a broker does for a topic with `LogAppendTime`.

    Bit 3 of the attributes, the highest timestamp and the checksum change; records, compressed or not, stay as they
    are. A batch with a wrong checksum is refused, since a new checksum would hide the damage.

    Args:
        batch: one record batch of magic 2, and nothing after it.
        timestamp: the time of the append, in milliseconds since 1970.
        magic_2: as for `with_offsets`.

    Raises:
        DecodeError: the bytes are not one whole batch of that format, or its checksum is wrong.
        EncodeError: the timestamp does not fit its field, or is below -1.
        ValueError: `magic_2` is another text.
    """
    batch = _whole_batch(batch, magic_2, "given a time")
    format_, max_timestamp = MAGIC_2[magic_2], _MAX_TIMESTAMPS[magic_2]
    at, attributes, checksum = format_.crc, format_.attributes, format_.checksum
    start = at + 4
    given, right = int.from_bytes(batch[at:start], "big"), checksum(batch[start:], 0)
    if given != right:
        reason = f"is 0x{given:08x}, but the bytes after it have 0x{right:08x}; a new one would hide the damage"
        raise DecodeError("RecordBatch", _MAGIC, "crc", at, reason)
    time = _pack(_TIMESTAMP, "timestamp", timestamp)
    if timestamp < NO_TIMESTAMP:
        reason = f"{timestamp} is before 1970; give 0 or more, or -1 for none"
        raise EncodeError("RecordBatch", _MAGIC, "timestamp", reason)
    flags = batch[attributes + 1] | LOG_APPEND_TIME  # the attributes have two bytes, and the bit is in the second
    covered = b"".join(
        (
            batch[start : attributes + 1],
            bytes((flags,)),
            batch[attributes + 2 : max_timestamp],
            time,
            batch[max_timestamp + len(time) :],
        )
    )
    return batch[:at] + checksum(covered, 0).to_bytes(4, "big") + covered


def _whole_batch(batch: bytes, magic_2: str, done: str) -> bytes:
    """Return the bytes of a batch, if they are exactly one of a format whose head is changed in place.

    Raises:
        DecodeError: the bytes are not one whole batch of that format.
        ValueError: the format is another one.
    """
    if magic_2 not in _MAX_TIMESTAMPS:
        raise ValueError(f"{magic_2!r} is not a format whose batches are {done}; give 'kafka' or 'kip-98 draft'")
    if type(batch) is not bytes:
        batch = content_of(batch)
    _expect_batch(batch, MAGIC_2[magic_2], done)
    if magic_2 == "kafka":
        _expect_released(batch, done)
    return batch


def _expect_batch(batch: bytes, format_: BatchFormat, done: str) -> None:
    """Check that the bytes are exactly one batch of the format, by its size.

    Raises:
        DecodeError: the magic is another one, or the size does not fit.
    """
    if len(batch) < HEAD.size:
        reason = f"{len(batch)} bytes are not a batch; the head alone has {HEAD.size}"
        raise DecodeError("RecordBatch", _MAGIC, "", len(batch), reason)
    _, size, _, magic = HEAD.unpack_from(batch)
    if magic != _MAGIC:
        reason = f"the magic is {magic}; only batches of magic {_MAGIC} are {done} without being decoded"
        raise DecodeError("RecordBatch", _MAGIC, "magic", HEAD.size - 1, reason)
    end = SIZE_END + size
    if size < format_.smallest or end > len(batch):
        reason = f"is {size}; a batch has {format_.smallest} or more, and {len(batch) - SIZE_END} bytes follow"
        raise DecodeError("RecordBatch", _MAGIC, format_.size_name, SIZE, reason)
    if end < len(batch):
        raise DecodeError("RecordBatch", _MAGIC, "", end, leftover_reason(len(batch) - end, "the batch"))


def _expect_released(batch: bytes, done: str) -> None:
    """Check that a batch is not of a format that was only proposed, whose checksum is where the leader epoch would be.

    Raises:
        DecodeError: a checksum is in the place of the leader epoch.
    """
    at = MAGIC_2["kip-98 draft"].crc  # as in KIP-82
    if batch[HEAD.size] > _MOST_ATTRIBUTES:  # so the checksum, which takes a while, is seldom computed
        return
    if crc32(batch[at + 4 :]) == int.from_bytes(batch[at : at + 4], "big"):
        reason = (
            "a checksum of what follows is where a batch has its leader epoch: this is a message of KIP-82, or a set "
            f"of the KIP-98 draft, which is {done} by magic_2='kip-98 draft'"
        )
        raise DecodeError("RecordBatch", _MAGIC, "partition_leader_epoch", at, reason)


def _pack(packer: Packer, name: str, number: int) -> bytes:
    highest = 2 ** (8 * packer.size - 1) - 1
    if not isinstance(number, int) or not -highest - 1 <= number <= highest:
        reason = f"{abbreviate(number)} is not a whole number from {-highest - 1} to {highest}"
        raise EncodeError("RecordBatch", _MAGIC, name, reason)
    return packer.pack(number)
