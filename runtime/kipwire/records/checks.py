"""What is checked before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from kipwire import native
from kipwire.errors import EncodeError, shown
from kipwire.records.model import Record

NO_TIMESTAMP = -1
_NO_PRODUCER = -1
TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")


def expect_one_of(value: object, known: Sequence[str], magic: int, argument: str) -> None:
    """Check that an argument is one of the known ones.

    Raises:
        EncodeError: it is not.
    """
    if value not in known:
        reason = f"magic {magic} has no {shown(value)}; it has {', '.join(known)}"
        raise EncodeError("RecordBatch", magic, argument, reason)


def ordered_records(records: Iterable[Record], magic: int) -> list[Record]:
    """The records as a list, if they are in the order of their offsets.

    Raises:
        EncodeError: they are not, or one is not a record or has a number of another type.
    """
    records = list(records)
    if native.kernel is not None and native.kernel.are_in_order(records):
        return records
    for index, record in enumerate(records):
        if not isinstance(record, Record):
            raise EncodeError("RecordBatch", magic, f"records[{index}]", f"must be a Record, not {_type(record)}")
        if not isinstance(record.offset, int) or not isinstance(record.timestamp, int):
            name = "timestamp" if isinstance(record.offset, int) else "offset"
            reason = f"must be an int, not {_type(getattr(record, name))}"
            raise EncodeError("RecordBatch", magic, f"records[{index}].{name}", reason)
    for index, (one, following) in enumerate(pairwise(records), 1):
        if following.offset <= one.offset:
            reason = f"{following.offset} is not above {one.offset}; offsets must ascend"
            raise EncodeError("RecordBatch", magic, f"records[{index}].offset", reason)
    return records


def no_such_timestamp(records: Iterable[Record], magic: int) -> EncodeError:
    """The error about the first record with a timestamp below -1, which Kafka's builder refuses."""
    index, timestamp = next(
        (i, record.timestamp) for i, record in enumerate(records) if record.timestamp < NO_TIMESTAMP
    )
    reason = f"{shown(timestamp)} is before 1970; give 0 or more, or -1 for none"
    return EncodeError("RecordBatch", magic, f"records[{index}].timestamp", reason)


def expect_producer(
    producer_id: int, producer_epoch: int, base_sequence: int, *, is_transactional: bool, is_control: bool
) -> None:
    """Check that the state of a producer is whole, by the rules of Kafka's builder.

    Raises:
        EncodeError: a transactional batch has no producer id, or a producer id comes without an epoch, or without a
            sequence number that only control batches do not have.
    """
    name = reason = ""
    if is_transactional and producer_id == _NO_PRODUCER:
        name, reason = "producer_id", "a transactional batch needs one"
    elif producer_id != _NO_PRODUCER and producer_epoch == _NO_PRODUCER:
        name, reason = "producer_epoch", f"producer id {shown(producer_id)} needs one"
    elif producer_id != _NO_PRODUCER and not is_control and base_sequence < 0:
        name, reason = "base_sequence", f"is {shown(base_sequence)}, but producer id {shown(producer_id)} needs one"
    if reason:
        raise EncodeError("RecordBatch", 2, name, reason)


def _type(value: Any) -> str:
    return type(value).__name__
