"""Data frames of the embedded engine: nested SQL queries, with the method names of PySpark.

A frame is the text of a query, the names of its columns, and what the query needs: rows that a Python function gives
(`Rows`), and results that are kept (`Kept`). It has no rows: it asks `Queries`, which is a session, to run the query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Protocol

import pyarrow as pa

from kipjobs.engines.embedded.columns import Column, column, column_of, order_of, quote, with_name
from kipjobs.engines.embedded.types import words_of
from kipjobs.engines.frames import DataFrame
from kipjobs.engines.functions import ArrowMap, Engine
from kipwire.tables.arrow import python_rows

_numbers = count()


class Rows:
    """Rows that a function yields, as a table that queries may read any number of times."""

    def __init__(self, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        """Take the function that yields the rows; it is called each time that a query reads them."""
        self.name = f"rows_{next(_numbers)}"
        self.schema = schema
        self._batches = batches

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = pa.RecordBatchReader.from_batches(self.schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)


class Kept:
    """The result of a query that is computed once, when it is first needed."""

    def __init__(self, frame: Frame) -> None:
        self.name = f"kept_{next(_numbers)}"
        self.frame = frame
        self.is_there = False

    @property
    def needs(self) -> frozenset[Need]:
        """Rows and results that the query reads."""
        return self.frame.needs


Need = Rows | Kept


class Queries(Protocol):
    """The place where queries run, as frames need it."""

    engine: Engine

    def table(self, frame: Frame) -> pa.Table:
        """Compute all rows of a frame."""
        ...

    def batches(self, frame: Frame) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a frame as they are computed."""
        ...

    def run(self, statement: str, frame: Frame) -> None:
        """Run a statement on a frame, whose query is part of its text."""
        ...

    def frame_of(
        self, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]], needs: frozenset[Need] = frozenset()
    ) -> Frame:
        """Return the rows that a function yields as a frame.

        Args:
            schema: of the rows.
            batches: yields them; called each time that a query reads them.
            needs: of the frame that the function reads, if it reads one.
        """
        ...


class Frame:
    """A query."""

    def __init__(self, queries: Queries, sql: str, names: Sequence[str], needs: frozenset[Need]) -> None:
        self.queries = queries
        self.sql = sql
        self.columns = list(names)
        self.needs = needs

    @property
    def engine(self) -> Engine:
        """The engine of this frame."""
        return self.queries.engine

    # PySpark's API as far as jobs use it: `kipjobs.engines.frames`.

    def select(self, *columns: Column | str) -> Frame:
        return self._over(f"SELECT {_list(chosen := list(map(column_of, columns)))} FROM ({self.sql})", _names(chosen))

    def where(self, condition: Column | str) -> Frame:
        return self._over(f"SELECT * FROM ({self.sql}) WHERE {column_of(condition).sql}", self.columns)

    def withColumns(self, added: Mapping[str, Column]) -> Frame:  # noqa: N802
        kept = [added[name].alias(name) if name in added else column(quote_path(name)) for name in self.columns]
        new = [value.alias(name) for name, value in added.items() if name not in self.columns]
        return self.select(*kept, *new)

    def withColumn(self, name: str, value: Column) -> Frame:  # noqa: N802
        return self.withColumns({name: value})

    def withColumnRenamed(self, name: str, new: str) -> Frame:  # noqa: N802
        return self.select(*[column(quote_path(one)).alias(new if one == name else one) for one in self.columns])

    def drop(self, *names: str) -> Frame:
        return self.select(*[column(quote_path(name)) for name in self.columns if name not in names])

    def distinct(self) -> Frame:
        return self._over(f"SELECT DISTINCT * FROM ({self.sql})", self.columns)

    def dropDuplicates(self, names: Sequence[str]) -> Frame:  # noqa: N802
        return self._over(f"SELECT DISTINCT ON ({', '.join(map(quote, names))}) * FROM ({self.sql})", self.columns)

    def orderBy(self, *columns: Column | str) -> Frame:  # noqa: N802
        return self._over(f"SELECT * FROM ({self.sql}) ORDER BY {', '.join(map(order_of, columns))}", self.columns)

    def limit(self, most: int) -> Frame:
        return self._over(f"SELECT * FROM ({self.sql}) LIMIT {most}", self.columns)

    def unionByName(self, other: Frame, allowMissingColumns: bool = False) -> Frame:  # noqa: N802, N803
        names = self.columns
        if allowMissingColumns:
            names = [*names, *[name for name in other.columns if name not in names]]
        return self._over(f"({self.sql}) UNION ALL BY NAME ({other.sql})", names, other)

    def crossJoin(self, other: Frame) -> Frame:  # noqa: N802
        sql = f"SELECT * FROM ({self.sql}) AS _l CROSS JOIN ({other.sql}) AS _r"
        return self._over(sql, [*self.columns, *other.columns], other)

    def join(self, other: Frame, on: Column | str | Sequence[str], how: str = "inner") -> Frame:
        kind = {"inner": "INNER", "left": "LEFT", "full": "FULL", "left_anti": "ANTI"}[how]
        both = f"({self.sql}) AS _l {kind} JOIN ({other.sql}) AS _r"
        if isinstance(on, Column):
            names = self.columns if how == "left_anti" else [*self.columns, *other.columns]
            return self._over(f"SELECT {'_l.*' if how == 'left_anti' else '*'} FROM {both} ON {on.sql}", names, other)
        keys = [on] if isinstance(on, str) else list(on)
        of_left = [name for name in self.columns if name not in keys]
        of_right = [] if how == "left_anti" else [name for name in other.columns if name not in keys]
        parts = [
            *[_key(quote(name), how) for name in keys],
            *[f"_l.{quote(name)}" for name in of_left],
            *[f"_r.{quote(name)}" for name in of_right],
        ]
        equal = " AND ".join(f"_l.{quote(name)} = _r.{quote(name)}" for name in keys)
        return self._over(f"SELECT {', '.join(parts)} FROM {both} ON {equal}", [*keys, *of_left, *of_right], other)

    def groupBy(self, *columns: Column | str) -> Groups:  # noqa: N802
        return Groups(self, list(map(column_of, columns)))

    def agg(self, *columns: Column) -> Frame:
        return self._over(f"SELECT {_list(columns)} FROM ({self.sql})", _names(columns))

    def persist(self) -> Frame:
        kept = Kept(self)
        return Frame(self.queries, f"SELECT * FROM {kept.name}", self.columns, self.needs | {kept})

    def toArrow(self) -> pa.Table:  # noqa: N802
        return self.queries.table(self)

    def collect(self) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in python_rows(self.toArrow())]

    def isEmpty(self) -> bool:  # noqa: N802
        return not len(self.limit(1).toArrow())

    def count(self) -> int:
        return int(self.agg(Column("count(*)", "rows")).collect()[0][0])

    @property
    def schema(self) -> pa.Schema:
        """The Arrow types of the columns, without computing a row."""
        return self.queries.table(self.limit(0)).schema

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        return [(field.name, words_of(field.type)) for field in self.schema]

    # Methods that PySpark lacks, or has under other names.

    def map_batches(
        self, change: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], schema: pa.Schema
    ) -> Frame:
        """Return the rows that a function makes of the batches of rows, as they come."""
        return self.queries.frame_of(schema, lambda: change(self.queries.batches(self)), self.needs)

    def add_columns(self, change: ArrowMap, fields: Sequence[tuple[str, pa.DataType]]) -> Frame:
        """Do as `map_batches`, for a function that adds columns."""
        return self.map_batches(change, pa.schema([*self.schema, *fields]))

    def map_groups(self, by: Sequence[str], change: Callable[[pa.Table], pa.Table], schema: pa.Schema) -> Frame:
        """Return the rows that a function makes of all rows of each group."""
        in_order = self.orderBy(*by)

        def change_batches() -> Iterator[pa.RecordBatch]:
            for group in _groups(self.queries.batches(in_order), list(by)):
                yield from change(group).cast(schema).to_batches()

        return self.queries.frame_of(schema, change_batches, self.needs)

    def _over(self, sql: str, names: Sequence[str], *others: Frame) -> Frame:
        return Frame(self.queries, sql, names, self.needs.union(*[other.needs for other in others]))


def own(frame: DataFrame) -> Frame:
    """Return a frame that a job gives, which is one of this engine."""
    assert isinstance(frame, Frame), frame
    return frame


class Groups:
    """Rows by equal values of some columns."""

    def __init__(self, frame: Frame, by: list[Column]) -> None:
        self._frame = frame
        self._by = by

    def agg(self, *columns: Column) -> Frame:
        """Return one row for each group."""
        numbers = ", ".join(str(number) for number in range(1, len(self._by) + 1))
        chosen = [*self._by, *columns]
        frame = self._frame
        return Frame(
            frame.queries,
            f"SELECT {_list(chosen)} FROM ({frame.sql}) GROUP BY {numbers}",
            _names(chosen),
            frame.needs,
        )


def quote_path(name: str) -> str:
    """Quote a name so that its dots do not make it a path."""
    return f"`{name}`"


def _list(columns: Iterable[Column]) -> str:
    return ", ".join(map(with_name, columns))


def _names(columns: Iterable[Column]) -> list[str]:
    return [one.name for one in columns]


def _key(name: str, how: str) -> str:
    return f"coalesce(_l.{name}, _r.{name}) AS {name}" if how == "full" else f"_l.{name}"


def _groups(batches: Iterator[pa.RecordBatch], by: list[str]) -> Iterator[pa.Table]:
    """Yield the rows of each group, from batches in the order of the groups."""
    waiting: list[pa.RecordBatch] = []
    key: list[Any] | None = None
    for batch in batches:
        keys = list(zip(*(batch.column(name).to_pylist() for name in by), strict=True))
        start = 0
        for row, one in enumerate(keys):
            if key is not None and list(one) != key:
                if row > start:
                    waiting.append(batch.slice(start, row - start))
                yield pa.Table.from_batches(waiting)
                waiting, start = [], row
            key = list(one)
        waiting.append(batch.slice(start))
    if waiting and key is not None:
        yield pa.Table.from_batches(waiting)
