"""From the bytes of a topic to records with numbered headers."""

from __future__ import annotations

from kipwire.drafts.kip_82.headers import Headers
from kipwire.drafts.kip_82.model import ConsumerRecord
from kipwire.records.reading import read_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap
    from typing import Unpack

    from kipwire.records.model import Record
    from kipwire.records.reading import BatchOptions


def read_records(
    data: bytes | bytearray | memoryview | mmap,
    **options: Unpack[BatchOptions],
) -> Iterator[ConsumerRecord]:
    """Read the records of a buffer, one by one, in the formats of KIP-82's version 43.

    Magic 0, 1 and 2 may be mixed, and messages may be compressed; messages of magic 0 and 1 have no headers. Reading
    ends before a last message that is cut short, as in `kipwire.records.read_batches`, which gives the batches.

    Args:
        data: the buffer; only one batch of it is copied at a time.
        options: as for `kipwire.records.read_batches`, without `magic_2`.

    Raises:
        DecodeError: bytes are not a message; the path says which one, the offset counts from the start of the buffer.
        MissingExtraError: a codec needs cramjam, which is not installed.
    """
    for batch in read_batches(data, magic_2="kip-82", **options):
        for record in batch.records:
            yield _consumer_record(record)


def _consumer_record(record: Record) -> ConsumerRecord:
    return ConsumerRecord(
        offset=record.offset,
        timestamp=record.timestamp,
        key=record.key,
        value=record.value,
        headers=headers_of(record),
    )


def headers_of(record: Record) -> Headers:
    """Return the headers, by their numbers, of a record that `kipwire.records.read_batches` made of KIP-82's messages.

    Raises:
        ValueError: a key is not a number as the KIP prints it, so the record is of another format.
    """
    # Such records have texts for keys, and never a null value.
    return Headers((int(key, 16), value or b"") for key, value in record.headers)
