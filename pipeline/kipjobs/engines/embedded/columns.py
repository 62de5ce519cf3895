"""Columns and windows of the embedded engine: expressions of SQL, by the names of PySpark.

A column is text of SQL and nothing else: each operator puts parentheses around its result, so columns can be combined
without a look at their text. Every value and every name goes through `literal`, `text` or `quote`; no other text of a
user may stand in a query. `frames` puts columns into queries, `functions` has the functions, and all names are
PySpark's, since jobs are written once for both engines.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kipjobs.engines.embedded.types import sql_type
from kipjobs.engines.frames import Column as GivenColumn


def quote(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Write a text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def literal(value: object) -> str:
    """Write a value as a literal of SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return f"{value!r}::DOUBLE"
        case int():
            return str(int(value))
        case str():
            return text(value) if "\0" not in value else f"decode({literal(value.encode())})"
        case bytes():
            return "'" + "".join(f"\\x{byte:02x}" for byte in value) + "'::BLOB"
        case datetime():
            return f"'{value.isoformat()}'::TIMESTAMPTZ"
        case _:
            raise TypeError(f"{value!r} is not a valid column value")


class Column:
    """An expression, and the name that its values have in a result."""

    __hash__ = None  # type: ignore[assignment]  # == makes an expression, as in PySpark

    def __init__(self, sql: str, name: str = "", branches: str = "") -> None:
        """Take an expression.

        Args:
            sql: the expression.
            name: of its values in a result; by default the expression.
            branches: if it is a CASE that `when` may continue, its conditions and values.
        """
        self.sql = sql
        self.name = name or sql
        self._branches = branches

    def __getitem__(self, field: str) -> Column:
        return Column(f"struct_extract({self.sql}, {text(field)})", field)

    def alias(self, name: str) -> Column:
        """Return this column with another name."""
        return Column(self.sql, name)

    def _with(self, operator: str, other: object) -> Column:
        return Column(f"({self.sql} {operator} {sql_of(other)})")

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return self._with("=", other)

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return self._with("<>", other)

    def __lt__(self, other: object) -> Column:
        return self._with("<", other)

    def __le__(self, other: object) -> Column:
        return self._with("<=", other)

    def __gt__(self, other: object) -> Column:
        return self._with(">", other)

    def __ge__(self, other: object) -> Column:
        return self._with(">=", other)

    def __add__(self, other: object) -> Column:
        return self._with("+", other)

    def __sub__(self, other: object) -> Column:
        return self._with("-", other)

    def __mul__(self, other: object) -> Column:
        return self._with("*", other)

    def __truediv__(self, other: object) -> Column:
        return self._with("/", other)

    def __and__(self, other: object) -> Column:
        return self._with("AND", other)

    def __or__(self, other: object) -> Column:
        return self._with("OR", other)

    def __invert__(self) -> Column:
        return Column(f"(NOT {self.sql})")

    def eqNullSafe(self, other: object) -> Column:  # noqa: N802  PySpark's own name
        """True if both are equal or both null."""
        return self._with("IS NOT DISTINCT FROM", other)

    def isNull(self) -> Column:  # noqa: N802  PySpark's own name
        """True for null."""
        return Column(f"({self.sql} IS NULL)")

    def isNotNull(self) -> Column:  # noqa: N802  PySpark's own name
        """False for null."""
        return Column(f"({self.sql} IS NOT NULL)")

    def isin(self, *values: object) -> Column:
        """True for one of these values."""
        known = list(values[0]) if len(values) == 1 and isinstance(values[0], (list, tuple, set)) else list(values)
        return Column(f"({self.sql} IN ({', '.join(map(sql_of, known))}))" if known else "false")

    def between(self, low: object, high: object) -> Column:
        """True from one value to another one, both included."""
        return Column(f"({self.sql} BETWEEN {sql_of(low)} AND {sql_of(high)})")

    def contains(self, part: object) -> Column:
        """True for a text that has a part."""
        return Column(f"contains({self.sql}, {sql_of(part)})")

    def bitwiseAND(self, other: object) -> Column:  # noqa: N802  PySpark's own name
        """Return the bits that both columns have."""
        return self._with("&", other)

    def cast(self, type_: str) -> Column:
        """Convert this column to another type, given by Spark's name."""
        return Column(f"CAST({self.sql} AS {sql_type(type_)})", self.name)

    def desc(self) -> Column:
        """Return this column for a sort order with the highest first, and null last."""
        return Column(f"{self.sql} DESC NULLS LAST", self.name)

    def over(self, window: Window) -> Column:
        """Apply this function to the rows of a window around each row."""
        return Column(f"{self.sql} OVER ({window.sql})", self.name)

    def when(self, condition: Column, value: object) -> Column:
        """Return this column of `case` with one more condition."""
        assert self._branches, "when() follows when()"
        return case(condition, value, self._branches)

    def otherwise(self, value: object) -> Column:
        """Return this column of `case` with a value for all other rows."""
        assert self._branches, "otherwise() follows when()"
        return Column(f"CASE{self._branches} ELSE {sql_of(value)} END")


def case(condition: GivenColumn | str, value: object, before: str = "") -> Column:
    """Return the value of the first condition that holds, or null; other conditions may come before this one."""
    branches = f"{before} WHEN {column_of(condition).sql} THEN {sql_of(value)}"
    return Column(f"CASE{branches} END", branches=branches)


def sql_of(value: object) -> str:
    """Return the SQL of a column, or of a value."""
    return value.sql if isinstance(value, Column) else literal(value)


def column(name: str) -> Column:
    """Return the column with a name, or with a path such as `record.key.group`."""
    parts = [name[1:-1]] if name.startswith("`") else name.split(".")
    return Column(".".join(map(quote, parts)), parts[-1])


def column_of(given: GivenColumn | str) -> Column:
    """Return a column, which may be given by its name."""
    if isinstance(given, str):
        return column(given)
    if not isinstance(given, Column):
        raise TypeError(f"{given!r} is not a column of this engine")
    return given


def order_of(given: GivenColumn | str) -> str:
    """Return the SQL of a column in a sort order: as in Spark, null comes first, unless the order is descending."""
    sql = column_of(given).sql
    return sql if sql.endswith((" NULLS LAST", " NULLS FIRST")) else f"{sql} ASC NULLS FIRST"


class Window:
    """Rows around each row."""

    def __init__(self, sql: str = "") -> None:
        self.sql = sql

    def partitionBy(self, *columns: GivenColumn | str) -> Window:  # noqa: N802  PySpark's own name
        """Limit the window to rows with equal values in these columns."""
        return Window(f"PARTITION BY {', '.join(column_of(one).sql for one in columns)}")

    def orderBy(self, *columns: GivenColumn | str) -> Window:  # noqa: N802  PySpark's own name
        """Return this window with its rows in an order."""
        return Window(f"{self.sql} ORDER BY {', '.join(map(order_of, columns))}")

    def rowsBetween(self, start: int, end: int) -> Window:  # noqa: N802  PySpark's own name
        """Limit the window to some rows before the current one."""
        return Window(f"{self.sql} ROWS BETWEEN {_frame_bound(start)} AND {_frame_bound(end)}")


UNBOUNDED_PRECEDING = -(2**63)
CURRENT_ROW = 0


def _frame_bound(rows: int) -> str:
    if rows == CURRENT_ROW:
        return "CURRENT ROW"
    return "UNBOUNDED PRECEDING" if rows <= UNBOUNDED_PRECEDING else f"{-rows} PRECEDING"


def join_columns(columns: Iterable[GivenColumn | str], separator: str) -> str:
    """Columns as SQL, with something between them."""
    return separator.join(column_of(one).sql for one in columns)


def with_name(column_: Column) -> str:
    """Return the SQL of a column of a result, with its name."""
    return f"{column_.sql} AS {quote(column_.name)}"
