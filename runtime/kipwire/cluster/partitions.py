"""The leaders of partitions and their offsets, asked for many partitions at once.

Whatever cannot be known is a `Problem` beside the rest, never an exception. What may pass by itself is asked for again,
as often as a `Patience` says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple
from uuid import UUID

from kafka_messages.enums import ErrorCode, IsolationLevel
from kafka_messages.list_offsets_request.v9 import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_messages.metadata_request.v13 import MetadataRequest, MetadataRequestTopic
from kafka_messages.metadata_response.v13 import MetadataResponse
from kipwire.aio import Address, Failure
from kipwire.cluster.brokers import ONCE, Brokers, Node, NotFound, Patience, failure_of, may_pass, problem_of
from kipwire.cluster.model import Problem
from kipwire.logs.names import Partition
from kipwire.model.errors import KipwireError
from kipwire.tools.text import count_of, did_you_mean

TOPICS_AT_ONCE = 1000
PARTITIONS_AT_ONCE = 5000
"""Asked about in one request."""
_CLIENT = -1
"""The replica id of clients. A broker's id would return the end of the log, not the high watermark."""
_NO_TOPIC, _NO_LEADER = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE


class Log(NamedTuple):
    """The identity of a log: another topic id or epoch means that it was made anew or cut shorter."""

    topic_id: UUID
    leader_epoch: int


class Leaders(dict[Partition, Node]):
    """The leaders of partitions, by partition, and what stands in the way of others."""

    def __init__(self) -> None:
        """Know none yet."""
        super().__init__()
        self.address: Address = "", 0
        """The address of the broker that has answered."""
        self.logs: dict[Partition, Log] = {}
        """Identities of logs, only from brokers that are new enough to have them."""
        self.counts: dict[str, int] = {}
        """Numbers of partitions, by topic."""
        self.gone: set[Partition] = set()
        """Partitions that were asked for and do not exist."""
        self.refused: dict[str, int] = {}
        """Error codes of topics."""
        self.leaderless: dict[Partition, int] = {}
        """Error codes of partitions that have no leader now."""

    @property
    def problems(self) -> list[Problem]:
        """The topics and partitions without an answer."""
        return [
            *(
                problem_of(f"topic {name}", "the broker", code)._replace(may_pass=code != _NO_TOPIC and may_pass(code))
                for name, code in self.refused.items()
            ),
            *(
                Problem(str(partition), f"has no leader now: {ErrorCode.text(code)}", may_pass=True)
                for partition, code in self.leaderless.items()
            ),
        ]

    def has_no(self, topic: str) -> bool:
        """True if a topic that was asked for does not exist; false if it is refused for another reason."""
        return topic not in self.counts and self.refused.get(topic, _NO_TOPIC) == _NO_TOPIC

    def no_topic(self, topic: str, hint: str = "") -> NotFound:
        """Make the error of a topic that no broker describes."""
        code = self.refused.get(topic, _NO_TOPIC)
        return NotFound.by(self.address, f"has no topic {topic!r}: {ErrorCode.text(code)}{hint}")

    def expect(self, topic: str, number: int | None = None) -> list[Partition]:
        """List the partitions of a topic, or the one with a number, which must have leaders.

        Raises:
            NotFound: there is no such topic or partition, or no leader.
        """
        if topic not in self.counts:
            raise self.no_topic(topic)
        wanted = [Partition(topic, one) for one in (range(self.counts[topic]) if number is None else (number,))]
        for partition in wanted:
            if partition not in self:
                what = f"{topic} partition {partition.number}"
                if (known := self.leaderless.get(partition)) is not None:
                    raise NotFound.by(self.address, f"has no leader for {what}: {ErrorCode.text(known)}")
                raise NotFound.by(
                    self.address, f"has no {what}; {topic} has {count_of(self.counts[topic], 'partition')}"
                )
        return wanted


class Offsets(dict[Partition, int]):
    """Offsets by partition, and why others are not known."""

    def __init__(self) -> None:
        """Know none yet."""
        super().__init__()
        self.problems: list[Problem] = []
        self.again: set[Partition] = set()
        """Partitions whose problem may pass."""


Wanted = Mapping[str, Collection[int] | None]
"""Numbers of partitions by topic; None: all of them."""


def wanted_of(given: Iterable[str | Partition]) -> Wanted:
    """Group topics and partitions by topic."""
    found: dict[str, set[int] | None] = {}
    for one in given:
        if isinstance(one, str):
            found[one] = None
        elif (numbers := found.setdefault(one[0], set())) is not None:
            numbers.add(one[1])
    return found


async def find_leaders(brokers: Brokers, wanted: Wanted, patience: Patience = ONCE) -> Leaders:
    """Find the leaders of partitions, by any broker. No topic is created.

    Args:
        brokers: of the cluster.
        wanted: topics and partitions.
        patience: for partitions without a leader.

    Raises:
        KipwireError: no broker answers.
    """
    found = await _leaders_now(brokers, wanted)
    for pause in patience.pauses():
        if not any(problem.may_pass for problem in found.problems):
            break
        await asyncio.sleep(pause)
        brokers.begin()
        found = await _leaders_now(brokers, wanted)
    return found


async def expect_partitions(brokers: Brokers, leaders: Leaders, wanted: Iterable[str | Partition]) -> list[Partition]:
    """List partitions that were asked for, which must have leaders.

    Raises:
        NotFound: there is no such topic, and the error has a similar name; or no such partition, or no leader.
    """
    found = []
    for one in wanted:
        topic, number = (one, None) if isinstance(one, str) else one
        if leaders.has_no(topic):
            raise leaders.no_topic(topic, did_you_mean(topic, await _topics_if_known(brokers)))
        found += leaders.expect(topic, number)
    return found


async def find_topics(brokers: Brokers) -> list[str]:
    """List the names of all topics that may be described, by any broker.

    Raises:
        KipwireError: no broker answers.
    """
    _, response = await brokers.ask_any(MetadataRequest(topics=None, allow_auto_topic_creation=False))
    return sorted(topic.name for topic in response.topics if topic.name)


async def _topics_if_known(brokers: Brokers) -> list[str]:
    try:
        return await find_topics(brokers)
    except KipwireError:  # an error about a topic is in the making, which matters more
        return []


async def _leaders_now(brokers: Brokers, wanted: Wanted) -> Leaders:
    found, names = Leaders(), sorted(wanted)
    for at in range(0, len(names), TOPICS_AT_ONCE):
        some = names[at : at + TOPICS_AT_ONCE]
        topics = [MetadataRequestTopic(name=name) for name in some]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        found.address, response = await brokers.ask_any(request)
        _note_leaders(response, {name: wanted[name] for name in some}, found)
    return found


def _note_leaders(response: MetadataResponse, wanted: Wanted, found: Leaders) -> None:
    nodes = {one.node_id: Node(one.node_id, (one.host, one.port)) for one in response.brokers}
    described = {topic.name: topic for topic in response.topics}
    for name, numbers in wanted.items():
        topic = described.get(name)
        if topic is None or topic.error_code:
            code = _NO_TOPIC if topic is None else topic.error_code
            if code == _NO_TOPIC and numbers is not None:
                found.gone.update(Partition(name, number) for number in numbers)
            else:
                found.refused[name] = code
            continue
        by_number = {one.partition_index: one for one in topic.partitions}
        found.counts[name] = len(by_number)
        for number in sorted(by_number if numbers is None else numbers):
            partition, one = Partition(name, number), by_number.get(number)
            if one is None:
                found.gone.add(partition)
            elif (leader := nodes.get(one.leader_id)) is None:
                found.leaderless[partition] = one.error_code or _NO_LEADER
            else:
                found[partition] = leader
                if topic.topic_id.int and one.leader_epoch >= 0:
                    found.logs[partition] = Log(topic.topic_id, one.leader_epoch)


def level_of(committed: bool) -> IsolationLevel:
    """Return the level that a request has: where logs end, and which records there are."""
    return IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED


async def find_offsets(
    brokers: Brokers, leaders: Mapping[Partition, Node], timestamp: int, *, committed: bool, patience: Patience = ONCE
) -> Offsets:
    """Find the offsets of a time in partitions, by their leaders.

    Args:
        brokers: of the cluster.
        leaders: of the partitions.
        timestamp: the first record with this time or a later one is found, in milliseconds since 1970; or a
            `ListOffsetsTimestamp`, such as `LATEST`. -1 is found if there is no such record.
        committed: whether partitions end where the first open transaction begins.
        patience: for leaders that move or fail.
    """
    found = Offsets()
    await _ask_leaders(brokers, leaders, timestamp, committed, found)
    for pause in patience.pauses():
        if not found.again:
            break
        await asyncio.sleep(pause)
        brokers.begin()
        asked = {partition: leaders[partition] for partition in found.again}
        await _ask_leaders(brokers, asked | await renewed(brokers, found.again), timestamp, committed, found)
    return found


async def renewed(brokers: Brokers, partitions: Iterable[Partition]) -> dict[Partition, Node]:
    """Find leaders again, as far as they are known now."""
    try:
        return await find_leaders(brokers, wanted_of(partitions))
    except Failure:
        return {}


async def _ask_leaders(
    brokers: Brokers, leaders: Mapping[Partition, Node], timestamp: int, committed: bool, found: Offsets
) -> None:
    found.problems[:] = [problem for problem in found.problems if not problem.may_pass]
    found.again.clear()
    by_leader: dict[Node, list[Partition]] = {}
    for partition, leader in leaders.items():
        by_leader.setdefault(leader, []).append(partition)

    async def ask(leader: Node, some: list[Partition]) -> None:
        try:
            answer = await brokers.ask(leader, _request(some, timestamp, level_of(committed)))
        except Failure as failure:
            problem = failure_of(leader, failure)
            found.problems.append(problem)
            found.again.update(some if problem.may_pass else ())
            return
        except KipwireError as error:
            found.problems.append(Problem(str(leader), str(error)))
            return
        for topic in answer.topics:
            for one in topic.partitions:
                partition = Partition(topic.name, one.partition_index)
                if not one.error_code:
                    found[partition] = one.offset
                    continue
                problem = problem_of(str(partition), "the leader", one.error_code)
                found.problems.append(problem)
                if problem.may_pass:
                    found.again.add(partition)

    await asyncio.gather(*[ask(leader, some) for leader, every in by_leader.items() for some in _chunks(every)])


def _chunks(partitions: list[Partition]) -> Iterator[list[Partition]]:
    return (partitions[at : at + PARTITIONS_AT_ONCE] for at in range(0, len(partitions), PARTITIONS_AT_ONCE))


def _request(partitions: Iterable[Partition], timestamp: int, level: IsolationLevel) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(ListOffsetsPartition(partition_index=number, timestamp=timestamp))
    every = [ListOffsetsTopic(name=name, partitions=some) for name, some in topics.items()]
    return ListOffsetsRequest(replica_id=_CLIENT, isolation_level=level, topics=every)
