"""What a record says, beyond its bytes: control records, and the records of internal topics."""

from __future__ import annotations

from typing import NamedTuple

from kipgen.commands.dump.json_text import JsonText
from kipwire.description.json_form import decoded_to_json
from kipwire.errors import DecodeError, KipwireError
from kipwire.logs.internal import internal_record
from kipwire.messages import Message
from kipwire.records import Record, control_record
from kipwire.registry import KAFKA_PACKAGE, registry_of

_CONSUMER = "consumer"
_EMBEDDED = {"subscription": "ConsumerProtocolSubscription", "assignment": "ConsumerProtocolAssignment"}
"""What consumers put into the bytes of their members, by field."""
_VERSION_BYTES = 2


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


def content_of(record: Record, internal: str | None, text: JsonText, *, is_control: bool) -> Content | None:
    """What a record says; None if it has a meaning only for the users of its topic.

    Args:
        record: it.
        internal: the internal topic that it is of, if any.
        text: makes the texts.
        is_control: whether it is of a control batch.

    Raises:
        KipwireError: it is not what it should be, or of a type or version that Kafka 4.4 does not know.
    """
    if is_control:
        control = control_record(record)
        return Content(control.type, control.type_id, None, *_value(control.value, text))
    if internal is None:
        return None
    found = internal_record(internal, record)
    key = None if found.key is None else text.of(found.key)
    return Content(found.type, found.type_id, key, *_value(found.value, text))


def _value(message: Message | None, text: JsonText) -> tuple[str, int | None]:
    if message is None:
        return "null", None
    if message.NAME == "GroupMetadataValue" and message.protocol_type == _CONSUMER:  # type: ignore[attr-defined]
        value = decoded_to_json(message)
        for member, shown in zip(message.members, value["members"], strict=True):  # type: ignore[attr-defined]
            for name, protocol in _EMBEDDED.items():
                shown[name] = _embedded(getattr(member, name), protocol, shown[name])
        return text.any(value), message.VERSION
    return text.of(message), message.VERSION


def _embedded(data: bytes, name: str, otherwise: object) -> object:
    """What consumers put into bytes, whose first two have the version; unchanged if it is something else."""
    known = registry_of(KAFKA_PACKAGE)
    version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
    if version < 0 or not data:
        return otherwise
    cls = known.message(name, min(version, known.versions(name)[-1]))  # later versions only add to the end
    try:
        return decoded_to_json(cls.read(data, _VERSION_BYTES)[0])
    except (DecodeError, KipwireError, ValueError):
        return otherwise
