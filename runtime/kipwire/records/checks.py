"""Checks of batches: records before they are written; limits, checksums and locations of errors in what is read.

Reading and writing of all magics share these, so that the same mistake has the same words in each. Limits are there
because a codec can make very many bytes of few: of decompressed bytes, and of records with their headers, each of which
becomes objects. Producers and timestamps are checked as Kafka's builder of batches does it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from kipwire import native
from kipwire.codec.checksums import crc32, crc32c
from kipwire.message.messages import Message
from kipwire.model.errors import DecodeError, EncodeError, abbreviate
from kipwire.records.heads import NO_TIMESTAMP
from kipwire.records.model import NO_OFFSET, Record

M = TypeVar("M", bound=Message)

MAX_DECOMPRESSED_SIZE = 64 * 1024 * 1024
"""Bytes that a batch may decompress to by default: 64 times what Java's producer puts into one by default,
since its `max.request.size` of 1 MiB holds before compression."""
MAX_ITEMS = 2**20
"""Records and headers together that a batch may have by default: twice what 1 MiB can hold, of the
smallest headers."""


_NUMBER = re.compile(r"^batches\[\d+\]\.?")

Location = tuple[int, int, str | None]
"""A batch in its buffer or file: the number of batches before it, its first byte, and the name of the file."""


def error_at(location: Location, magic: int, path: str, offset: int, reason: str) -> DecodeError:
    """Make the error for a wrong batch; the path and the offset are relative to the batch."""
    number, start, file = location
    where = f"batches[{number}]" + (f".{path}" if path else "")
    in_file = f" (in {file})" if file else ""
    return DecodeError("RecordBatch", magic, where, start + offset, reason + in_file)


def without_number(error: DecodeError) -> DecodeError:
    """Leave out the number of the batch, which counts from the place where reading began, not from the file's start."""
    return DecodeError(error.message, error.version, _NUMBER.sub("", error.path), error.offset, error.reason)


class Limits(NamedTuple):
    """Limits for the records of one batch, since few bytes of compressed data can expand to very many."""

    decompressed_size: int
    """Bytes of the decompressed records; `max_decompressed_size` of the reading functions."""
    items: int
    """Records and headers, counted together; `max_items` of the reading functions."""

    @property
    def too_many(self) -> str:
        """Reason of the error for a batch with more items."""
        return f"the batch has more than {self.items:,} records and headers (max_items)"


DEFAULT_LIMITS = Limits(MAX_DECOMPRESSED_SIZE, MAX_ITEMS)


def wrong_checksum(given: int, right: int) -> str:
    """Format the reason of the error for a batch with a wrong checksum."""
    return f"is 0x{given:08x}, but the bytes after it have 0x{right:08x}"


def decode(cls: type[M], data: bytes, *, check_crcs: bool) -> M:
    """Decode a batch as its generated class, which must take all of the bytes; check its checksum only if asked to.

    Raises:
        DecodeError: the bytes are not one batch of that format; its path and its offset are within them.
    """
    try:
        return cls.decode(data)
    except DecodeError as error:
        if error.path != "crc":
            raise
        at = error.offset
        checksum = _checksum(cls)
        right = checksum(data[at + 4 :])
        if check_crcs:
            reason = wrong_checksum(int.from_bytes(data[at : at + 4], "big"), right)
            raise DecodeError(error.message, error.version, error.path, at, reason) from None
    return cls.decode(data[:at] + right.to_bytes(4, "big") + data[at + 4 :])


def _checksum(cls: type[Message]) -> Callable[[bytes], int]:
    """Choose the checksum function of a format."""
    algorithm = next(field.algorithm for field in cls.FIELDS if field.role == "checksum")
    return crc32c if algorithm == "crc32c" else crc32


_NO_PRODUCER = -1
TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")


def expect_one_of(value: object, known: Sequence[str], magic: int, argument: str) -> None:
    """Check that an argument is one of the known ones.

    Raises:
        EncodeError: the value is unknown.
    """
    if value not in known:
        reason = f"magic {magic} has no {abbreviate(value)}; it has {', '.join(known)}"
        raise EncodeError("RecordBatch", magic, argument, reason)


def expect_numbers(**numbers: object) -> None:
    """Check that arguments are ints, or None.

    Raises:
        EncodeError: one is something else; it has the name of the argument.
    """
    for name, number in numbers.items():
        if number is not None and not isinstance(number, int):
            raise EncodeError("RecordBatch", 2, name, f"must be an int, not {_type(number)}")


@native.from_kernel("ordered_records")
def ordered_records(records: Iterable[Record], magic: int, base_offset: int | None = None) -> list[Record]:
    """Return the records as a list, in the order of their offsets.

    A record that has no offset yet is copied, and the copy gets its position, counted from the base offset. So the same
    records can be written again.

    Args:
        records: all with an offset, or all without one.
        magic: of the format that they are written in.
        base_offset: of the batch; 0 by default.

    Raises:
        EncodeError: the offsets do not ascend, only some records have one, or one is not a record or has a number of
            another type.
    """
    records = list(records)
    for index, record in enumerate(records):
        if not isinstance(record, Record):
            raise EncodeError("RecordBatch", magic, f"records[{index}]", f"must be a Record, not {_type(record)}")
        if not isinstance(record.offset, int) or not isinstance(record.timestamp, int):
            name = "timestamp" if isinstance(record.offset, int) else "offset"
            reason = f"must be an int, not {_type(getattr(record, name))}"
            raise EncodeError("RecordBatch", magic, f"records[{index}].{name}", reason)
    if all(record.offset == NO_OFFSET for record in records):
        return [_at_offset(record, offset) for offset, record in enumerate(records, base_offset or 0)]
    for index, (one, following) in enumerate(pairwise(records), 1):
        if following.offset == NO_OFFSET or one.offset == NO_OFFSET:
            reason = f"{following.offset} follows {one.offset}; give each record an offset, or none of them"
            raise EncodeError("RecordBatch", magic, f"records[{index}].offset", reason)
        if following.offset <= one.offset:
            reason = f"{following.offset} is not above {one.offset}; offsets must ascend"
            raise EncodeError("RecordBatch", magic, f"records[{index}].offset", reason)
    return records


def _at_offset(record: Record, offset: int) -> Record:
    """Return a copy of the record that has an offset."""
    copied = Record(offset=offset, timestamp=record.timestamp, key=record.key, value=record.value)
    copied.headers = record.headers
    return copied


def no_such_timestamp(records: Iterable[Record], magic: int) -> EncodeError:
    """Make the error about the first record with a timestamp below -1, which Kafka's builder refuses."""
    index, timestamp = next(
        (i, record.timestamp) for i, record in enumerate(records) if record.timestamp < NO_TIMESTAMP
    )
    reason = f"{abbreviate(timestamp)} is before 1970; give 0 or more, or -1 for none"
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
        name, reason = "producer_epoch", f"producer id {abbreviate(producer_id)} needs one"
    elif producer_id != _NO_PRODUCER and not is_control and base_sequence < 0:
        name, reason = (
            "base_sequence",
            f"is {abbreviate(base_sequence)}, but producer id {abbreviate(producer_id)} needs one",
        )
    if reason:
        raise EncodeError("RecordBatch", 2, name, reason)


def _type(value: Any) -> str:
    return type(value).__name__
