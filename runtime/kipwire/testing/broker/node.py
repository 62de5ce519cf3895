"""A node of a fake cluster: all that its requests act on, which is shared, and its own fetch sessions.

It has what takes several parts of the state, and refuses what another node has to answer. Time comes from `Clock`
alone, which a test can move; then all that is due must happen before others look (`advance`).
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import kafka_messages
from kafka_messages.end_txn_marker.v0 import EndTxnMarker
from kafka_messages.enums import ApiKey, CoordinatorType, ErrorCode
from kipwire.message.registry import Registry
from kipwire.records import Record, write_batch
from kipwire.records.control import end_marker_key
from kipwire.testing.broker.state import Refused, TopicPartition
from kipwire.testing.broker.state.classic_groups import Group, Ticket
from kipwire.testing.broker.state.consumer_groups import ConsumerGroup, downgraded, upgraded
from kipwire.testing.broker.state.logs import Log
from kipwire.testing.broker.state.nodes import FetchSessions, Listener, Nodes
from kipwire.testing.broker.state.producers import COORDINATOR_EPOCH, Numbers, Producers, Transaction
from kipwire.testing.broker.state.topics import NO_ID, Topic, Topics

T = TypeVar("T")
AnyGroup = Group | ConsumerGroup


class Changes:
    """The waiters for a change; used by the thread of one event loop."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        """Wake all that wait."""
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, seconds: float) -> None:
        """Return when something changes, or after that time, which may be infinite."""
        if seconds <= 0:
            return
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await asyncio.wait({future}, timeout=None if seconds == math.inf else seconds)
        finally:
            self._waiting.discard(future)


CLUSTER_ID = "kipwire-fake-cluster"


@dataclass(slots=True)
class Clock:
    """The time of a cluster, which goes on by itself, and further when a test says so."""

    ahead: float = 0.0
    """Seconds."""


@dataclass(slots=True)
class Node:
    """A node: the state that all nodes of a cluster share, and what is its own.

    A method raises `Refused`, with Kafka's code, if what it looks for is not there, or another node has to answer.
    """

    served: dict[int, range]
    """The versions of each API, by API key."""
    nodes: Nodes
    topics: Topics
    registry: Registry = kafka_messages.REGISTRY
    """Kafka's messages, and messages of others that a test answers."""
    auto_create_topics: bool = True
    """True if topics are created when clients ask for them."""
    default_partitions: int = 1
    """Partitions of a topic created without a count."""
    groups: dict[str, AnyGroup] = field(default_factory=dict)
    producers: Producers = field(default_factory=Producers)
    changes: Changes = field(default_factory=Changes)
    clock: Clock = field(default_factory=Clock)
    node_id: int = 1
    fetch_sessions: FetchSessions = field(default_factory=FetchSessions)

    def beside(self, node_id: int) -> Node:
        """Return the node of the cluster with that id; this one, if it has it."""
        return self if node_id == self.node_id else replace(self, node_id=node_id, fetch_sessions=FetchSessions())

    @property
    def listener(self) -> Listener:
        """The address of this node."""
        return self.nodes.by_id[self.node_id]

    def now(self) -> float:
        """Return the seconds of a clock that only goes forward."""
        return time.monotonic() + self.clock.ahead

    def milliseconds(self) -> int:
        """Return the milliseconds since 1970, as records have them."""
        return time.time_ns() // 1_000_000 + int(self.clock.ahead * 1000)

    def advance(self, seconds: float) -> None:
        """Move the clock, and let what is due happen."""
        self.clock.ahead += seconds
        self.expire_transactions()
        for group in self.groups.values():
            group.expire(self.now())
        self.changes.notify()

    def stop(self, node_id: int) -> None:
        """Let a node end: others lead, coordinate and control what it did."""
        self.nodes.stop(node_id)
        for topic in self.topics.by_name.values():
            for log in topic.partitions:
                if log.leader == node_id and (leader := self.nodes.or_next(node_id)) != node_id:
                    log.move(leader)
        self.changes.notify()

    def text_of(self, api_key: int) -> str:
        """Return the name of an API as logs have it; its number where no package has it."""
        name = self.registry.request_name(api_key)
        is_kafkas = name is None or ApiKey.find(api_key) is not None
        return ApiKey.text(api_key) if is_kafkas else str(name).removesuffix("Request")

    # What this node may answer for.

    def led(self, topic: Topic, index: int, asked: Any = None) -> Log:
        """Find the log of a partition that this node leads; in the epoch that a request asks for, if it has one."""
        log = topic.partition(index)
        log.expect_leader(self.node_id, asked)
        return log

    def coordinates(self, kind: CoordinatorType, key: str) -> bool:
        """Tell whether this node coordinates a group or a transactional id."""
        return self.nodes.coordinator(kind, key) == self.node_id

    def expect_coordinator(self, kind: CoordinatorType, key: str) -> None:
        """Check that this node coordinates a group or a transactional id."""
        if not self.coordinates(kind, key):
            raise Refused(ErrorCode.NOT_COORDINATOR)

    def expect_controller(self) -> None:
        """Check that this node is the controller."""
        if self.nodes.controller != self.node_id:
            raise Refused(ErrorCode.NOT_CONTROLLER)

    # Topics and groups.

    def topic_of(self, asked: Any) -> Topic:
        """Find the topic that a struct of a request names or has the id of."""
        topic_id = getattr(asked, "topic_id", NO_ID)
        if topic_id != NO_ID:
            return self.topics.with_id(topic_id)
        if hasattr(asked, "topic_id") and getattr(asked, "name", None) is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        return self.topics.named(asked.topic if hasattr(asked, "topic") else asked.name)

    def create_missing(self, name: str) -> None:
        """Create a topic that is not there yet, with the usual number of partitions."""
        if name not in self.topics.by_name:
            self.topics.create(name, self.default_partitions)

    def delete_topic(self, topic: Topic) -> None:
        """Remove a topic, and what groups and transactions know of it."""
        self.topics.delete(topic)
        for group in self.groups.values():
            group.offsets.forget_topic(topic.name)
        for transaction in self.producers.transactions.values():
            transaction.partitions = {one for one in transaction.partitions if one[0] != topic.name}

    def present_group(self, name: str) -> AnyGroup | None:
        """Find the group of a name, without expired members; make it a classic one if all that remain are classic."""
        group = self.groups.get(name)
        if group is not None and group.expire(self.now()):
            self.changes.notify()
        if isinstance(group, ConsumerGroup) and group.is_classic:
            group = self.groups[name] = downgraded(group, self.now())
        return group

    def present_groups(self) -> list[AnyGroup]:
        """Return the groups of this node in the order of their names, without members that have expired."""
        own = [name for name in sorted(self.groups) if self.coordinates(CoordinatorType.GROUP, name)]
        return [group for name in own if (group := self.present_group(name)) is not None]

    def known_group(self, name: str, error: ErrorCode = ErrorCode.UNKNOWN_MEMBER_ID) -> AnyGroup:
        """Find the group of a name; refuse with an error if there is none."""
        self.expect_coordinator(CoordinatorType.GROUP, name)
        group = self.present_group(name)
        if group is None:
            raise Refused(error)
        return group

    def group(self, name: str) -> AnyGroup:
        """Find the group of a name; make one if there is none."""
        self.expect_coordinator(CoordinatorType.GROUP, name)
        return self.present_group(name) or self.groups.setdefault(name, Group(name))

    def group_to_join(self, name: str) -> AnyGroup:
        """Find the group that a member of the classic protocol joins; make it a classic one if it has no members."""
        group = self.group(name)
        if isinstance(group, ConsumerGroup) and not group.members:
            group = self.groups[name] = Group(name, offsets=group.offsets)
        return group

    def consumer_group(self, name: str, *, creates: bool) -> ConsumerGroup:
        """Find the group of a member of the consumer protocol; make one of that protocol if the member `creates` it."""
        self.expect_coordinator(CoordinatorType.GROUP, name)
        group = self.present_group(name)
        if isinstance(group, ConsumerGroup):
            return group
        if not creates:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"{name} is not a consumer group")
        made = self.groups[name] = upgraded(Group(name) if group is None else group, self.topics)
        return made

    async def decided(self, group: AnyGroup, ticket: Ticket[T]) -> T:
        """Wait until a group has decided about a member's ticket, and return the result; refuse as the group does."""
        self.changes.notify()  # those who were waiting for this member
        while (found := ticket.found()) is None:
            await self.changes.wait(group.next_expiry - self.now())
            self.expect_coordinator(CoordinatorType.GROUP, group.name)
            if group.expire(self.now()):
                self.changes.notify()
        return found

    # Transactions.

    def expect_part(
        self,
        transactional_id: str,
        numbers: Numbers,
        *,
        places: Set[TopicPartition] = frozenset(),
        groups: Set[str] = frozenset(),
        adds: bool,
        is_abortable: bool,
    ) -> None:
        """Check that partitions, or the offsets of groups, are part of the transaction of a producer.

        With `adds` they become part of it instead (KIP-890). With `is_abortable` clients have TRANSACTION_ABORTABLE.
        """
        transaction = self.producers.current(transactional_id, numbers, ErrorCode.INVALID_PRODUCER_EPOCH)
        if adds:
            self.fill_transaction(transaction, places, groups)
        elif not (transaction.is_ongoing and places <= transaction.partitions and groups <= transaction.groups):
            error = ErrorCode.TRANSACTION_ABORTABLE if is_abortable else ErrorCode.INVALID_TXN_STATE
            raise Refused(error, f"the {'group' if groups else 'partition'} was not added to the transaction")

    def fill_transaction(
        self, transaction: Transaction, places: Set[TopicPartition] = frozenset(), groups: Set[str] = frozenset()
    ) -> None:
        """Make partitions, and the offsets of groups, part of a transaction; it begins with the first."""
        if not transaction.is_ongoing:
            transaction.is_ongoing, transaction.started = True, self.milliseconds()
            transaction.expires = self.now() + transaction.timeout / 1000
            self.producers.next_expiry = min(self.producers.next_expiry, transaction.expires)
        transaction.partitions.update(places)
        transaction.groups.update(groups)

    def expire_transactions(self) -> None:
        """Abort transactions that last too long, and fence their producers."""
        now = self.now()
        if now < self.producers.next_expiry:
            return
        transactions = self.producers.transactions.values()
        for transaction in transactions:
            if transaction.expires <= now:
                self.abort(transaction)
                self.changes.notify()
        self.producers.next_expiry = min((one.expires for one in transactions), default=math.inf)

    def abort(self, transaction: Transaction) -> None:
        """Abort an ongoing transaction with a raised epoch, so that its producer is refused everywhere."""
        transaction.fence()
        self.end_transaction(transaction, is_commit=False)

    def end_transaction(self, transaction: Transaction, *, is_commit: bool, has_epochs: bool = False) -> None:
        """Commit or abort: a marker in each partition, and the offsets of groups.

        With `has_epochs` the epoch of the producer is raised before (KIP-890).
        """
        if has_epochs:
            transaction.epoch += 1
        marker = end_marker(Numbers(transaction.producer_id, transaction.epoch), is_commit=is_commit)
        for topic, index in sorted(transaction.partitions):
            log = self.topics.log(topic, index)
            log.append_marker(marker, transaction.producer_id, transaction.epoch, is_commit=is_commit)
        for name in transaction.groups & self.groups.keys():
            self.groups[name].offsets.end_transaction(transaction.producer_id, is_commit=is_commit)
        transaction.end(is_commit=is_commit)
        if has_epochs:
            self.producers.raise_after_end(transaction)


def end_marker(numbers: Numbers, coordinator_epoch: int = COORDINATOR_EPOCH, *, is_commit: bool) -> bytes:
    """Write the control batch that ends a transaction of a producer."""
    key = end_marker_key("COMMIT" if is_commit else "ABORT")
    value = b"\0\0" + EndTxnMarker(coordinator_epoch=coordinator_epoch).encode()  # after its version
    record = Record(offset=0, timestamp=time.time_ns() // 1_000_000, key=key, value=value)
    return write_batch(
        [record],
        producer_id=numbers.producer_id,
        producer_epoch=numbers.epoch,
        is_transactional=True,
        is_control=True,
    )
