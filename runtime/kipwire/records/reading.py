"""From bytes to batches: what all formats have in common.

One loop serves all formats and all sources. The loop looks at size and magic alone, takes exactly the bytes of a batch,
and hands them to the reader of the magic. The cursor moves only after a batch was dealt with: so after an error, too,
the cursor is at the first byte that is not accounted for, and `accounting` can go on from there. A batch that is cut
short ends the loop without an error, since only the caller knows if more may follow.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Literal, NamedTuple, TypedDict, cast

from kipwire import native
from kipwire.model.errors import DecodeError
from kipwire.records import message_sets, record_batches
from kipwire.records.bounds import HEAD_BYTES
from kipwire.records.checks import (
    DEFAULT_LIMITS,
    MAX_DECOMPRESSED_SIZE,
    MAX_ITEMS,
    TIMESTAMP_TYPES,
    Limits,
    Location,
    error_at,
)
from kipwire.records.compression import COMPRESSIONS, compress
from kipwire.records.heads import FORMATS, HEAD, MAGIC, MAGIC_2, SIZE, SIZE_END, BatchFormat
from kipwire.records.model import RawHeaderKey, Record, RecordBatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from mmap import mmap
    from typing import Any, Unpack

MagicTwo = Literal["kafka", "kip-82", "kip-98 draft"]

MAX_BATCH_SIZE = 100 * 1024 * 1024
"""Bytes that a batch of a file may have by default: the largest request that brokers accept by default
(`socket.request.max.bytes`)."""
_ANY_SIZE = 1 << 32
"""More bytes than a batch can have, for buffers, which are in memory already."""

_DRAFTS = {"kip-82": "kipwire.drafts.kip_82.batches", "kip-98 draft": "kipwire.drafts.kip_98.batches"}
_HEAD_SIZE, _unpack_head = HEAD.size, HEAD.unpack
_SMALLEST = min(one.smallest for one in FORMATS)


class BatchOptions(TypedDict, total=False):
    """Options of reading batches whose format is known; `read_batches` explains them."""

    check_crcs: bool
    max_decompressed_size: int
    max_items: int


class ReadOptions(BatchOptions, total=False):
    """Options of reading batches; `read_batches` explains them."""

    magic_2: MagicTwo


class SegmentOptions(ReadOptions, total=False):
    """Options of reading files; `read_batches` explains them, and `read_segment` explains `max_batch_size`."""

    max_batch_size: int


class Rules(NamedTuple):
    """Rules for reading the batches of a buffer or a file, made of options."""

    magic_2: MagicTwo
    formats: tuple[BatchFormat, ...]
    """Formats by magic."""
    readers: tuple[Callable[..., RecordBatch], ...]
    """Functions that make a batch from its bytes, by magic."""
    check_crcs: bool
    limits: Limits
    max_batch_size: int


@native.from_kernel("read_batches")
def read_batches(data: bytes | bytearray | memoryview | mmap, **options: Unpack[ReadOptions]) -> Iterator[RecordBatch]:
    """Read the batches of a buffer, one by one, such as the `records` of a Fetch response or a log segment.

    Batches of magic 0, 1 and 2 may be mixed; each entry of a message set is a batch. Reading ends before a last batch
    that is cut short: brokers send such batches, and a segment that is being written may end with one. Records are
    decompressed and decoded at the first access to `records` of a batch.

    Args:
        data: the buffer; only one batch of it is copied at a time.
        options: these, as keywords.

            - `magic_2`: the format of batches with magic 2: "kafka", the default, for the released one, "kip-82" for
              the messages with headers of KIP-82's version 43, "kip-98 draft" for the message sets of that draft. The
              bytes themselves do not distinguish them.
            - `check_crcs`: True, the default, if a wrong checksum is an error.
            - `max_decompressed_size`: bytes that the records of one batch may decompress to; 64 MiB by default.
            - `max_items`: records and headers, counted together, that one batch may have; 2^20 by default.

    Raises:
        DecodeError: bytes are not a batch; the path says which one, the offset counts from the start of the buffer.
        ValueError: `magic_2` is another text.
    """
    rules = rules_of(max_batch_size=_ANY_SIZE, **options)
    if type(data) is bytes:
        whole, end = data, len(data)

        def take(start: int, size: int) -> bytes:
            return whole[start : start + size]

    else:
        view = memoryview(data).cast("B")
        end = len(view)

        def take(start: int, size: int) -> bytes:
            return bytes(view[start : start + size])

    return batches_in(take, Cursor(0), end, rules)


def batches_from(data: bytes, start: int, number: int, limits: Limits, *, check_crcs: bool) -> Iterator[RecordBatch]:
    """Read the batches of bytes from `start` on, with `number` batches before that position."""
    rules = rules_of("kafka", check_crcs, *limits, _ANY_SIZE)
    return batches_in(lambda at, size: data[at : at + size], Cursor(start, number), len(data), rules)


class Cursor:
    """The place in a buffer or a file that `batches_in` has reached: where a batch starts, or should."""

    __slots__ = ("number", "position")

    def __init__(self, position: int, number: int = 0) -> None:
        self.position = position
        self.number = number
        """Batches before it, for errors."""


def batches_in(
    take: Callable[[int, int], bytes],
    cursor: Cursor,
    end: int,
    rules: Rules,
    *,
    file: str | None = None,
    may_have: Callable[[bytes], bool] | None = None,
) -> Iterator[RecordBatch]:
    """Yield the batches from the cursor on that end at `end` or before; `take` gives bytes by position and size.

    Only the head is read of a batch that is passed over. The cursor moves past each batch after the batch was dealt
    with. So after the last batch, and after an error, the cursor is at the first byte that is not accounted for.

    Raises:
        DecodeError: bytes are not a batch.
    """
    magic_2, formats, readers, check_crcs, limits, max_batch_size = rules
    start = cursor.position
    while end - start >= SIZE_END:
        location = cursor.number, start, file
        head = take(start, _HEAD_SIZE)
        is_whole = len(head) == _HEAD_SIZE
        _, size, _, magic = _unpack_head(head if is_whole else head.ljust(_HEAD_SIZE, b"\0"))
        if size < _SMALLEST:
            reason = f"a batch cannot have {size} bytes; the smallest has {_SMALLEST}"
            raise error_at(location, 2, formats[2].size_name, SIZE, reason)
        if not is_whole:
            return
        if not 0 <= magic <= 2:
            raise error_at(location, magic, "magic", MAGIC, f"unknown message format {magic}; known are 0, 1 and 2")
        format_ = formats[magic]
        if size < format_.smallest:
            reason = f"a batch of magic {magic} cannot have {size} bytes; the smallest has {format_.smallest}"
            error = error_at(location, magic, format_.size_name, SIZE, reason)
            raise _of_another_format(error, take(start, size + SIZE_END), location, magic_2)
        size += SIZE_END
        if may_have is not None and size <= end - start and not may_have(take(start, min(size, HEAD_BYTES))):
            cursor.position = start = start + size
            cursor.number += 1
            continue
        if max_batch_size < size <= end - start:
            reason = f"a batch of {size:,} bytes; the limit is {max_batch_size:,} (max_batch_size)"
            raise error_at(location, magic, format_.size_name, SIZE, reason)
        data = take(start, size) if size <= end - start else b""
        if len(data) < size:  # cut short, or a file that has become shorter
            return
        try:
            batch = readers[magic](data, location, check_crcs=check_crcs, limits=limits)
        except DecodeError as error:
            raise _of_another_format(error, data, location, magic_2) from error.__cause__
        yield batch
        cursor.position = start = start + size
        cursor.number += 1


@lru_cache
def rules_of(
    magic_2: MagicTwo = "kafka",
    check_crcs: bool = True,
    max_decompressed_size: int = MAX_DECOMPRESSED_SIZE,
    max_items: int = MAX_ITEMS,
    max_batch_size: int = MAX_BATCH_SIZE,
) -> Rules:
    """Make rules of the options for reading, whose defaults are here.

    They are cached, since nearly all readers have the same, and most buffers have few batches.

    Raises:
        ValueError: `magic_2` is another text.
    """
    formats = formats_of(magic_2)
    read = record_batches.read if magic_2 == "kafka" else draft(magic_2).read
    readers = (message_sets.read, message_sets.read, read)
    return Rules(magic_2, formats, readers, check_crcs, Limits(max_decompressed_size, max_items), max_batch_size)


def formats_of(magic_2: MagicTwo) -> tuple[BatchFormat, ...]:
    """Return the formats by magic. Magic 2 has several formats, of which one has to be named.

    Raises:
        ValueError: `magic_2` is another text.
    """
    if magic_2 not in MAGIC_2:
        raise ValueError(f"{magic_2!r} is not a format with magic 2; give one of {', '.join(MAGIC_2)}")
    return (*FORMATS[:2], MAGIC_2[magic_2])


_CALLED = {
    "kafka": "a record batch of Kafka",
    "kip-82": "a message of KIP-82",
    "kip-98 draft": "a set of the KIP-98 draft",
}


def _of_another_format(error: DecodeError, data: bytes, location: Location, magic_2: MagicTwo) -> DecodeError:
    """Return the error for bytes that are no batch; if they are one of another format with magic 2, name that format.

    Such bytes are not damaged: their checksum is right, at its place in the other format.
    """
    if len(data) < HEAD.size or data[MAGIC] != 2:
        return error
    for other in _CALLED:
        if other != magic_2 and _is_whole(data, cast("MagicTwo", other)):
            reason = f"these bytes are {_CALLED[other]}, and their checksum is right; give magic_2={other!r}"
            return error_at(location, 2, "magic", MAGIC, reason)
    return error


def _is_whole(data: bytes, magic_2: MagicTwo) -> bool:
    """Decide whether all of the bytes are a batch of a format, first by the checksum, seldom right by chance."""
    format_ = MAGIC_2[magic_2]
    end = format_.crc + 4
    if len(data) < SIZE_END + format_.smallest:
        return False
    if format_.checksum(data[end:], 0) != int.from_bytes(data[format_.crc : end], "big"):
        return False
    return magic_2 == "kafka" or bool(draft(magic_2).is_whole(data))


def draft(magic_2: MagicTwo) -> Any:
    """Import the module that makes batches of a format which was only proposed with magic 2, by its function `read`.

    Drafts use this room, so they stand a storey above it, and `_DRAFTS` has the names of their modules. A draft is
    imported when a program asks for it, which few programs do.
    """
    return import_module(_DRAFTS[magic_2])


native.give(
    RecordBatch=RecordBatch,
    Record=Record,
    RawHeaderKey=RawHeaderKey,
    codecs=COMPRESSIONS,
    timestamp_types=TIMESTAMP_TYPES,
    limits=DEFAULT_LIMITS,
    compress=compress,
    section_of=record_batches.section_of,
    batches_from=batches_from,
)
