"""Asks leaders for the first offsets and the ends of partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from kafka_messages.enums import ErrorCode, IsolationLevel, ListOffsetsTimestamp
from kafka_messages.list_offsets_request.v9 import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_messages.metadata_request.v13 import MetadataRequest, MetadataRequestTopic
from kipwire.aio import Failure
from kipwire.cluster.cluster import Cluster, make_problem
from kipwire.cluster.finding import Node
from kipwire.cluster.model import Place, Problem
from kipwire.model.errors import KipwireError

TOPICS_AT_ONCE = 1000
PARTITIONS_AT_ONCE = 5000
"""Asked about in one request."""
_NO_TOPIC = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class Log(NamedTuple):
    """The identity of a log: another topic id or epoch means that it was made anew or cut shorter."""

    topic_id: UUID
    leader_epoch: int


@dataclass
class Ends:
    """Leaders, logs and offsets by partition, filled while brokers answer."""

    leaders: dict[Place, Node] = field(default_factory=dict)
    logs: dict[Place, Log] = field(default_factory=dict)
    """Identities of logs, only from brokers that are new enough to have them."""
    starts: dict[Place, int] = field(default_factory=dict)
    ends: dict[Place, int] = field(default_factory=dict)
    gone: set[Place] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)


async def find_ends(cluster: Cluster, nodes: Sequence[Node], places: Iterable[Place], *, committed: bool) -> Ends:
    """Find the leaders, first offsets and ends of partitions.

    Args:
        cluster: its connections.
        nodes: its brokers.
        places: the partitions.
        committed: whether they end where the first open transaction begins.
    """
    found = Ends()
    by_topic: dict[str, list[Place]] = {}
    for place in sorted(places):
        by_topic.setdefault(place.topic, []).append(place)
    names = list(by_topic)
    for at in range(0, len(names), TOPICS_AT_ONCE):
        await _find_leaders(cluster, nodes, {name: by_topic[name] for name in names[at : at + TOPICS_AT_ONCE]}, found)
    by_leader: dict[Node, list[Place]] = {}
    for place, leader in found.leaders.items():
        by_leader.setdefault(leader, []).append(place)
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    await asyncio.gather(
        *[
            _find_offsets(cluster, leader, group[at : at + PARTITIONS_AT_ONCE], level, found)
            for leader, group in by_leader.items()
            for at in range(0, len(group), PARTITIONS_AT_ONCE)
        ]
    )
    return found


async def _find_leaders(
    cluster: Cluster, nodes: Sequence[Node], topics: Mapping[str, Sequence[Place]], found: Ends
) -> None:
    """Ask one broker after the other until one says who leads partitions."""
    asked = [MetadataRequestTopic(name=name) for name in topics]
    request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
    for node in nodes:
        try:
            response = await cluster.ask(node, request)
        except Failure:
            continue  # the cluster keeps it
        break
    else:
        return
    brokers = {one.node_id: Node(one.node_id, (one.host, one.port)) for one in response.brokers}
    described = {topic.name: topic for topic in response.topics}
    for name, places in topics.items():
        topic = described.get(name)
        if topic is None or topic.error_code == _NO_TOPIC:
            found.gone.update(places)
            continue
        if topic.error_code:
            found.problems.append(make_problem(f"topic {name}", "the broker", topic.error_code))
            continue
        partitions = {one.partition_index: one for one in topic.partitions}
        for place in places:
            one = partitions.get(place.partition)
            if one is None:
                found.gone.add(place)
            elif (leader := brokers.get(one.leader_id)) is not None:
                found.leaders[place] = leader
                if topic.topic_id.int and one.leader_epoch >= 0:
                    found.logs[place] = Log(topic.topic_id, one.leader_epoch)
            else:
                reason = f"has no leader now: {ErrorCode.text(one.error_code or ErrorCode.LEADER_NOT_AVAILABLE)}"
                found.problems.append(Problem(str(place), reason, may_pass=True))


async def _find_offsets(
    cluster: Cluster, leader: Node, places: Sequence[Place], level: IsolationLevel, found: Ends
) -> None:
    """Ask a leader for first offsets and ends, both at once."""
    requests = [_request(places, timestamp, level) for timestamp in (_EARLIEST, _LATEST)]
    try:
        answers = await asyncio.gather(*[cluster.ask(leader, request) for request in requests])
    except Failure:
        return  # the cluster keeps it
    except KipwireError as error:
        found.problems.append(Problem(str(leader), str(error)))
        return
    for answer, offsets in zip(answers, (found.starts, found.ends), strict=True):
        for topic in answer.topics:
            for one in topic.partitions:
                place = Place(topic.name, one.partition_index)
                if not one.error_code:
                    offsets[place] = one.offset
                elif offsets is found.ends:
                    found.problems.append(make_problem(str(place), "the leader", one.error_code))


_EARLIEST, _LATEST = ListOffsetsTimestamp.EARLIEST, ListOffsetsTimestamp.LATEST
_NO_REPLICA = -1
"""The replica id of clients. A replica, such as 0, gets the end of the log, not the end that clients can read."""


def _request(places: Iterable[Place], timestamp: int, level: IsolationLevel) -> ListOffsetsRequest:
    topics: dict[str, Any] = {}
    for place in places:
        asked = ListOffsetsPartition(partition_index=place.partition, timestamp=timestamp)
        topics.setdefault(place.topic, ListOffsetsTopic(name=place.topic, partitions=[])).partitions.append(asked)
    return ListOffsetsRequest(replica_id=_NO_REPLICA, isolation_level=level, topics=list(topics.values()))
