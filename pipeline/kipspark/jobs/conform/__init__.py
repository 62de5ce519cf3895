"""Differences between the ways of reading and writing messages (`kipspark conform`)."""

from __future__ import annotations

from kipspark.jobs.conform.tables import (
    CASES_SCHEMA,
    DIFFERENCES_SCHEMA,
    GOLDEN_SCHEMA,
    cases,
    differences,
    differing,
    golden_differences,
)

__all__ = [
    "CASES_SCHEMA",
    "DIFFERENCES_SCHEMA",
    "GOLDEN_SCHEMA",
    "cases",
    "differences",
    "differing",
    "golden_differences",
]
