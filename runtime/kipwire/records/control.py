"""Control records: what brokers and controllers write into a log for each other."""

from __future__ import annotations

from struct import Struct as Packer
from typing import Literal, NamedTuple

from kipwire.errors import DecodeError
from kipwire.messages import Message
from kipwire.records.model import Record
from kipwire.tools.text import only_left

ControlType = Literal[
    "ABORT",
    "COMMIT",
    "LEADER_CHANGE",
    "SNAPSHOT_HEADER",
    "SNAPSHOT_FOOTER",
    "KRAFT_VERSION",
    "KRAFT_VOTERS",
    "UNKNOWN",
]

_TYPES: tuple[tuple[ControlType, str], ...] = (
    ("ABORT", "EndTxnMarker"),
    ("COMMIT", "EndTxnMarker"),
    ("LEADER_CHANGE", "LeaderChangeMessage"),
    ("SNAPSHOT_HEADER", "SnapshotHeaderRecord"),
    ("SNAPSHOT_FOOTER", "SnapshotFooterRecord"),
    ("KRAFT_VERSION", "KRaftVersionRecord"),
    ("KRAFT_VOTERS", "VotersRecord"),
)
"""By the number in the key: the type, and the message that the value is."""

_version = Packer(">h")


class ControlRecord(NamedTuple):
    """What a control record says."""

    type: ControlType
    """In Kafka's words; "UNKNOWN" for a type that Kafka 4.4 does not know."""
    type_id: int
    """The number in the record's key."""
    value: Message | None
    """A message of `kafka_messages`, such as EndTxnMarker; None for an unknown type."""


def control_record(record: Record) -> ControlRecord:
    """What a record of a batch with `is_control` says.

    Raises:
        DecodeError: key or value are not those of a control record.
        UnsupportedVersionError: the value is of a later version than Kafka 4.4 knows.
    """
    type_id = _type_id(record)
    if not 0 <= type_id < len(_TYPES):
        return ControlRecord("UNKNOWN", type_id, None)
    type_, name = _TYPES[type_id]
    value = _versioned(record.value, name)
    (version,) = _version.unpack_from(value)
    import kafka_messages  # here and below, since most logs are read without a look at control records

    cls = kafka_messages.message(name, version)
    # The version precedes an EndTxnMarker; the others have it as their first field.
    return ControlRecord(type_, type_id, cls.decode(value[_version.size :] if name == "EndTxnMarker" else value))


def control_type(record: Record) -> ControlType:
    """The type of a control record, by its key alone.

    Raises:
        DecodeError: the key is not that of a control record.
    """
    type_id = _type_id(record)
    return _TYPES[type_id][0] if 0 <= type_id < len(_TYPES) else "UNKNOWN"


def end_marker_key(type_: Literal["ABORT", "COMMIT"]) -> bytes:
    """The key of a control record that ends a transaction."""
    from kafka_messages.control_record_type_schema.v0 import ControlRecordTypeSchema

    type_id = next(number for number, (name, _) in enumerate(_TYPES) if name == type_)
    return _version.pack(ControlRecordTypeSchema.VERSION) + ControlRecordTypeSchema(type=type_id).encode()


def _type_id(record: Record) -> int:
    from kafka_messages.control_record_type_schema.v0 import ControlRecordTypeSchema

    key = _versioned(record.key, "ControlRecordTypeSchema")
    return ControlRecordTypeSchema.decode(key[_version.size :]).type


def _versioned(data: bytes | None, message: str) -> bytes:
    """The bytes, if they are long enough to start with a version."""
    if data is None:
        raise DecodeError(message, 0, "", 0, "may not be null")
    if len(data) < _version.size:
        raise DecodeError(message, 0, "version", 0, f"need {_version.size} bytes, {only_left(len(data))}")
    return data
