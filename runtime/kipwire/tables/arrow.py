"""Arrow's compute functions, Kafka's timestamps as the engines have them, and columns as Python's values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute

from kipwire.tools.times import FIRST_MICROSECOND, LAST_MICROSECOND, NONE, beyond_text

pc: Any = pyarrow.compute
"""Arrow's compute functions, which are made at run time, so that type checkers do not know them."""

TIMESTAMP = pa.timestamp("us", tz="UTC")
"""The Arrow type of all timestamps, the same as Spark's."""

HIGHEST_MILLISECOND = (2**63 - 1) // 1000
"""The last time, in milliseconds since 1970, of which 64 bits hold the microseconds; the first is as far before."""


def microseconds(milliseconds: pa.Int64Array) -> pa.TimestampArray:
    """Convert to microseconds since 1970; null for -1, which means no timestamp, and for numbers beyond 64 bits."""
    is_set = pc.not_equal(milliseconds, NONE)
    highest = HIGHEST_MILLISECOND
    fits = pc.and_(pc.greater_equal(milliseconds, -highest), pc.less_equal(milliseconds, highest))
    return pc.if_else(pc.and_(is_set, fits), pc.multiply(milliseconds, 1000), None).cast(TIMESTAMP)


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Return the values of a column; a time that has no date is the text of `kipwire.tools.times.beyond_text`."""
    values: list[Any]
    if not pa.types.is_timestamp(column.type):
        values = column.to_pylist(maps_as_pydicts="lossy")
        return values
    numbers = column.cast(pa.int64())
    has_date = pc.and_(pc.greater_equal(numbers, FIRST_MICROSECOND), pc.less_equal(numbers, LAST_MICROSECOND))
    values = pc.if_else(has_date, column, None).to_pylist()
    for at in pc.indices_nonzero(pc.invert(has_date)).to_pylist():
        values[at] = beyond_text(numbers[at].as_py())
    return values


def python_rows(table: pa.Table | pa.RecordBatch) -> list[dict[str, Any]]:
    """Return rows as mappings, with values as of `python_values`."""
    columns = [python_values(column) for column in table.columns]
    return [dict(zip(table.schema.names, row, strict=True)) for row in zip(*columns, strict=True)]
