"""Settings of topics: their types and defaults, changes to them, and those that have an effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafka_messages.enums import ConfigOperation, ConfigSource, ConfigType, ErrorCode
from kipwire.testing.broker.state.batches import Limits
from kipwire.testing.broker.state.refusals import Refused

Configs = dict[str, str | None]
"""The settings that a topic was given, by name."""


class _Setting(NamedTuple):
    type: ConfigType
    default: str


_BOOLEAN, _STRING, _INT, _LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
_MOST = str(2**63 - 1)
_SETTINGS = {
    "cleanup.policy": _Setting(ConfigType.LIST, "delete"),
    "compression.gzip.level": _Setting(_INT, "-1"),
    "compression.lz4.level": _Setting(_INT, "9"),
    "compression.type": _Setting(_STRING, "producer"),
    "compression.zstd.level": _Setting(_INT, "3"),
    "delete.retention.ms": _Setting(_LONG, "86400000"),
    "file.delete.delay.ms": _Setting(_LONG, "60000"),
    "flush.messages": _Setting(_LONG, _MOST),
    "flush.ms": _Setting(_LONG, _MOST),
    "follower.replication.throttled.replicas": _Setting(ConfigType.LIST, ""),
    "index.interval.bytes": _Setting(_INT, "4096"),
    "leader.replication.throttled.replicas": _Setting(ConfigType.LIST, ""),
    "local.retention.bytes": _Setting(_LONG, "-2"),
    "local.retention.ms": _Setting(_LONG, "-2"),
    "max.compaction.lag.ms": _Setting(_LONG, _MOST),
    "max.message.bytes": _Setting(_INT, "1048588"),
    "message.timestamp.after.max.ms": _Setting(_LONG, "3600000"),
    "message.timestamp.before.max.ms": _Setting(_LONG, _MOST),
    "message.timestamp.type": _Setting(_STRING, "CreateTime"),
    "min.cleanable.dirty.ratio": _Setting(ConfigType.DOUBLE, "0.5"),
    "min.compaction.lag.ms": _Setting(_LONG, "0"),
    "min.insync.replicas": _Setting(_INT, "1"),
    "preallocate": _Setting(_BOOLEAN, "false"),
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
"""All that Kafka 4.3 has of topics, with its defaults."""
_VALUES = {_INT: r"\s*[+-]?[0-9]{1,19}\s*", _LONG: r"\s*[+-]?[0-9]{1,19}\s*", _BOOLEAN: r"(?i)\s*(true|false)\s*"}
"""The form of values, by type; of other types any text will do."""


def expect_valid_configs(configs: Mapping[str, str | None]) -> None:
    """Check names of settings, and the types of their values.

    Raises:
        Refused: Kafka has no such setting of topics, or its value is of another type.
    """
    for name, value in configs.items():
        if name not in _SETTINGS:
            raise Refused(ErrorCode.INVALID_CONFIG, f"Kafka has no setting {name!r} of topics")
        kind = _SETTINGS[name].type
        if value is None or not re.fullmatch(_VALUES.get(kind, "(?s).*"), value):
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name} is {value!r}; it has to be of the type {kind.name}")


def limits_of(configs: Mapping[str, str | None], now: int) -> Limits:
    """The limits of a topic for a batch.

    Args:
        configs: of the topic.
        now: milliseconds since 1970.
    """
    size, future = (
        int(configs.get(name) or _SETTINGS[name].default)
        for name in ("max.message.bytes", "message.timestamp.after.max.ms")
    )
    return Limits(size, now + future)


def shown_configs(configs: Mapping[str, str | None]) -> list[dict[str, Any]]:
    """All settings of a topic, those by default too, as responses have them."""
    return [
        {
            "name": name,
            "value": str(configs.get(name, setting.default)).strip(),
            "config_source": ConfigSource.TOPIC_CONFIG if name in configs else ConfigSource.DEFAULT_CONFIG,
        }
        for name, setting in _SETTINGS.items()
    ]


def type_of(name: str) -> ConfigType:
    """The type of a setting."""
    return _SETTINGS[name].type


def given(configs: Iterable[tuple[str, str | None]]) -> Configs:
    """Settings that a request gives.

    Raises:
        Refused: one has no value.
    """
    found = dict(configs)
    if None in found.values():
        raise Refused(ErrorCode.INVALID_REQUEST, "a setting has no value")
    return found


def changed(configs: Configs, changes: Iterable[tuple[str, int, str | None]]) -> Configs:
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
        elif name not in _SETTINGS or _SETTINGS[name].type != ConfigType.LIST:
            raise Refused(ErrorCode.INVALID_CONFIG, f"{name} is not a list")
        else:
            found[name] = _listed(found.get(name) or _SETTINGS[name].default, operation, str(value))
    return found


def _listed(old: str, operation: int, value: str) -> str:
    """A list with elements more, or fewer."""
    elements, others = [one for one in old.split(",") if one], value.split(",")
    if operation == ConfigOperation.SUBTRACT:
        return ",".join(one for one in elements if one not in others)
    return ",".join(dict.fromkeys([*elements, *others]))


def replace(configs: Configs, others: Configs, *, is_tried: bool) -> None:
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
        configs.update(others)
