"""Record batches and message sets: what topics, log segments and the `records` of messages hold.

Needs `pip install 'kipwire[records]'` for snappy, lz4 and zstd; it also makes CRC-32C fast without the kernel.
"""

# Theory. A log is batches side by side, without gaps, and so are the `records` of Produce and Fetch messages. Nothing
# says which format a batch has but its magic, the byte 16 in each of them:
#
#     magic 0, 1   message sets    `message_sets`    each entry is a batch: one record, or a set that is compressed
#     magic 2      record batches  `record_batches`  a head of 61 bytes, then a section of records
#
# Formats may be mixed (`test_formats_may_be_mixed_in_one_buffer`). The bytes of magic 2 do not say if they are of a
# format that was only proposed: `read_batches(magic_2=...)` says it, and `reading.draft` imports the reader.
#
# From bytes to records, in four layers. Each rests on the one before:
#
# 1. The head. `heads` alone has the position of each field, for all magics; tests compare the positions with the specs
#    in schemas/kafka_records, and with the kernel's (test_records_heads.py). Code that needs one field of many batches,
#    such as `bounds`, `with_offsets` or Spark, unpacks that field and decodes nothing.
# 2. The batch. `reading.batches_in` is the loop over all formats. The loop reads a size and a magic, takes as many
#    bytes, hands them to the reader of the magic, and moves its `Cursor` by the size. So the cursor is always at the
#    first byte that is not accounted for, after an error, too. The reader of a magic compares the checksum, unless
#    `check_crcs` is False.
# 3. The section. A batch keeps its bytes, and decompresses the section when a program asks for `records`, within
#    `Limits`: few bytes of a codec can become very many. `record_batches.section_of` decompresses by `compression`;
#    `message_sets` does the same with the value of an entry.
# 4. The records. `sections` reads and writes records of magic 2: by Python written by hand, and by the generated
#    classes of schemas/kafka_records where that gives up. Only the generated classes explain a wrong record, so errors
#    are the same in both ways. Entries of message sets are read by generated classes alone.
#
# Two engines. Python, as above, defines the result and makes the errors. The kernel stands in for each function with
# the decorator `native.from_kernel`, and calls that function where it gives up. So nothing here asks if there is a
# kernel. It serves magic 2 alone, and takes several layers in one step: `read_batches` is the loop over a buffer,
# `RecordBatch.records` goes from layer 2 to 4.
#
# `test_kernel_and_python_agree_on_batches` compares the kernel with Python, on damaged batches, too;
# `test_batches_read_as_java_reads_them` compares with Java, in `make test` the kernel and in `make test-pure` Python.
#
# In a buffer the last batch may be cut short, as brokers send it: `read_batches` ends before that one without an error
# (`test_last_batch_that_is_cut_short_ends_reading`). Any other wrong byte is a `DecodeError`, which ends reading. Files
# are the business of `kipwire.logs`, whose readers go on after damage; nothing here knows a file.
#
# Filters. `bounds.Bounds` says which records are wanted, and by the heads of batches which of these may have wanted
# records. `Bounds` trusts a field of a head only if brokers set it, so no batch with a wanted record is passed over
# (`test_no_batch_with_wanted_records_is_passed_over`).
#
# Writing is one way for each format: `write_batch` and `write_message_set`, byte for byte as Java's classes do
# (`test_batches_are_written_as_java_writes_them`). `checks` refuses before writing what Kafka's builders refuse.
# `converting` goes from one magic to another, and says what is lost. `changing` writes batches again, with other
# records; `rebuilding` makes any batch again that a log can have, also such as no builder writes.
#
# Above the batches: `control` has control records and transactions, `producer_sequence` sequence numbers, `space` the
# bytes that records take. `messages` finds the records within a Produce or Fetch message.

from importlib import import_module

from kipwire.records.bounds import Bounds
from kipwire.records.checks import MAX_DECOMPRESSED_SIZE, MAX_ITEMS
from kipwire.records.control import ControlRecord, control_record, read_committed
from kipwire.records.converting import Converted, Loss, down_convert, up_convert
from kipwire.records.heads import with_append_time, with_offsets
from kipwire.records.message_sets import write_message_set
from kipwire.records.messages import PartitionRecords, partitions
from kipwire.records.model import RawHeaderKey, Record, RecordBatch
from kipwire.records.reading import ReadOptions, SegmentOptions, read_batches
from kipwire.records.rebuilding import change_records
from kipwire.records.record_batches import write_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.logs.segments import read_segment

__all__ = [
    "MAX_DECOMPRESSED_SIZE",
    "MAX_ITEMS",
    "Bounds",
    "ControlRecord",
    "Converted",
    "Loss",
    "PartitionRecords",
    "RawHeaderKey",
    "ReadOptions",
    "Record",
    "RecordBatch",
    "SegmentOptions",
    "change_records",
    "control_record",
    "down_convert",
    "partitions",
    "read_batches",
    "read_committed",
    "read_segment",
    "up_convert",
    "with_append_time",
    "with_offsets",
    "write_batch",
    "write_message_set",
]


def __getattr__(name: str) -> object:
    if name == "read_segment":  # of the storey above, which would import this room before it is complete
        return import_module("kipwire.logs.segments").read_segment
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
