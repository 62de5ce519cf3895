"""First records that stay from round to round, so that an exporter reads records of groups that have moved alone.

The record that a group reads next changes only if its offset moves, if the record is removed, or if the log becomes
another one. Each round sees all that: the first offset of the partition, the id of its topic, which changes when the
topic is made anew, and the epoch of its leader, without whose change no log is cut. Compaction alone is not seen; so
nothing is kept of topics that are compacted, or whose configuration the client may not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka_messages.describe_configs_request.v4 import DescribeConfigsRequest, DescribeConfigsResource
from kafka_messages.enums import ConfigResourceType
from kipwire.aio import Failure
from kipwire.cluster.cluster import Cluster
from kipwire.cluster.ends import TOPICS_AT_ONCE, Ends, Log
from kipwire.cluster.finding import Node
from kipwire.cluster.model import First, Place, Problem
from kipwire.cluster.unread import Firsts, Search, find_firsts
from kipwire.model.errors import KipwireError

_POLICY = "cleanup.policy"


class Memory:
    """The first records of the last round."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: dict[Place, tuple[Log, Mapping[int, First]]] = {}

    async def find(
        self, cluster: Cluster, nodes: Sequence[Node], searches: Sequence[Search], ends: Ends
    ) -> tuple[Firsts, list[Problem]]:
        """Find the first records from committed offsets on, as `find_firsts`; those that are known are not read again.

        Args:
            cluster: its connections.
            nodes: its brokers.
            searches: each partition once.
            ends: what is known of the partitions.
        """
        whole = await _never_compacted(cluster, nodes, {search.place.topic for search in searches})
        known = {search.place: self._recall(search, ends) for search in searches if search.place.topic in whole}
        found, problems = await find_firsts(cluster, _without(searches, known))
        firsts = {search.place: {**known.get(search.place, {}), **found.get(search.place, {})} for search in searches}
        self._kept = {
            place: (ends.logs[place], firsts[place]) for place in firsts if place.topic in whole and place in ends.logs
        }
        return firsts, problems

    def _recall(self, search: Search, ends: Ends) -> dict[int, First]:
        """Recall the first records of a partition that are there still."""
        log, firsts = self._kept.get(search.place, (None, {}))
        if log is None or log != ends.logs.get(search.place):
            return {}
        return {
            offset: first
            for offset in search.offsets
            if (first := firsts.get(offset)) is not None and first.is_there and first.offset >= search.start
        }


def _without(searches: Iterable[Search], known: Mapping[Place, Mapping[int, First]]) -> Iterator[Search]:
    """Yield searches for those offsets whose first records are not known."""
    for search in searches:
        firsts = known.get(search.place, {})
        if len(firsts) < len(search.offsets):
            yield search._replace(offsets=[offset for offset in search.offsets if offset not in firsts])


async def _never_compacted(cluster: Cluster, nodes: Sequence[Node], topics: Iterable[str]) -> set[str]:
    """Find the topics that are known not to be compacted."""
    names = sorted(topics)
    found: set[str] = set()
    for at in range(0, len(names), TOPICS_AT_ONCE):
        found |= await _with_policy(cluster, nodes, names[at : at + TOPICS_AT_ONCE])
    return found


async def _with_policy(cluster: Cluster, nodes: Sequence[Node], names: Iterable[str]) -> set[str]:
    resources = [
        DescribeConfigsResource(
            resource_type=ConfigResourceType.TOPIC, resource_name=name, configuration_keys=[_POLICY]
        )
        for name in names
    ]
    request = DescribeConfigsRequest(resources=resources)
    for node in nodes:
        try:
            response = await cluster.ask(node, request)
        except Failure:
            continue  # the cluster keeps it
        except KipwireError:
            break  # a broker that is too old
        return {
            one.resource_name
            for one in response.results
            if not one.error_code and [config.value for config in one.configs if config.name == _POLICY] == ["delete"]
        }
    return set()
