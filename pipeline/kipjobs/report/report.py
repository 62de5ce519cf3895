"""The result of a job as data: tables and charts, which terminals, pages and files show."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kipjobs.engines import Column, DataFrame
from kipjobs.report.metrics import Metrics
from kipwire.tables.arrow import python_rows
from kipwire.tools.text import printable_line
from kipwire.tools.times import date_text

Row = dict[str, Any]
_NO_TIMES = datetime.min


@dataclass(frozen=True)
class Table:
    """One table of a job."""

    name: str
    """Name of the table, and of the folder or file that it is written to."""
    title: str
    frame: DataFrame
    order: tuple[Column | str, ...]
    """Sort order of the rows: problems, or the largest, first."""
    hidden: tuple[str, ...] = ()
    """Columns that only files have."""
    shown: int = 20
    """The number of rows that a terminal shows."""
    note: str = ""
    """An explanation of its rows, shown if there are any."""
    is_wrong: bool = False
    """True if its rows are faults, which a page shows before its charts."""
    none: str = "none"
    """Text in place of rows, if there are none."""
    flag: str = ""
    """The column that is neither blank nor 0 in rows with an error, which a page can show alone."""


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
    """The subject: topics, groups, traffic."""
    tables: tuple[Table, ...]
    """Tables of faults come first."""
    charts: tuple[Chart, ...] = ()
    notes: tuple[str, ...] = field(default=())
    metrics: tuple[Metrics, ...] = ()
    where: str = ""
    """The paths or the brokers that it is from."""
    totals: DataFrame | None = None
    """One row of summary numbers."""
    left_out: str = ""
    """One line that says what its tables are without; empty if nothing could not be read."""
    is_damaged: bool = False
    """True if something damaged is among that."""


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a table."""

    table: Table
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    is_all: bool

    def for_terminal(self) -> FirstRows:
        """Return as many of the rows as a terminal shows."""
        most = self.table.shown
        return replace(self, rows=self.rows[:most], is_all=self.is_all and len(self.rows) <= most)


def first_rows(table: Table, most: int) -> FirstRows:
    """Compute the first rows of a table, at most the given number."""
    rows = python_rows(table.frame.orderBy(*table.order).limit(most + 1).toArrow())
    columns = tuple(name for name in table.frame.columns if name not in table.hidden)
    return FirstRows(table, columns, tuple(rows[:most]), len(rows) <= most)


def chart_rows(chart: Chart) -> list[Row]:
    """Compute the rows of a chart; a row whose time has no date has no place on its axis."""
    rows = python_rows(chart.frame.toArrow())
    return [row for row in rows if isinstance(row.get("time", _NO_TIMES), datetime)]


def total_row(report: Report) -> Row:
    """Return the row of the totals; empty if there are none."""
    rows = [] if report.totals is None else python_rows(report.totals.toArrow())
    return dict(rows[0]) if rows else {}


def heading(column: str) -> str:
    """Return the name of a column in words."""
    return column.replace("_", " ")


def is_numeric(shown: FirstRows, column: str) -> bool:
    """Return True if a column has numbers."""
    return any(isinstance(row[column], (int, float)) and not isinstance(row[column], bool) for row in shown.rows)


_WORDS_OF_NAMES = (
    *("id", "ids", "epoch", "epochs", "offset", "offsets", "sequence", "partition", "leader", "replicas", "isr"),
    *("position", "port", "version", "versions", "number", "line", "broker", "seed"),
)
_NAMES = re.compile(rf"(?:.*_)?(?:{'|'.join(_WORDS_OF_NAMES)})|log_start|cleaned_to")
"""Columns whose numbers are names, such as ids and offsets, and not quantities.

People paste them into commands such as `kafka-transactions abort --producer-id`, search for them, and compare them with
names of files: a separator of thousands is wrong in all of these. So offsets are among them, and lag is not.
"""


def cell(value: Any, column: str = "") -> str:
    """Return a value as readable text.

    Args:
        value: of any type that a table may have.
        column: its name, which distinguishes a number that is a quantity, such as `1,000` bytes, from one that is a
            name, such as the producer id 1000.
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return ", ".join(cell(one, column) for one in value)
    if isinstance(value, datetime):
        return date_text(value, " ", "milliseconds")
    is_quantity = isinstance(value, int) and not _NAMES.fullmatch(column)
    return printable_line(f"{value:,}" if is_quantity else str(value))
