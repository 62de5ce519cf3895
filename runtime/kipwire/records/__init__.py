"""Record batches and message sets: what topics, log segments and the `records` of messages hold.

Needs `pip install 'kipwire[records]'` for snappy, lz4 and zstd; it also makes CRC-32C fast without the kernel.
"""

from kipwire.records.bounds import Bounds
from kipwire.records.checks import MAX_DECOMPRESSED_SIZE, MAX_ITEMS
from kipwire.records.control import ControlRecord, control_record, read_committed
from kipwire.records.converting import Converted, Loss, down_convert, up_convert
from kipwire.records.heads import with_offsets
from kipwire.records.message_sets import write_message_set
from kipwire.records.messages import PartitionRecords, partitions
from kipwire.records.model import RawHeaderKey, Record, RecordBatch
from kipwire.records.reading import read_batches
from kipwire.records.record_batches import write_batch
from kipwire.records.segments import read_segment

__all__ = [
    "MAX_DECOMPRESSED_SIZE",
    "MAX_ITEMS",
    "Bounds",
    "ControlRecord",
    "Converted",
    "Loss",
    "PartitionRecords",
    "RawHeaderKey",
    "Record",
    "RecordBatch",
    "control_record",
    "down_convert",
    "partitions",
    "read_batches",
    "read_committed",
    "read_segment",
    "up_convert",
    "with_offsets",
    "write_batch",
    "write_message_set",
]
