"""A report on a terminal: totals, then tables whose rows have one line each, however narrow the terminal is."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from textwrap import wrap
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from kipjobs.report.report import FirstRows, Report, cell, heading, is_numeric
from kipwire.cli.text_tables import shorten
from kipwire.tools.text import printable_line

_NARROWEST = 12
"""Lowest number of characters to which a text is shortened."""
_GAP = 2
"""Characters between columns, of which rich has one as padding."""
_EDGES = 1
"""Characters before the first column."""
_OF_A_DAY = len("2026-11-21 ")


def show(
    console: Console, report: Report, tables: Iterable[FirstRows], totals: Mapping[str, Any] | None = None
) -> None:
    """Print a report, each table as soon as it has been computed.

    Args:
        console: on a terminal, or with COLUMNS, tables are as wide as that; in other files they are whole.
        report: the report.
        tables: the tables to print.
        totals: the row of its totals.
    """
    for number, shown in enumerate(table.for_terminal() for table in tables):
        if number == 0:
            console.print(_text(report.title, "bold"))
            if report.where:
                console.print(_text(report.where, "dim"))
            if totals:
                console.print()
                width = max(len(heading(name)) for name in totals)
                for name, value in totals.items():
                    console.print(_text(f"{heading(name):<{width}}  {cell(value, name) or 'not known':>10}"))
        console.print()
        if not shown.rows:
            console.print(_text(f"{shown.table.title}: {shown.table.none}", "bold"))
            continue
        fitted = fit(shown, console.width if console.is_terminal or "COLUMNS" in os.environ else None)
        console.print(_rich_table(fitted))
        if not shown.is_all:
            console.print(Text(f"only the first {len(shown.rows)} rows are shown", style="dim"))
        if fitted.left_out:
            names = ", ".join(map(heading, fitted.left_out))
            console.print(_text(f"no room for {names}; --html and --out have all columns", "dim"))
        if shown.table.note:
            console.print(_text(shown.table.note, "dim"))
    for note in report.notes:
        console.print()
        console.print(_text(note))


@dataclass(frozen=True)
class Fitted:
    """A table that fits."""

    title: str
    heads: Sequence[str]
    """Headings, in several lines if a column is narrow."""
    numeric: Sequence[bool]
    rows: Sequence[Sequence[str]]
    left_out: Sequence[str] = ()
    """Columns for which there was no room."""


def fit(shown: FirstRows, width: int | None) -> Fitted:
    """Fit a table into lines, one for each row.

    The day of times goes to the title if it is the same for all. If there is no room, texts lose their middles; then
    the last columns are left out.

    Args:
        shown: the table.
        width: characters of a line; None if it may be any.
    """
    columns = list(shown.columns)
    numeric = [is_numeric(shown, name) for name in columns]
    cells = {name: [cell(row[name], name) for row in shown.rows] for name in columns}
    title = shown.table.title
    if width is None:
        return Fitted(title, list(map(heading, columns)), numeric, _lines(cells, columns))
    times = [name for name in columns if any(isinstance(row[name], datetime) for row in shown.rows)]
    days = {text[:_OF_A_DAY] for name in times for text in cells[name] if text}
    if len(days) == 1:
        cells |= {name: [text[_OF_A_DAY:] for text in cells[name]] for name in times}
        title = f"{title}, times of {next(iter(days)).strip()} in UTC"
    texts = [name for name, number in zip(columns, numeric, strict=True) if not number and name not in times]
    widths = {name: max(map(len, (*cells[name], *heading(name).split()))) for name in columns}
    left_out: list[str] = []

    def excess(narrowest: Mapping[str, int]) -> int:
        return sum(narrowest[name] + _GAP for name in columns) + _EDGES - width

    least = {name: min(widths[name], _NARROWEST) if name in texts else widths[name] for name in columns}
    while excess(least) > 0 and len(columns) > 1:
        left_out.insert(0, columns.pop())
    shrinking = [name for name in texts if name in columns]
    while excess(widths) > 0 and any(widths[name] > least[name] for name in shrinking):
        widths[max(shrinking, key=widths.__getitem__)] -= 1
    for name in shrinking:
        cells[name] = [shorten(text, widths[name]) for text in cells[name]]
    heads = ["\n".join(wrap(heading(name), widths[name], break_long_words=False)) for name in columns]
    return Fitted(title, heads, numeric[: len(columns)], _lines(cells, columns), left_out)


def _lines(cells: Mapping[str, Sequence[str]], columns: Sequence[str]) -> list[tuple[str, ...]]:
    return list(zip(*(cells[name] for name in columns), strict=True))


def _rich_table(fitted: Fitted) -> RichTable:
    table = RichTable(
        title=_text(fitted.title, "bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for head, numeric in zip(fitted.heads, fitted.numeric, strict=True):
        table.add_column(Text(head), justify="right" if numeric else "left", overflow="fold")
    for row in fitted.rows:
        table.add_row(*map(Text, row))
    return table


def _text(text: str, style: str = "") -> Text:
    """Text as it is, without rich's markup."""
    return Text(printable_line(text), style=style)
