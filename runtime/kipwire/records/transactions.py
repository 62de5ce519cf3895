"""Transactions: what a consumer that reads committed records only would see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from kipwire.records.control import control_type
from kipwire.records.model import RecordBatch


class AbortedTransaction(Protocol):
    """An aborted transaction, as a Fetch response lists them."""

    @property
    def producer_id(self) -> int: ...

    @property
    def first_offset(self) -> int:
        """The offset that the transaction starts at."""
        ...


def read_committed(
    batches: Iterable[RecordBatch], aborted_transactions: Iterable[AbortedTransaction]
) -> Iterator[RecordBatch]:
    """The batches without those of aborted transactions and without control batches.

    It goes by the rules of Kafka's consumer with `isolation.level=read_committed`. The broker sees to it that a fetch
    with that level ends before the first transaction that is still open.

    Args:
        batches: of one partition, in the order of their offsets.
        aborted_transactions: of the same part of the partition, as a Fetch response lists them with the records.

    Raises:
        DecodeError: a control batch is broken.
    """
    to_come = sorted(aborted_transactions, key=lambda transaction: transaction.first_offset, reverse=True)
    aborting: set[int] = set()
    for batch in batches:
        while to_come and to_come[-1].first_offset <= batch.last_offset:
            aborting.add(to_come.pop().producer_id)
        if batch.is_control:
            if batch.producer_id in aborting and _is_abort(batch):
                aborting.remove(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in aborting):
            yield batch


def _is_abort(batch: RecordBatch) -> bool:
    return bool(batch.records) and control_type(batch.records[0]) == "ABORT"
