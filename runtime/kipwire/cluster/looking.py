"""One round: from connections to a `Look`."""

from __future__ import annotations

import time

from kipwire.cluster.cluster import Cluster
from kipwire.cluster.ends import Ends, find_ends
from kipwire.cluster.groups import find_groups
from kipwire.cluster.model import Group, Kind, LagQuery, Look, Place
from kipwire.cluster.remembered import Memory
from kipwire.cluster.unread import Search, find_firsts


async def look(cluster: Cluster, query: LagQuery, memory: Memory | None = None) -> Look:
    """Look at the groups of a cluster.

    Args:
        cluster: its connections.
        query: what is looked at.
        memory: of the rounds before, for one of many.

    Raises:
        KipwireError: no broker answers.
    """
    nodes = await cluster.brokers()
    names, groups, problems = await find_groups(cluster, nodes, query)
    places = {place for group in groups for place in _places(group)}
    found = await find_ends(cluster, nodes, places, committed=query.committed)
    now = time.time()
    searches = _searches(groups, found) if query.seconds else []
    if memory is None:
        firsts, more = await find_firsts(cluster, searches)
    else:
        firsts, more = await memory.find(cluster, nodes, searches, found)
    return Look(
        now,
        tuple(names),
        tuple(groups),
        found.starts,
        found.ends,
        frozenset(found.gone),
        firsts,
        tuple(dict.fromkeys((*cluster.problems, *problems, *found.problems, *more))),
    )


def _places(group: Group) -> set[Place]:
    """Collect the partitions that a group has offsets of, or reads."""
    return set(group.offsets).union(*(member.places for member in group.members or ()))


def _searches(groups: list[Group], found: Ends) -> list[Search]:
    """Build the searches for committed offsets that are behind the ends of their partitions, each offset once."""
    behind: dict[Place, set[int]] = {}
    for group in groups:
        if group.kind is not Kind.SHARE:
            for place, offset in group.offsets.items():
                if offset < found.ends.get(place, 0):
                    behind.setdefault(place, set()).add(offset)
    return [
        Search(place, sorted(offsets), found.starts.get(place, 0), found.ends[place], found.leaders[place])
        for place, offsets in sorted(behind.items())
    ]
