"""Segments and partitions in tiered storage (`kipspark tiered`)."""

from __future__ import annotations

from kipjobs.jobs.tiered.tables import (
    TOPIC,
    partitions,
    records,
    segments,
    totals,
    unfinished,
)

__all__ = ["TOPIC", "partitions", "records", "segments", "totals", "unfinished"]
