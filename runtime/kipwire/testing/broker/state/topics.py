"""The topics of a fake broker, by name and by id, and their settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID, uuid4

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.state.batches import Limits
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
        self.partitions += [Log() for _ in range(count - len(self.partitions))]


class Topics:
    """All topics."""

    def __init__(self) -> None:
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
        topic = self.by_name[name] = Topic(name, [Log() for _ in range(partitions)], configs or {})
        return topic

    def check_more_partitions(self, name: str, count: int) -> Topic:
        """The topic, if it can grow to `count` partitions.

        Raises:
            Refused: there is no such topic, or it has as many already.
        """
        topic = self.named(name)
        if count <= len(topic.partitions):
            reason = f"{name} has {len(topic.partitions)} partitions already"
            raise Refused(ErrorCode.INVALID_PARTITIONS, reason)
        return topic

    def delete(self, topic: Topic) -> None:
        """Remove a topic and its records."""
        del self.by_name[topic.name], self._by_metric[_metric(topic.name)]


_INTEGERS = {
    *("compression.gzip.level", "compression.lz4.level", "compression.zstd.level", "delete.retention.ms"),
    *("file.delete.delay.ms", "flush.messages", "flush.ms", "index.interval.bytes", "local.retention.bytes"),
    *("local.retention.ms", "max.compaction.lag.ms", "max.message.bytes", "message.timestamp.after.max.ms"),
    *("message.timestamp.before.max.ms", "min.compaction.lag.ms", "min.insync.replicas", "retention.bytes"),
    *("retention.ms", "segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms"),
}
_FLAGS = {
    *("preallocate", "remote.log.copy.disable", "remote.log.delete.on.disable", "remote.storage.enable"),
    "unclean.leader.election.enable",
}
_TEXTS = {
    *("cleanup.policy", "compression.type", "follower.replication.throttled.replicas", "message.timestamp.type"),
    *("leader.replication.throttled.replicas", "min.cleanable.dirty.ratio"),
}
_LARGEST_BATCH = 1_048_588
"""Bytes: Kafka's default of `max.message.bytes`."""
_FUTURE = 3_600_000
"""Milliseconds: Kafka's default of `message.timestamp.after.max.ms`."""
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")


def expect_valid_configs(configs: Mapping[str, str | None]) -> None:
    """Check names of settings, and the types of their values.

    Raises:
        Refused: Kafka has no such setting of topics, or its value is of another type.
    """
    for name, value in configs.items():
        if name not in _INTEGERS | _FLAGS | _TEXTS:
            raise Refused(ErrorCode.INVALID_CONFIG, f"Kafka has no setting {name!r} of topics")
        if value is None:
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name} has no value")
        if name in _INTEGERS and not _INTEGER.fullmatch(value):
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name} is {value!r}; it has to be a whole number")
        if name in _FLAGS and value.strip().lower() not in ("true", "false"):
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name} is {value!r}; it has to be true or false")


def limits_of(configs: Mapping[str, str | None], now: int) -> Limits:
    """What a topic allows of a batch.

    Args:
        configs: of the topic.
        now: milliseconds since 1970.
    """
    size = int(configs.get("max.message.bytes") or _LARGEST_BATCH)
    return Limits(size, now + int(configs.get("message.timestamp.after.max.ms") or _FUTURE))
