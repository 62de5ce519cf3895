"""From the bytes of a topic to records with numbered headers."""

from __future__ import annotations

from kipwire.drafts.kip_82.headers import Headers
from kipwire.drafts.kip_82.model import ConsumerRecord
from kipwire.records.checks import MAX_DECOMPRESSED_SIZE, MAX_ITEMS
from kipwire.records.reading import read_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

    from kipwire.records.model import Record


def read_records(
    data: bytes | bytearray | memoryview | mmap,
    *,
    check_crcs: bool = True,
    max_decompressed_size: int = MAX_DECOMPRESSED_SIZE,
    max_items: int = MAX_ITEMS,
) -> Iterator[ConsumerRecord]:
    """Read the records of a buffer, one by one, in the formats of KIP-82's version 43.

    Magic 0, 1 and 2 may be mixed, and messages may be compressed; messages of magic 0 and 1 have no headers. Reading
    ends before a last message that is cut short, as in `kipwire.records.read_batches`, which gives the batches.

    Args:
        data: the buffer; only one batch of it is copied at a time.
        check_crcs: True if a wrong checksum is an error.
        max_decompressed_size: bytes that one compressed message may decompress to.
        max_items: records and headers, counted together, that one batch may have.

    Raises:
        DecodeError: bytes are not a message; the path says which one, the offset counts from the start of the buffer.
        MissingExtraError: a codec needs cramjam, which is not installed.
    """
    batches = read_batches(
        data,
        magic_2="kip-82",
        check_crcs=check_crcs,
        max_decompressed_size=max_decompressed_size,
        max_items=max_items,
    )
    for batch in batches:
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
