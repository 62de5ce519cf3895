"""A message of plain values for a page: each follows from the name and the type of its field."""

from __future__ import annotations

from typing import Any, TypeVar
from uuid import UUID

from kipwire.description.values import field_range
from kipwire.model.structs import Field, Root, Struct

R = TypeVar("R", bound=Root)

_UUID = UUID("0a1b2c3d-4e5f-4061-7263-748596a7b8c9")
_NULL = frozenset({"error_message"})
"""Fields that are null in a message of success."""
_ENTITIES = {"topicName": "orders", "groupId": "billing", "transactionalId": "payments-1"}
"""Texts by the kind of entity that they name."""
_TEXTS = {
    "topic": "orders",
    "topic_name": "orders",
    "group": "billing",
    "group_id": "billing",
    "member_id": "billing-1",
    "instance_id": "billing-host-1",
    "transactional_id": "payments-1",
    "client_id": "billing-client",
    "host": "broker-1.example.com",
    "client_host": "/192.0.2.10",
    "rack": "rack-a",
    "rack_id": "rack-a",
    "cluster_id": "cluster-1",
    "principal": "User:alice",
    "user": "alice",
    "listener": "INTERNAL",
    "mechanism": "SCRAM-SHA-256",
    "topic_regex": "orders.*",
}
"""Texts by the end of the attribute's name, whole words; any other is the name itself."""
_NUMBERS = {
    "error_code": 0,
    "throttle_time_ms": 0,
    "port": 9092,
    "partition": 0,
    "partition_index": 0,
    "timestamp": 1_700_000_000_000,
    "timestamp_ms": 1_700_000_000_000,
    "time_ms": 1_700_000_000_000,
    "ms": 30_000,
    "offset": 42,
    "epoch": 3,
    "version": 1,
}
"""Numbers by the end of the attribute's name, whole words; any other is its default, or 1 where that is 0."""


def plain_message(cls: type[R]) -> R:
    """Make a message in which every field that is not tagged has a plain value, and every array has one element.

    Args:
        cls: the generated class of a message in one version.
    """
    message: R = _struct(cls, ())
    return message


def _struct(cls: type[Any], around: tuple[type[Struct], ...]) -> Any:
    values = {field.name: _value(field, (*around, cls)) for field in cls.ATTRIBUTES if field.tag is None}
    return cls(**values)


def _value(field: Field, around: tuple[type[Struct], ...]) -> object:
    if field.nullable and field.name in _NULL:
        return None
    if field.struct in around:  # a struct that may contain itself
        return field.default_value()
    value = _element(field, around)
    return [value] if field.array else value


def _element(field: Field, around: tuple[type[Struct], ...]) -> object:
    if field.struct is not None:
        return _struct(field.struct, around)
    match field.element:
        case "string":
            text = _ENTITIES.get(field.entity_type or "", _singular(field).replace("_", "-"))
            return _by_ending(_TEXTS, _singular(field), text)
        case "bytes":
            return _singular(field).replace("_", "-").encode()
        case "records":
            return None if field.nullable else b""
        case "uuid":
            return _UUID
        case "bool":
            return bool(field.default) if not field.array else True
        case "float64":
            return 0.5
        case _:
            own = field.default if isinstance(field.default, int) and field.default else 1
            number: int = _by_ending(_NUMBERS, _singular(field), own)
            return number if number <= field_range(field)[1] else own


def _singular(field: Field) -> str:
    return field.name.removesuffix("s") if field.array else field.name


def _by_ending(values: dict[str, Any], name: str, otherwise: Any) -> Any:
    """Return the value of the longest ending of a name."""
    words = name.split("_")
    for start in range(len(words)):
        ending = "_".join(words[start:])
        if ending in values:
            return values[ending]
    return otherwise
