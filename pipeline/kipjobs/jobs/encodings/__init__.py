"""Savings of KIP-625's integer encodings on captures (`kipspark encodings`)."""

from __future__ import annotations

from kipjobs.jobs.encodings.tables import (
    ADVICE_SCHEMA,
    COUNTS_SCHEMA,
    advice,
    counts,
    not_decoded,
    totals,
)

__all__ = ["ADVICE_SCHEMA", "COUNTS_SCHEMA", "advice", "counts", "not_decoded", "totals"]
