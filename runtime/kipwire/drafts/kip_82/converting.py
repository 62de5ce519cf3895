"""Messages of magic 0 and 1 in the format of KIP-82's version 43, as a broker converts what older producers send."""

from __future__ import annotations

from kipwire.drafts.kip_82.model import ConsumerRecord
from kipwire.drafts.kip_82.writing import write_records
from kipwire.records.checks import MAX_DECOMPRESSED_SIZE, MAX_ITEMS
from kipwire.records.converting import Converted, Loss, losses
from kipwire.records.reading import read_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mmap import mmap

    from kipwire.records.model import RecordBatch

_MAGIC = 2


def to_magic_2(
    data: bytes | bytearray | memoryview | mmap,
    *,
    check_crcs: bool = True,
    max_decompressed_size: int = MAX_DECOMPRESSED_SIZE,
    max_items: int = MAX_ITEMS,
) -> Converted:
    """The messages of a buffer, all with magic 2 as KIP-82 has it; those of magic 0 and 1 get empty headers.

    Messages of magic 2 stay as they are, byte for byte. Every other one becomes one message: offsets, timestamps and
    their type are kept, those of magic 0 are -1, and a compressed one keeps its codec. For the other direction, see
    `kipwire.records.down_convert` with `magic_2="kip-82"`.

    Args:
        data: the buffer; only one batch of it is decoded at a time.
        check_crcs: as for `kipwire.records.read_batches`.
        max_decompressed_size: as for `kipwire.records.read_batches`.
        max_items: as for `kipwire.records.read_batches`.

    Raises:
        DecodeError: bytes are not a message, or those inside a compressed one are broken.
        EncodeError: a compressed message whose offsets do not ascend.
        MissingExtraError: a codec needs cramjam, which is not installed.

    Source: KIP-82 version 43, "Message version migration would be handled as like in KIP-32".
    """
    batches = read_batches(
        data,
        magic_2="kip-82",
        check_crcs=check_crcs,
        max_decompressed_size=max_decompressed_size,
        max_items=max_items,
    )
    parts: list[bytes | memoryview] = []
    lost: list[Loss] = []
    view = memoryview(data).cast("B")
    for number, batch in enumerate(batches):
        if batch.magic == _MAGIC:
            parts.append(view[batch.position : batch.position + batch.size])
        else:
            lost += losses(batch, batch.records, number, _MAGIC)
            parts.append(_with_magic_2(batch))
    return Converted(b"".join(parts), lost)


def _with_magic_2(batch: RecordBatch) -> bytes:
    is_append_time = batch.timestamp_type == "LogAppendTime"
    return write_records(
        [
            ConsumerRecord(offset=one.offset, timestamp=one.timestamp, key=one.key, value=one.value)
            for one in batch.records
        ],
        compression=batch.compression,
        timestamp_type="LogAppendTime" if is_append_time else "CreateTime",
        max_timestamp=batch.max_timestamp if is_append_time else None,
    )
