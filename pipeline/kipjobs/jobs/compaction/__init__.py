"""Dead records of compacted topics (`kipspark compaction`)."""

from __future__ import annotations

from kipjobs.jobs.compaction.tables import (
    CLEANABLE,
    INTERNAL,
    OF_RECORDS,
    bars,
    compacted_topics,
    min_lags,
    partitions,
    recent_segments,
    segments,
    totals,
    uncleaned,
)

__all__ = [
    "CLEANABLE",
    "INTERNAL",
    "OF_RECORDS",
    "bars",
    "compacted_topics",
    "min_lags",
    "partitions",
    "recent_segments",
    "segments",
    "totals",
    "uncleaned",
]
