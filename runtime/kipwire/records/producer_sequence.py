"""Successors of the numbers of an idempotent producer, in the draft of KIP-98 and in released Kafka.

In both, sequence numbers start again: 0 follows the highest. Epochs start again in the draft alone; released Kafka
gives the producer a new producer id instead, with epoch 0.

-1 is no number, and has no successor.
"""

from __future__ import annotations

HIGHEST_SEQUENCE = 2**31 - 1
HIGHEST_EPOCH = 2**15 - 1


def next_sequence(sequence: int, count: int) -> int:
    """Compute the sequence number that is `count` numbers after another.

    The producer's next batch starts with the result if `count` is the number of records that the batch was written
    with. Compaction removes records, but not their numbers, so the number of records that are left is too low. The
    header keeps the right one: OffsetDelta of a set of the draft, `last_offset_delta` plus 1 of a released batch.

    Raises:
        ValueError: the number is none (0 to 2147483647), or the count is negative.
    """
    if not 0 <= sequence <= HIGHEST_SEQUENCE:
        raise ValueError(f"{sequence} is not a sequence number; the range is 0 to {HIGHEST_SEQUENCE}")
    if count < 0:
        raise ValueError(f"a batch cannot have {count} records; give 0 or more")
    return (sequence + count) % (HIGHEST_SEQUENCE + 1)


def next_epoch(epoch: int, *, is_transactional: bool = False) -> int | None:
    """Compute the epoch that a producer has after this one in released Kafka; None if it needs a new producer id.

    Args:
        epoch: the current one.
        is_transactional: whether the producer has a transactional id. Then 32766 is its last epoch, since the
            transaction coordinator keeps 32767 to fence the producer; else 32767 is the last.

    Raises:
        ValueError: the number is none (0 to 32767).
    """
    _expect_epoch(epoch)
    last = HIGHEST_EPOCH - 1 if is_transactional else HIGHEST_EPOCH
    return epoch + 1 if epoch < last else None


def next_draft_epoch(epoch: int) -> int:
    """Compute the epoch that a producer has after this one in the draft of KIP-98: 0 follows the highest.

    Raises:
        ValueError: the number is none (0 to 32767).
    """
    _expect_epoch(epoch)
    return (epoch + 1) % (HIGHEST_EPOCH + 1)


def _expect_epoch(epoch: int) -> None:
    if not 0 <= epoch <= HIGHEST_EPOCH:
        raise ValueError(f"{epoch} is not an epoch; the range is 0 to {HIGHEST_EPOCH}")
