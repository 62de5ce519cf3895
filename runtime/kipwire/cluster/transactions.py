"""Open transactions of a cluster: where they begin, whose they are, what they hold back; and the end of hanging ones.

A transaction is open in a partition until its marker is there, and readers of committed records get nothing from its
start on. The leader of the partition knows the producer, the coordinator of the transactional id the partitions. If no
coordinator has the partition in a transaction of the producer, no marker will ever come: it hangs (KIP-664).

Both change meanwhile. So coordinators are asked after leaders, and leaders once more: a transaction hangs only if it is
still open then. Where a broker does not answer, or still loads its log, it is not known what hangs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from kafka_messages.describe_producers_request.v0 import DescribeProducersRequest, TopicRequest
from kafka_messages.describe_transactions_request.v0 import DescribeTransactionsRequest
from kafka_messages.enums import ErrorCode, ListOffsetsTimestamp
from kafka_messages.list_transactions_request.v2 import ListTransactionsRequest
from kafka_messages.write_txn_markers_request.v2 import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kipwire.aio import Failure
from kipwire.cluster.brokers import Node, failure_of, problem_of
from kipwire.cluster.groups import matches_any
from kipwire.cluster.model import OPEN_STATES, Problem
from kipwire.logs.names import Partition
from kipwire.message.messages import Message
from kipwire.model.errors import KipwireError

if TYPE_CHECKING:
    from kipwire.cluster.cluster import Cluster
    from kipwire.message.frames import AnsweredBy

M = TypeVar("M", bound=Message)

AT_ONCE = 100
"""Transactional ids, producers or partitions that are asked about in one request; a partition has many producers."""
_NONE = -1
"""Kafka's value for a missing offset, time or epoch."""


class Producer(NamedTuple):
    """A producer with an open transaction in a partition, as the leader knows it."""

    partition: Partition
    producer_id: int
    producer_epoch: int
    start_offset: int
    """The offset at which the transaction begins."""
    last_timestamp: int
    """The time of the last record of the producer there, in milliseconds since 1970; -1 if there is none."""
    coordinator_epoch: int
    """Epoch of the coordinator that wrote the last marker of the producer there; -1 if there is none."""


class Transaction(NamedTuple):
    """A transactional id, as its coordinator knows it."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    started: int
    """Milliseconds since 1970; -1 if no transaction has begun."""
    timeout: int
    """Milliseconds after which the coordinator aborts a transaction."""
    partitions: frozenset[Partition]

    @property
    def is_open(self) -> bool:
        """True if it has not ended."""
        return self.state in OPEN_STATES


class Open(NamedTuple):
    """An open transaction of a partition."""

    producer: Producer
    transaction: Transaction | None
    """The one of the same producer, which need not have the partition; None if no coordinator knows the producer."""
    held_back: int
    """Number of offsets of the partition that readers of committed records do not get."""
    is_hanging: bool | None
    """True if no coordinator will end it; None if not all coordinators have answered."""

    def since(self) -> int:
        """Return the time of its start, or of the last record of the producer, in milliseconds since 1970; or -1."""
        of_coordinator = _NONE if self.transaction is None or self.is_hanging else self.transaction.started
        return self.producer.last_timestamp if of_coordinator == _NONE else of_coordinator


@dataclass(frozen=True)
class TransactionsLook:
    """The open transactions of one round."""

    time: float
    """Seconds since 1970, by the clock of this machine."""
    opened: tuple[Open, ...]
    """Those that hang first, then by what they hold back, the largest number first."""
    transactions: tuple[Transaction, ...]
    """Transactional ids whose transaction is open, in the order of their names."""
    topics: tuple[str, ...]
    """The names of all topics, wanted or not."""
    problems: tuple[Problem, ...]
    leaders: Mapping[Partition, Node] = field(default_factory=dict)

    @property
    def hanging(self) -> list[Open]:
        """Those that no coordinator will end."""
        return [one for one in self.opened if one.is_hanging]


async def look_at_transactions(cluster: Cluster, topics: Sequence[str] = ()) -> TransactionsLook:
    """Find the open transactions of a cluster.

    Args:
        cluster: its brokers.
        topics: patterns of names, such as `orders*`, of which one must fit; none: all topics.

    Raises:
        KipwireError: no broker answers.
    """
    asked = _Asked(cluster)
    nodes = await cluster.nodes()
    names = await cluster.topics()
    leaders = await cluster.leaders(*[name for name in names if matches_any(name, topics)])
    # First the earlier of the two numbers, so that records which come meanwhile hold nothing back by mistake.
    stable = await cluster.offsets(leaders, ListOffsetsTimestamp.LATEST, committed=True)
    ends = await cluster.offsets(leaders, ListOffsetsTimestamp.LATEST)
    held = {one: ends[one] - offset for one, offset in stable.items() if ends.get(one, 0) > offset}
    producers = await asked.producers(held, leaders)
    known, are_all = await asked.transactions(nodes, {one.producer_id for one in producers})
    by_producer = {one.producer_id: one for one in known}
    doubtful = {one.partition for one in producers if not _has(by_producer.get(one.producer_id), one)}
    still = {(one.partition, one.producer_id, one.start_offset) for one in await asked.producers(doubtful, leaders)}
    opened = []
    for one in producers:
        if _has(transaction := by_producer.get(one.producer_id), one):
            is_hanging: bool | None = False
        elif (one.partition, one.producer_id, one.start_offset) not in still:
            continue
        else:
            is_hanging = True if are_all else None
        opened.append(Open(one, transaction, held[one.partition], is_hanging))
    opened.sort(key=lambda one: (not one.is_hanging, -one.held_back, one.producer))
    problems = (*cluster.problems, *leaders.problems, *stable.problems, *ends.problems, *asked.problems)
    return TransactionsLook(
        time.time(),
        tuple(opened),
        tuple(sorted(one for one in known if one.is_open)),
        tuple(names),
        tuple(dict.fromkeys(problems)),
        leaders,
    )


def abort_request(one: Open) -> WriteTxnMarkersRequest:
    """Make the request that ends a transaction of a partition with the marker of an abort."""
    producer = one.producer
    topic = WritableTxnMarkerTopic(name=producer.partition.topic, partition_indexes=[producer.partition.number])
    marker = WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=False,
        topics=[topic],
        coordinator_epoch=max(producer.coordinator_epoch, 0),
    )
    return WriteTxnMarkersRequest(markers=[marker])


async def abort(cluster: Cluster, look: TransactionsLook, one: Open) -> Problem | None:
    """End a hanging transaction in its partition, as the leader lets who may alter the cluster; return what failed.

    Args:
        cluster: the brokers.
        look: the one in which it was found.
        one: it. Kafka's own coordinators end all others, so these are refused.

    Raises:
        ValueError: it does not hang.
    """
    if not one.is_hanging:
        raise ValueError(f"the transaction of producer {one.producer.producer_id} does not hang")
    leader = look.leaders[one.producer.partition]
    try:
        answer = await cluster.ask(leader, abort_request(one))
    except Failure as failure:
        return failure_of(leader, failure)
    except KipwireError as error:
        return Problem(str(leader), str(error))
    codes = [part.error_code for marker in answer.markers for topic in marker.topics for part in topic.partitions]
    wrong = next((code for code in codes if code), ErrorCode.NONE)
    return problem_of(str(one.producer.partition), "the leader", wrong) if wrong else None


def _has(transaction: Transaction | None, producer: Producer) -> bool:
    """True if a coordinator will end the transaction of a producer in its partition."""
    return transaction is not None and transaction.is_open and producer.partition in transaction.partitions


class _Asked:
    """Requests of one round, and what they could not tell."""

    def __init__(self, cluster: Cluster) -> None:
        self.problems: list[Problem] = []
        self._cluster = cluster

    async def producers(self, partitions: Iterable[Partition], leaders: Mapping[Partition, Node]) -> list[Producer]:
        """Find the producers with open transactions in partitions."""
        by_leader: dict[Node, list[Partition]] = {}
        for partition in sorted(partitions):
            by_leader.setdefault(leaders[partition], []).append(partition)
        requests = [(leader, _producers_of(some)) for leader, own in by_leader.items() for some in _chunks(own)]
        found: list[Producer] = []
        for answer in await asyncio.gather(*[self._ask(*one) for one in requests]):
            for topic in () if answer is None else answer.topics:
                for part in topic.partitions:
                    partition = Partition(topic.name, part.partition_index)
                    self._note(str(partition), part.error_code)
                    found += [
                        Producer(
                            partition,
                            one.producer_id,
                            one.producer_epoch,
                            one.current_txn_start_offset,
                            one.last_timestamp,
                            one.coordinator_epoch,
                        )
                        for one in part.active_producers
                        if one.current_txn_start_offset != _NONE
                    ]
        return found

    async def transactions(self, nodes: Sequence[Node], producer_ids: Iterable[int]) -> tuple[list[Transaction], bool]:
        """Find all open transactions, and the transactional ids of producers; return True if all nodes have answered.

        A node lists those that it coordinates, so it can describe them, too.
        """
        lists = [ListTransactionsRequest(state_filters=list(OPEN_STATES))]
        lists += [ListTransactionsRequest(producer_id_filters=some) for some in _chunks(sorted(producer_ids))]
        found: list[Transaction] = []
        are_all = True

        async def ask(node: Node) -> None:
            nonlocal are_all
            names: set[str] = set()
            for request in lists:
                listed = await self._ask(node, request)
                if listed is None or not self._note(str(node), listed.error_code):
                    are_all = False
                    return
                names.update(one.transactional_id for one in listed.transaction_states)
            for some in _chunks(sorted(names)):
                described = await self._ask(node, DescribeTransactionsRequest(transactional_ids=some))
                if described is None:
                    are_all = False
                    return
                for one in described.transaction_states:
                    if one.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:  # it has expired since
                        continue
                    if not self._note(f"transactional id {one.transactional_id}", one.error_code):
                        are_all = False
                        continue
                    partitions = (Partition(topic.topic, number) for topic in one.topics for number in topic.partitions)
                    found.append(
                        Transaction(
                            one.transactional_id,
                            one.transaction_state,
                            one.producer_id,
                            one.producer_epoch,
                            one.transaction_start_time_ms,
                            one.transaction_timeout_ms,
                            frozenset(partitions),
                        )
                    )

        await asyncio.gather(*map(ask, nodes))
        return found, are_all

    async def _ask(self, node: Node, request: AnsweredBy[M]) -> M | None:
        try:
            return await self._cluster.ask(node, request)
        except Failure:
            return None  # the cluster keeps it
        except KipwireError as error:
            self.problems.append(Problem(str(node), str(error)))
            return None

    def _note(self, where: str, code: int) -> bool:
        """Note an error code; return True if there is none."""
        if code:
            self.problems.append(problem_of(where, "the broker", code))
        return not code


def _producers_of(partitions: Iterable[Partition]) -> DescribeProducersRequest:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return DescribeProducersRequest(
        topics=[TopicRequest(name=name, partition_indexes=own) for name, own in topics.items()]
    )


K = TypeVar("K")


def _chunks(every: Sequence[K]) -> list[list[K]]:
    return [list(every[at : at + AT_ONCE]) for at in range(0, len(every), AT_ONCE)]
