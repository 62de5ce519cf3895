"""A report as one self-contained page of HTML: totals, what is wrong, charts, and tables to search and sort.

A page must open at once and work without a network: styles, scripts and charts are inside, and it has a bounded size.
What is wrong comes first, then charts, then the rest. Rows are JSON for the script, and as many as a terminal shows are
also plain HTML, for a reader without scripts. Every text is escaped, as HTML or as JSON without `<`, because names in
the data may come from anywhere; `kipwire.cli.page` has the shell.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from datetime import datetime
from itertools import accumulate
from json import dumps
from typing import Any

from kipjobs.report.report import Chart, FirstRows, Report, Row, cell, heading, is_numeric
from kipwire.cli.page import escaped, part
from kipwire.cli.page import page as shell
from kipwire.tables.errors import JobError

_LOOK: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    # Names are data: a `$` in one does not start a formula.
    "text.parse_math": False,
    "text.usetex": False,
    "axes.formatter.use_mathtext": False,
}

_SHORT, _LONG = 20, 48
"""Characters: a text with more than the first may wrap where its table is too wide; one with more than the other wraps
at some width, too."""

_PAGE_BYTES = 1_950_000
"""Size limit of a page, so that it opens at once: about two megabytes with its content for browsers without scripts."""
_OF_MAIN = 0.9
"""Share of the room for tables that the main one may take, which is the first one that is not of faults."""


def page(
    report: Report,
    tables: list[FirstRows],
    charts: list[tuple[Chart, list[Row]]],
    totals: Mapping[str, Any] | None = None,
) -> str:
    """Return the page: totals, then tables of problems, then charts, then the other tables.

    Args:
        report: the report.
        tables: its tables, in their order.
        charts: those with rows are drawn.
        totals: the row of its totals.
    """
    drawn = [
        f'<section class="chart"><h2>{escaped(chart.title)}</h2><p class="note">Wider than the screen: scroll it →</p>'
        f'<div class="scroll" tabindex="0">{_svg(chart, rows)}</div></section>'
        for chart, rows in charts
        if rows
    ]
    style, script = part("kipjobs.report", "page.css"), part("kipjobs.report", "page.js")
    room = _PAGE_BYTES - sum(map(len, (style, script, *drawn)))
    main = next((number for number, shown in enumerate(tables) if not shown.table.is_wrong), 0)
    lines = _fitting(list(map(_lines, tables)), room, main)
    sections = [_section(shown, of_table) for shown, of_table in zip(tables, lines, strict=True)]
    wrong = [section for section, shown in zip(sections, tables, strict=True) if shown.table.is_wrong]
    others = [section for section, shown in zip(sections, tables, strict=True) if not shown.table.is_wrong]
    if not wrong:  # the first table answers the most frequent question
        wrong, others = others[:1], others[1:]
    parts = [
        f"<h1>{escaped(report.title)}</h1>",
        f'<p class="note">{escaped(report.where)}</p>' if report.where else "",
        _totals(totals or {}),
        *wrong,
        *drawn,
        *others,
        *(f'<p class="note">{escaped(note)}</p>' for note in report.notes),
    ]
    body = "\n".join(one for one in parts if one)
    return shell(report.title, f"<header>kipwire</header>\n<main>\n{body}\n</main>", style, script)


def _totals(totals: Mapping[str, Any]) -> str:
    if not totals:
        return ""
    numbers = "".join(
        f"<div><dt>{escaped(heading(name))}</dt><dd>{escaped(cell(value, name) or 'not known')}</dd></div>"
        for name, value in totals.items()
    )
    return f'<dl class="totals">{numbers}</dl>'


def _lines(shown: FirstRows) -> list[str]:
    """Return each row as JSON in ASCII without `<`, which HTML would read as markup."""
    rows = ([cell(row[name], name) for name in shown.columns] for row in shown.rows)
    return [dumps(row, separators=(",", ":")).replace("<", "\\u003c") for row in rows]


def _fitting(tables: list[list[str]], room: int, main: int) -> list[list[str]]:
    """Return the first lines of each table, as many as fit on a page.

    The main table, with index `main`, takes the room that it needs, up to nine tenths; small tables take the room that
    they need, and large ones share the rest.
    """
    fitting = {main: _first_lines(tables[main], int(room * _OF_MAIN))}
    left = room - _length(fitting[main])
    by_size = sorted(set(range(len(tables))) - {main}, key=lambda index: _length(tables[index]))
    for done, index in enumerate(by_size):
        fitting[index] = _first_lines(tables[index], left // (len(by_size) - done))
        left -= _length(fitting[index])
    return [fitting[index] for index in range(len(tables))]


def _first_lines(lines: list[str], room: int) -> list[str]:
    ends = accumulate(len(line) + 1 for line in lines)
    return [line for line, end in zip(lines, ends, strict=True) if end <= room]


def _length(lines: list[str]) -> int:
    return sum(len(line) + 1 for line in lines)


def _section(shown: FirstRows, lines: list[str]) -> str:
    """Return a table with its title: for scripts all of these lines, without scripts as many rows as on a terminal."""
    title = f"<h2>{escaped(shown.table.title)}</h2>"
    if not shown.rows:
        return f'<section class="none">{title}\n<p class="note">{escaped(shown.table.none)}</p></section>'
    is_all = shown.is_all and len(lines) == len(shown.rows)
    more = "" if is_all else f'\n<p class="note">This page has the first {len(lines):,} rows; --out writes all.</p>'
    if shown.table.note:
        more += f'\n<p class="note">{escaped(shown.table.note)}</p>'
    switch = flag = ""
    if shown.table.flag in shown.columns:
        flag = f' data-flag="{shown.columns.index(shown.table.flag)}"'
        switch = '<label><input type="checkbox"> only errors</label>'
    wrong = ' class="wrong"' if shown.table.is_wrong else ""
    return (
        f'<section data-rows="{len(lines)}"{flag}{wrong}>{title}\n'
        '<div class="tools" hidden><input type="search" placeholder="Search" aria-label="Search this table">'
        f'{switch}<span class="count" role="status"></span></div>\n'
        f"{_table(shown)}\n"
        '<button type="button" class="more" hidden>Show more</button>\n'
        f'<script type="application/json">[{",".join(lines)}]</script>{more}</section>'
    )


def _table(shown: FirstRows) -> str:
    kinds = {name: _kind(shown, name) for name in shown.columns}
    head = "".join(f'<th class="{kinds[name]}">{escaped(heading(name))}</th>' for name in shown.columns)
    body = "\n".join(
        "<tr>" + "".join(_cell(cell(row[name], name), name, kinds[name]) for name in shown.columns) + "</tr>"
        for row in shown.rows[: shown.table.shown]
    )
    return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def _kind(shown: FirstRows, column: str) -> str:
    """Return the CSS class of a column by its content: numbers, times, words, or texts that may wrap."""
    if is_numeric(shown, column):
        return "number"
    if any(isinstance(row[column], datetime) for row in shown.rows):
        return "time"
    longest = max(len(cell(row[column], column)) for row in shown.rows)
    return "long" if longest > _LONG else "text" if longest > _SHORT else "word"


def _cell(text: str, column: str, kind: str) -> str:
    return f'<td class="{kind}" data-label="{escaped(heading(column))}">{escaped(text)}</td>'


def _svg(chart: Chart, rows: list[Row]) -> str:
    import matplotlib as mpl  # the import takes a second, and only pages need it
    from matplotlib.figure import Figure

    with mpl.rc_context(_LOOK), warnings.catch_warnings():
        # The browser has its own fonts, so a character that matplotlib's font lacks does not matter.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        figure = Figure(figsize=(11, 4.2), layout="constrained")
        axes: Any = figure.subplots()
        axes.spines["right"].set_visible(False)
        axes.grid(color="#e3e8ee", linewidth=0.8)
        axes.set_axisbelow(True)
        out = io.StringIO()
        try:
            chart.draw(axes, rows)
            figure.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
        except Exception as error:  # matplotlib's, of any kind
            raise JobError(f"the chart {chart.title!r} cannot be drawn: {error!r}; no page was written") from error
    text = out.getvalue()
    return text[text.index("<svg") :]
