"""Clients, APIs, latencies and errors in captures (`kipspark traffic`)."""

from __future__ import annotations

from kipjobs.jobs.traffic.tables import (
    by_api,
    by_client,
    error_codes,
    errors,
    exchanges,
    few_values,
    inspected,
    unknown_tags,
    unserved,
)

__all__ = [
    "by_api",
    "by_client",
    "error_codes",
    "errors",
    "exchanges",
    "few_values",
    "inspected",
    "unknown_tags",
    "unserved",
]
