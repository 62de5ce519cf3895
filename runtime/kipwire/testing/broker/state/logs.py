"""The log of one partition: batches with their offsets, and the checks that come before, as in Kafka's LogValidator.

Batches are the bytes that a producer sent, with offset and epoch put in, so a Fetch gives what is on a broker's disk.
Deleted records stay in their batches, like in a segment; only `start_offset` moves.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafka_messages.enums import ErrorCode
from kipwire.codec.checksums import crc32c
from kipwire.model.errors import DecodeError
from kipwire.records import Record, RecordBatch, read_batches, read_committed, with_offsets
from kipwire.records.compression import CompressedDataError
from kipwire.records.heads import FORMATS
from kipwire.testing.broker.state import Refused
from kipwire.testing.broker.state.producers import ProducerStates

_FIRST_WITH_ZSTD = 7
_UNCOVERED = FORMATS[2].attributes
"""Bytes of the head that the checksum does not cover."""


class Limits(NamedTuple):
    """The limits of a topic."""

    size: float = math.inf
    """Bytes of a batch: `max.message.bytes`."""
    newest_timestamp: float = math.inf
    """Milliseconds since 1970: `message.timestamp.after.max.ms` from now."""


NO_LIMITS = Limits()


class Stored(NamedTuple):
    """A batch of the log."""

    batch: RecordBatch
    data: bytes


class AbortedTransaction(NamedTuple):
    """Records that consumers which read only what is committed leave out."""

    producer_id: int
    first_offset: int
    last_offset: int
    """The offset of the marker."""


@dataclass(slots=True)
class Log:
    """All batches of a partition, in the order of their offsets."""

    leader: int = 1
    """The id of the node that leads the partition."""
    leader_epoch: int = 0
    """The number of changes of the leader."""
    stored: list[Stored] = field(default_factory=list)
    aborted: list[AbortedTransaction] = field(default_factory=list)
    producers: ProducerStates = field(default_factory=ProducerStates)
    start_offset: int = 0
    """Records before it are deleted."""
    _epochs: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    """The epochs with records, and the last one; the first offset of each."""

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.stored[-1].batch.last_offset + 1 if self.stored else 0

    @property
    def batches(self) -> list[RecordBatch]:
        """The batches that are not deleted, control batches included."""
        return [one.batch for one in self.stored if one.batch.last_offset >= self.start_offset]

    @property
    def last_stable_offset(self) -> int:
        """The offset that open transactions begin at."""
        return max(self.start_offset, min(self.producers.open_offsets, default=self.end_offset))

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return sum(len(one.data) for one in self.stored)

    # Who leads, and when each did.

    @property
    def current_leader(self) -> dict[str, int]:
        """The leader and its epoch, as responses have them."""
        return {"leader_id": self.leader, "leader_epoch": self.leader_epoch}

    def expect_leader(self, node_id: int, asked: Any) -> None:
        """Refuse a node that does not lead, and another epoch of the leader than the request's, if it has one."""
        epoch = getattr(asked, "current_leader_epoch", -1)
        if epoch > self.leader_epoch:
            raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH)
        if -1 < epoch < self.leader_epoch:
            raise Refused(ErrorCode.FENCED_LEADER_EPOCH, current_leader=self.current_leader)
        if node_id != self.leader:
            raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=self.current_leader)

    def move(self, leader: int) -> None:
        """Let another node lead, in the next epoch, which begins at the end of the log."""
        self.leader, self.leader_epoch = leader, self.leader_epoch + 1
        self._epochs = [one for one in self._epochs if one[1] < self.end_offset]
        self._epochs.append((self.leader_epoch, self.end_offset))

    def epoch_at(self, offset: int) -> int:
        """Find the epoch of an offset."""
        return next((epoch for epoch, first in reversed(self._epochs) if first <= offset), self._epochs[0][0])

    def end_of_epoch(self, epoch: int) -> tuple[int, int] | None:
        """Find the last epoch up to one, and its end; None for an epoch that has not been yet."""
        if epoch == self.leader_epoch:
            return epoch, self.end_offset
        end = next((first for one, first in self._epochs if one > epoch), None)
        if epoch < 0 or end is None:
            return None
        return max((one for one, _ in self._epochs if one <= epoch), default=epoch), end

    # Writing.

    def delete_before(self, offset: int) -> None:
        """Delete the records before an offset; -1 is the end. Their batches stay, as Kafka's do in their segment."""
        if not -1 <= offset <= self.end_offset:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        self.start_offset = max(self.start_offset, self.end_offset if offset == -1 else offset)

    def append(self, data: bytes, limits: Limits = NO_LIMITS) -> int:
        """Append a batch, if it is not in the log, and return its offset; refuse a broken or untimely one."""
        batch = sent_batch(data)
        data = data[: batch.size]
        _expect_appendable(batch, data, limits)
        if batch.producer_id >= 0:
            known = self.producers.appended_before(batch)
            if known is not None:
                return known.base_offset
            self.producers.expect_next(batch)
        base_offset = self.end_offset
        self._store(data)
        if batch.producer_id >= 0:
            self.producers.append(batch, base_offset)
        return base_offset

    def append_marker(self, data: bytes, producer_id: int, epoch: int, *, is_commit: bool) -> None:
        """Append the control batch that ends a transaction."""
        marker_offset = self.end_offset
        self._store(data)
        first_offset = self.producers.end_transaction(producer_id, epoch, self.stored[-1].batch.max_timestamp)
        if first_offset is not None and not is_commit:
            self.aborted.append(AbortedTransaction(producer_id, first_offset, marker_offset))

    def _store(self, data: bytes) -> None:
        data = with_offsets(data, self.end_offset, self.leader_epoch)
        (batch,) = read_batches(data, check_crcs=False)
        self.stored.append(Stored(batch, data))

    # Reading.

    def read(self, offset: int, max_bytes: int, end_offset: int) -> bytes:
        """Read whole batches from the one with an offset on, before another; the first may be too large (KIP-74)."""
        parts: list[bytes] = []
        size = 0
        first = bisect_left(self.stored, offset, key=lambda one: one.batch.last_offset)
        for at in range(first, len(self.stored)):
            stored = self.stored[at]
            size += len(stored.data)
            if stored.batch.base_offset >= end_offset or (parts and size > max_bytes):
                break
            parts.append(stored.data)
        return b"".join(parts)

    def aborted_between(self, offset: int, end_offset: int) -> list[AbortedTransaction]:
        """Find the aborted transactions with records in a range of offsets."""
        return [one for one in self.aborted if one.last_offset >= offset and one.first_offset < end_offset]

    def first_since(self, timestamp: int) -> Record | None:
        """Find the first record that is not older than a timestamp; None if all are."""
        newer = (one.batch for one in self.stored if one.batch.max_timestamp >= timestamp and not one.batch.is_control)
        records = (record for batch in newer for record in batch.records)
        return next((one for one in records if one.offset >= self.start_offset and one.timestamp >= timestamp), None)

    def newest(self) -> Record | None:
        """Find the first record with the highest timestamp; None if there are no records."""
        timestamps = [one.max_timestamp for one in self.batches if not one.is_control]
        return self.first_since(max(timestamps)) if timestamps else None

    def records(self, *, is_committed: bool) -> list[Record]:
        """Return the records, without control records; if they have to be committed, only these."""
        end_offset = self.last_stable_offset if is_committed else self.end_offset
        batches = (one.batch for one in self.stored if one.batch.base_offset < end_offset)
        found = read_committed(batches, self.aborted if is_committed else ())
        return [record for batch in found for record in batch.records if record.offset >= self.start_offset]


# Checks of a batch, in Kafka's order.


def sent_batch(data: bytes, version: int = _FIRST_WITH_ZSTD) -> RecordBatch:
    """Decode the one batch of a partition in a Produce of a version, perhaps before a cut-off one; refuse others."""
    try:
        batches = list(read_batches(data, check_crcs=False))
    except DecodeError as error:
        if error.path.endswith("attributes"):  # a codec that there is not, which Kafka does not expect
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, str(error), log_start_offset=0) from error
        raise Refused(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    if not batches:
        raise Refused(ErrorCode.INVALID_RECORD, "a partition needs one whole batch")
    first = batches[0]
    if first.magic != 2:
        raise Refused(ErrorCode.INVALID_RECORD, f"a batch needs magic 2, not {first.magic}")
    if first.compression == "zstd" and version < _FIRST_WITH_ZSTD:
        reason = f"Produce takes zstd from version {_FIRST_WITH_ZSTD} on, and this is version {version}"
        raise Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, reason)
    if len(batches) > 1:
        raise Refused(ErrorCode.INVALID_RECORD, f"a partition takes one batch at a time, not {len(batches)}")
    return first


def _expect_appendable(batch: RecordBatch, data: bytes, limits: Limits) -> None:
    if batch.base_offset != 0:
        raise Refused(ErrorCode.INVALID_RECORD, f"a producer's batch begins at offset 0, not {batch.base_offset}")
    if batch.size > limits.size:
        reason = f"the batch has {batch.size} bytes; the topic's max.message.bytes is {limits.size}"
        raise Refused(ErrorCode.MESSAGE_TOO_LARGE, reason)
    crc = crc32c(data[_UNCOVERED:])
    if batch.crc != crc:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, f"the crc is {batch.crc:#x}, but the bytes have {crc:#x}")
    if reason := _wrong_head(batch):
        raise Refused(ErrorCode.INVALID_RECORD, reason)
    newest = max((one.timestamp for one in _sent_records(batch)), default=-1)
    if newest > limits.newest_timestamp:
        reason = f"the timestamp {newest} is after {limits.newest_timestamp}, the newest that the topic takes now"
        raise Refused(ErrorCode.INVALID_TIMESTAMP, reason)


def _wrong_head(batch: RecordBatch) -> str:
    count, offsets = batch.records_count or 0, batch.last_offset - batch.base_offset + 1
    if count <= 0:
        return f"a batch needs records, and this one declares {count}"
    if offsets != count:
        return f"the batch declares {count} records, and {offsets} offsets"
    if batch.is_control:
        return "a producer's batch has data records only"
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        return f"a batch of an idempotent producer needs a sequence number, not {batch.base_sequence}"
    return ""


def _sent_records(batch: RecordBatch) -> list[Record]:
    try:
        records = batch.records
    except DecodeError as error:
        # Kafka does not expect bytes that cannot be decompressed.
        is_expected = not isinstance(error.__cause__, CompressedDataError)
        code = ErrorCode.INVALID_RECORD if is_expected else ErrorCode.UNKNOWN_SERVER_ERROR
        raise Refused(code, str(error)) from error
    if batch.compression != "none" and any(one.offset != at for at, one in enumerate(records)):
        # Kafka writes such batches again, which fails.
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "the offsets of compressed records have gaps")
    return records
