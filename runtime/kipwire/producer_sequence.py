"""How the numbers of an idempotent producer go on: 0 follows the highest (KIP-98).

-1 means that there is no number, and has no successor.
"""

from __future__ import annotations

HIGHEST_SEQUENCE = 2**31 - 1
HIGHEST_EPOCH = 2**15 - 1


def next_sequence(sequence: int, count: int) -> int:
    """The sequence number that is `count` records after another; with the size of a batch, the next batch's first.

    Raises:
        ValueError: the number is none (0 to 2147483647), or the count is negative.
    """
    if not 0 <= sequence <= HIGHEST_SEQUENCE:
        raise ValueError(f"{sequence} is not a sequence number; the range is 0 to {HIGHEST_SEQUENCE}")
    if count < 0:
        raise ValueError(f"a batch cannot have {count} records; give 0 or more")
    return (sequence + count) % (HIGHEST_SEQUENCE + 1)


def next_epoch(epoch: int) -> int:
    """The epoch that a producer has after this one.

    Raises:
        ValueError: the number is none (0 to 32767).
    """
    if not 0 <= epoch <= HIGHEST_EPOCH:
        raise ValueError(f"{epoch} is not an epoch; the range is 0 to {HIGHEST_EPOCH}")
    return (epoch + 1) % (HIGHEST_EPOCH + 1)
