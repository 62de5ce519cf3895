"""Gives a batch its offsets in a log without decoding it: its checksum does not cover them."""

from __future__ import annotations

from struct import Struct as Packer

from kipwire.errors import DecodeError, EncodeError, shown
from kipwire.messages import content_of
from kipwire.records.heads import FORMATS, HEAD, SIZE, SIZE_END
from kipwire.tools.words import left_over

_MAGIC = 2
_OFFSET = Packer(">q")
_LEADER_EPOCH = Packer(">i")
_LEADER_EPOCH_AT = 12


def with_offsets(batch: bytes, base_offset: int, partition_leader_epoch: int | None = None) -> bytes:
    """The same batch at another offset in the log: the offsets of its records count from there.

    Nothing is decoded, and the checksum stays as it was and right, since it covers neither.

    Args:
        batch: one record batch of magic 2, and nothing after it.
        base_offset: that of its first record after the move.
        partition_leader_epoch: the broker's; None leaves it as it is.

    Raises:
        DecodeError: it is not one whole batch of magic 2. What its checksum covers is not looked at.
        EncodeError: a number does not fit its field.
    """
    if type(batch) is not bytes:
        batch = content_of(batch)
    _expect_batch(batch)
    head = _packed(_OFFSET, "base_offset", base_offset)
    if partition_leader_epoch is None:
        return head + batch[_OFFSET.size :]
    epoch = _packed(_LEADER_EPOCH, "partition_leader_epoch", partition_leader_epoch)
    return head + batch[_OFFSET.size : _LEADER_EPOCH_AT] + epoch + batch[_LEADER_EPOCH_AT + len(epoch) :]


def _expect_batch(batch: bytes) -> None:
    if len(batch) < HEAD.size:
        reason = f"{len(batch)} bytes are not a batch; the head alone has {HEAD.size}"
        raise DecodeError("RecordBatch", _MAGIC, "", len(batch), reason)
    _, size, _, magic = HEAD.unpack_from(batch)
    if magic != _MAGIC:
        reason = f"the magic is {magic}; only batches of magic {_MAGIC} are moved without being decoded"
        raise DecodeError("RecordBatch", _MAGIC, "magic", HEAD.size - 1, reason)
    end = SIZE_END + size
    if size < FORMATS[_MAGIC].smallest or end > len(batch):
        reason = f"is {size}; a batch has {FORMATS[_MAGIC].smallest} or more, and {len(batch) - SIZE_END} bytes follow"
        raise DecodeError("RecordBatch", _MAGIC, "batch_length", SIZE, reason)
    if end < len(batch):
        raise DecodeError("RecordBatch", _MAGIC, "", end, left_over(len(batch) - end, "the batch"))


def _packed(packer: Packer, name: str, number: int) -> bytes:
    highest = 2 ** (8 * packer.size - 1) - 1
    if not isinstance(number, int) or not -highest - 1 <= number <= highest:
        reason = f"{shown(number)} is not a whole number from {-highest - 1} to {highest}"
        raise EncodeError("RecordBatch", _MAGIC, name, reason)
    return packer.pack(number)
