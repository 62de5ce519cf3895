"""Arrow's compute functions, and Kafka's timestamps as the engines have them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute

pc: Any = pyarrow.compute
"""Arrow's compute functions, which are made at run time, so that type checkers do not know them."""

TIMESTAMP = pa.timestamp("us", tz="UTC")
"""The Arrow type of all timestamps, the same as Spark's."""

_HIGHEST = (2**63 - 1) // 1000


def microseconds(milliseconds: pa.Int64Array) -> pa.TimestampArray:
    """Convert to microseconds since 1970; null for -1, which means no timestamp, and for numbers beyond 64 bits."""
    is_set = pc.not_equal(milliseconds, -1)
    fits = pc.and_(pc.greater_equal(milliseconds, -_HIGHEST), pc.less_equal(milliseconds, _HIGHEST))
    return pc.if_else(pc.and_(is_set, fits), pc.multiply(milliseconds, 1000), None).cast(TIMESTAMP)
