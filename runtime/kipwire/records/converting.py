"""Conversion between message formats, as brokers convert for older consumers and from older producers.

A converted batch has to be what a client would get from one of Kafka's brokers, so their rules say which batches stay
as they are, which become one, and what is left out. Without compression the bytes are Java's; compressed ones depend on
the library. A format may lack headers, timestamps, producers or control records: what is lost is counted, batch by
batch, and never an error; what cannot be held at all, such as zstd in a message set, is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kipwire.model.errors import EncodeError
from kipwire.records.heads import KNOWN_ATTRIBUTES
from kipwire.records.message_sets import write_message_set
from kipwire.records.model import Record, RecordBatch
from kipwire.records.reading import draft, read_batches
from kipwire.records.record_batches import write_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mmap import mmap
    from typing import Unpack

    from kipwire.records.reading import MagicTwo, ReadOptions


Lost = Literal[
    "control records",
    "empty batch",
    "headers",
    "headers of a compressed entry",
    "timestamps",
    "timestamp type",
    "max timestamp",
    "offset range",
    "transaction",
    "producer state",
    "leader epoch",
    "delete horizon",
    "unknown attributes",
]


@dataclass(frozen=True, slots=True)
class Loss:
    """One kind of thing that a batch has lost."""

    what: Lost
    batch: int
    """The number of batches before it in what was converted."""
    first_offset: int
    """The offset that the batch starts at."""
    last_offset: int
    """The offset that the batch ends at."""
    count: int
    """Number of lost control records, headers, timestamps, records of a transaction or offsets; 1 for what a batch has
    once.
    """


def losses(
    batch: RecordBatch, records: Sequence[Record], number: int, magic: int, headers_of_entry: int = 0
) -> list[Loss]:
    """List what the batch loses in a format.

    Args:
        batch: of any format.
        records: the records of it that are converted.
        number: the number of batches before it.
        magic: the format that it is converted to, by its number; 2 is Kafka's.
        headers_of_entry: the number of headers that a compressed entry of KIP-82 has itself, which no other format
            holds.
    """
    return [
        Loss(what, number, batch.base_offset, batch.last_offset, count)
        for what, count in _counts(batch, records, magic, headers_of_entry)
        if count
    ]


def _counts(
    batch: RecordBatch, records: Sequence[Record], magic: int, headers_of_entry: int
) -> Iterator[tuple[Lost, int]]:
    """Yield the amount of each kind of loss, also 0."""
    if magic < 2:
        if batch.is_control:
            yield "control records", len(records)
            return
        if not batch.records:
            yield "empty batch", 1
            return
        yield "headers", sum(len(record.headers) for record in records)
        yield "offset range", batch.records[0].offset - batch.base_offset + batch.last_offset - batch.records[-1].offset
        yield "transaction", len(records) if batch.is_transactional else 0
        yield "producer state", int(batch.producer_id != -1)
        yield "leader epoch", int(batch.partition_leader_epoch != -1)
        yield "delete horizon", int(batch.delete_horizon is not None)
    if magic == 0:
        yield "timestamps", sum(record.timestamp != -1 for record in records)
        yield "timestamp type", int(batch.timestamp_type == "LogAppendTime")
    elif batch.records and batch.timestamp_type == "CreateTime":
        yield "max timestamp", int(batch.max_timestamp != max(record.timestamp for record in batch.records))
    yield "headers of a compressed entry", headers_of_entry
    yield "unknown attributes", int(bool(batch.attributes & ~KNOWN_ATTRIBUTES[batch.magic]))


_MOST_TOGETHER = 1 << 20
"""Bytes of plain messages that become one batch: Kafka's limit of a batch unless topics have another."""
_MOST_OFFSETS = 1 << 31
"""Offsets that a batch of magic 2 can span."""


class Converted(NamedTuple):
    """Records in another format, and what that format could not hold."""

    data: bytes
    lost: list[Loss]
    """Losses in the order of the batches; empty if nothing is lost."""


def down_convert(
    data: bytes | bytearray | memoryview | mmap,
    magic: Literal[0, 1],
    *,
    first_offset: int = 0,
    **options: Unpack[ReadOptions],
) -> Converted:
    """Convert the batches of a buffer to message sets, for older consumers; as Kafka's brokers convert.

    Batches of that magic or a lower one stay as they are. The others become message sets with the same compression:
    one entry for each compressed batch, and one for each record of the others. Control batches and batches without
    records are left out. Without compression the bytes are Java's.

    Args:
        data: the buffer; only one batch of it is decoded at a time.
        magic: the format of the message sets.
        first_offset: the offset that the consumer asked for; records before it are left out of converted batches
            without compression, and are not reported.
        options: as for `read_batches`.

    Raises:
        DecodeError: bytes are not a batch, or its records are broken.
        EncodeError: a batch that magic 0 and 1 cannot hold, such as one with zstd; the path says which one.
        MissingExtraError: cramjam is not installed, which a codec needs.
        ValueError: another magic is asked for, or `magic_2` is another text.
    """
    if magic not in (0, 1):
        raise ValueError(f"cannot convert down to magic {magic!r}; give 0 or 1")
    batches, magic_2 = read_batches(data, **options), options.get("magic_2", "kafka")
    parts: list[bytes | memoryview] = []
    lost: list[Loss] = []
    view = memoryview(data).cast("B")
    for number, batch in enumerate(batches):
        if batch.magic <= magic:
            parts.append(view[batch.position : batch.position + batch.size])
            continue
        if batch.compression == "zstd" and not batch.is_control:
            reason = f"magic {magic} has no zstd; consumers of this batch need magic 2"
            raise EncodeError("RecordBatch", magic, f"batches[{number}].compression", reason)
        records = batch.records
        if batch.compression == "none":
            records = [record for record in records if record.offset >= first_offset]
            if batch.records and not records:
                continue
        lost += losses(batch, records, number, magic, _headers_of_entry(batch, view, magic_2))
        if records and not batch.is_control:
            with in_batch(number, magic):
                parts.append(_message_set_of(batch, records, magic))
    return Converted(b"".join(parts), lost)


def up_convert(
    data: bytes | bytearray | memoryview | mmap,
    magic: Literal[1, 2],
    **options: Unpack[ReadOptions],
) -> Converted:
    """Convert the batches of a buffer to a later format, as Kafka's brokers convert what old producers send.

    Batches of that magic or a higher one stay as they are, except batches of proposals, which become Kafka's batches.
    Every compressed entry of magic 0 or 1 becomes a batch with the same compression. Plain ones that follow each other
    become one batch, up to 1 MiB of them. Without compression the bytes are Java's.

    Args:
        data: the buffer; only one batch of it is decoded at a time, and 1 MiB of plain messages.
        magic: the format to convert to; 2 is Kafka's.
        options: as for `read_batches`.

    Raises:
        DecodeError: bytes are not a batch, or its records are broken.
        EncodeError: a batch that the later format cannot hold, such as one whose offsets do not ascend; the path says
            which.
        MissingExtraError: cramjam is not installed, which a codec needs.
        ValueError: another magic is asked for, or `magic_2` is another text.
    """
    if magic not in (1, 2):
        raise ValueError(f"cannot convert up to magic {magic!r}; give 1 or 2")
    batches, magic_2 = read_batches(data, **options), options.get("magic_2", "kafka")
    parts: list[bytes | memoryview] = []
    lost: list[Loss] = []
    view = memoryview(data).cast("B")
    for number, run in runs(batches, messages_until=2 if magic_2 == "kip-82" else 1):
        first, last = run[0], run[-1]
        if first.magic >= magic and not (first.magic == 2 == magic and magic_2 != "kafka"):
            parts.append(view[first.position : last.position + last.size])
            continue
        for at, batch in enumerate(run, number):
            lost += losses(batch, batch.records, at, magic, _headers_of_entry(batch, view, magic_2))
        with in_batch(number, magic):
            parts.append(_later(run, magic))
    return Converted(b"".join(parts), lost)


def _headers_of_entry(batch: RecordBatch, view: memoryview, magic_2: MagicTwo) -> int:
    """Count the headers that a compressed entry has itself; 0 in all formats but KIP-82's."""
    return draft(magic_2).headers_of_entry(batch, view) if magic_2 == "kip-82" else 0


def _message_set_of(batch: RecordBatch, records: Iterable[Record], magic: Literal[0, 1]) -> bytes:
    """Write the records of a batch as a message set."""
    kept = [
        Record(offset=one.offset, timestamp=one.timestamp if magic else -1, key=one.key, value=one.value)
        for one in records
    ]
    append_time = batch.max_timestamp if magic and batch.timestamp_type == "LogAppendTime" else None
    return write_message_set(
        kept,
        magic=magic,
        compression=batch.compression,
        timestamp_type=batch.timestamp_type,
        max_timestamp=append_time,
    )


def _later(run: list[RecordBatch], magic: Literal[1, 2]) -> bytes:
    """Write batches that become one, in a later format."""
    first = run[0]
    records = [record for batch in run for record in batch.records]
    if magic == 1:
        return write_message_set(records, magic=1, compression=first.compression)
    is_append_time = first.timestamp_type == "LogAppendTime"
    last_offset = last_offset_of(run, records)
    return write_batch(
        records,
        compression=first.compression,
        base_offset=first.base_offset,
        last_offset_delta=last_offset - first.base_offset,
        max_timestamp=first.max_timestamp if is_append_time or not records else None,
        timestamp_type="LogAppendTime" if is_append_time else "CreateTime",
        producer_id=first.producer_id,
        producer_epoch=first.producer_epoch,
        base_sequence=first.base_sequence,
        is_transactional=first.is_transactional,
        is_control=first.is_control,
    )


def last_offset_of(run: list[RecordBatch], records: list[Record]) -> int:
    """Return the last offset of batches that become one: of the last batch, or of its last record if that is higher."""
    return max([run[-1].last_offset, *(record.offset for record in records[-1:])])


def runs(
    batches: Iterable[RecordBatch], *, messages_until: int, most_offsets: int = _MOST_OFFSETS
) -> Iterator[tuple[int, list[RecordBatch]]]:
    """Group the batches that become one, with the number of batches before: plain messages in a row, others each alone.

    Args:
        batches: in their order.
        messages_until: the highest magic whose batches are messages if they are not compressed.
        most_offsets: the number of offsets that the later format's batch can span.
    """
    run: list[RecordBatch] = []
    number = 0
    for at, batch in enumerate(batches):
        if run and not (batch.magic <= messages_until and may_follow(run, batch, most_offsets)):
            yield number, run
            number, run = at, []
        run.append(batch)
    if run:
        yield number, run


def may_follow(run: list[RecordBatch], batch: RecordBatch, most_offsets: int) -> bool:
    """True if a plain message can be in one batch with the messages before it."""
    first, last = run[0], run[-1]
    return (
        first.compression == batch.compression == "none"
        and (first.magic, first.timestamp_type) == (batch.magic, batch.timestamp_type)
        and (batch.timestamp_type != "LogAppendTime" or first.max_timestamp == batch.max_timestamp)
        and last.last_offset < batch.base_offset < first.base_offset + most_offsets
        and batch.position + batch.size - first.position <= _MOST_TOGETHER
    )


@contextmanager
def in_batch(number: int, magic: int) -> Iterator[None]:
    """Name the batch in errors about what is written.

    Raises:
        EncodeError: one was raised.
    """
    try:
        yield
    except EncodeError as error:
        path = f"batches[{number}].{error.path}"
        raise EncodeError("RecordBatch", magic, path, error.reason) from None
