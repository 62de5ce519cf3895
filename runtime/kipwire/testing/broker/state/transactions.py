"""Producer ids, and the transactions of producers with a transactional id, as Kafka's TransactionCoordinator."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from kafka_messages.enums import ErrorCode, TransactionState
from kipwire.records.producer_sequence import HIGHEST_EPOCH
from kipwire.testing.broker.state.offsets import TopicPartition
from kipwire.testing.broker.state.refusals import Refused

_FIRST_PRODUCER_ID = 1000
_NO_EPOCH = -1
STATES = frozenset(one.name.title().replace("_", "") for one in TransactionState)
"""All that Kafka's transactions have; those here are never being prepared."""


class Numbers(NamedTuple):
    """Producer id and epoch."""

    producer_id: int
    epoch: int


@dataclass(slots=True)
class Transaction:
    """The current or last transaction of a transactional id."""

    producer_id: int
    epoch: int
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

    def takes(self, expected: Numbers | None) -> bool:
        """Tell whether a producer that says it has these numbers may go on with the transactional id (KIP-360)."""
        if expected is None or expected.producer_id == self.producer_id:
            return True
        return expected.producer_id == self.previous_id and _is_exhausted(expected.epoch)

    def raise_epoch(self, expected: Numbers | None) -> None:
        """Give the producer its next epoch.

        Raises:
            Refused: another producer has taken its place.
        """
        if expected is None or expected.epoch == self.epoch:
            self.last_epoch = _NO_EPOCH if expected is None else self.epoch
            self.epoch += 1
        elif expected.epoch != self.last_epoch:  # else it asks again, since the answer was lost
            raise Refused(ErrorCode.PRODUCER_FENCED)
        self.last_was_commit, self.started = None, -1


class Producers:
    """All producer ids that were given."""

    def __init__(self) -> None:
        self.transactions: dict[str, Transaction] = {}
        """By transactional id."""
        self.next_expiry = math.inf
        """The time before which no transaction has to be aborted."""
        self._next_id = _FIRST_PRODUCER_ID

    def new_id(self) -> int:
        """Return an unused producer id."""
        self._next_id += 1
        return self._next_id - 1

    def to_begin(self, transactional_id: str, expected: Numbers | None) -> Transaction | None:
        """The transaction that a producer which begins finds; None if there is none.

        Raises:
            Refused: the producer says that it has numbers that another one has by now.
        """
        known = self.transactions.get(transactional_id)
        if known is not None and not known.takes(expected):
            raise Refused(ErrorCode.PRODUCER_FENCED)
        return known

    def begin(self, transactional_id: str, expected: Numbers | None) -> Transaction:
        """The transaction of a producer that begins; the producer before it is fenced.

        Raises:
            Refused: as `to_begin`, or its epoch is of before.
        """
        known = self.to_begin(transactional_id, expected)
        if known is None:
            found = self.transactions[transactional_id] = Transaction(self.new_id(), 0)
            return found
        if _is_exhausted(known.epoch) and (expected is None or expected.epoch == known.epoch):
            last_epoch = _NO_EPOCH if expected is None else known.epoch
            found = Transaction(self.new_id(), 0, known.producer_id, last_epoch)
            self.transactions[transactional_id] = found
            return found
        known.raise_epoch(expected)
        return known

    def current(self, transactional_id: str, numbers: Numbers) -> Transaction:
        """The transaction of a producer.

        Raises:
            Refused: the producer is not the one that has this transactional id now.
        """
        found = self._known(transactional_id)
        if found.producer_id != numbers.producer_id:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if found.epoch != numbers.epoch:
            raise Refused(ErrorCode.PRODUCER_FENCED)
        return found

    def to_end(self, transactional_id: str, numbers: Numbers) -> tuple[Transaction, bool]:
        """The transaction that a producer ends whose epoch is raised then, and whether it asks for the second time.

        Raises:
            Refused: as `current`.
        """
        found = self._known(transactional_id)
        is_renewed = numbers == (found.previous_id, HIGHEST_EPOCH - 1) and found.epoch == 0
        is_raised = numbers == (found.producer_id, found.epoch - 1)
        if (is_raised or is_renewed) and not found.is_ongoing and found.last_was_commit is not None:
            return found, True
        return self.current(transactional_id, numbers), False

    def raise_after_end(self, transaction: Transaction) -> None:
        """Give a producer whose marker had the highest epoch a new id."""
        if transaction.epoch == HIGHEST_EPOCH:
            transaction.previous_id, transaction.producer_id, transaction.epoch = (
                transaction.producer_id,
                self.new_id(),
                0,
            )

    def _known(self, transactional_id: str) -> Transaction:
        if not transactional_id:
            raise Refused(ErrorCode.INVALID_REQUEST, "the transactional id is empty")
        if transactional_id not in self.transactions:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return self.transactions[transactional_id]

    def verified(self, transactional_id: str, numbers: Numbers) -> Transaction:
        """The transaction that a partition asks for, before it takes what a producer sends.

        Raises:
            Refused: as `current`, with the code that producers know.
        """
        try:
            return self.current(transactional_id, numbers)
        except Refused as error:
            if error.error == ErrorCode.PRODUCER_FENCED:
                raise Refused(ErrorCode.INVALID_PRODUCER_EPOCH, "another producer has taken its place") from None
            raise


def _is_exhausted(epoch: int) -> bool:
    return epoch >= HIGHEST_EPOCH - 1
