"""Records as JSON text, beyond their bytes: control records, and the records of internal topics."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from json.encoder import encode_basestring, encode_basestring_ascii
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from kipwire.description.json_form import bytes_to_json, float_to_json, uuid_to_json
from kipwire.message.messages import Message
from kipwire.message.registry import KAFKA_PACKAGE, registry_of
from kipwire.model.errors import KipwireError
from kipwire.model.structs import Field, Struct
from kipwire.model.types import KINDS
from kipwire.records import Record, control_record
from kipwire.records.internal_topics import COORDINATORS, METADATA, coordinator_key, coordinator_value, internal_record

Write = Callable[[Any], str]
"""The text of a value."""


class _Form(NamedTuple):
    """How the text of a class's messages is made."""

    values: Callable[[Struct], tuple[object, ...]]
    template: str
    """A comma before each attribute, its name and `%s`; of a tagged one only `%s`, since it may be left out."""
    writes: tuple[tuple[int, Write], ...]
    """What makes the text of those values that are not integers, with their numbers."""


class JsonText:
    """Makes the JSON text of messages, with other characters than ASCII as they are or as escapes."""

    def __init__(self, *, ascii: bool, of_bytes: Mapping[str, Write] = MappingProxyType({})) -> None:
        """Make one.

        Args:
            ascii: whether other characters are escaped.
            of_bytes: the texts of bytes that are more than bytes, by the names of their attributes.
        """
        self.any: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=ascii, separators=(",", ":")).encode
        """The text of plain data."""
        self._of_bytes = of_bytes
        self._writes: dict[str, Write] = {
            "integer": int.__repr__,
            "bool": lambda value: "true" if value else "false",
            "float": lambda value: json.dumps(float_to_json(value)),
            "uuid": _uuid,
            "text": encode_basestring_ascii if ascii else encode_basestring,
            "blob": bytes_text,
        }
        self._form = lru_cache(maxsize=1024)(self._find_form)

    def of(self, item: Struct) -> str:
        """The text of a message that was decoded and not changed since: the same as of its `to_json`."""
        get, template, writes = self._form(type(item))  # type: ignore[arg-type]  # it is hashable
        values = get(item)
        if writes:
            texts = list(values)
            for number, write in writes:
                texts[number] = write(texts[number])
            values = tuple(texts)
        return f"{{{(template % values)[1:]}}}"

    def _find_form(self, cls: type[Struct]) -> _Form:
        writes = [self._write(field) if field.tag is None else self._write_tagged(field) for field in cls.ATTRIBUTES]
        return _Form(
            _getter([field.name for field in cls.ATTRIBUTES]),
            "".join("%s" if field.tag is not None else f"{_start(field)}%s" for field in cls.ATTRIBUTES),
            tuple((number, write) for number, write in enumerate(writes) if write is not int.__repr__),
        )

    def _write_tagged(self, field: Field) -> Write:
        is_default, start, write = _is_default(field), _start(field), self._write(field)
        return lambda value: "" if is_default(value) else f"{start}{write(value)}"

    def _write(self, field: Field) -> Write:
        write = self.of if field.struct is not None else self._writes[KINDS[field.element]]
        if KINDS.get(field.element) == "blob":
            write = self._of_bytes.get(field.name, write)
        if field.array:
            write = _array(write)
        return _or_null(write) if field.nullable or field.present_if or field.absent_if else write


def bytes_text(value: bytes) -> str:
    """Bytes as a string of base64."""
    return f'"{bytes_to_json(value)}"'


def _start(field: Field) -> str:
    return f',"{field.json_name}":'


def _getter(names: list[str]) -> Callable[[Struct], tuple[object, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda item: tuple([getattr(item, name) for name in names])


def _array(write: Write) -> Write:
    return lambda value: f"[{','.join([write(element) for element in value])}]"


def _or_null(write: Write) -> Write:
    return lambda value: "null" if value is None else write(value)


def _is_default(field: Field) -> Callable[[Any], bool]:
    """Whether a value is left out; of uuids by their numbers, whose comparison is a fifth of the work."""
    if KINDS.get(field.element) != "uuid" or field.array or field.default is None:
        return field.is_default
    number = getattr(field.default, "int", 0)
    return lambda value: value is not None and value.int == number


def _uuid(value: Any) -> str:
    return _uuid_text(value.int)


@lru_cache(maxsize=1024)
def _uuid_text(number: int) -> str:
    return f'"{uuid_to_json(UUID(int=number))}"'


R = TypeVar("R")

_CONSUMER = "consumer"
_EMBEDDED = {"subscription": "ConsumerProtocolSubscription", "assignment": "ConsumerProtocolAssignment"}
"""What consumers put into the bytes of their members, by field."""
_VERSION_BYTES = 2
_KEPT = 4096
"""Texts of bytes that are kept: the keys of a log come again, and so does what consumers say of themselves."""
LONGEST_KEPT = 512


class Content(NamedTuple):
    """What a record says."""

    type: str
    """Such as `COMMIT`, `OffsetCommit` or `TopicRecord`; `UNKNOWN` for a control record of a later type."""
    type_id: int
    """Its number in the record."""
    key: str | None
    """As JSON text, as is the value; None if there are no keys."""
    value: str
    version: int | None
    """That of the value; None without one."""


class _Key(NamedTuple):
    """What the key of a coordinator's record says."""

    type: str
    type_id: int
    text: str
    value_name: str


class Contents:
    """Finds what records say, as JSON text."""

    def __init__(self, *, ascii: bool) -> None:
        """Make one, with other characters than ASCII as they are or as escapes."""
        self._text = JsonText(ascii=ascii)
        of_bytes = {name: kept(partial(self._embedded, message)) for name, message in _EMBEDDED.items()}
        self._text_of_consumers = JsonText(ascii=ascii, of_bytes=of_bytes)
        self._keys = {topic: kept(partial(self._find_key, topic)) for topic in COORDINATORS}

    def of(self, record: Record, internal: str | None, *, is_control: bool) -> Content | None:
        """What a record says; None if it has a meaning only for the users of its topic.

        Args:
            record: it.
            internal: the internal topic that it is of, if any.
            is_control: whether it is of a control batch.

        Raises:
            KipwireError: it is not what it should be, or of a type or version that Kafka 4.4 does not know.
        """
        if is_control:
            control = control_record(record)
            return Content(control.type, control.type_id, None, *self._value(control.value))
        if internal is None:
            return None
        if internal == METADATA:
            found = internal_record(internal, record)
            return Content(found.type, found.type_id, None, *self._value(found.value))
        key = record.key
        type_, type_id, text, value_name = self._keys[internal](key) if key else self._find_key(internal, key)
        return Content(type_, type_id, text, *self._value(coordinator_value(value_name, record.value)))

    def _find_key(self, topic: str, key: bytes | None) -> _Key:
        type_, type_id, message, value_name = coordinator_key(topic, key)
        return _Key(type_, type_id, self._text.of(message), value_name)

    def _value(self, message: Message | None) -> tuple[str, int | None]:
        if message is None:
            return "null", None
        if message.NAME == "GroupMetadataValue" and message.protocol_type == _CONSUMER:  # type: ignore[attr-defined]
            return self._text_of_consumers.of(message), message.VERSION
        return self._text.of(message), message.VERSION

    def _embedded(self, name: str, data: bytes) -> str:
        """The text of what consumers put into bytes, whose first two have the version; else that of the bytes."""
        known = registry_of(KAFKA_PACKAGE)
        version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
        if version < 0 or not data:
            return bytes_text(data)
        cls = known.message(name, min(version, known.versions(name)[-1]))  # later versions only add to the end
        try:
            return self._text.of(cls.read(data, _VERSION_BYTES)[0])
        except (KipwireError, ValueError):
            return bytes_text(data)


def kept(make: Callable[[bytes], R]) -> Callable[[bytes], R]:
    """The same function, which keeps what it makes of short bytes."""
    of_short = lru_cache(maxsize=_KEPT)(make)
    return lambda data: of_short(data) if len(data) <= LONGEST_KEPT else make(data)
