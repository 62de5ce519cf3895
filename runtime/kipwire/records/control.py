"""Control records, which brokers and controllers write into a log for each other, and transactions, which they end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct as Packer
from typing import Literal, NamedTuple, Protocol

import kafka_messages
from kafka_messages.control_record_type_schema.v0 import ControlRecordTypeSchema
from kipwire.message.messages import Message
from kipwire.model.errors import DecodeError
from kipwire.records.model import Record, RecordBatch
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
"""Type and message of the value, by the number in the key."""

_version = Packer(">h")


class ControlRecord(NamedTuple):
    """A decoded control record."""

    type: ControlType
    """Kafka's name of the type; "UNKNOWN" for a type that is later than Kafka 4.4."""
    type_id: int
    """The number in the record's key."""
    value: Message | None
    """A message of `kafka_messages`, such as EndTxnMarker; None for an unknown type."""


def control_record(record: Record) -> ControlRecord:
    """Decode a record of a batch with `is_control`.

    Raises:
        DecodeError: key or value do not belong to a control record.
        UnsupportedVersionError: the version of the value is later than Kafka 4.4.
    """
    type_id = control_type_id(record)
    if not 0 <= type_id < len(_TYPES):
        return ControlRecord("UNKNOWN", type_id, None)
    type_, name = _TYPES[type_id]
    value = _if_versioned(record.value, name)
    (version,) = _version.unpack_from(value)
    cls = kafka_messages.message(name, version)
    # The version precedes an EndTxnMarker; in the other messages the version is the first field.
    return ControlRecord(type_, type_id, cls.decode(value[_version.size :] if name == "EndTxnMarker" else value))


def control_type(record: Record) -> ControlType:
    """Find the type of a control record, by its key alone.

    Raises:
        DecodeError: the key does not belong to a control record.
    """
    type_id = control_type_id(record)
    return _TYPES[type_id][0] if 0 <= type_id < len(_TYPES) else "UNKNOWN"


def end_marker_key(type_: Literal["ABORT", "COMMIT"]) -> bytes:
    """Encode the key of a control record that ends a transaction."""
    type_id = next(number for number, (name, _) in enumerate(_TYPES) if name == type_)
    return _version.pack(ControlRecordTypeSchema.VERSION) + ControlRecordTypeSchema(type=type_id).encode()


def control_type_id(record: Record) -> int:
    """Find the number of the type of a control record, by its key alone.

    Raises:
        DecodeError: the key does not belong to a control record.
    """
    key = _if_versioned(record.key, "ControlRecordTypeSchema")
    return ControlRecordTypeSchema.decode(key[_version.size :]).type


def _if_versioned(data: bytes | None, message: str) -> bytes:
    """Check that bytes are long enough to start with a version, and return them."""
    if data is None:
        raise DecodeError(message, 0, "", 0, "may not be null")
    if len(data) < _version.size:
        raise DecodeError(message, 0, "version", 0, f"need {_version.size} bytes, {only_left(len(data))}")
    return data


class AbortedTransaction(Protocol):
    """An aborted transaction, as in the list of a Fetch response."""

    @property
    def producer_id(self) -> int: ...

    @property
    def first_offset(self) -> int:
        """The offset that the transaction starts at."""
        ...


def read_committed(
    batches: Iterable[RecordBatch], aborted_transactions: Iterable[AbortedTransaction]
) -> Iterator[RecordBatch]:
    """Leave out control batches and the batches of aborted transactions.

    The rules are the rules of Kafka's consumer with `isolation.level=read_committed`. The broker ends a fetch with that
    level before the first transaction that is still open.

    Args:
        batches: of one partition, in the order of their offsets.
        aborted_transactions: of the same part of the partition, as a Fetch response lists them with the records.

    Raises:
        DecodeError: a control batch is broken.
    """
    to_come = sorted(aborted_transactions, key=lambda transaction: transaction.first_offset, reverse=True)
    aborting: set[int] = set()
    for batch in batches:
        while to_come and to_come[-1].first_offset <= batch.last_offset:
            aborting.add(to_come.pop().producer_id)
        if batch.is_control:
            if batch.producer_id in aborting and _is_abort(batch):
                aborting.remove(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in aborting):
            yield batch


def _is_abort(batch: RecordBatch) -> bool:
    return bool(batch.records) and control_type(batch.records[0]) == "ABORT"
