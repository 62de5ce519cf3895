"""Offsets of consumer groups over time, and how far behind groups are (`kipspark offsets`)."""

from __future__ import annotations

from kipjobs.jobs.offsets.tables import (
    COMMIT,
    OF_BATCHES,
    TOPIC,
    TYPES,
    commits,
    ends,
    latest,
    latest_with_ends,
    membership,
    with_lag,
)

__all__ = [
    "COMMIT",
    "OF_BATCHES",
    "TOPIC",
    "TYPES",
    "commits",
    "ends",
    "latest",
    "latest_with_ends",
    "membership",
    "with_lag",
]
