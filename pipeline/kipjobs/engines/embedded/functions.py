"""The functions for columns of the embedded engine; `kipjobs.engines.functions` says what each does.

A function belongs here if a job uses it, and not before. It must give what Spark gives, for nulls, order and types,
too: the tests run each job on both engines and compare the rows. Where DuckDB has a function of another meaning under
the same name, the difference is made up for here, so that no job has a case for an engine. `kipspark.spark.engine` is
the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any

import pyarrow as pa

from kipjobs.engines.embedded import decoders
from kipjobs.engines.embedded.columns import (
    CURRENT_ROW,
    UNBOUNDED_PRECEDING,
    Column,
    Window,
    case,
    column,
    column_of,
    join_columns,
    literal,
    quote,
    sql_of,
)
from kipjobs.engines.embedded.frames import own
from kipjobs.engines.frames import Column as GivenColumn
from kipwire.tables.arrow import HIGHEST_MILLISECOND
from kipwire.tables.json_text import json_texts
from kipwire.tools.times import NONE

ColumnOrName = GivenColumn | str

_depth: ContextVar[int] = ContextVar("depth", default=0)
"""Number of lambdas around the one being written. It is part of the parameter's name, so that nested ones differ."""


class _Windows:
    unboundedPreceding = UNBOUNDED_PRECEDING  # noqa: N815  PySpark's own name
    currentRow = CURRENT_ROW  # noqa: N815  PySpark's own name

    def partitionBy(self, *columns: ColumnOrName) -> Window:  # noqa: N802  PySpark's own name
        return Window().partitionBy(*columns)


def _call(name: str, *arguments: ColumnOrName) -> Column:
    return Column(f"{name}({join_columns(arguments, ', ')})")


def _named(name: str) -> Callable[..., Column]:
    """Return a method that calls a function of DuckDB."""

    def call(_: object, *arguments: ColumnOrName) -> Column:
        return _call(name, *arguments)

    return call


class EmbeddedFunctions:
    """The functions, by the names of PySpark."""

    Window = _Windows()

    # The same values under another name, or the same one. Functions below make up for a difference.
    base64 = _named("to_base64")
    coalesce = _named("coalesce")
    explode = _named("unnest")
    first = _named("first")
    flatten = _named("flatten")
    greatest = _named("greatest")
    hex = _named("hex")
    lag = _named("lag")
    lead = _named("lead")
    least = _named("least")
    max = _named("max")
    max_by = _named("arg_max_null")
    min = _named("min")
    min_by = _named("arg_min_null")
    round = _named("round")
    unix_micros = _named("epoch_us")

    def array(self, *columns: ColumnOrName) -> Column:
        return Column(f"[{join_columns(columns, ', ')}]")

    def array_contains(self, column: ColumnOrName, value: object) -> Column:
        return Column(f"list_contains({column_of(column).sql}, {sql_of(value)})")

    def array_except(self, one: ColumnOrName, other: ColumnOrName) -> Column:
        return Column(
            f"list_filter(list_distinct({column_of(one).sql}), "
            f"lambda kept: NOT list_contains({column_of(other).sql}, kept))"
        )

    def array_sort(self, column: ColumnOrName) -> Column:
        return Column(f"list_sort({column_of(column).sql}, 'ASC', 'NULLS LAST')")

    def broadcast(self, frame: Any) -> Any:
        return frame

    def col(self, name: str) -> Column:
        return column(name)

    def concat(self, *columns: ColumnOrName) -> Column:
        return Column(f"({join_columns(columns, ' || ')})")

    def concat_ws(self, separator: str, *columns: ColumnOrName) -> Column:
        return Column(f"concat_ws({literal(separator)}, {join_columns(columns, ', ')})")

    def count(self, column: ColumnOrName) -> Column:
        return Column("count(*)") if isinstance(column, str) and column == "*" else _call("count", column)

    def count_distinct(self, column: ColumnOrName) -> Column:
        return Column(f"count(DISTINCT {column_of(column).sql})")

    def current_timestamp(self) -> Column:
        return Column("now()")

    def desc(self, column: str) -> Column:
        return column_of(column).desc()

    def last(self, column: ColumnOrName, ignorenulls: bool = False) -> Column:
        return Column(f"last_value({column_of(column).sql}{' IGNORE NULLS' if ignorenulls else ''})")

    def lit(self, value: object) -> Column:
        return value if isinstance(value, Column) else Column(literal(value))

    def percentile(self, column: ColumnOrName, part: float) -> Column:
        return Column(f"quantile_cont({column_of(column).sql}, {part!r}::DOUBLE)")

    def regexp_replace(self, column: ColumnOrName, pattern: str, replacement: str) -> Column:
        return Column(f"regexp_replace({column_of(column).sql}, {literal(pattern)}, {literal(replacement)}, 'gs')")

    def size(self, column: ColumnOrName) -> Column:
        return Column(f"CAST(len({column_of(column).sql}) AS INTEGER)")

    def struct(self, *columns: ColumnOrName) -> Column:
        fields = [column_of(one) for one in columns]
        return Column(f"struct_pack({', '.join(f'{quote(one.name)} := {one.sql}' for one in fields)})")

    def substring(self, column: ColumnOrName, position: int, length: int) -> Column:
        return Column(f"({column_of(column).sql})[{position}:{position + length - 1}]")

    def sum(self, column: ColumnOrName) -> Column:
        return Column(f"CAST(sum({column_of(column).sql}) AS BIGINT)")

    def transform(self, column: ColumnOrName, change: Callable[[GivenColumn], GivenColumn]) -> Column:
        depth = _depth.get()
        name = f"one_{depth}"
        token = _depth.set(depth + 1)
        try:
            changed = change(Column(name, "one"))
        finally:
            _depth.reset(token)
        return Column(f"list_transform({column_of(column).sql}, lambda {name}: {column_of(changed).sql})")

    def translate(self, column: ColumnOrName, matching: str, replace: str) -> Column:
        return Column(f"translate({column_of(column).sql}, {literal(matching)}, {literal(replace)})")

    def try_sum(self, column: ColumnOrName) -> Column:
        return Column(f"TRY_CAST(sum({column_of(column).sql}) AS BIGINT)")

    def when(self, condition: GivenColumn, value: object) -> Column:
        return case(condition, value)

    def from_coordinator(
        self, key: ColumnOrName, value: ColumnOrName, *, coordinator: str = "group", types: Iterable[str] = ()
    ) -> Column:
        return decoders.of_records(coordinator, tuple(types)).column(column_of(key), column_of(value))

    def from_metadata(self, value: ColumnOrName, *, types: Iterable[str] = ()) -> Column:
        return decoders.of_records("metadata", tuple(types)).column(column_of(value))

    def valid_text(self, column: ColumnOrName) -> Column:
        return column_of(column)  # DuckDB has no other texts

    def kafka_time(self, column: ColumnOrName) -> Column:
        number = column_of(column)
        fits = (number != NONE) & number.between(-HIGHEST_MILLISECOND, HIGHEST_MILLISECOND)
        return self.when(fits, Column(f"make_timestamptz(({number.sql})::BIGINT * 1000)"))

    def bytes_of(self, column: ColumnOrName) -> Column:
        return Column(f"CAST(octet_length({column_of(column).sql}) AS INTEGER)")

    def hashes(self, column: ColumnOrName) -> tuple[Column, Column]:
        return _call("md5_number", column), Column("0")  # all 128 bits in one; its halves would cost nine times as much

    def with_json(self, frame: Any, columns: Sequence[str], name: str) -> Any:
        def with_texts(batches: Iterable[pa.RecordBatch]) -> Any:
            for batch in batches:
                added = json_texts([batch.column(one) for one in columns])
                yield pa.RecordBatch.from_arrays(
                    [*batch.columns, added], schema=pa.schema([*batch.schema, (name, pa.string())])
                )

        return own(frame).add_columns(with_texts, [(name, pa.string())])

    def map_batches(self, frame: Any, change: Any, schema: pa.Schema) -> Any:
        return own(frame).map_batches(change, schema)

    def add_columns(self, frame: Any, change: Any, fields: Sequence[tuple[str, pa.DataType]]) -> Any:
        return own(frame).add_columns(change, fields)

    def map_groups(
        self, frame: Any, by: Sequence[str], change: Callable[[pa.Table], pa.Table], schema: pa.Schema
    ) -> Any:
        return own(frame).map_groups(by, change, schema)
