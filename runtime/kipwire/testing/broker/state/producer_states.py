"""The idempotent producers of a partition: which batches it may append, as Kafka's ProducerStateManager."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_messages.enums import ErrorCode
from kipwire.records import RecordBatch
from kipwire.records.producer_sequence import next_sequence
from kipwire.testing.broker.state.refusals import Refused

COORDINATOR_EPOCH = 0
"""Of all markers: the coordinator of a transaction never changes."""
_REMEMBERED_BATCHES = 5
"""Of each producer, as in Kafka: as many as a producer may have in flight."""


class Sequence(NamedTuple):
    """The numbers of a batch of an idempotent producer, and the offset that it got."""

    first: int
    last: int
    base_offset: int


@dataclass(slots=True)
class ProducerState:
    """The batches and the transaction of one producer in a partition."""

    epoch: int
    recent: deque[Sequence] = field(default_factory=lambda: deque(maxlen=_REMEMBERED_BATCHES))
    """Its last batches of this epoch; empty once a marker has raised the epoch."""
    first_of_transaction: int | None = None
    """The first offset of its open transaction."""
    last_timestamp: int = -1
    """Milliseconds since 1970, of its newest batch or marker."""
    coordinator_epoch: int = -1
    """Of the last marker."""


class ProducerStates:
    """The producers of one partition."""

    def __init__(self) -> None:
        self.by_id: dict[int, ProducerState] = {}
        """By producer id."""
        self._unverified: dict[int, tuple[int, int]] = {}
        """Epoch and lowest sequence number of batches for which the transaction was asked, and none of which is stored.
        """
        self._beginning: set[int] = set()
        """Producers whose first batch of a transaction has to have sequence number 0 (KIP-890)."""

    @property
    def open_offsets(self) -> list[int]:
        """The first offsets of open transactions."""
        firsts = (one.first_of_transaction for one in self.by_id.values())
        return [first for first in firsts if first is not None]

    def has_open_transaction(self, batch: RecordBatch) -> bool:
        """Tell whether a batch goes on with a transaction that has records in this partition."""
        known = self.by_id.get(batch.producer_id)
        return known is not None and known.first_of_transaction is not None and known.epoch == batch.producer_epoch

    def appended_before(self, batch: RecordBatch) -> Sequence | None:
        """Find the earlier copy of a batch that its producer sends again; None for a new one."""
        known = self.by_id.get(batch.producer_id)
        if known is None or known.epoch != batch.producer_epoch:
            return None
        numbers = batch.base_sequence, batch.last_sequence
        return next((one for one in known.recent if (one.first, one.last) == numbers), None)

    def note_unverified(self, batch: RecordBatch, *, begins: bool) -> None:
        """Remember a batch for which its transaction is asked: if that refuses it, those after it have to wait.

        Args:
            batch: of a producer.
            begins: whether its number has to be 0, if nothing is known of the producer.
        """
        if begins:
            self._beginning.add(batch.producer_id)
        epoch, lowest = self._unverified.get(batch.producer_id, (batch.producer_epoch, batch.base_sequence))
        if batch.producer_epoch > epoch:
            epoch, lowest = batch.producer_epoch, batch.base_sequence
        elif batch.producer_epoch == epoch:
            lowest = min(lowest, batch.base_sequence)
        self._unverified[batch.producer_id] = epoch, lowest

    def expect_next(self, batch: RecordBatch) -> None:
        """Check that a producer may append a new batch to this partition now.

        Raises:
            Refused: a newer producer has taken its place, batches before it are missing, or it leaves its transaction.
        """
        known = self.by_id.get(batch.producer_id)
        if known is None and (batch.base_sequence == 0 or batch.producer_id not in self._beginning):
            return  # as after retention: any number may be the first
        if known is None:
            reason = f"sequence number {batch.base_sequence} of a new producer; it begins with 0"
            raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)
        if batch.producer_epoch < known.epoch:
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH, f"the producer's epoch is {known.epoch} by now")
        _, lowest = self._unverified.get(batch.producer_id, (0, batch.base_sequence))
        if batch.base_sequence > lowest:
            reason = f"sequence number {lowest}, which was refused, comes before {batch.base_sequence}"
            raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)
        last = known.recent[-1].last if known.recent and batch.producer_epoch == known.epoch else -1
        expected = 0 if last < 0 else next_sequence(last, 1)
        if batch.base_sequence != expected:
            reason = f"sequence number {batch.base_sequence} follows {last}"
            raise Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)
        if known.first_of_transaction is not None and not batch.is_transactional:
            raise Refused(ErrorCode.INVALID_TXN_STATE, "the producer has an open transaction in this partition")

    def append(self, batch: RecordBatch, base_offset: int) -> None:
        """Take in a batch that was appended."""
        self._beginning.discard(batch.producer_id)
        known = self._in_epoch(batch.producer_id, batch.producer_epoch)
        known.last_timestamp = batch.max_timestamp
        known.recent.append(Sequence(batch.base_sequence, batch.last_sequence, base_offset))
        if batch.is_transactional:
            self._unverified.pop(batch.producer_id, None)
        if batch.is_transactional and known.first_of_transaction is None:
            known.first_of_transaction = base_offset

    def end_transaction(self, producer_id: int, epoch: int, timestamp: int) -> int | None:
        """Take in a marker: its epoch fences producers with a lower one; the first offset of what it ends."""
        known = self._in_epoch(producer_id, epoch)
        known.last_timestamp, known.coordinator_epoch = timestamp, COORDINATOR_EPOCH
        self._unverified.pop(producer_id, None)
        first, known.first_of_transaction = known.first_of_transaction, None
        return first

    def _in_epoch(self, producer_id: int, epoch: int) -> ProducerState:
        """The state of a producer, whose epoch is a new one or as before."""
        known = self.by_id.setdefault(producer_id, ProducerState(epoch))
        if known.epoch != epoch:
            known.epoch = epoch
            known.recent.clear()
        return known
