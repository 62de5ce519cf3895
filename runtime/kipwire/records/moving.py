"""Gives a batch its offsets in a log without decoding it: its checksum does not cover them."""

from __future__ import annotations

from struct import Struct as Packer
from typing import Literal

from kipwire.codec.checksums import crc32
from kipwire.errors import DecodeError, EncodeError, shown
from kipwire.messages import content_of
from kipwire.records.heads import HEAD, MAGIC_2, SIZE, SIZE_END, Format
from kipwire.tools.text import left_over

_MAGIC = 2
_OFFSET = Packer(">q")
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
    """The same batch at another offset in the log: the offsets of its records count from there.

    Nothing is decoded, and the checksum stays as it was and right, since it covers neither.

    Args:
        batch: one record batch of magic 2, and nothing after it.
        base_offset: that of its first record after the move.
        partition_leader_epoch: the broker's; None leaves it as it is.
        magic_2: the format of the batch: "kafka" for what was released, "kip-98 draft" for a set of that draft, which
            has its checksum where a batch has the leader epoch, and no epoch.

    Raises:
        DecodeError: it is not one whole batch of that format. What its checksum covers is not looked at.
        EncodeError: a number does not fit its field, or an epoch is given for a set of the draft.
        ValueError: `magic_2` is another text.
    """
    if magic_2 not in ("kafka", "kip-98 draft"):
        raise ValueError(f"{magic_2!r} is not a format whose batches are moved; give 'kafka' or 'kip-98 draft'")
    if type(batch) is not bytes:
        batch = content_of(batch)
    _expect_batch(batch, MAGIC_2[magic_2])
    if magic_2 == "kafka":
        _expect_released(batch)
    elif partition_leader_epoch is not None:
        reason = "a set of the KIP-98 draft has no leader epoch, but its checksum in that place"
        raise EncodeError("MessageSet", _MAGIC, "partition_leader_epoch", reason)
    head = _packed(_OFFSET, "base_offset", base_offset)
    if partition_leader_epoch is None:
        return head + batch[_OFFSET.size :]
    epoch = _packed(_LEADER_EPOCH, "partition_leader_epoch", partition_leader_epoch)
    return head + batch[_OFFSET.size : _LEADER_EPOCH_AT] + epoch + batch[_LEADER_EPOCH_AT + len(epoch) :]


def _expect_batch(batch: bytes, form: Format) -> None:
    """Check that the bytes are as many as one batch of the format says.

    Raises:
        DecodeError: they are not.
    """
    if len(batch) < HEAD.size:
        reason = f"{len(batch)} bytes are not a batch; the head alone has {HEAD.size}"
        raise DecodeError("RecordBatch", _MAGIC, "", len(batch), reason)
    _, size, _, magic = HEAD.unpack_from(batch)
    if magic != _MAGIC:
        reason = f"the magic is {magic}; only batches of magic {_MAGIC} are moved without being decoded"
        raise DecodeError("RecordBatch", _MAGIC, "magic", HEAD.size - 1, reason)
    end = SIZE_END + size
    if size < form.smallest or end > len(batch):
        reason = f"is {size}; a batch has {form.smallest} or more, and {len(batch) - SIZE_END} bytes follow"
        raise DecodeError("RecordBatch", _MAGIC, form.size_name, SIZE, reason)
    if end < len(batch):
        raise DecodeError("RecordBatch", _MAGIC, "", end, left_over(len(batch) - end, "the batch"))


def _expect_released(batch: bytes) -> None:
    """Check that a batch is not of a format that was only proposed, whose checksum is where the leader epoch would be.

    Raises:
        DecodeError: it is.
    """
    at = MAGIC_2["kip-98 draft"].crc  # as in KIP-82
    if batch[HEAD.size] > _MOST_ATTRIBUTES:  # so the checksum, which takes a while, is seldom computed
        return
    if crc32(batch[at + 4 :]) == int.from_bytes(batch[at : at + 4], "big"):
        reason = (
            "a checksum of what follows is where a batch has its leader epoch: this is a message of KIP-82, or a set "
            "of the KIP-98 draft, which magic_2='kip-98 draft' moves"
        )
        raise DecodeError("RecordBatch", _MAGIC, "partition_leader_epoch", at, reason)


def _packed(packer: Packer, name: str, number: int) -> bytes:
    highest = 2 ** (8 * packer.size - 1) - 1
    if not isinstance(number, int) or not -highest - 1 <= number <= highest:
        reason = f"{shown(number)} is not a whole number from {-highest - 1} to {highest}"
        raise EncodeError("RecordBatch", _MAGIC, name, reason)
    return packer.pack(number)
