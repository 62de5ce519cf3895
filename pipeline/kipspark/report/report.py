"""The result of a job as data: tables and charts, from which `console`, `page` and Parquet files are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame

from kipwire.tools.printable import printable_line

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """One table of a job."""

    name: str
    """Also the name of the folder for its Parquet files."""
    title: str
    frame: DataFrame
    order: tuple[Column | str, ...]
    """The sort order of the rows that are shown."""
    hidden: tuple[str, ...] = ()
    """Columns that only files have."""
    shown: int = 20
    """The number of rows that are shown."""


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


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a table."""

    table: Table
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    is_all: bool


def first_rows(table: Table) -> FirstRows:
    """Compute the rows of a table that are shown."""
    rows = table.frame.orderBy(*table.order).limit(table.shown + 1).toArrow().to_pylist()
    columns = tuple(name for name in table.frame.columns if name not in table.hidden)
    return FirstRows(table, columns, tuple(rows[: table.shown]), len(rows) <= table.shown)


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
