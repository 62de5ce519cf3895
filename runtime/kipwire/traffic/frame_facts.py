"""Facts about single frames: the name of the API, and the error codes and unknown tagged fields in a body."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import NamedTuple

from kafka_messages.enums import ErrorCode
from kipwire import Message
from kipwire.message.registry import KAFKA_PACKAGE, Registry, registry_of
from kipwire.model.structs import Struct


class UnknownTag(NamedTuple):
    """An unknown tagged field."""

    path: str
    """Of the struct that has it."""
    tag: int
    bytes: int
    """How many it has."""


class Facts(NamedTuple):
    """What was found in a body."""

    error_codes: Counter[tuple[str, int]]
    """How often each code other than 0 is at each path, without the indexes of arrays."""
    unknown_tags: list[UnknownTag]


def decode_frame(messages: Registry, direction: str, api_key: int, version: int, frame: bytes) -> Message:
    """The body of a frame.

    Raises:
        KipwireError: it is broken, or there is no class for it.
    """
    if direction == "request":
        return messages.decode_request(frame)[1]
    return messages.decode_response(frame, api_key, version)[1]


@cache
def api_name(api_key: int) -> str:
    """The name of an API, such as `Fetch`; `API 99` if Kafka has none with that key."""
    messages = registry_of(KAFKA_PACKAGE)
    for entry in map(messages.entry, messages.names()):
        if entry.versions and entry.type == "request" and entry.api_key == api_key:
            return entry.name.removesuffix("Request")
    return f"API {api_key}"


def error_name(code: int) -> str | None:
    """Such as `UNKNOWN_MEMBER_ID`; None where Kafka has no error of that code."""
    error = ErrorCode.find(code)
    return None if error is None else error.name


def facts_of(body: Message) -> Facts:
    """The error codes other than 0 and the unknown tagged fields of a message and of all structs in it."""
    facts = Facts(Counter(), [])
    _look(body, "", facts)
    return facts


def _look(item: Struct, path: str, facts: Facts) -> None:
    if item.FLEXIBLE and item._unknown_tagged_fields:
        tags = item._unknown_tagged_fields.items()
        facts.unknown_tags.extend(UnknownTag(path, tag, len(data)) for tag, data in tags)
    for name, is_struct, is_array in _inspected_fields(type(item)):  # type: ignore[arg-type]  # the class is hashable
        value = getattr(item, name)
        where = f"{path}.{name}" if path else name
        if not is_struct:
            if value:
                facts.error_codes[where, value] += 1
        elif value is not None:
            for inner in value if is_array else (value,):
                _look(inner, where, facts)


@cache
def _inspected_fields(cls: type[Struct]) -> tuple[tuple[str, bool, bool], ...]:
    """The fields that are error codes, or structs that may have some: name, whether it is a struct or an array."""
    return tuple(
        (field.name, field.struct is not None, field.array)
        for field in cls.ATTRIBUTES
        if field.struct is not None or (field.name.endswith("error_code") and field.type == "int16")
    )
