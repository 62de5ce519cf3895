"""A topic as a lazy frame of polars, which gives the reader the columns, the filter and the number of rows it needs.

polars filters what it gets once more, so a filter that is not understood here only reads more. What is understood is
found in the expression's JSON: comparisons of `offset`, `timestamp`, `topic` and `partition` with constants, joined by
`and`. polars does not promise that form; `test_a_filter_of_polars_reads_only_what_it_needs` says if it changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import pyarrow as pa

from kipwire.model.extras import missing_extra
from kipwire.records import Bounds
from kipwire.tables.query import Query, Wanted, query_of

try:
    import polars as pl
    from polars.io.plugins import register_io_source
except ImportError as error:
    raise missing_extra("kipwire.tables.scan_polars needs", "polars", "polars") from error

if TYPE_CHECKING:
    from kipwire.cluster import Cluster
    from kipwire.tables.files.roots import Roots

_MIRRORED = {"Lt": "Gt", "LtEq": "GtEq", "Gt": "Lt", "GtEq": "LtEq", "Eq": "Eq"}
_UNITS = {"Nanoseconds": 10**6, "Microseconds": 10**3, "Milliseconds": 1}
"""Parts of a millisecond."""


def scan_polars(source: Roots | Cluster, **wanted: Unpack[Wanted]) -> pl.LazyFrame:
    """Read topics, or captures, as a lazy frame.

    Columns that are not used are not made, and filters on `offset`, `timestamp`, `topic` and `partition` skip segments
    and batches. Each `collect` finds anew what there is.

    Args:
        source: as of `scan`.
        wanted: as of `scan`.

    Raises:
        KipwireError: an argument is wrong. What is not there, and damage, is raised by `collect`.
    """
    query = query_of(source, **wanted)
    empty = pl.from_arrow(query.schema.empty_table())
    assert isinstance(empty, pl.DataFrame)

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, most: int | None, size: int | None
    ) -> Iterator[pl.DataFrame]:
        needed = set(query.schema.names if columns is None else columns)
        needed |= set() if predicate is None else set(predicate.meta.root_names())
        found = _narrowed(query, predicate, [name for name in query.schema.names if name in needed])
        left = most
        for batch in found.batches():
            frame = _frame(batch)
            if predicate is not None:
                frame = frame.filter(predicate)
            if columns is not None:
                frame = frame.select(columns)
            if left is not None:
                frame = frame.head(left)
                left -= len(frame)
            if len(frame):
                yield frame
            if left == 0:
                return

    return register_io_source(read, schema=empty.schema)


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame


class _Comparison(NamedTuple):
    """A comparison of a column with a constant."""

    column: str
    operator: str
    value: Any
    """Of a timestamp: the whole milliseconds, and the parts of one more."""


def _narrowed(query: Query, predicate: pl.Expr | None, columns: list[str]) -> Query:
    """Narrow a query to the rows for which an expression may be true."""
    bounds, topics, numbers = Bounds(), set[str](), set[int]()
    for one in () if predicate is None or query.level != "records" else _comparisons(predicate):
        if one.column == "offset" and isinstance(one.value, int):
            bounds = _tighter(bounds, "offset", one.operator, (one.value, 0))
        elif one.column == "timestamp" and isinstance(one.value, tuple):
            bounds = _tighter(bounds, "timestamp", one.operator, one.value)
        elif one.operator == "Eq" and one.column == "topic" and isinstance(one.value, str):
            topics.add(one.value)
        elif one.operator == "Eq" and one.column == "partition" and isinstance(one.value, int):
            numbers.add(one.value)
    named = query.chosen.topics
    if len(topics) != 1 or (named and not topics.issubset(named)):  # polars finds that there is none
        topics = set()
    numbers = numbers if len(numbers) == 1 and not query.chosen.partitions else set()
    return query.narrowed(columns, bounds, topics, numbers)


def _tighter(bounds: Bounds, name: str, operator: str, value: tuple[int, int]) -> Bounds:
    """Return bounds that a comparison narrows; the value is whole, with a rest that is more than 0 if it is not."""
    whole, rest = value
    at_least, above = whole + bool(rest), whole + 1
    first, end = getattr(bounds, f"first_{name}"), getattr(bounds, f"end_{name}")
    firsts = {"GtEq": at_least, "Gt": above, "Eq": at_least}
    ends = {"Lt": at_least, "LtEq": above, "Eq": above}
    if operator in firsts:
        first = max(firsts[operator], firsts[operator] if first is None else first)
    if operator in ends:
        end = min(ends[operator], ends[operator] if end is None else end)
    return bounds._replace(**{f"first_{name}": first, f"end_{name}": end})


def _comparisons(predicate: pl.Expr) -> Iterator[_Comparison]:
    """Find the comparisons that must all hold where an expression is true."""
    try:
        yield from _in(json.loads(predicate.meta.serialize(format="json")))
    except (ValueError, pl.exceptions.PolarsError):  # it has something that has no JSON
        return


def _in(tree: Any) -> Iterator[_Comparison]:
    match tree:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            yield from _in(left)
            yield from _in(right)
        case {"BinaryExpr": {"left": {"Column": str(column)}, "op": str(operator), "right": right}}:
            yield from _compared(column, operator, right)
        case {"BinaryExpr": {"left": left, "op": str(operator), "right": {"Column": str(column)}}}:
            yield from _compared(column, _MIRRORED.get(operator, ""), left)
        case {
            "Function": {"input": [{"Column": str(column)}, low, high], "function": {"Boolean": {"IsBetween": kind}}}
        }:
            closed = kind.get("closed")
            yield from _compared(column, "GtEq" if closed in ("Both", "Left") else "Gt", low)
            yield from _compared(column, "LtEq" if closed in ("Both", "Right") else "Lt", high)


def _compared(column: str, operator: str, tree: Any) -> Iterator[_Comparison]:
    match tree:
        case {"Literal": {"Scalar": {"Datetime": [int(number), str(unit), {"inner": "UTC"}]}}} if unit in _UNITS:
            yield _Comparison(column, operator, divmod(number, _UNITS[unit]))
        case {"Literal": {"Scalar": dict(scalar)}}:
            yield from (_Comparison(column, operator, value) for value in scalar.values())
