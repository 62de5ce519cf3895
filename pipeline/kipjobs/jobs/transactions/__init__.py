"""Open and hanging transactions, and what they hold back (`kipspark transactions`)."""

from __future__ import annotations

from kipjobs.jobs.transactions.tables import (
    OF_BATCHES,
    damaged_markers,
    known_producers,
    log_starts,
    open_transactions,
    partitions,
    producers,
    totals,
    transactions,
    without_coordinator,
)

__all__ = [
    "OF_BATCHES",
    "damaged_markers",
    "known_producers",
    "log_starts",
    "open_transactions",
    "partitions",
    "producers",
    "totals",
    "transactions",
    "without_coordinator",
]
