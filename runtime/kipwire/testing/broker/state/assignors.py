"""The assignors of consumer groups (KIP-848): which member is to read which partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from uuid import UUID

Place = tuple[UUID, int]
"""A partition, by the id of its topic."""
Readers = Mapping[str, Set[UUID]]
"""The topics that each member reads."""
Targets = dict[str, frozenset[Place]]
"""The partitions that each member is to have."""


def uniform(readers: Readers, counts: Mapping[UUID, int], before: Mapping[str, Set[Place]]) -> Targets:
    """As many partitions for each member as its topics allow; partitions stay where they are, if that is so.

    Args:
        readers: the members.
        counts: how many partitions each topic has.
        before: what members had.
    """
    by_topic = {topic: [one for one in readers if topic in readers[one]] for topic in counts}
    owned = {one: {place for place in before.get(one, ()) if place[0] in topics} for one, topics in readers.items()}
    taken = {place for places in owned.values() for place in places}

    def least(place: Place) -> str:
        return min(by_topic[place[0]], key=lambda one: len(owned[one]))

    for place in _places(counts):
        if place not in taken and by_topic[place[0]]:
            owned[least(place)].add(place)
    is_moved = True
    while is_moved:
        is_moved = False
        for giver in sorted(owned, key=lambda one: -len(owned[one])):
            for place in sorted(owned[giver], reverse=True):
                taker = least(place)
                if len(owned[taker]) + 1 < len(owned[giver]):
                    owned[giver].remove(place)
                    owned[taker].add(place)
                    is_moved = True
    return {one: frozenset(places) for one, places in owned.items()}


def ranges(readers: Readers, counts: Mapping[UUID, int], before: Mapping[str, Set[Place]]) -> Targets:
    """Neighbouring partitions of each topic for each member, so that equal numbers of several topics go to one member.

    Args:
        readers: the members.
        counts: how many partitions each topic has.
        before: what members had.
    """
    owned: dict[str, set[Place]] = {one: set() for one in readers}
    for topic, count in counts.items():
        members = [one for one in readers if topic in readers[one]]
        if not members:
            continue
        quota, extra = divmod(count, len(members))
        kept: dict[str, list[Place]] = {}
        wanting: list[tuple[str, int]] = []
        for one in members:
            had = sorted(place for place in before.get(one, ()) if place[0] == topic)
            has_extra = len(had) > quota and extra > 0
            extra -= has_extra
            kept[one] = had[: quota + has_extra]
            if not has_extra:
                wanting.append((one, quota - len(kept[one])))
        staying = {place for places in kept.values() for place in places}
        free = [(topic, index) for index in range(count) if (topic, index) not in staying]
        for one, missing in wanting:
            wanted = missing + (extra > 0)
            extra -= extra > 0
            kept[one] += free[:wanted]
            del free[:wanted]
        for one, places in kept.items():
            owned[one].update(places)
    return {one: frozenset(places) for one, places in owned.items()}


def _places(counts: Mapping[UUID, int]) -> list[Place]:
    return [(topic, index) for topic, count in counts.items() for index in range(count)]


ASSIGNORS: dict[str, Callable[[Readers, Mapping[UUID, int], Mapping[str, Set[Place]]], Targets]] = {
    "uniform": uniform,
    "range": ranges,
}
"""By name; the first is the usual one."""
