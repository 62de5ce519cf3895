"""What is seen to before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from kipwire import native
from kipwire.errors import EncodeError, shown
from kipwire.records.model import Record

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


def _type(value: Any) -> str:
    return type(value).__name__
