"""Records as JSON text, beyond their bytes: control records, and the records of internal topics."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

from kipwire.console.json_text import JsonText, bytes_text
from kipwire.logs.enveloped import ASSIGNMENT, SUBSCRIPTION, read_enveloped
from kipwire.logs.internal_topics import COORDINATORS, FRAMED, coordinator_key, coordinator_value, internal_record
from kipwire.message.messages import Message
from kipwire.model.errors import KipwireError
from kipwire.records import Record, control_record
from kipwire.records.control import control_type, control_type_id
from kipwire.records.reading import MagicTwo

R = TypeVar("R")

_CONSUMER = "consumer"
_EMBEDDED = {"subscription": SUBSCRIPTION, "assignment": ASSIGNMENT}
"""Messages that consumers put into the bytes of their members, by field."""
_KEPT = 4096
"""Texts of bytes that are kept: the keys of a log come again, and so does what consumers say of themselves."""
LONGEST_KEPT = 512


class Content(NamedTuple):
    """Decoded content of a record."""

    type: str
    """Type such as `COMMIT`, `OffsetCommit` or `TopicRecord`; `UNKNOWN` for a control record of a later type."""
    type_id: int
    """Number of the type in the record."""
    key: str | None
    """JSON text, like the value; None if there are no keys."""
    value: str
    version: int | None
    """Version of the value; None without one."""


class _Key(NamedTuple):
    """The decoded key of a coordinator's record."""

    type: str
    type_id: int
    text: str
    value_name: str


class Contents:
    """Finds what records say, as JSON text."""

    def __init__(self, *, ascii: bool, magic_2: MagicTwo = "kafka") -> None:
        """Make one, with other characters than ASCII as they are or as escapes, for batches of a format."""
        self._magic_2 = magic_2
        self._text = JsonText(ascii=ascii)
        of_bytes = {name: remember(partial(self._embedded, message)) for name, message in _EMBEDDED.items()}
        self._text_of_consumers = JsonText(ascii=ascii, of_bytes=of_bytes)
        self._keys = {topic: remember(partial(self._find_key, topic)) for topic in COORDINATORS}

    def of(self, record: Record, internal: str | None, *, is_control: bool) -> Content | None:
        """Decode a record; None if only the users of its topic can do that.

        Args:
            record: from a log.
            internal: its topic, if that is an internal one.
            is_control: True if its batch is a control batch.

        Raises:
            KipwireError: the record is broken, or its type or version is later than Kafka 4.4.
        """
        if is_control and self._magic_2 != "kafka":  # the KIP-98 draft gives the values of markers no schema
            value = "null" if record.value is None else bytes_text(record.value)
            return Content(control_type(record), control_type_id(record), None, value, None)
        if is_control:
            control = control_record(record)
            return Content(control.type, control.type_id, None, *self._value(control.value))
        if internal is None:
            return None
        if internal in FRAMED:
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
        """Decode a message that consumers put into bytes.

        Show the bytes if that fails.
        """
        try:
            return self._text.of(read_enveloped(name, data))
        except KipwireError:
            return bytes_text(data)


def remember(make: Callable[[bytes], R]) -> Callable[[bytes], R]:
    """Cache the results of a function for short bytes."""
    of_short = lru_cache(maxsize=_KEPT)(make)
    return lambda data: of_short(data) if len(data) <= LONGEST_KEPT else make(data)
