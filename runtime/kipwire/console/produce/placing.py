"""The partition of each record to write: the one that it was in, one for all, or by its key as Kafka's clients do."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kipwire.console.produce.entries import Entry

Place = Callable[[Entry], int]
"""Chooses the number of a partition; called once for each record, in their order."""

_M, _SEED, _MASK = 0x5BD1E995, 0x9747B28C, 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Compute the hash that Kafka's default partitioner has of a key, without its sign bit.

    Source: `Utils.murmur2` and `Utils.toPositive` of Kafka's clients.
    """
    whole = len(data) & ~3
    found = _SEED ^ len(data)
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        found = (found * _M & _MASK) ^ k
    if rest := data[whole:]:
        found = (found ^ int.from_bytes(rest, "little")) * _M & _MASK
    found = (found ^ found >> 13) * _M & _MASK
    return (found ^ found >> 15) & 0x7FFFFFFF


def same(entry: Entry) -> int:
    """Return the partition that a record was in, which the topic must have."""
    assert entry.number is not None  # as was checked
    return entry.number


def by_key(count: int) -> Place:
    """Choose among a number of partitions by the hash of the key; records without a key take turns."""
    return partial(_by_key, count, [-1])


def always(number: int) -> Place:
    """Choose one partition."""
    return lambda entry: number


def _by_key(count: int, turn: list[int], entry: Entry) -> int:
    if entry.record.key is not None:
        return murmur2(entry.record.key) % count
    turn[0] += 1
    return turn[0] % count
