"""Groups, as their coordinators know them: which there are, who is in them, what they have committed.

Each broker lists the groups that it coordinates, so all are asked, and then each coordinator about its own groups, some
at a time. A group that two brokers list, or one that is not coordinated where it was listed, is asked about where
FindCoordinator says. A cluster changes meanwhile: a group that is gone by then is no fault, and whatever cannot be read
becomes a `Problem` beside the rest, never an exception, because the lag of all other groups is still wanted. What is
known without members or offsets is None, not empty: the tables show the difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from kafka_messages.consumer_group_describe_request.v1 import ConsumerGroupDescribeRequest
from kafka_messages.describe_groups_request.v6 import DescribeGroupsRequest
from kafka_messages.describe_share_group_offsets_request.v1 import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kafka_messages.enums import ApiKey, CoordinatorType, ErrorCode
from kafka_messages.list_groups_request.v5 import ListGroupsRequest
from kafka_messages.offset_fetch_request import v7, v9
from kafka_messages.share_group_describe_request.v1 import ShareGroupDescribeRequest
from kafka_messages.streams_group_describe_request.v1 import StreamsGroupDescribeRequest
from kipwire.aio import Failure
from kipwire.cluster.brokers import Brokers, Node, problem_of
from kipwire.cluster.finding import coordinator
from kipwire.cluster.model import Group, Kind, Member, Problem
from kipwire.logs.enveloped import ASSIGNMENT, read_enveloped
from kipwire.logs.names import Partition
from kipwire.model.errors import DecodeError, KipwireError

AT_ONCE = 50
"""Groups that are asked about in one request, so that no response is larger than brokers like."""

_CONSUMERS = ("consumer", "")
"""Protocol types of classic groups that read topics; the second has offsets without ever having had a member."""
_WITH_SEVERAL_GROUPS = 8
"""The first version of OffsetFetch in which several groups can be asked about."""
_GONE = (ErrorCode.GROUP_ID_NOT_FOUND,)
_ELSEWHERE: Any = object()
"""Answer about a group that the broker does not coordinate."""

ByPartition = dict[Partition, int]
Committed = tuple[ByPartition, ByPartition]
"""Offsets; and, of share groups, lags."""


class Listed(NamedTuple):
    """A group, as its coordinator lists it."""

    name: str
    kind: Kind
    state: str
    """Empty where the broker is too old to say."""
    coordinator: Node


class Described(NamedTuple):
    """A group, as its coordinator describes it."""

    state: str
    members: tuple[Member, ...] | None
    """None if they are not known."""


class Found(NamedTuple):
    """The groups of all brokers."""

    names: list[str]
    """Names of all groups that read topics."""
    groups: list[Group]
    """Wanted groups, in the order of their names."""
    problems: list[Problem]


async def find_groups(brokers: Brokers, nodes: Iterable[Node], patterns: Sequence[str], topics: Sequence[str]) -> Found:
    """Find the groups of all brokers.

    Args:
        brokers: of the cluster.
        nodes: all of them.
        patterns: of names, of which one must fit; none: all groups.
        topics: patterns of the topics whose offsets and readers are wanted.
    """
    problems: list[Problem] = []
    found: dict[str, list[Listed]] = {}
    for listed in await asyncio.gather(*[_list_groups(brokers, node, problems) for node in nodes]):
        for group in listed:
            found.setdefault(group.name, []).append(group)
    names = sorted(found)
    groups = await asyncio.gather(
        *[_of_coordinator(brokers, found[name]) for name in names if matches_any(name, patterns)]
    )
    described, committed = await asyncio.gather(
        _of_all(brokers, groups, _describe, problems), _of_all(brokers, groups, _fetch_offsets, problems)
    )
    return Found(names, list(_groups(groups, described, committed, topics)), problems)


def _groups(
    listed: Iterable[Listed],
    described: Mapping[str, Described],
    committed: Mapping[str, Committed],
    topics: Sequence[str],
) -> Iterator[Group]:
    for one in listed:
        state, members = described.get(one.name, Described(one.state, None))
        if members is not None and topics:
            members = tuple(
                member._replace(partitions=_filter_partitions(member.partitions, topics)) for member in members
            )
        offsets, lags = (_of_topics(part, topics) for part in committed.get(one.name, ({}, {})))
        if not topics or offsets or any(member.partitions for member in members or ()):
            yield Group(one.name, one.kind, state or one.state, members, offsets, lags)


def _filter_partitions(partitions: Iterable[Partition], patterns: Sequence[str]) -> frozenset[Partition]:
    return frozenset(partition for partition in partitions if matches_any(partition.topic, patterns))


def _of_topics(offsets: ByPartition, patterns: Sequence[str]) -> ByPartition:
    return {partition: offset for partition, offset in offsets.items() if matches_any(partition.topic, patterns)}


def matches_any(name: str, patterns: Sequence[str]) -> bool:
    """Return True if a name fits one of the patterns, or there are none."""
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)


async def _list_groups(brokers: Brokers, node: Node, problems: list[Problem]) -> list[Listed]:
    """List the groups that a broker coordinates."""
    try:
        response = await brokers.ask(node, ListGroupsRequest())
    except Failure:
        return []  # `brokers` keeps it
    except KipwireError as error:
        problems.append(Problem(str(node), str(error)))
        return []
    if response.error_code:
        problems.append(problem_of(str(node), "the broker", response.error_code))
    listed = []
    for one in response.groups:
        kind = _kind(one.group_type, one.protocol_type)
        if kind is not None:
            listed.append(Listed(one.group_id, kind, one.group_state, node))
    return listed


async def _of_coordinator(brokers: Brokers, listed: Sequence[Listed]) -> Listed:
    """Choose the entry of the coordinator from the entries of a group in the lists of brokers."""
    if len(listed) == 1:
        return listed[0]
    try:
        node = await coordinator(brokers, CoordinatorType.GROUP, listed[0].name, listed[0].coordinator)
    except KipwireError:
        return listed[0]  # which says by its answers if it is none
    return next((one for one in listed if one.coordinator == node), listed[0]._replace(coordinator=node))


def _kind(group_type: str, protocol_type: str) -> Kind | None:
    """Find the kind of a group; None for one that reads no topics, such as of Kafka Connect, or of an unknown kind."""
    name = group_type.lower() or Kind.CLASSIC  # brokers before Kafka 3.8 have no other
    if name not in list(Kind) or (name == Kind.CLASSIC and protocol_type not in _CONSUMERS):
        return None
    return Kind(name)


Ask = Callable[[Brokers, Node, Kind, list[str], list[Problem]], AsyncIterator[tuple[str, Any]]]


async def _of_all(brokers: Brokers, groups: Iterable[Listed], ask: Ask, problems: list[Problem]) -> dict[str, Any]:
    """Ask the coordinators about groups; return their answers by name."""
    by_name = {group.name: group for group in groups}
    answers: dict[str, Any] = {}

    async def some(node: Node, kind: Kind, names: list[str]) -> list[str]:
        """Ask about some groups; return those that are coordinated elsewhere."""
        elsewhere = []
        try:
            async for name, value in ask(brokers, node, kind, names, problems):
                if value is not _ELSEWHERE:
                    answers[name] = value
                elif name in by_name:
                    elsewhere.append(name)
        except Failure:
            pass  # `brokers` keeps it
        except KipwireError as error:
            problems.extend(Problem(f"group {name}", str(error)) for name in names)
        return elsewhere

    async def each(groups: Iterable[Listed]) -> list[str]:
        together: dict[tuple[Node, Kind], list[str]] = {}
        for one in groups:
            together.setdefault((one.coordinator, one.kind), []).append(one.name)
        asked = [
            some(node, kind, names[at : at + AT_ONCE])
            for (node, kind), names in together.items()
            for at in range(0, len(names), AT_ONCE)
        ]
        return [name for names in await asyncio.gather(*asked) for name in names]

    async def moved(group: Listed) -> Listed | None:
        try:
            node = await coordinator(brokers, CoordinatorType.GROUP, group.name, group.coordinator)
        except KipwireError as error:
            problems.append(Problem(f"group {group.name}", str(error), may_pass=True))
            return None
        return group._replace(coordinator=node)

    found = await asyncio.gather(*[moved(by_name[name]) for name in await each(by_name.values())])
    still = await each([group for group in found if group is not None])
    problems += [problem_of(f"group {name}", "the coordinator", ErrorCode.NOT_COORDINATOR) for name in still]
    return answers


async def _describe(
    brokers: Brokers, node: Node, kind: Kind, names: list[str], problems: list[Problem]
) -> AsyncIterator[tuple[str, Described]]:
    """Fetch the state and members of groups from their coordinator."""
    request: Any
    match kind:
        case Kind.CLASSIC:
            request = DescribeGroupsRequest(groups=names)
        case Kind.CONSUMER:
            request = ConsumerGroupDescribeRequest(group_ids=names)
        case Kind.STREAMS:
            request = StreamsGroupDescribeRequest(group_ids=names)
        case Kind.SHARE:
            request = ShareGroupDescribeRequest(group_ids=names)
    response: Any = await brokers.ask(node, request)
    for one in response.groups:
        if one.error_code in _GONE:
            yield one.group_id, Described("Dead", ())
        elif one.error_code == ErrorCode.NOT_COORDINATOR:
            yield one.group_id, _ELSEWHERE
        elif one.error_code:
            problems.append(problem_of(f"group {one.group_id}", "the coordinator", one.error_code))
        else:
            yield one.group_id, Described(one.group_state, tuple(members_of(kind, one)))


def members_of(kind: Kind, group: Any) -> Iterator[Member]:
    """Yield the members of a group that is described, with what they read."""
    subtopologies = {}
    if kind is Kind.STREAMS and group.topology is not None:
        subtopologies = {one.subtopology_id: one for one in group.topology.subtopologies or ()}
    for one in group.members:
        partitions: Iterable[Partition]
        match kind:
            case Kind.CLASSIC:
                partitions = parse_assignment(one.member_assignment)
            case Kind.STREAMS:
                partitions = _of_tasks(one.assignment.active_tasks, subtopologies)
            case _:
                topics = one.assignment.topic_partitions
                partitions = (Partition(topic.topic_name, number) for topic in topics for number in topic.partitions)
        yield Member(one.member_id, one.client_id, one.client_host.removeprefix("/"), frozenset(partitions))


def _of_tasks(tasks: Iterable[Any], subtopologies: Mapping[str, Any]) -> Iterator[Partition]:
    """Find the partitions that tasks of Kafka Streams read, by their numbers, in all topics of their subtopologies."""
    for task in tasks:
        of_task = subtopologies.get(task.subtopology_id)
        if of_task is not None:
            topics = [*of_task.source_topics, *(one.name for one in of_task.repartition_source_topics)]
            yield from (Partition(topic, number) for topic in topics for number in task.partitions)


def parse_assignment(data: bytes) -> frozenset[Partition]:
    """Decode the partitions that the leader of a classic group has assigned to a member; none in other bytes."""
    try:
        found: Any = read_enveloped(ASSIGNMENT, data)
    except DecodeError:  # of a client that has a form of its own
        return frozenset()
    return frozenset(Partition(one.topic, number) for one in found.assigned_partitions for number in one.partitions)


async def _fetch_offsets(
    brokers: Brokers, node: Node, kind: Kind, names: list[str], problems: list[Problem]
) -> AsyncIterator[tuple[str, Committed]]:
    """Fetch the committed offsets of groups, for all topics that the client may see."""
    if kind is Kind.SHARE:
        async for found in _fetch_share_offsets(brokers, node, names, problems):
            yield found
        return
    if _WITH_SEVERAL_GROUPS in await brokers.versions(node, ApiKey.OFFSET_FETCH):
        groups = [v9.OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
        several = await brokers.ask(node, v9.OffsetFetchRequest(groups=groups))
        answers: list[tuple[str, Any]] = [(one.group_id, one) for one in several.groups]
    else:
        requests = [brokers.ask(node, v7.OffsetFetchRequest(group_id=name, topics=None)) for name in names]
        answers = [*zip(names, await asyncio.gather(*requests), strict=True)]
    for name, answer in answers:
        if _is_elsewhere(name, answer.error_code, problems):
            yield name, _ELSEWHERE
        else:
            yield name, (_offsets(name, answer.topics, problems), {})


def _is_elsewhere(group: str, error_code: int, problems: list[Problem]) -> bool:
    """True if a group has another coordinator; any other error of the group is added to the problems."""
    if error_code not in (0, ErrorCode.NOT_COORDINATOR, *_GONE):
        problems.append(problem_of(f"group {group}", "the coordinator", error_code))
    return error_code == ErrorCode.NOT_COORDINATOR


def _offsets(group: str, topics: Iterable[Any], problems: list[Problem]) -> ByPartition:
    found = {}
    for topic in topics:
        for one in topic.partitions:
            partition = Partition(topic.name, one.partition_index)
            if one.error_code:
                problems.append(problem_of(f"group {group}, {partition}", "the coordinator", one.error_code))
            elif one.committed_offset >= 0:
                found[partition] = one.committed_offset
    return found


async def _fetch_share_offsets(
    brokers: Brokers, node: Node, names: list[str], problems: list[Problem]
) -> AsyncIterator[tuple[str, Committed]]:
    groups = [DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=None) for name in names]
    response = await brokers.ask(node, DescribeShareGroupOffsetsRequest(groups=groups))
    for group in response.groups:
        if _is_elsewhere(group.group_id, group.error_code, problems):
            yield group.group_id, _ELSEWHERE
            continue
        offsets, lags = {}, {}
        for topic in group.topics:
            for one in topic.partitions:
                partition = Partition(topic.topic_name, one.partition_index)
                if one.error_code:
                    problems.append(
                        problem_of(f"group {group.group_id}, {partition}", "the coordinator", one.error_code)
                    )
                elif one.start_offset >= 0:
                    offsets[partition] = one.start_offset
                    if one.lag >= 0:
                        lags[partition] = one.lag
        yield group.group_id, (offsets, lags)
