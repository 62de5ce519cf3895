"""From bytes to batches: what all formats have in common."""

from __future__ import annotations

from kipwire.records import message_sets, record_batches
from kipwire.records.heads import FORMATS, HEAD, MAGIC, SIZE, SIZE_END
from kipwire.records.limits import Limits
from kipwire.records.locations import Location

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from mmap import mmap

    from kipwire.records.model import RecordBatch

MAX_DECOMPRESSED_SIZE = 64 * 1024 * 1024
"""Bytes that a batch may decompress to by default: 64 times what Java's producer puts into one by default,
since its `max.request.size` of 1 MiB holds before compression."""

MAX_BATCH_SIZE = 100 * 1024 * 1024
"""Bytes that a batch of a file may have by default: the largest request that brokers accept by default
(`socket.request.max.bytes`)."""
MAX_ITEMS = 2**20
"""Records and headers together that a batch may have by default: twice what 1 MiB can hold, of the
smallest headers."""

_SMALLEST = min(one.smallest for one in FORMATS)


def read_batches(
    data: bytes | bytearray | memoryview | mmap,
    *,
    check_crcs: bool = True,
    max_decompressed_size: int = MAX_DECOMPRESSED_SIZE,
    max_items: int = MAX_ITEMS,
) -> Iterator[RecordBatch]:
    """The batches of a buffer, one by one, as in the `records` of a Fetch response or in a log segment.

    Batches of magic 0, 1 and 2 may be mixed; each entry of a message set is a batch. Reading ends before a last batch
    that is cut short, as brokers send it and as a segment ends that is being written. Records are decompressed and
    decoded only when a batch is asked for them.

    Args:
        data: the buffer; only one batch of it is copied at a time.
        check_crcs: whether a wrong checksum is an error.
        max_decompressed_size: bytes that the records of one batch may decompress to.
        max_items: records and headers, counted together, that one batch may have.

    Raises:
        DecodeError: bytes are not a batch; the path says which one, the offset counts from the start of the buffer.
        MissingExtraError: there are batches of magic 2, and google-crc32c is not installed.
    """
    if type(data) is bytes:
        whole, end = data, len(data)

        def take(start: int, size: int) -> bytes:
            return whole[start : start + size]

    else:
        view = memoryview(data).cast("B")
        end = len(view)

        def take(start: int, size: int) -> bytes:
            return bytes(view[start : start + size])

    limits = Limits(max_decompressed_size, max_items)
    return batches_in(take, 0, end, check_crcs=check_crcs, limits=limits)


def batches_in(
    take: Callable[[int, int], bytes],
    start: int,
    end: int,
    *,
    check_crcs: bool,
    limits: Limits,
    max_batch_size: int | None = None,
    file: str | None = None,
) -> Iterator[RecordBatch]:
    """The batches from `start` to `end`; `take` gives bytes by position and size."""
    number = 0
    while end - start >= SIZE_END:
        location = Location(number, start, file)
        head = take(start, HEAD.size)
        is_whole = len(head) == HEAD.size
        _, size, _, magic = HEAD.unpack(head if is_whole else head.ljust(HEAD.size, b"\0"))
        if size < _SMALLEST:
            raise location.error(
                2, "batch_length", SIZE, f"a batch cannot have {size} bytes; the smallest has {_SMALLEST}"
            )
        if not is_whole:
            return
        if not 0 <= magic <= 2:
            raise location.error(magic, "magic", MAGIC, f"unknown message format {magic}; known are 0, 1 and 2")
        form = FORMATS[magic]
        if size < form.smallest:
            reason = f"a batch of magic {magic} cannot have {size} bytes; the smallest has {form.smallest}"
            raise location.error(magic, form.size_name, SIZE, reason)
        size += SIZE_END
        if max_batch_size is not None and max_batch_size < size <= end - start:
            reason = f"a batch of {size:,} bytes; the limit is {max_batch_size:,} (max_batch_size)"
            raise location.error(magic, form.size_name, SIZE, reason)
        data = take(start, size) if size <= end - start else b""
        if len(data) < size:  # cut short, or a file that has become shorter
            return
        read = record_batches.read if magic == 2 else message_sets.read
        yield read(data, location, check_crcs=check_crcs, limits=limits)
        start += size
        number += 1
