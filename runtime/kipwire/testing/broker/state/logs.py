"""The log of one partition: batches with their offsets, and the last numbers of each idempotent producer."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import NamedTuple

from kafka_messages.enums import ErrorCode
from kipwire.errors import DecodeError
from kipwire.producer_sequence import next_sequence
from kipwire.records import Record, RecordBatch, read_batches, with_offsets
from kipwire.testing.broker.state.refusals import Refused

LEADER_EPOCH = 0
"""Of all partitions: their leader never changes."""
_REMEMBERED_BATCHES = 5
"""Of each producer, as in Kafka: as many as a producer may have in flight."""


class Stored(NamedTuple):
    """A batch of the log."""

    batch: RecordBatch
    data: bytes


class Sequence(NamedTuple):
    """Where a batch of an idempotent producer has gone."""

    first: int
    last: int
    base_offset: int


class AbortedTransaction(NamedTuple):
    """Records that consumers which read only what is committed leave out."""

    producer_id: int
    first_offset: int
    last_offset: int
    """That of the marker."""


class _Producer:
    """What one idempotent producer has appended last."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.recent: deque[Sequence] = deque(maxlen=_REMEMBERED_BATCHES)


class Log:
    """All batches of a partition, in the order of their offsets."""

    def __init__(self) -> None:
        self.stored: list[Stored] = []
        self.aborted: list[AbortedTransaction] = []
        self._producers: dict[int, _Producer] = {}
        self._open: dict[int, int] = {}
        """The first offset of each open transaction, by producer id."""

    @property
    def end_offset(self) -> int:
        """The offset that the next record gets."""
        return self.stored[-1].batch.last_offset + 1 if self.stored else 0

    @property
    def last_stable_offset(self) -> int:
        """The offset that open transactions begin at."""
        return min(self._open.values(), default=self.end_offset)

    def append(self, data: bytes) -> int:
        """The offset of the first record of a batch that is now in the log, if it was not there before.

        Raises:
            Refused: it is not one whole batch, or not the next one of its producer.
        """
        batch = _whole_batch(data)
        if batch.producer_id >= 0:
            known = self._known(batch)
            if known is not None:
                return known.base_offset
        base_offset = self.end_offset
        self._store(with_offsets(data, base_offset, LEADER_EPOCH))
        if batch.producer_id >= 0:
            sequence = Sequence(batch.base_sequence, batch.last_sequence, base_offset)
            self._producers[batch.producer_id].recent.append(sequence)
            if batch.is_transactional:
                self._open.setdefault(batch.producer_id, base_offset)
        return base_offset

    def append_marker(self, data: bytes, producer_id: int, *, is_commit: bool) -> None:
        """Append the control batch that ends a transaction."""
        marker_offset = self.end_offset
        self._store(with_offsets(data, marker_offset, LEADER_EPOCH))
        first_offset = self._open.pop(producer_id, None)
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
                found = next((one for one in stored.batch.records if one.timestamp >= timestamp), None)
                if found is not None:
                    return found
        return None

    def newest(self) -> Record | None:
        """The first record with the highest timestamp; None if there are no records."""
        batches = [one.batch for one in self.stored if not one.batch.is_control]
        return self.first_since(max(one.max_timestamp for one in batches)) if batches else None

    def records(self, *, is_committed: bool) -> list[Record]:
        """The records, without control records.

        Args:
            is_committed: leave out those of aborted and of open transactions.
        """
        end_offset = self.last_stable_offset if is_committed else self.end_offset
        batches = [one.batch for one in self.stored if not one.batch.is_control and one.batch.base_offset < end_offset]
        if is_committed:
            batches = [one for one in batches if not self._is_aborted(one)]
        return [record for batch in batches for record in batch.records]

    def _is_aborted(self, batch: RecordBatch) -> bool:
        return batch.is_transactional and any(
            one.producer_id == batch.producer_id and one.first_offset <= batch.base_offset < one.last_offset
            for one in self.aborted
        )

    def _store(self, data: bytes) -> None:
        (batch,) = read_batches(data, check_crcs=False)
        self.stored.append(Stored(batch, data))

    def _known(self, batch: RecordBatch) -> Sequence | None:
        """Where a batch has gone that its producer sends again; None for a new one.

        Raises:
            Refused: batches before it are missing, or a newer producer has taken its place.
        """
        producer = self._producers.get(batch.producer_id)
        if producer is None:
            producer = self._producers[batch.producer_id] = _Producer(batch.producer_epoch)
        if batch.producer_epoch < producer.epoch:
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH)
        if batch.producer_epoch > producer.epoch:
            if batch.base_sequence != 0:
                raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
            producer = self._producers[batch.producer_id] = _Producer(batch.producer_epoch)
        for one in producer.recent:
            if (one.first, one.last) == (batch.base_sequence, batch.last_sequence):
                return one
        if producer.recent:
            last = producer.recent[-1].last
            if batch.base_sequence != next_sequence(last, 1):
                reason = f"sequence number {batch.base_sequence} follows {last}"
                raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)
        return None


def _whole_batch(data: bytes) -> RecordBatch:
    """The one batch that a producer sends to a partition.

    Raises:
        Refused: it is broken, or not alone.
    """
    try:
        batches = list(read_batches(data))
    except DecodeError as error:
        raise Refused(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
    if len(batches) != 1 or batches[0].size != len(data) or batches[0].magic != 2:
        raise Refused(ErrorCode.INVALID_RECORD, "a partition takes one whole batch of magic 2 at a time")
    (batch,) = batches
    if batch.is_control or batch.records_count != batch.last_offset_delta + 1:
        raise Refused(ErrorCode.INVALID_RECORD, "a producer's batch has data records only, and one for each offset")
    return batch
