"""Kafka's timestamps as Spark has them."""

from __future__ import annotations

import pyarrow as pa

TIMESTAMP = pa.timestamp("us", tz="UTC")
"""The Arrow type of Spark's timestamps."""

_HIGHEST = (2**63 - 1) // 1000


def microseconds(milliseconds: int) -> int | None:
    """Microseconds since 1970; None for -1, Kafka's word for no timestamp, and for what 64 bits cannot hold."""
    return milliseconds * 1000 if milliseconds != -1 and -_HIGHEST <= milliseconds <= _HIGHEST else None
