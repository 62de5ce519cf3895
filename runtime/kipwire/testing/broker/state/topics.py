"""The topics of a fake broker, by name and by id, and their settings.

Names, limits and settings are Kafka's, since clients test their errors against them. Changes are checked as a whole
before one is made. A topic that is deleted and made again has another id, by which clients see the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from kafka_messages.enums import ConfigOperation, ConfigSource, ConfigType, ErrorCode
from kipwire.testing.broker.state import Refused, TopicPartition
from kipwire.testing.broker.state.logs import Limits, Log

NO_ID = UUID(int=0)
MOST_PARTITIONS = 10_000
"""New topics and partitions, counted together, that one request may ask for, as in Kafka."""
_VALID_NAME = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]{1,249}")

Configs = dict[str, str | None]
"""The settings that a topic was given, by name."""


@dataclass(slots=True)
class Topic:
    """A topic with its partitions."""

    name: str
    leader_of_new: Callable[[int], int]
    """The node that leads a new partition."""
    configs: Configs
    partitions: list[Log] = field(default_factory=list)
    topic_id: UUID = field(default_factory=uuid4)

    def partition(self, index: int) -> Log:
        """Return the log of a partition; refuse one that is not there."""
        if not 0 <= index < len(self.partitions):
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self.name} has no partition {index}")
        return self.partitions[index]

    def extend(self, count: int) -> None:
        """Add empty partitions until the topic has `count`."""
        self.partitions += [Log(self.leader_of_new(at)) for at in range(len(self.partitions), count)]


@dataclass(slots=True)
class Topics:
    """All topics."""

    leader_of_new: Callable[[int], int]
    by_name: dict[str, Topic] = field(default_factory=dict)
    by_id: dict[UUID, Topic] = field(default_factory=dict)
    _by_metric: dict[str, str] = field(default_factory=dict)

    def named(self, name: str) -> Topic:
        """Find the topic of a name; refuse one that is not there."""
        if name not in self.by_name:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic is named {name!r}")
        return self.by_name[name]

    def with_id(self, topic_id: UUID) -> Topic:
        """Find the topic of an id; refuse one that is not there."""
        if topic_id not in self.by_id:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID)
        return self.by_id[topic_id]

    def has(self, name: str, index: int) -> bool:
        """Tell whether there is a topic with a partition."""
        return name in self.by_name and 0 <= index < len(self.by_name[name].partitions)

    def log(self, name: str, index: int) -> Log:
        """Find the log of a partition; refuse one that is not there."""
        return self.named(name).partition(index)

    def places(self, named: Iterable[TopicPartition]) -> frozenset[tuple[UUID, int]]:
        """Return the partitions of topics that exist, by the ids of these."""
        return frozenset((self.by_name[name].topic_id, index) for name, index in named if name in self.by_name)

    def named_places(self, places: Iterable[tuple[UUID, int]]) -> list[TopicPartition]:
        """Return the partitions of topics that exist, by the names of these."""
        return [(self.by_id[topic_id].name, index) for topic_id, index in places if topic_id in self.by_id]

    @staticmethod
    def check_name(name: str) -> None:
        """Refuse what cannot be the name of a topic."""
        if not _VALID_NAME.fullmatch(name):
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name!r} is not a valid name of a topic")

    def check_free(self, name: str) -> None:
        """Refuse what cannot be the name of a new topic."""
        self.check_name(name)
        if name in self.by_name:
            raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"the topic {name!r} already exists")
        same = self._by_metric.get(_metric(name))
        if same is not None:
            reason = f"{name!r} and the topic {same!r} have the same name in metrics, where a dot becomes an underscore"
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)

    def check_new(self, name: str, partitions: int) -> None:
        """Refuse a new topic as `check_free`, or since it would have no partition, or too many."""
        self.check_free(name)
        if partitions < 1:
            raise Refused(ErrorCode.INVALID_PARTITIONS, "a topic needs at least one partition")
        if partitions >= MOST_PARTITIONS:
            reason = f"a topic can be created with {MOST_PARTITIONS - 1} partitions at most, not {partitions}"
            raise Refused(ErrorCode.POLICY_VIOLATION, reason)

    def create(self, name: str, partitions: int, configs: Configs | None = None) -> Topic:
        """Create a topic; refuse as `check_new`."""
        self.check_new(name, partitions)
        topic = Topic(name, self.leader_of_new, configs or {})
        topic.extend(partitions)
        self.by_name[name] = self.by_id[topic.topic_id] = topic
        self._by_metric[_metric(name)] = name
        return topic

    def delete(self, topic: Topic) -> None:
        """Remove a topic and its records."""
        del self.by_name[topic.name], self.by_id[topic.topic_id], self._by_metric[_metric(topic.name)]


def _metric(name: str) -> str:
    """Return the name of a topic in Kafka's metrics."""
    return name.replace(".", "_")


# Settings: their types and defaults, changes to them, and those that have an effect.


class _Setting(NamedTuple):
    type: ConfigType
    default: str


_BOOLEAN, _STRING, _INT, _LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
_MOST = str(2**63 - 1)
SETTINGS = {
    "cleanup.policy": _Setting(ConfigType.LIST, "delete"),
    "compression.gzip.level": _Setting(_INT, "-1"),
    "compression.lz4.level": _Setting(_INT, "9"),
    "compression.type": _Setting(_STRING, "producer"),
    "compression.zstd.level": _Setting(_INT, "3"),
    "delete.retention.ms": _Setting(_LONG, "86400000"),
    "errors.deadletterqueue.group.enable": _Setting(_BOOLEAN, "false"),
    "file.delete.delay.ms": _Setting(_LONG, "60000"),
    "flush.messages": _Setting(_LONG, _MOST),
    "flush.ms": _Setting(_LONG, _MOST),
    "follower.replication.throttled.replicas": _Setting(ConfigType.LIST, ""),
    "index.interval.bytes": _Setting(_INT, "4096"),
    "leader.replication.throttled.replicas": _Setting(ConfigType.LIST, ""),
    "local.retention.bytes": _Setting(_LONG, "-2"),
    "local.retention.ms": _Setting(_LONG, "-2"),
    "max.compaction.lag.ms": _Setting(_LONG, _MOST),
    "max.decompressed.message.bytes": _Setting(_INT, "2147483639"),
    "max.message.bytes": _Setting(_INT, "1048588"),
    "message.timestamp.after.max.ms": _Setting(_LONG, "3600000"),
    "message.timestamp.before.max.ms": _Setting(_LONG, _MOST),
    "message.timestamp.type": _Setting(_STRING, "CreateTime"),
    "min.cleanable.dirty.ratio": _Setting(ConfigType.DOUBLE, "0.5"),
    "min.compaction.lag.ms": _Setting(_LONG, "0"),
    "min.insync.replicas": _Setting(_INT, "1"),
    "preallocate": _Setting(_BOOLEAN, "false"),
    "remote.copy.lag.bytes": _Setting(_LONG, "-1"),
    "remote.copy.lag.ms": _Setting(_LONG, "0"),
    "remote.log.copy.disable": _Setting(_BOOLEAN, "false"),
    "remote.log.delete.on.disable": _Setting(_BOOLEAN, "false"),
    "remote.storage.enable": _Setting(_BOOLEAN, "false"),
    "retention.bytes": _Setting(_LONG, "-1"),
    "retention.ms": _Setting(_LONG, "604800000"),
    "segment.bytes": _Setting(_INT, "1073741824"),
    "segment.index.bytes": _Setting(_INT, "10485760"),
    "segment.jitter.ms": _Setting(_LONG, "0"),
    "segment.ms": _Setting(_LONG, "604800000"),
    "unclean.leader.election.enable": _Setting(_BOOLEAN, "false"),
}
"""All that Kafka 4.4 has of topics, with its defaults."""
_VALUES = {_INT: r"\s*[+-]?[0-9]{1,19}\s*", _LONG: r"\s*[+-]?[0-9]{1,19}\s*", _BOOLEAN: r"(?i)\s*(true|false)\s*"}
"""The form of values, by type; of other types any text will do."""


def expect_valid_configs(configs: Mapping[str, str | None]) -> None:
    """Refuse settings that Kafka's topics do not have, and values of another type."""
    for name, value in configs.items():
        if name not in SETTINGS:
            raise Refused(ErrorCode.INVALID_CONFIG, f"unknown topic setting {name!r}")
        kind = SETTINGS[name].type
        if value is None or not re.fullmatch(_VALUES.get(kind, "(?s).*"), value):
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name} is {value!r}; it has to be of the type {kind.name}")


def limits_of(configs: Mapping[str, str | None], now: int) -> Limits:
    """Compute the limits of a topic for a batch that comes at a time in milliseconds since 1970."""
    size, future = (
        int(configs.get(name) or SETTINGS[name].default)
        for name in ("max.message.bytes", "message.timestamp.after.max.ms")
    )
    return Limits(size, now + future)


def shown_configs(configs: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """List all settings of a topic, those by default too, as responses have them."""
    return [
        {
            "name": name,
            "value": str(configs.get(name, setting.default)).strip(),
            "config_source": ConfigSource.TOPIC_CONFIG if name in configs else ConfigSource.DEFAULT_CONFIG,
        }
        for name, setting in SETTINGS.items()
    ]


def changed(configs: Configs, changes: Iterable[tuple[str, int, str | None]]) -> Configs:
    """Apply changes to settings, each a name, an operation and a value; refuse the impossible, or a repeated name."""
    found, names = dict(configs), set[str]()
    for name, operation, value in changes:
        if name in names or (value is None and operation != ConfigOperation.DELETE):
            raise Refused(ErrorCode.INVALID_REQUEST, f"{name} is set more than once, or has no value")
        names.add(name)
        if operation == ConfigOperation.DELETE:
            found.pop(name, None)
        elif operation == ConfigOperation.SET:
            found[name] = value
        elif operation not in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, f"unknown operation {operation}")
        elif name not in SETTINGS or SETTINGS[name].type != ConfigType.LIST:
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name} is not a list")
        else:
            old = filter(None, (found.get(name) or SETTINGS[name].default).split(","))
            others = str(value).split(",")
            if operation == ConfigOperation.APPEND:
                found[name] = ",".join(dict.fromkeys([*old, *others]))
            else:
                found[name] = ",".join(one for one in old if one not in others)
    return found


def replace(configs: Configs, others: Configs, *, is_tried: bool) -> None:
    """Put other settings in the place of the ones that a topic has, unless that is only tried; refuse invalid ones."""
    expect_valid_configs(others)
    if not is_tried:
        configs.clear()
        configs.update(others)
