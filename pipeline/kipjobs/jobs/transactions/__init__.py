"""Open and hanging transactions, and what they hold back (`kipspark transactions`)."""

from __future__ import annotations

from kipjobs.jobs.transactions.tables import (
    OF_BATCHES,
    known_producers,
    lines,
    log_starts,
    open_transactions,
    partitions,
    producers,
    totals,
    transactions,
    unread_markers,
    without_coordinator,
)
from kipjobs.jobs.transactions.times import OF_TIMES, implausible_times

__all__ = [
    "OF_BATCHES",
    "OF_TIMES",
    "implausible_times",
    "known_producers",
    "lines",
    "log_starts",
    "open_transactions",
    "partitions",
    "producers",
    "totals",
    "transactions",
    "unread_markers",
    "without_coordinator",
]
