"""A node of a fake cluster: all that its requests act on."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from kafka_messages.end_txn_marker.v0 import EndTxnMarker
from kafka_messages.enums import ConfigResourceType, CoordinatorType, ErrorCode
from kipwire.records import Record, RecordBatch, write_batch
from kipwire.records.control import end_marker_key
from kipwire.testing.broker.state import Refused, TopicPartition
from kipwire.testing.broker.state.classic_groups import Group, Ticket
from kipwire.testing.broker.state.consumer_groups import ConsumerGroup, downgraded, upgraded
from kipwire.testing.broker.state.logs import Log
from kipwire.testing.broker.state.nodes import FetchSessions, Nodes, Place
from kipwire.testing.broker.state.producers import COORDINATOR_EPOCH, Numbers, Producers, Transaction
from kipwire.testing.broker.state.topics import NO_ID, Configs, Topic, Topics

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

    async def wait(self, seconds: float) -> bool:
        """Tell whether something changes within that time; may be infinite."""
        if seconds <= 0:
            return False
        future = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            done, _ = await asyncio.wait({future}, timeout=None if seconds == float("inf") else seconds)
            return bool(done)
        finally:
            self._waiting.discard(future)


CLUSTER_ID = "kipwire-fake-cluster"
_VERSION = b"\0\0"
"""Of the values of control records."""
_FIRST_ABORTABLE, _FIRST_THAT_ADDS = 11, 12
"""The first version of Produce whose clients know TRANSACTION_ABORTABLE, and the first that adds the partition."""
_FIRST_ABORTABLE_OFFSETS, _FIRST_OFFSETS_THAT_ADD = 4, 5
"""The first such versions of TxnOffsetCommit."""


@dataclass(slots=True)
class Settings:
    """Settings of a fake broker."""

    auto_create_topics: bool
    """True if topics are created when clients ask for their metadata."""
    default_partitions: int
    """Partitions of a topic created without a count."""


@dataclass(slots=True)
class Clock:
    """The time of a cluster, which goes on by itself, and further when a test says so."""

    ahead: float = 0.0
    """Seconds."""


@dataclass(slots=True)
class Node:
    """A node: the state that all nodes of a cluster share, and what is its own."""

    settings: Settings
    served: dict[int, range]
    """The versions of each API, by API key."""
    nodes: Nodes
    topics: Topics
    groups: dict[str, AnyGroup] = field(default_factory=dict)
    producers: Producers = field(default_factory=Producers)
    changes: Changes = field(default_factory=Changes)
    clock: Clock = field(default_factory=Clock)
    node_id: int = 1
    fetch_sessions: FetchSessions = field(default_factory=FetchSessions)

    def beside(self, node_id: int) -> Node:
        """Another node of the cluster; this one, if it has that id."""
        return self if node_id == self.node_id else replace(self, node_id=node_id, fetch_sessions=FetchSessions())

    def now(self) -> float:
        """Seconds, of a clock that only goes forward."""
        return time.monotonic() + self.clock.ahead

    def milliseconds(self) -> int:
        """Milliseconds since 1970, as records have them."""
        return time.time_ns() // 1_000_000 + int(self.clock.ahead * 1000)

    @property
    def next_expiry(self) -> float:
        """The time before which no transaction has to be aborted."""
        return self.producers.next_expiry

    @property
    def place(self) -> Place:
        """The address of this node."""
        return self.nodes.by_id[self.node_id]

    def advance(self, seconds: float) -> None:
        """Move the clock, and let what is due happen."""
        self.clock.ahead += seconds
        self.expire_transactions()
        for group in self.groups.values():
            group.expire(self.now())
        self.changes.notify()

    # What this node may answer for.

    def led(self, topic: Topic, index: int, asked: Any = None) -> Log:
        """The log of a partition that this node leads.

        Args:
            topic: of the partition.
            index: of the partition.
            asked: the partition of a request, which may have the leader's epoch.

        Raises:
            Refused: the topic has no such partition, another node leads it, or the epoch is another.
        """
        log = topic.partition(index)
        log.expect_leader(self.node_id, asked)
        return log

    def expect_coordinator(self, kind: CoordinatorType, key: str) -> None:
        """Check that this node coordinates a group or a transactional id.

        Raises:
            Refused: another one does.
        """
        if self.nodes.coordinator(kind, key) != self.node_id:
            raise Refused(ErrorCode.NOT_COORDINATOR)

    def expect_controller(self) -> None:
        """Check that this node is the controller.

        Raises:
            Refused: another one is.
        """
        if self.nodes.controller != self.node_id:
            raise Refused(ErrorCode.NOT_CONTROLLER)

    def stop(self, node_id: int) -> None:
        """Let a node end: others lead, coordinate and control what it did."""
        self.nodes.stop(node_id)
        for topic in self.topics.by_name.values():
            for log in topic.partitions:
                if log.leader == node_id and (leader := self.nodes.or_next(node_id)) != node_id:
                    log.move(leader)
        self.changes.notify()

    # What several parts of the state are needed for.

    def topic_of(self, asked: Any) -> Topic:
        """The topic that a struct of a request names or has the id of.

        Raises:
            Refused: there is no such topic.
        """
        topic_id = getattr(asked, "topic_id", NO_ID)
        if topic_id != NO_ID:
            return self.topics.with_id(topic_id)
        if hasattr(asked, "topic_id") and getattr(asked, "name", None) is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        return self.topics.named(asked.topic if hasattr(asked, "topic") else asked.name)

    def present_group(self, name: str) -> AnyGroup | None:
        """The group of a name without members that have expired; of the classic protocol, if all that remain are."""
        group = self.groups.get(name)
        if group is not None and group.expire(self.now()):
            self.changes.notify()
        if isinstance(group, ConsumerGroup) and group.is_classic:
            group = self.groups[name] = downgraded(group, self.now())
        return group

    def group(self, name: str) -> AnyGroup:
        """The group of a name, which it becomes now if there was none.

        Raises:
            Refused: another node coordinates it.
        """
        self.expect_coordinator(CoordinatorType.GROUP, name)
        return self.present_group(name) or self.groups.setdefault(name, Group(name))

    def group_to_join(self, name: str) -> AnyGroup:
        """The group that a member of the classic protocol joins; without members it is of that protocol."""
        group = self.group(name)
        if isinstance(group, ConsumerGroup) and not group.members:
            group = self.groups[name] = Group(name, offsets=group.offsets)
        return group

    def consumer_group(self, name: str, *, creates: bool) -> ConsumerGroup:
        """The group that a member of the consumer protocol is in; one of consumers becomes one of that protocol.

        Args:
            name: of the group.
            creates: whether the member joins.

        Raises:
            Refused: there is none, it is of another protocol and does not become one of this, or another node
                coordinates it.
        """
        self.expect_coordinator(CoordinatorType.GROUP, name)
        group = self.present_group(name)
        if isinstance(group, ConsumerGroup):
            return group
        if not creates:
            raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"{name} is not a consumer group")
        made = upgraded(Group(name) if group is None else group, self.topics)
        self.groups[name] = made
        return made

    def known_group(self, name: str, error: ErrorCode = ErrorCode.UNKNOWN_MEMBER_ID) -> AnyGroup:
        """The group of a name.

        Raises:
            Refused: there is none; the code is the given one. Or another node coordinates it.
        """
        self.expect_coordinator(CoordinatorType.GROUP, name)
        group = self.present_group(name)
        if group is None:
            raise Refused(error)
        return group

    def present_groups(self) -> list[AnyGroup]:
        """The groups of this node in the order of their names, without members that have expired."""
        own = [name for name in sorted(self.groups) if self._coordinates(name)]
        return [group for name in own if (group := self.present_group(name)) is not None]

    def _coordinates(self, group: str) -> bool:
        return self.nodes.coordinator(CoordinatorType.GROUP, group) == self.node_id

    async def decided(self, group: AnyGroup, ticket: Ticket[T]) -> T:
        """The result that a member of a group waits for.

        Raises:
            Refused: the group has decided against it, or another node coordinates it by now.
        """
        self.changes.notify()  # those who were waiting for this member
        while (found := ticket.found()) is None:
            await self.changes.wait(group.next_expiry - self.now())
            self.expect_coordinator(CoordinatorType.GROUP, group.name)
            if group.expire(self.now()):
                self.changes.notify()
        return found

    def configs_of(self, asked: Any) -> Configs:
        """The settings of the topic that a request names; changes to them have their effect.

        Raises:
            Refused: there is none, or the request asks for the settings of something else.
        """
        if asked.resource_type != ConfigResourceType.TOPIC:
            raise Refused(ErrorCode.INVALID_REQUEST, "only topics have settings")
        self.topics.check_name(asked.resource_name)
        return self.topics.named(asked.resource_name).configs

    def delete_topic(self, topic: Topic) -> None:
        """Remove a topic, and what groups and transactions know of it."""
        self.topics.delete(topic)
        for group in self.groups.values():
            group.offsets.forget_topic(topic.name)
        for transaction in self.producers.transactions.values():
            transaction.partitions = {one for one in transaction.partitions if one[0] != topic.name}

    def verify(self, place: TopicPartition, batch: RecordBatch, transactional_id: str | None, version: int) -> None:
        """Ask the transaction of a producer for what it sends to a partition, until that has records of it.

        Args:
            place: the partition.
            batch: of the producer.
            transactional_id: of the request.
            version: of the Produce request, which says what becomes of a partition that was not added.

        Raises:
            Refused: it is not the producer of that transactional id any more, or the partition was not added.
        """
        states = self.topics.log(place[0], place[1]).producers
        if transactional_id is None or not batch.is_transactional or states.has_open_transaction(batch):
            return
        states.note_unverified(batch, begins=version >= _FIRST_THAT_ADDS)
        transaction = self.producers.verified(transactional_id, Numbers(batch.producer_id, batch.producer_epoch))
        if transaction.is_ongoing and place in transaction.partitions:
            return
        if version >= _FIRST_THAT_ADDS:
            self.fill_transaction(transaction, {place})
        else:
            raise _not_added("the partition", version >= _FIRST_ABORTABLE)

    def verify_group(self, group: str, transactional_id: str, numbers: Numbers, version: int) -> None:
        """Ask the transaction of a producer for the offsets that it commits.

        Args:
            group: whose offsets they are.
            transactional_id: of the producer.
            numbers: of the producer.
            version: of the TxnOffsetCommit request.

        Raises:
            Refused: as `verify`.
        """
        transaction = self.producers.verified(transactional_id, numbers)
        if version >= _FIRST_OFFSETS_THAT_ADD:
            self.fill_transaction(transaction, groups={group})
        elif not transaction.is_ongoing or group not in transaction.groups:
            raise _not_added("the group", version >= _FIRST_ABORTABLE_OFFSETS)

    def fill_transaction(
        self, transaction: Transaction, places: Iterable[TopicPartition] = (), groups: Iterable[str] = ()
    ) -> None:
        """Make partitions, and the offsets of groups, part of a transaction; it begins with the first."""
        if not transaction.is_ongoing:
            transaction.is_ongoing, transaction.started = True, self.milliseconds()
            transaction.expires = self.now() + transaction.timeout / 1000
            self.producers.next_expiry = min(self.next_expiry, transaction.expires)
        transaction.partitions.update(places)
        transaction.groups.update(groups)

    def expire_transactions(self) -> None:
        """Abort transactions that last too long, and fence their producers."""
        now = self.now()
        if now < self.next_expiry:
            return
        for transaction in self.producers.transactions.values():
            if transaction.expires <= now:
                transaction.fence()
                self.end_transaction(transaction, is_commit=False)
                self.changes.notify()
        self.producers.next_expiry = min(
            (one.expires for one in self.producers.transactions.values()), default=math.inf
        )

    def begin_producer(self, transactional_id: str, expected: Numbers | None, timeout: int) -> Transaction:
        """The transaction of a producer that begins. Its open one is aborted first, with a raised epoch.

        Args:
            transactional_id: of the producer.
            expected: the numbers that it says it has.
            timeout: milliseconds that its transactions may last.

        Raises:
            Refused: another producer has taken its place.
        """
        known = self.producers.to_begin(transactional_id, expected)
        if known is not None and known.is_ongoing:
            known.fence()
            self.end_transaction(known, is_commit=False)
        begun = self.producers.begin(transactional_id, expected)
        begun.timeout = timeout
        return begun

    def end_transaction(self, transaction: Transaction, *, is_commit: bool, has_epochs: bool = False) -> None:
        """Commit or abort: a marker in each partition, and the offsets of groups.

        Args:
            transaction: to be ended.
            is_commit: whether it is committed.
            has_epochs: raise the epoch of the producer before, as KIP-890 has it.
        """
        if has_epochs:
            transaction.epoch += 1
        marker = _marker(transaction, is_commit)
        for topic, index in sorted(transaction.partitions):
            log = self.topics.log(topic, index)
            log.append_marker(marker, transaction.producer_id, transaction.epoch, is_commit=is_commit)
        for name in transaction.groups:
            if name in self.groups:
                self.groups[name].offsets.end_transaction(transaction.producer_id, is_commit=is_commit)
        transaction.end(is_commit=is_commit)
        if has_epochs:
            self.producers.raise_after_end(transaction)


def _not_added(what: str, is_abortable: bool) -> Refused:
    error = ErrorCode.TRANSACTION_ABORTABLE if is_abortable else ErrorCode.INVALID_TXN_STATE
    return Refused(error, f"{what} was not added to the transaction")


def _marker(transaction: Transaction, is_commit: bool) -> bytes:
    record = Record(
        offset=0,
        timestamp=time.time_ns() // 1_000_000,
        key=end_marker_key("COMMIT" if is_commit else "ABORT"),
        value=_VERSION + EndTxnMarker(coordinator_epoch=COORDINATOR_EPOCH).encode(),
    )
    return write_batch(
        [record],
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        is_transactional=True,
        is_control=True,
    )
