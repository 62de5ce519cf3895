"""Settings of topics: their names, the types of their values, and those that have an effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from kafka_messages.enums import ConfigOperation, ConfigSource, ErrorCode
from kipwire.testing.broker.state.batches import Limits
from kipwire.testing.broker.state.refusals import Refused

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
_LISTS = {
    "cleanup.policy": "delete",
    "follower.replication.throttled.replicas": "",
    "leader.replication.throttled.replicas": "",
}
"""Settings that are lists, with their defaults."""
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


def shown_configs(configs: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """Settings of a topic, as responses have them."""
    source = ConfigSource.TOPIC_CONFIG
    return [{"name": name, "value": value, "config_source": source} for name, value in configs.items()]


def given(configs: Iterable[tuple[str, str | None]]) -> dict[str, str | None]:
    """Settings that a request gives.

    Raises:
        Refused: one has no value.
    """
    found = dict(configs)
    if None in found.values():
        raise Refused(ErrorCode.INVALID_REQUEST, "a setting has no value")
    return found


def changed(configs: Mapping[str, str | None], changes: Iterable[tuple[str, int, str | None]]) -> dict[str, str | None]:
    """Settings after changes, each of a name, an operation and a value.

    Raises:
        Refused: an operation cannot be, or a name is there twice.
    """
    found, names = dict(configs), set[str]()
    for name, operation, value in changes:
        if name in names or (value is None and operation != ConfigOperation.DELETE):
            raise Refused(ErrorCode.INVALID_REQUEST, f"{name} is changed twice, or has no value")
        names.add(name)
        if operation == ConfigOperation.DELETE:
            found.pop(name, None)
        elif operation == ConfigOperation.SET:
            found[name] = value
        elif operation not in (ConfigOperation.APPEND, ConfigOperation.SUBTRACT):
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, f"there is no operation {operation}")
        elif name not in _LISTS:
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name} is not a list")
        else:
            found[name] = _listed(found.get(name) or _LISTS[name], operation, str(value))
    return found


def _listed(old: str, operation: int, value: str) -> str:
    """A list with elements more, or fewer."""
    elements, others = [one for one in old.split(",") if one], value.split(",")
    if operation == ConfigOperation.SUBTRACT:
        return ",".join(one for one in elements if one not in others)
    return ",".join(dict.fromkeys([*elements, *others]))


def replace(configs: dict[str, str | None], others: Mapping[str, str | None], *, is_tried: bool) -> None:
    """Put checked settings in the place of those that a topic has.

    Args:
        configs: of the topic.
        others: those in their place.
        is_tried: check alone.

    Raises:
        Refused: as `expect_valid_configs`.
    """
    expect_valid_configs(others)
    if not is_tried:
        configs.clear()
        configs.update({name: value and value.strip() for name, value in others.items()})
