"""Clients, APIs, latencies and errors in captures (`kipspark traffic`)."""

from __future__ import annotations

from kipjobs.jobs.traffic.tables import (
    WAITING,
    by_api,
    by_client,
    error_codes,
    error_names,
    errors,
    exchanges,
    few_values,
    inspect_all,
    slowness,
    totals,
    unknown_tags,
    unread,
    unserved,
)

__all__ = [
    "WAITING",
    "by_api",
    "by_client",
    "error_codes",
    "error_names",
    "errors",
    "exchanges",
    "few_values",
    "inspect_all",
    "slowness",
    "totals",
    "unknown_tags",
    "unread",
    "unserved",
]
