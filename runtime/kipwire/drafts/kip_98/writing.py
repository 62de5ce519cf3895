"""Writing of a set: messages to bytes, plain or compressed; the header is computed from the messages.

`to_magic_2` makes sets of older messages; `kipwire.records.converting` has the conversion down.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from kipwire.drafts.kip_98.heads import fault_of_delta
from kipwire.drafts.kip_98.model import CODECS, ControlMessage
from kipwire.drafts.proposals.compressed_message_set.v2 import CompressedMessageSet
from kipwire.drafts.proposals.control_message_key.v0 import ControlMessageKey
from kipwire.drafts.proposals.messages.v2 import Message, Messages
from kipwire.model.errors import EncodeError, abbreviate
from kipwire.records.checks import TIMESTAMP_TYPES
from kipwire.records.compression import Compression, compress
from kipwire.records.converting import Converted, Loss, in_batch, last_offset_of, losses, runs
from kipwire.records.heads import NO_TIMESTAMP
from kipwire.records.model import Record, RecordBatch
from kipwire.records.reading import read_batches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from kipwire.drafts.kip_98.heads import Buffer
    from kipwire.records.reading import BatchOptions

_MAGIC = 2
_MOST_OFFSETS = 2**31 - 1
"""Offsets that a set can span: its offset delta counts them."""


def write_set(
    messages: Iterable[Record | ControlMessage],
    *,
    compression: Compression = "none",
    base_offset: int | None = None,
    offset_delta: int | None = None,
    max_timestamp: int | None = None,
    timestamp_type: Literal["CreateTime", "LogAppendTime"] = "CreateTime",
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
) -> bytes:
    """Encode a message set of the draft; lengths, deltas, timestamps and checksums are computed.

    Args:
        messages: in the order of their offsets, records without headers and control messages. A set without any, as
            compaction may leave it, needs `base_offset` and `offset_delta`.
        compression: the codec; the draft has no zstd.
        base_offset: by default the first message's offset.
        offset_delta: how many offsets the set has; by default up to the last message. Compaction keeps it.
        max_timestamp: by default the highest of the messages; with "LogAppendTime" the time of the append.
        timestamp_type: "CreateTime" or "LogAppendTime".
        producer_id: of an idempotent producer, or -1.
        producer_epoch: of an idempotent producer, or -1.
        base_sequence: the sequence number of `base_offset`, or -1.
        is_transactional: whether the set is part of a transaction.

    Raises:
        EncodeError: a value does not fit its field, the offsets do not ascend, or the header would not be true of the
            messages.
        MissingExtraError: the codec needs cramjam, which is not installed.
    """
    _expect_one_of(compression, CODECS, "compression")
    _expect_one_of(timestamp_type, TIMESTAMP_TYPES, "timestamp_type")
    messages = list(messages)
    if not messages and (base_offset is None or offset_delta is None):
        raise _error("offset" if base_offset is None else "offset_delta", "a set without messages needs one")
    for index, one in enumerate(messages):
        if not isinstance(one, Record | ControlMessage):
            reason = f"must be a Record or a ControlMessage, not {type(one).__name__}"
            raise _error(f"messages[{index}]", reason)
        if isinstance(one, Record) and one.headers:
            raise _error(f"messages[{index}].headers", "the draft has no headers")
    first = messages[0].offset if base_offset is None else base_offset
    last = first - 1
    for index, one in enumerate(messages):
        if one.offset <= last:
            reason = f"{abbreviate(one.offset)} is not above {last}; offsets must ascend"
            if not index:
                reason = f"{abbreviate(one.offset)} is before the set, which starts at {first}"
            raise _error(f"messages[{index}].offset", reason)
        last = one.offset
    needed = last - first + 1
    if offset_delta is None:
        offset_delta = needed
    if reason := fault_of_delta(offset_delta, needed):
        raise _error("offset_delta", reason)
    latest = max((one.timestamp for one in messages), default=NO_TIMESTAMP)
    if max_timestamp is None:
        max_timestamp = latest
    if timestamp_type == "CreateTime" and messages and max_timestamp < latest:
        reason = f"is {abbreviate(max_timestamp)}, but a message of the set has {latest}"
        raise _error("max_timestamp", reason)
    try:
        section = Messages(messages=[_message(one, first) for one in messages]).encode()
        return CompressedMessageSet(
            offset=first,
            compression_type=CODECS.index(compression),
            timestamp_type=timestamp_type == "LogAppendTime",
            is_transactional=is_transactional,
            offset_delta=offset_delta,
            max_timestamp=max_timestamp,
            pid=producer_id,
            epoch=producer_epoch,
            sequence=base_sequence,
            compressed_messages=compress(compression, section),
        ).encode()
    except EncodeError as error:
        raise _error(error.path, error.reason) from None


def to_magic_2(
    data: Buffer,
    **options: Unpack[BatchOptions],
) -> Converted:
    """Convert the messages of a buffer to sets of the draft, as a broker would convert what older producers send.

    Every compressed message of magic 0 or 1 becomes a set with the same codec. Plain ones that follow each other become
    one set, up to 1 MiB of them. Offsets, timestamps and their type are kept; magic 0 gets timestamps of -1. Sets of
    the draft stay as they are, byte for byte. For the other direction, see `kipwire.records.down_convert` with
    `magic_2="kip-98 draft"`.

    Args:
        data: the buffer; only one batch of it is decoded at a time, and 1 MiB of plain messages.
        options: as for `kipwire.records.read_batches`, without `magic_2`.

    Raises:
        DecodeError: bytes are not a message or a set, or what is compressed is broken.
        EncodeError: a compressed message whose offsets do not ascend; the path says which.
        MissingExtraError: a codec needs cramjam, which is not installed.

    Source: the draft of KIP-98, "a path for upgrades following a similar approach as was used in KIP-32".
    """
    batches = read_batches(data, magic_2="kip-98 draft", **options)
    parts: list[bytes | memoryview] = []
    lost: list[Loss] = []
    view = memoryview(data).cast("B")
    for number, run in runs(batches, messages_until=_MAGIC - 1, most_offsets=_MOST_OFFSETS):
        first, last = run[0], run[-1]
        if first.magic == _MAGIC:
            parts.append(view[first.position : last.position + last.size])
            continue
        for at, batch in enumerate(run, number):
            lost += losses(batch, batch.records, at, _MAGIC)
        with in_batch(number, _MAGIC):
            parts.append(_set_of(run))
    return Converted(b"".join(parts), lost)


def _set_of(run: list[RecordBatch]) -> bytes:
    """Write messages that become one set."""
    first = run[0]
    records = [record for batch in run for record in batch.records]
    is_append_time = first.timestamp_type == "LogAppendTime"
    return write_set(
        records,
        compression=first.compression,
        base_offset=first.base_offset,
        offset_delta=last_offset_of(run, records) - first.base_offset + 1,
        max_timestamp=first.max_timestamp if is_append_time else None,
        timestamp_type="LogAppendTime" if is_append_time else "CreateTime",
    )


def _message(one: Record | ControlMessage, base_offset: int) -> Message:
    delta = one.offset - base_offset
    if isinstance(one, Record):
        return Message(timestamp=one.timestamp, offset_delta=delta, key=one.key, value=one.value)
    key = ControlMessageKey(control_message_type=one.type_id).encode()
    return Message(is_control=True, timestamp=one.timestamp, offset_delta=delta, key=key, value=one.value)


def _expect_one_of(value: str, known: tuple[str, ...], argument: str) -> None:
    if value not in known:
        raise _error(argument, f"the draft does not support {abbreviate(value)}; use one of {', '.join(known)}")


def _error(path: str, reason: str) -> EncodeError:
    return EncodeError("MessageSet", 2, path, reason)
