"""A report as lines of text: totals, then tables whose rows have one line each, however narrow the terminal is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from textwrap import wrap
from typing import Any

from kipjobs.report.report import FirstRows, Report, cell, heading, is_numeric
from kipwire.cli.text_tables import column_lines, fit
from kipwire.tools.text import printable_line, style_line

_OF_A_DAY = len("2026-11-21 ")


def report_lines(
    report: Report,
    tables: Iterable[FirstRows],
    totals: Mapping[str, Any] | None = None,
    *,
    width: int | None = None,
    coloured: bool = False,
) -> Iterator[str]:
    """Format a report as lines, with their ends; each table is taken when its lines are.

    Args:
        report: the report.
        tables: the tables to show.
        totals: the row of its totals.
        width: characters of a line; None if it may be any.
        coloured: true for colours.
    """

    def lines(text: str, style: str = "") -> Iterator[str]:
        line = printable_line(text)
        for part in [line] if width is None else wrap(line, width, break_on_hyphens=False) or [""]:
            yield style_line([(part, style)], coloured=coloured)

    for number, shown in enumerate(table.for_terminal() for table in tables):
        if number == 0:
            yield from lines(report.title, "bold")
            if report.where:
                yield from lines(report.where, "dim")
            if totals:
                yield "\n"
                longest = max(len(heading(name)) for name in totals)
                for name, value in totals.items():
                    yield from lines(f"{heading(name):<{longest}}  {cell(value, name) or 'not known':>10}")
        yield "\n"
        if not shown.rows:
            yield from lines(f"{shown.table.title}: {shown.table.none}", "bold")
            continue
        title, cells = shown.table.title, _cells(shown)
        times = {name for name in shown.columns if any(isinstance(row[name], datetime) for row in shown.rows)}
        days = {text[:_OF_A_DAY] for name in times for text in cells[name] if text}
        if width is not None and len(days) == 1:  # the day goes to the title if it is the same for all
            cells |= {name: [text[_OF_A_DAY:] for text in cells[name]] for name in times}
            title = f"{title}, times of {next(iter(days)).strip()} in UTC"
        is_left = [not is_numeric(shown, name) for name in shown.columns]
        is_text = [left and name not in times for name, left in zip(shown.columns, is_left, strict=True)]
        rows = list(zip(*cells.values(), strict=True))
        fitted = fit(list(map(heading, shown.columns)), rows, is_text, width)
        yield from lines(title, "bold")
        yield from column_lines(fitted, is_left, coloured=coloured)
        if not shown.is_all:
            yield from lines(f"only the first {len(shown.rows)} rows are shown", "dim")
        if fitted.left_out:
            yield from lines(f"no room for {', '.join(fitted.left_out)}; --html and --out have all columns", "dim")
        if shown.table.note:
            yield from lines(shown.table.note, "dim")
    for note in report.notes:
        yield "\n"
        yield from lines(note)


def _cells(shown: FirstRows) -> dict[str, list[str]]:
    return {name: [cell(row[name], name) for row in shown.rows] for name in shown.columns}
