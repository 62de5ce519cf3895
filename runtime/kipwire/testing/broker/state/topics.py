"""The topics of a fake broker, by name and by id, and their settings."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.state.logs import Log
from kipwire.testing.broker.state.refusals import Refused

NO_ID = UUID(int=0)
MOST_PARTITIONS = 10_000
"""New topics and partitions, counted together, that one request may ask for, as in Kafka."""
_VALID_NAME = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")


def _metric(name: str) -> str:
    """The name of a topic in Kafka's metrics."""
    return name.replace(".", "_")


@dataclass(slots=True)
class Topic:
    """A topic with its partitions."""

    name: str
    partitions: list[Log]
    configs: dict[str, str | None] = field(default_factory=dict)
    topic_id: UUID = field(default_factory=uuid4)
    leader_of_new: Callable[[int], int] = lambda _: 1
    """The node that leads a new partition."""

    def partition(self, index: int) -> Log:
        """The log of a partition.

        Raises:
            Refused: the topic has no such partition.
        """
        if not 0 <= index < len(self.partitions):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self.name} has no partition {index}")
        return self.partitions[index]

    def extend(self, count: int) -> None:
        """Add empty partitions until the topic has `count`."""
        self.partitions += [Log(self.leader_of_new(at)) for at in range(len(self.partitions), count)]


class Topics:
    """All topics."""

    def __init__(self, leader_of_new: Callable[[int], int]) -> None:
        self._leader_of_new = leader_of_new
        self.by_name: dict[str, Topic] = {}
        self._by_metric: dict[str, str] = {}

    def named(self, name: str) -> Topic:
        """The topic of a name.

        Raises:
            Refused: there is none.
        """
        found = self.by_name.get(name)
        if found is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic is named {name!r}")
        return found

    def with_id(self, topic_id: UUID) -> Topic:
        """The topic of an id.

        Raises:
            Refused: there is none.
        """
        for topic in self.by_name.values():
            if topic.topic_id == topic_id:
                return topic
        raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)

    def has(self, name: str, index: int) -> bool:
        """Tell whether there is a topic with a partition."""
        return name in self.by_name and 0 <= index < len(self.by_name[name].partitions)

    def log(self, name: str, index: int) -> Log:
        """The log of a partition.

        Raises:
            Refused: there is no such topic, or it has no such partition.
        """
        return self.named(name).partition(index)

    @staticmethod
    def check_name(name: str) -> None:
        """Check that a topic may have a name.

        Raises:
            Refused: it may not.
        """
        if not _VALID_NAME.fullmatch(name):
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name!r} is not a valid name of a topic")

    def check_free(self, name: str) -> None:
        """Check that a new topic may have a name.

        Raises:
            Refused: the name is taken or invalid.
        """
        self.check_name(name)
        if name in self.by_name:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"the topic {name!r} exists already")
        same = self._by_metric.get(_metric(name))
        if same is not None:
            reason = f"{name!r} and the topic {same!r} have one name in metrics, where a dot is an underscore"
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)

    def check_new(self, name: str, partitions: int) -> None:
        """Check that a topic can be created.

        Raises:
            Refused: as `check_free`, or there would be no partition, or too many.
        """
        self.check_free(name)
        if partitions < 1:
            raise Refused(ErrorCode.INVALID_PARTITIONS, "a topic needs at least one partition")
        if partitions >= MOST_PARTITIONS:
            reason = f"a topic can be created with {MOST_PARTITIONS - 1} partitions at most, not {partitions}"
            raise Refused(ErrorCode.POLICY_VIOLATION, reason)

    def create(self, name: str, partitions: int, configs: dict[str, str | None] | None = None) -> Topic:
        """A new topic.

        Raises:
            Refused: as `check_new`.
        """
        self.check_new(name, partitions)
        self._by_metric[_metric(name)] = name
        topic = self.by_name[name] = Topic(name, [], configs or {}, leader_of_new=self._leader_of_new)
        topic.extend(partitions)
        return topic

    def delete(self, topic: Topic) -> None:
        """Remove a topic and its records."""
        del self.by_name[topic.name], self._by_metric[_metric(topic.name)]
