"""The records of internal topics, whose first bytes say which of several messages each of them is.

Keys of coordinators begin with the type of the record as int16, their values with their version. Records of the
metadata log have no keys; their values begin with the version of this frame, the type and the version, as unsigned
varints.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct as Packer
from typing import NamedTuple

from kafka_messages.enums import GroupRecordType, MetadataRecordType, ShareRecordType, TransactionRecordType
from kipwire.message.registry import KAFKA_PACKAGE, registry_of
from kipwire.model.errors import DecodeError, unknown_version
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
INTERNAL_TOPICS = (*COORDINATORS, METADATA)

_INT16 = Packer(">h")
METADATA_FRAME = 1
"""The version of the frame of a metadata record."""
ENVELOPE_SIZES = {"coordinator-key": _INT16.size, "coordinator-value": _INT16.size, "metadata": 3}
"""The bytes before a message in a record, by the type of its spec. As varints, all types and versions of metadata that
Kafka has fit in one byte each."""


class Envelope(NamedTuple):
    """The meaning of the bytes before a message in a record."""

    type_id: int | None
    """Number of the type; None before the value of a coordinator's record, whose key has the type."""
    version: int
    frame: int | None = None
    """The version of the frame of a metadata record, which should be `METADATA_FRAME`."""


def unpack_envelope(kind: str, data: bytes) -> Envelope:
    """Read the bytes before a message in a record.

    Args:
        kind: the type of its spec, one of `ENVELOPE_SIZES`.
        data: at least as many bytes.
    """
    if kind == "metadata":
        frame, type_id, version = data[: ENVELOPE_SIZES[kind]]
        return Envelope(type_id, version, frame)
    (number,) = _INT16.unpack_from(data)
    return Envelope(number, 0) if kind == "coordinator-key" else Envelope(None, number)


def pack_envelope(cls: type[Message]) -> bytes | None:
    """Return the bytes before a message of a class in a record; None if its spec's type is not in `ENVELOPE_SIZES`."""
    if cls.TYPE == "metadata":
        return bytes((METADATA_FRAME, cls.API_KEY, cls.VERSION))
    if cls.TYPE not in ENVELOPE_SIZES:
        return None
    return _INT16.pack(cls.API_KEY if cls.TYPE == "coordinator-key" else cls.VERSION)


class InternalRecord(NamedTuple):
    """A decoded record of an internal topic."""

    type: str
    """Type such as `OffsetCommit` or `TopicRecord`."""
    type_id: int
    key: Message | None
    """Key; None in the metadata log."""
    value: Message | None
    """Value; None for a tombstone, which removes the object with the key."""


def internal_record(topic: str, record: Record) -> InternalRecord:
    """Decode a record of one of `INTERNAL_TOPICS`; not for control records.

    Raises:
        DecodeError: key or value do not belong to the topic, or their type or version is later than Kafka 4.4; the
            offset counts from the start of the key or of the value.
    """
    if topic == METADATA:
        return _metadata(record)
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
        DecodeError: the key does not belong to the topic.
    """
    if key is None:
        raise DecodeError("record", 0, "key", 0, "is null, but every record of a coordinator has a key")
    size = ENVELOPE_SIZES["coordinator-key"]
    if len(key) < size:
        raise DecodeError("record", 0, "key.type", 0, f"need {size} bytes, {only_left(len(key))}")
    type_id = unpack_envelope("coordinator-key", key).type_id
    assert type_id is not None  # keys have it
    found = _coordinator_type(topic, type_id)
    if found is None:
        raise DecodeError("record", 0, "key.type", 0, f"{topic} has no type {type_id}")
    name, key_class, value_name = found
    return CoordinatorKey(name, type_id, key_class.decode(key[size:]), value_name)


def coordinator_value(name: str, value: bytes | None) -> Message | None:
    """Decode the value of a coordinator's record; return None for a tombstone.

    Args:
        name: the `value_name` of its key.
        value: the bytes; None for a tombstone.

    Raises:
        DecodeError: the value is not that message, or its version is later than Kafka 4.4.
    """
    if value is None:
        return None
    size = ENVELOPE_SIZES["coordinator-value"]
    if len(value) < size:
        raise DecodeError(name, 0, "version", 0, f"need {size} bytes, {only_left(len(value))}")
    return _class(name, unpack_envelope("coordinator-value", value).version).decode(value[size:])


def _metadata(record: Record) -> InternalRecord:
    value, size = record.value, ENVELOPE_SIZES["metadata"]
    if value is None or len(value) < size:
        left = only_left(0 if value is None else len(value))
        raise DecodeError("record", 0, "value.type", 0, f"need {size} bytes, {left}")
    type_id, version, frame = unpack_envelope("metadata", value)
    assert type_id is not None  # metadata has it
    if frame != METADATA_FRAME:
        reason = f"is {frame}; only {METADATA_FRAME} is known"
        raise DecodeError("record", 0, "value.frame_version", 0, reason)
    type_ = MetadataRecordType.find(type_id)
    if type_ is None:
        raise DecodeError("record", 0, "value.type", 1, f"{METADATA} has no type {type_id}")
    return InternalRecord(type_.message, type_id, None, _class(type_.message, version).decode(value[size:]))


@lru_cache(maxsize=256)
def _coordinator_type(topic: str, type_id: int) -> tuple[str, type[Message], str] | None:
    """Find a type of record: its name, the class of its keys, and the name of its values; None for an unknown type."""
    type_ = COORDINATORS[topic].find(type_id)
    if type_ is None:
        return None
    name = type_.message.removesuffix("Key")
    return name, _class(type_.message, 0), f"{name}Value"


@lru_cache(maxsize=1024)
def _class(name: str, version: int) -> type[Message]:
    versions = registry_of(KAFKA_PACKAGE).versions(name)
    if version not in versions:
        raise DecodeError(name, version, "version", 0, unknown_version(version, versions))
    return registry_of(KAFKA_PACKAGE).message(name, version)
