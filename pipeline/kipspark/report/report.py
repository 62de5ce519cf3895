"""The result of a job as data: tables and charts, from which `console`, `page` and Parquet files are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import Column, DataFrame

from kipspark.report.metrics import Metrics
from kipwire.tools.printable import printable_line

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """One table of a job."""

    name: str
    """Also the name of the folder or the file that it is written to."""
    title: str
    frame: DataFrame
    order: tuple[Column | str, ...]
    """The sort order of the rows that are shown: what is wrong or largest first."""
    hidden: tuple[str, ...] = ()
    """Columns that only files have."""
    shown: int = 20
    """The number of rows that a terminal shows."""


@dataclass(frozen=True)
class Chart:
    """One chart of a page."""

    title: str
    frame: DataFrame
    """Its data, few rows."""
    draw: Callable[[Any, list[Row]], None]
    """Draws the rows on matplotlib's axes."""


@dataclass(frozen=True)
class Report:
    """The result of a job."""

    title: str
    tables: tuple[Table, ...]
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = field(default=())
    metrics: tuple[Metrics, ...] = ()


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a table."""

    table: Table
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    is_all: bool

    def for_terminal(self) -> FirstRows:
        """As many of them as a terminal shows."""
        most = self.table.shown
        return replace(self, rows=self.rows[:most], is_all=self.is_all and len(self.rows) <= most)


def first_rows(table: Table, most: int) -> FirstRows:
    """Compute the first rows of a table, at most the given number."""
    rows = table.frame.orderBy(*table.order).limit(most + 1).toArrow().to_pylist()
    columns = tuple(name for name in table.frame.columns if name not in table.hidden)
    return FirstRows(table, columns, tuple(rows[:most]), len(rows) <= most)


def cell(value: Any) -> str:
    """A value as readable text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return ", ".join(cell(one) for one in value)
    if hasattr(value, "isoformat"):
        return str(value.strftime("%Y-%m-%d %H:%M:%S.%f"))[:-3]
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return printable_line(text)
