"""The log of one partition: batches with their offsets, and the last numbers of each idempotent producer."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple

from kafka_messages.enums import ErrorCode
from kipwire.records import Record, RecordBatch, read_batches, with_offsets
from kipwire.testing.broker.state.batches import NO_LIMITS, Limits, expect_appendable, sent_batch
from kipwire.testing.broker.state.producer_states import ProducerStates
from kipwire.testing.broker.state.refusals import Refused


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


class Log:
    """All batches of a partition, in the order of their offsets."""

    def __init__(self, leader: int = 1) -> None:
        self.leader = leader
        """The id of the node that leads the partition."""
        self.leader_epoch = 0
        """The number of changes of the leader."""
        self._epochs = [(0, 0)]
        """The epochs with records, and the last one; the first offset of each."""
        self.stored: list[Stored] = []
        self.aborted: list[AbortedTransaction] = []
        self.producers = ProducerStates()
        self.start_offset = 0
        """Records before it are deleted."""

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
    def current_leader(self) -> dict[str, int]:
        """The leader and its epoch, as responses have them."""
        return {"leader_id": self.leader, "leader_epoch": self.leader_epoch}

    def expect_leader(self, node_id: int, asked: Any) -> None:
        """Check that a node may answer a client for this partition.

        Args:
            node_id: of the node that the client asks.
            asked: the partition of its request, which may have the leader's epoch.

        Raises:
            Refused: the client has another epoch, or another node leads.
        """
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
        """The epoch of an offset."""
        return next((epoch for epoch, first in reversed(self._epochs) if first <= offset), self._epochs[0][0])

    def end_of_epoch(self, epoch: int) -> tuple[int, int] | None:
        """The last epoch up to one, and its end; None for an epoch that has not been yet."""
        if epoch == self.leader_epoch:
            return epoch, self.end_offset
        end = next((first for one, first in self._epochs if one > epoch), None)
        if epoch < 0 or end is None:
            return None
        return max((one for one, _ in self._epochs if one <= epoch), default=epoch), end

    def delete_before(self, offset: int) -> None:
        """Delete the records before an offset; -1 is the end. Their batches stay, as Kafka's do in their segment.

        Raises:
            Refused: the log does not go so far.
        """
        if not -1 <= offset <= self.end_offset:
            raise Refused(ErrorCode.OFFSET_OUT_OF_RANGE)
        self.start_offset = max(self.start_offset, self.end_offset if offset == -1 else offset)

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return sum(len(one.data) for one in self.stored)

    def append(self, data: bytes, limits: Limits = NO_LIMITS) -> int:
        """The offset of the first record of a batch that is now in the log, if it was not there before.

        Args:
            data: one batch, as a producer sends it.
            limits: of its size and its timestamps.

        Raises:
            Refused: the batch is broken, or its producer may not append it now.
        """
        batch = sent_batch(data)
        data = data[: batch.size]
        expect_appendable(batch, data, limits)
        if batch.producer_id >= 0:
            known = self.producers.appended_before(batch)
            if known is not None:
                return known.base_offset
            self.producers.expect_next(batch)
        base_offset = self.end_offset
        self._store(with_offsets(data, base_offset, self.leader_epoch))
        if batch.producer_id >= 0:
            self.producers.append(batch, base_offset)
        return base_offset

    def append_marker(self, data: bytes, producer_id: int, epoch: int, *, is_commit: bool) -> None:
        """Append the control batch that ends a transaction."""
        marker_offset = self.end_offset
        self._store(with_offsets(data, marker_offset, self.leader_epoch))
        first_offset = self.producers.end_transaction(producer_id, epoch, self.stored[-1].batch.max_timestamp)
        if first_offset is not None and not is_commit:
            self.aborted.append(AbortedTransaction(producer_id, first_offset, marker_offset))

    def read(self, offset: int, max_bytes: int, end_offset: int) -> bytes:
        """Whole batches from the one with an offset on; at least one, however large it is (KIP-74).

        Args:
            offset: of the first record that is asked for.
            max_bytes: of all batches after the first.
            end_offset: what begins there or later is not read.
        """
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
        """The aborted transactions with records in a range of offsets."""
        return [one for one in self.aborted if one.last_offset >= offset and one.first_offset < end_offset]

    def first_since(self, timestamp: int) -> Record | None:
        """The first record that is not older than a timestamp; None if all are."""
        for stored in self.stored:
            if stored.batch.max_timestamp >= timestamp and not stored.batch.is_control:
                found = next((one for one in self._kept(stored.batch) if one.timestamp >= timestamp), None)
                if found is not None:
                    return found
        return None

    def newest(self) -> Record | None:
        """The first record with the highest timestamp; None if there are no records."""
        batches = [one for one in self.batches if not one.is_control]
        return self.first_since(max(one.max_timestamp for one in batches)) if batches else None

    def records(self, *, is_committed: bool) -> list[Record]:
        """The records, without control records.

        Args:
            is_committed: leave out records of aborted and of open transactions.
        """
        end_offset = self.last_stable_offset if is_committed else self.end_offset
        batches = [one for one in self.batches if not one.is_control and one.base_offset < end_offset]
        if is_committed:
            batches = [one for one in batches if not self._is_aborted(one)]
        return [record for batch in batches for record in self._kept(batch)]

    def _kept(self, batch: RecordBatch) -> list[Record]:
        """The records of a batch that are not deleted."""
        return [one for one in batch.records if one.offset >= self.start_offset]

    def _is_aborted(self, batch: RecordBatch) -> bool:
        return batch.is_transactional and any(
            one.producer_id == batch.producer_id and one.first_offset <= batch.base_offset < one.last_offset
            for one in self.aborted
        )

    def _store(self, data: bytes) -> None:
        (batch,) = read_batches(data, check_crcs=False)
        self.stored.append(Stored(batch, data))
