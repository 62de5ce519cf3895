"""Producer ids, and the transactions of those producers that have a transactional id."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_messages.enums import ErrorCode
from kipwire.producer_sequence import HIGHEST_EPOCH
from kipwire.testing.broker.state.offsets import TopicPartition
from kipwire.testing.broker.state.refusals import Refused

_FIRST_PRODUCER_ID = 1000


@dataclass(slots=True)
class Transaction:
    """The current or last transaction of a transactional id."""

    producer_id: int
    epoch: int
    is_ongoing: bool = False
    last_was_commit: bool | None = None
    """How the one before ended; None if there was none since the producer began."""
    partitions: set[TopicPartition] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)

    def end(self, *, is_commit: bool) -> None:
        """End it."""
        self.is_ongoing, self.last_was_commit = False, is_commit
        self.partitions.clear()
        self.groups.clear()


class Producers:
    """All producer ids that were given."""

    def __init__(self) -> None:
        self.transactions: dict[str, Transaction] = {}
        """By transactional id."""
        self._next_id = _FIRST_PRODUCER_ID

    def new_id(self) -> int:
        """A producer id that nobody has."""
        self._next_id += 1
        return self._next_id - 1

    def begin(self, transactional_id: str) -> Transaction:
        """The transaction of a producer that begins; the producer before it is fenced."""
        known = self.transactions.get(transactional_id)
        if known is None or known.epoch >= HIGHEST_EPOCH - 1:
            found = self.transactions[transactional_id] = Transaction(self.new_id(), 0)
            return found
        known.epoch += 1
        known.last_was_commit = None
        return known

    def current(self, transactional_id: str, producer_id: int, epoch: int) -> Transaction:
        """The transaction of a producer.

        Raises:
            Refused: the producer is not the one that has this transactional id now.
        """
        found = self.transactions.get(transactional_id)
        if found is None or found.producer_id != producer_id:
            raise Refused(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if found.epoch != epoch:
            raise Refused(ErrorCode.PRODUCER_FENCED)
        return found
