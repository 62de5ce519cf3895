"""First records that stay from round to round, so that an exporter reads records of groups that have moved alone.

The record that a group reads next changes only if its offset moves, if the record is removed, or if the log becomes
another one. Each round sees all that: the first offset of the partition, the id of its topic, which changes when the
topic is made anew, and the epoch of its leader, without whose change no log is cut. Compaction alone is not seen; so
nothing is kept of topics that are compacted, or whose configuration the client may not read. Nor is a record that may
be of an open transaction, which may be aborted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kafka_messages.describe_configs_request.v4 import DescribeConfigsRequest, DescribeConfigsResource
from kafka_messages.enums import ConfigResourceType
from kipwire.cluster.brokers import Brokers
from kipwire.cluster.model import First, Problem
from kipwire.cluster.partitions import TOPICS_AT_ONCE, Log
from kipwire.cluster.unread import Firsts, Search, find_firsts
from kipwire.logs.names import Partition
from kipwire.model.errors import KipwireError

_POLICY = "cleanup.policy"


class Memory:
    """The first records of the last round."""

    def __init__(self) -> None:
        """Begin with none."""
        self._kept: dict[Partition, tuple[Log, Mapping[int, First]]] = {}

    async def find(
        self, brokers: Brokers, searches: Sequence[Search], logs: Mapping[Partition, Log]
    ) -> tuple[Firsts, list[Problem]]:
        """Find the first records from committed offsets on, as `find_firsts`; those that are known are not read again.

        Args:
            brokers: of the cluster.
            searches: each partition once.
            logs: the identities of logs, as far as they are known.
        """
        whole = await _never_compacted(brokers, {search.partition.topic for search in searches})
        known = {search.partition: self._recall(search, logs) for search in searches if search.partition.topic in whole}
        found, problems = await find_firsts(brokers, _without(searches, known))
        every = [search.partition for search in searches]
        firsts = {partition: {**known.get(partition, {}), **found.get(partition, {})} for partition in every}
        self._kept = {
            partition: (logs[partition], firsts[partition])
            for partition in every
            if partition.topic in whole and partition in logs
        }
        return firsts, problems

    def _recall(self, search: Search, logs: Mapping[Partition, Log]) -> dict[int, First]:
        """Recall the first records of a partition that are there still."""
        log, firsts = self._kept.get(search.partition, (None, {}))
        if log is None or log != logs.get(search.partition):
            return {}
        return {
            offset: first
            for offset in search.offsets
            if (first := firsts.get(offset)) is not None
            and first.is_there
            and first.is_decided
            and first.offset >= search.start
        }


def _without(searches: Iterable[Search], known: Mapping[Partition, Mapping[int, First]]) -> Iterator[Search]:
    """Yield searches for those offsets whose first records are not known."""
    for search in searches:
        firsts = known.get(search.partition, {})
        if len(firsts) < len(search.offsets):
            yield search._replace(offsets=[offset for offset in search.offsets if offset not in firsts])


async def _never_compacted(brokers: Brokers, topics: Iterable[str]) -> set[str]:
    """Find the topics that are known not to be compacted."""
    names = sorted(topics)
    found: set[str] = set()
    for at in range(0, len(names), TOPICS_AT_ONCE):
        found |= await _with_policy(brokers, names[at : at + TOPICS_AT_ONCE])
    return found


async def _with_policy(brokers: Brokers, names: Iterable[str]) -> set[str]:
    resources = [
        DescribeConfigsResource(
            resource_type=ConfigResourceType.TOPIC, resource_name=name, configuration_keys=[_POLICY]
        )
        for name in names
    ]
    try:
        request = DescribeConfigsRequest(resources=resources)
        _, response = await brokers.ask_any(request)
    except KipwireError:  # none answers, or one that is too old
        return set()
    return {
        one.resource_name
        for one in response.results
        if not one.error_code and [config.value for config in one.configs if config.name == _POLICY] == ["delete"]
    }
