"""The one node of a fake cluster: all that its requests act on."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from kafka_messages.end_txn_marker.v0 import EndTxnMarker
from kafka_messages.enums import ErrorCode
from kipwire.records import Record, write_batch
from kipwire.records.control import end_marker_key
from kipwire.testing.broker.changes import Changes
from kipwire.testing.broker.state.groups import Group
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.topics import NO_ID, Topic, Topics
from kipwire.testing.broker.state.transactions import Producers, Transaction

NODE_ID = 1
CLUSTER_ID = "kipwire-fake-cluster"
_VERSION = b"\0\0"
"""Of the values of control records."""


@dataclass(slots=True)
class Settings:
    """What a fake broker does of itself."""

    auto_create_topics: bool
    """Whether topics are created when clients ask for their metadata."""
    default_partitions: int
    """Of a topic for which nobody says how many."""


@dataclass(slots=True)
class Node:
    """The state of the cluster, and where it is reached."""

    settings: Settings
    served: dict[int, range]
    """The versions of each API, by API key."""
    host: str
    port: int = 0
    topics: Topics = field(default_factory=Topics)
    groups: dict[str, Group] = field(default_factory=dict)
    producers: Producers = field(default_factory=Producers)
    changes: Changes = field(default_factory=Changes)

    @staticmethod
    def now() -> float:
        """Seconds, of a clock that only goes forward."""
        return time.monotonic()

    @property
    def address(self) -> dict[str, Any]:
        """The node, as responses have it."""
        return {"node_id": NODE_ID, "host": self.host, "port": self.port}

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

    def group(self, name: str) -> Group:
        """The group of a name, which it becomes now if there was none.

        Raises:
            Refused: the name is empty.
        """
        if not name:
            raise Refused(ErrorCode.INVALID_GROUP_ID)
        return self.groups.setdefault(name, Group(name))

    def known_group(self, name: str, error: ErrorCode = ErrorCode.UNKNOWN_MEMBER_ID) -> Group:
        """The group of a name.

        Raises:
            Refused: there is none; the code is the given one.
        """
        if name not in self.groups:
            raise Refused(error)
        return self.groups[name]

    def delete_topic(self, topic: Topic) -> None:
        """Remove a topic, and what groups and transactions know of it."""
        self.topics.delete(topic)
        for group in self.groups.values():
            group.offsets.forget_topic(topic.name)
        for transaction in self.producers.transactions.values():
            transaction.partitions = {one for one in transaction.partitions if one[0] != topic.name}

    def end_transaction(self, transaction: Transaction, *, is_commit: bool) -> None:
        """Commit or abort: a marker in each partition, and the offsets of groups."""
        marker = _marker(transaction, is_commit)
        for topic, index in sorted(transaction.partitions):
            log = self.topics.named(topic).partition(index)
            log.append_marker(marker, transaction.producer_id, is_commit=is_commit)
        for name in transaction.groups:
            if name in self.groups:
                self.groups[name].offsets.end_transaction(transaction.producer_id, is_commit=is_commit)
        transaction.end(is_commit=is_commit)


def _marker(transaction: Transaction, is_commit: bool) -> bytes:
    record = Record(
        offset=0,
        timestamp=time.time_ns() // 1_000_000,
        key=end_marker_key("COMMIT" if is_commit else "ABORT"),
        value=_VERSION + EndTxnMarker(coordinator_epoch=0).encode(),
    )
    return write_batch(
        [record],
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        is_transactional=True,
        is_control=True,
    )
