"""Message sets of magic 2 as the draft of KIP-98 has them, plain or compressed: read, written, and found by offset.

What Kafka released with magic 2 is `kipwire.records.read_batches` and `write_batch`.
"""

from kipwire.drafts.kip_98.heads import find_set, read_head
from kipwire.drafts.kip_98.model import ABORT, COMMIT, ControlMessage, DraftSet, SetHead
from kipwire.drafts.kip_98.reading import read_set
from kipwire.drafts.kip_98.single import find_message, read_messages
from kipwire.drafts.kip_98.writing import to_magic_2, write_set

__all__ = [
    "ABORT",
    "COMMIT",
    "ControlMessage",
    "DraftSet",
    "SetHead",
    "find_message",
    "find_set",
    "read_head",
    "read_messages",
    "read_set",
    "to_magic_2",
    "write_set",
]
