"""What a job has to say, as data: tables and charts; `console`, `page` and Parquet files are made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame

from kipspark.printing import printable

Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """One table of a job."""

    name: str
    """Also of the folder that its Parquet files go to."""
    title: str
    frame: DataFrame
    order: tuple[Column | str, ...]
    """What to sort by where only the first rows are shown."""
    hidden: tuple[str, ...] = ()
    """Columns that only files have."""
    shown: int = 20
    """Rows that are shown."""


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
    """What a job has found."""

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
    """The rows of a table that are shown, computed now."""
    rows = table.frame.orderBy(*table.order).limit(table.shown + 1).toArrow().to_pylist()
    columns = tuple(name for name in table.frame.columns if name not in table.hidden)
    return FirstRows(table, columns, tuple(rows[: table.shown]), len(rows) <= table.shown)


def cell(value: Any) -> str:
    """A value as people read it."""
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
    return printable(text)
