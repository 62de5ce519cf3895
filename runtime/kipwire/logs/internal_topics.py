"""The records of internal topics: the first bytes of a record say which message it has.

Keys of coordinators begin with the type of the record as int16, their values with the version. Records of the
metadata log and of the topic of tiered storage have no keys; their values begin with the version of this frame, the
type and the version, as unsigned varints.

A record whose type or version this release does not know need not be damaged: a later Kafka or a fork may have written
the record. So there is an error of its own, `UnknownRecordError`, for such records, which readers can pass over as
brokers do (KIP-915). Bytes that are not the message of a known type and version are a plain `DecodeError`.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct as Packer
from typing import NamedTuple

from kafka_messages.enums import (
    GroupRecordType,
    MetadataRecordType,
    RemoteLogRecordType,
    ShareRecordType,
    TransactionRecordType,
)
from kipwire.codec.wire import read_varint, write_varint
from kipwire.message.registry import KAFKA_PACKAGE, registry_of
from kipwire.model.errors import DecodeError, Malformed, unknown_version
from kipwire.tools.text import only_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.messages import Message
    from kipwire.model.enums import MessageNumber
    from kipwire.records import Record

METADATA = "__cluster_metadata"
COORDINATORS: dict[str, type[MessageNumber]] = {
    "__consumer_offsets": GroupRecordType,
    "__transaction_state": TransactionRecordType,
    "__share_group_state": ShareRecordType,
}
"""Types of records, by topic."""
FRAMED: dict[str, type[MessageNumber]] = {METADATA: MetadataRecordType, "__remote_log_metadata": RemoteLogRecordType}
"""Types of records that have no keys, by topic."""
INTERNAL_TOPICS = (*COORDINATORS, *FRAMED)

_INT16 = Packer(">h")
METADATA_FRAME = 1
"""The version of the frame of a metadata record."""
_SMALLEST = {"coordinator-key": _INT16.size, "coordinator-value": _INT16.size, "metadata": 3}
ENVELOPES = frozenset(_SMALLEST)
"""The types of specs whose messages have an envelope before them in a record."""
LARGEST_ENVELOPE = 15
"""Bytes that no envelope exceeds: three varints of five bytes."""
_VARINT_BITS = 31


class UnknownRecordError(DecodeError):
    """A record of an unknown type or version, or without a type; a later Kafka may have written it, without damage."""


class Envelope(NamedTuple):
    """The meaning of the bytes before a message in a record."""

    type_id: int | None
    """Number of the type; None before the value of a coordinator's record, whose key has the type."""
    version: int
    version_at: int
    """Position of the version."""
    size: int
    """Number of its bytes."""


def smallest_envelope(kind: str) -> int:
    """Return the fewest bytes of the envelope of a kind, one of `ENVELOPES`."""
    return _SMALLEST[kind]


def unpack_envelope(kind: str, data: bytes) -> Envelope:
    """Read the bytes before a message in a record.

    Args:
        kind: the type of its spec, one of `ENVELOPES`.
        data: the record's key or value, or at least its first `LARGEST_ENVELOPE` bytes.

    Raises:
        UnknownRecordError: the bytes are no such envelope, or have a later frame; `path` is relative to the envelope.
    """
    size = _SMALLEST[kind]
    if len(data) < size:
        name = "version" if kind == "coordinator-value" else "type"
        raise UnknownRecordError("record", 0, name, 0, f"need {size} bytes, {only_left(len(data))}")
    if kind != "metadata":
        (number,) = _INT16.unpack_from(data)
        return Envelope(number, 0, 0, size) if kind == "coordinator-key" else Envelope(None, number, 0, size)
    frame, position = _varint(data, 0, "frame_version")
    if frame != METADATA_FRAME:
        raise UnknownRecordError("record", 0, "frame_version", 0, f"is {frame}; only {METADATA_FRAME} is known")
    type_id, position = _varint(data, position, "type")
    version, end = _varint(data, position, "version")
    return Envelope(type_id, version, position, end)


def _varint(data: bytes, start: int, path: str) -> tuple[int, int]:
    if start == len(data):
        raise UnknownRecordError("record", 0, path, start, f"need 1 byte, {only_left(0)}")
    try:
        return (data[start], start + 1) if data[start] < 0x80 else read_varint(data, start + 1, _VARINT_BITS)
    except IndexError:
        raise UnknownRecordError("record", 0, path, start, "is a varint without its last byte") from None
    except Malformed:
        reason = f"is a varint of more than {_VARINT_BITS} bits, or longer than its number needs"
        raise UnknownRecordError("record", 0, path, start, reason) from None


def pack_envelope(cls: type[Message]) -> bytes | None:
    """Return the bytes before a message of a class in a record; None if its spec's type is not in `ENVELOPES`."""
    if cls.TYPE == "metadata":
        return b"".join(map(write_varint, (METADATA_FRAME, cls.API_KEY, cls.VERSION)))
    if cls.TYPE not in ENVELOPES:
        return None
    return _INT16.pack(cls.API_KEY if cls.TYPE == "coordinator-key" else cls.VERSION)


class InternalRecord(NamedTuple):
    """A decoded record of an internal topic."""

    type: str
    """Type such as `OffsetCommit` or `TopicRecord`."""
    type_id: int
    key: Message | None
    """Key; None in the topics of `FRAMED`."""
    value: Message | None
    """Value; None for a tombstone, which removes the object with the key."""


def internal_record(topic: str, record: Record) -> InternalRecord:
    """Decode a record of one of `INTERNAL_TOPICS`; not for control records.

    Raises:
        UnknownRecordError: the type or version is later than Kafka 4.4, or the record has no type.
        DecodeError: the key or the value is not the message of its type; the offset counts from its start.
    """
    if topic in FRAMED:
        return _framed(topic, record)
    type_, type_id, message, value_name = coordinator_key(topic, record.key)
    return InternalRecord(type_, type_id, message, coordinator_value(value_name, record.value))


class CoordinatorKey(NamedTuple):
    """The decoded key of a coordinator's record."""

    type: str
    type_id: int
    message: Message
    value_name: str
    """The message that the record's value is."""


def coordinator_key(topic: str, key: bytes | None) -> CoordinatorKey:
    """Decode the key of a record of one of `COORDINATORS`.

    Raises:
        UnknownRecordError: the type is not known, or the key has no type.
        DecodeError: the key is not the message of its type.
    """
    if key is None:
        raise UnknownRecordError("record", 0, "key", 0, "is null, but every record of a coordinator has a key")
    type_id, _, _, size = _envelope("coordinator-key", "record", key, "key.")
    assert type_id is not None  # keys have it
    found = _coordinator_type(topic, type_id)
    if found is None:
        raise UnknownRecordError("record", 0, "key.type", 0, f"{topic} has no type {type_id}")
    name, key_class, value_name = found
    return CoordinatorKey(name, type_id, key_class.decode(key[size:]), value_name)


def coordinator_value(name: str, value: bytes | None) -> Message | None:
    """Decode the value of a coordinator's record; return None for a tombstone.

    Args:
        name: the `value_name` of its key.
        value: the bytes; None for a tombstone.

    Raises:
        UnknownRecordError: the version is later than Kafka 4.4, or the value has no version.
        DecodeError: the value is not that message.
    """
    if value is None:
        return None
    _, version, at, size = _envelope("coordinator-value", name, value, "")
    return _class(name, version, at).decode(value[size:])


def _envelope(kind: str, message: str, data: bytes, path: str) -> Envelope:
    """Read the envelope of a message in a field; the path of an error begins with the given path of the field."""
    try:
        return unpack_envelope(kind, data)
    except UnknownRecordError as error:
        raise UnknownRecordError(message, 0, path + error.path, error.offset, error.reason) from None


def _framed(topic: str, record: Record) -> InternalRecord:
    value = record.value or b""
    type_id, version, at, size = _envelope("metadata", "record", value, "value.")
    assert type_id is not None  # these records have it
    type_ = FRAMED[topic].find(type_id)
    if type_ is None:
        raise UnknownRecordError("record", 0, "value.type", 1, f"{topic} has no type {type_id}")
    return InternalRecord(type_.message, type_id, None, _class(type_.message, version, at).decode(value[size:]))


@lru_cache(maxsize=256)
def _coordinator_type(topic: str, type_id: int) -> tuple[str, type[Message], str] | None:
    """Find a type of record: its name, the class of its keys, and the name of its values; None for an unknown type."""
    type_ = COORDINATORS[topic].find(type_id)
    if type_ is None:
        return None
    name = type_.message.removesuffix("Key")
    return name, _class(type_.message, 0, 0), f"{name}Value"


@lru_cache(maxsize=1024)
def _class(name: str, version: int, offset: int) -> type[Message]:
    """Find the class of a version, which stands at an offset."""
    versions = registry_of(KAFKA_PACKAGE).versions(name)
    if version not in versions:
        raise UnknownRecordError(name, version, "version", offset, unknown_version(version, versions))
    return registry_of(KAFKA_PACKAGE).message(name, version)
