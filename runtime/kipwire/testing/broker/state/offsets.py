"""The offsets that a group has committed, and the pending offsets of open transactions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T", bound=Any)

TopicPartition = tuple[str, int]


def indexes_by_topic(places: Iterable[tuple[T, int]]) -> dict[T, list[int]]:
    """The partitions of each topic, both in order; topics are names or ids."""
    found: dict[T, list[int]] = {}
    for topic, index in sorted(places):
        found.setdefault(topic, []).append(index)
    return found


class Committed(NamedTuple):
    """A committed offset."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


class Offsets:
    """The offsets of one group, by topic and partition."""

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, Committed] = {}
        self._pending: dict[int, dict[TopicPartition, Committed]] = {}
        """The offsets of open transactions, by producer id."""

    def commit(self, offsets: dict[TopicPartition, Committed]) -> None:
        """Take in offsets."""
        self.committed.update(offsets)

    def commit_later(self, producer_id: int, offsets: dict[TopicPartition, Committed]) -> None:
        """Take in offsets once the transaction of a producer is committed."""
        self._pending.setdefault(producer_id, {}).update(offsets)

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Take in what a transaction has kept for its end, or forget it."""
        offsets = self._pending.pop(producer_id, {})
        if is_commit:
            self.committed.update(offsets)

    def is_unstable(self, place: TopicPartition) -> bool:
        """Tell whether an open transaction has an offset of a partition."""
        return any(place in offsets for offsets in self._pending.values())

    def forget_topic(self, topic: str) -> None:
        """Forget the offsets of a topic that is deleted."""
        for offsets in (self.committed, *self._pending.values()):
            for place in [one for one in offsets if one[0] == topic]:
                del offsets[place]
