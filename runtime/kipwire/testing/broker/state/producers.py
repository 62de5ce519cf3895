"""Producers: which batches a partition takes, as Kafka's ProducerStateManager, and transactions, as its coordinator.

They meet in epochs: a marker with a higher epoch fences a producer in each partition.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_messages.enums import ErrorCode, TransactionState
from kipwire.records import RecordBatch
from kipwire.records.producer_sequence import HIGHEST_EPOCH, next_sequence
from kipwire.testing.broker.state import Refused, TopicPartition

COORDINATOR_EPOCH = 0
"""Epoch in all markers: the coordinator of a transaction never changes."""
_REMEMBERED_BATCHES = 5
"""Batches remembered of each producer, as in Kafka: as many as a producer may have in flight."""
_FIRST_PRODUCER_ID = 1000
_NO_EPOCH = -1
_LAST_EPOCH = HIGHEST_EPOCH - 1
"""Last usable epoch of a producer; the highest one fences it."""
STATES = frozenset(one.name.title().replace("_", "") for one in TransactionState)
"""All that Kafka's transactions have; those here are never being prepared."""


# The producers of one partition.


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
    """Last batches of this epoch; empty once a marker has raised the epoch."""
    first_of_transaction: int | None = None
    """The first offset of its open transaction."""
    last_timestamp: int = -1
    """Milliseconds since 1970, of its newest batch or marker."""
    coordinator_epoch: int = -1
    """Epoch of the coordinator in the last marker."""


@dataclass(slots=True)
class ProducerStates:
    """The producers of one partition."""

    by_id: dict[int, ProducerState] = field(default_factory=dict)
    _unverified: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Epoch and lowest number of batches for which the transaction was asked, and none of which is stored."""
    _beginning: set[int] = field(default_factory=set)
    """Producers whose first batch of a transaction has to have sequence number 0 (KIP-890)."""

    @property
    def open_offsets(self) -> list[int]:
        """The first offsets of open transactions."""
        firsts = (one.first_of_transaction for one in self.by_id.values())
        return [first for first in firsts if first is not None]

    def has_open_transaction(self, batch: RecordBatch) -> bool:
        """Tell whether a batch goes on with a transaction that has records in this partition."""
        known = self._same(batch)
        return known is not None and known.first_of_transaction is not None

    def appended_before(self, batch: RecordBatch) -> Sequence | None:
        """Find the earlier copy of a batch that its producer sends again; None for a new one."""
        known, numbers = self._same(batch), (batch.base_sequence, batch.last_sequence)
        return next((one for one in known.recent if (one.first, one.last) == numbers), None) if known else None

    def _same(self, batch: RecordBatch) -> ProducerState | None:
        known = self.by_id.get(batch.producer_id)
        return known if known is not None and known.epoch == batch.producer_epoch else None

    def note_unverified(self, batch: RecordBatch, *, begins: bool) -> None:
        """Remember a batch for which its transaction is asked, and which may have to be the first of its producer."""
        if begins:
            self._beginning.add(batch.producer_id)
        numbers = batch.producer_epoch, batch.base_sequence
        known = self._unverified.get(batch.producer_id, numbers)
        # The lowest number of the newest epoch.
        self._unverified[batch.producer_id] = min(known, numbers) if known[0] == numbers[0] else max(known, numbers)

    def expect_next(self, batch: RecordBatch) -> None:
        """Refuse a new batch of a producer that was replaced, left out batches, or leaves its transaction."""
        known = self.by_id.get(batch.producer_id)
        if known is None and (batch.base_sequence == 0 or batch.producer_id not in self._beginning):
            return  # as after retention: any number may be the first
        if known is None:
            raise _out_of_order(f"the first sequence number of a new producer must be 0, not {batch.base_sequence}")
        if batch.producer_epoch < known.epoch:
            raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH, f"the producer's epoch is now {known.epoch}")
        _, lowest = self._unverified.get(batch.producer_id, (0, batch.base_sequence))
        if batch.base_sequence > lowest:
            raise _out_of_order(f"sequence number {lowest}, which was refused, comes before {batch.base_sequence}")
        last = known.recent[-1].last if known.recent and batch.producer_epoch == known.epoch else -1
        if batch.base_sequence != (0 if last < 0 else next_sequence(last, 1)):
            raise _out_of_order(f"sequence number {batch.base_sequence} follows {last}")
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
            if known.first_of_transaction is None:
                known.first_of_transaction = base_offset

    def end_transaction(self, producer_id: int, epoch: int, timestamp: int) -> int | None:
        """Take in a marker: its epoch fences producers with a lower one; the first offset of what it ends."""
        known = self._in_epoch(producer_id, epoch)
        known.last_timestamp, known.coordinator_epoch = timestamp, COORDINATOR_EPOCH
        self._unverified.pop(producer_id, None)
        first, known.first_of_transaction = known.first_of_transaction, None
        return first

    def _in_epoch(self, producer_id: int, epoch: int) -> ProducerState:
        """Return the state of a producer; make it if there is none, and clear it if the epoch is a new one."""
        known = self.by_id.setdefault(producer_id, ProducerState(epoch))
        if known.epoch != epoch:
            known.epoch = epoch
            known.recent.clear()
        return known


def _out_of_order(reason: str) -> Refused:
    return Refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, reason)


# Transactional ids.


class Numbers(NamedTuple):
    """Producer id and epoch."""

    producer_id: int
    epoch: int


@dataclass(slots=True)
class Transaction:
    """The current or last transaction of a transactional id."""

    producer_id: int
    epoch: int = 0
    previous_id: int = -1
    """The producer id before this one, whose epochs are used up."""
    last_epoch: int = _NO_EPOCH
    """The epoch with which the producer has asked for this one itself (KIP-360)."""
    is_ongoing: bool = False
    last_was_commit: bool | None = None
    """True if the one before was committed; None if there was none since the producer began."""
    timeout: int = 0
    """Milliseconds that it may last."""
    started: int = -1
    """Milliseconds since 1970; -1 if there was none since the producer began."""
    expires: float = math.inf
    """The time of the node at which it is aborted."""
    partitions: set[TopicPartition] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)

    def fence(self) -> None:
        """Raise the epoch with which an ongoing transaction is aborted, so that its producer is refused everywhere."""
        self.epoch, self.last_epoch = self.epoch + 1, _NO_EPOCH

    def end(self, *, is_commit: bool) -> None:
        """End it."""
        self.is_ongoing, self.last_was_commit, self.expires = False, is_commit, math.inf
        self.partitions.clear()
        self.groups.clear()

    @property
    def state(self) -> str:
        """The state, in Kafka's words."""
        if self.is_ongoing:
            return "Ongoing"
        return {None: "Empty", True: "CompleteCommit", False: "CompleteAbort"}[self.last_was_commit]

    def raise_epoch(self, expected: Numbers | None) -> None:
        """Give the producer its next epoch; refuse one whose place another has taken."""
        if expected is None or expected.epoch == self.epoch:
            self.last_epoch = _NO_EPOCH if expected is None else self.epoch
            self.epoch += 1
        elif expected.epoch != self.last_epoch:  # else it asks again, since the answer was lost
            raise Refused(ErrorCode.PRODUCER_FENCED)
        self.last_was_commit, self.started = None, -1


@dataclass(slots=True)
class Producers:
    """All producer ids that were given, and the transactions of those with a transactional id."""

    transactions: dict[str, Transaction] = field(default_factory=dict)
    """Transactions by transactional id."""
    next_expiry: float = math.inf
    """The time before which no transaction has to be aborted."""
    _next_id: int = _FIRST_PRODUCER_ID

    def new_id(self) -> int:
        """Return an unused producer id."""
        self._next_id += 1
        return self._next_id - 1

    def to_begin(self, transactional_id: str, expected: Numbers | None) -> Transaction | None:
        """Find the transaction that a beginning producer has; refuse numbers that another one has by now."""
        known = self.transactions.get(transactional_id)
        if known is not None and expected is not None and expected.producer_id != known.producer_id:
            is_used_up = expected.epoch >= _LAST_EPOCH  # so that it has got another id (KIP-360)
            if expected.producer_id != known.previous_id or not is_used_up:
                raise Refused(ErrorCode.PRODUCER_FENCED)
        return known

    def begin(self, transactional_id: str, expected: Numbers | None) -> Transaction:
        """Begin the transaction of a producer, which fences the one before it; refuse as `to_begin`."""
        known = self.to_begin(transactional_id, expected)
        is_again = known is not None and expected is not None and expected.epoch != known.epoch
        if known is not None and (is_again or known.epoch < _LAST_EPOCH):
            known.raise_epoch(expected)
            return known
        found = self.transactions[transactional_id] = Transaction(self.new_id())
        if known is not None:
            found.previous_id = known.producer_id
            found.last_epoch = _NO_EPOCH if expected is None else known.epoch
        return found

    def current(
        self, transactional_id: str, numbers: Numbers, fenced: ErrorCode = ErrorCode.PRODUCER_FENCED
    ) -> Transaction:
        """Find the transaction of a producer; refuse one that does not have this transactional id now."""
        found = self._known(transactional_id)
        if found.producer_id != numbers.producer_id:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if found.epoch != numbers.epoch:
            raise Refused(fenced, "another producer has taken its place")
        return found

    def to_end(self, transactional_id: str, numbers: Numbers) -> tuple[Transaction, bool]:
        """Find the transaction that a producer ends to get its next epoch, and True if it does so a second time."""
        found = self._known(transactional_id)
        is_renewed = numbers == (found.previous_id, _LAST_EPOCH) and found.epoch == 0
        is_raised = numbers == (found.producer_id, found.epoch - 1)
        if (is_raised or is_renewed) and not found.is_ongoing and found.last_was_commit is not None:
            return found, True
        return self.current(transactional_id, numbers), False

    def raise_after_end(self, transaction: Transaction) -> None:
        """Give a producer whose marker had the highest epoch a new id."""
        if transaction.epoch == HIGHEST_EPOCH:
            transaction.previous_id, transaction.epoch = transaction.producer_id, 0
            transaction.producer_id = self.new_id()

    def _known(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise Refused(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
        if transactional_id not in self.transactions:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return self.transactions[transactional_id]
