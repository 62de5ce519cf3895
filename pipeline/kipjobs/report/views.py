"""How people see a report: as tables on a terminal, and as one self-contained HTML page with charts."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from itertools import accumulate
from json import dumps
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from kipjobs.errors import JobError
from kipjobs.report.report import Chart, FirstRows, Report, Row, cell
from kipwire.tools.text import printable_line


def show(console: Console, report: Report, tables: Iterable[FirstRows]) -> None:
    """Print a report, each table as soon as it has been computed."""
    for number, shown in enumerate(table.for_terminal() for table in tables):
        if number == 0:
            console.print(_rich_text(report.title, "bold"))
        console.print()
        if not shown.rows:
            console.print(_rich_text(f"{shown.table.title}: none", "bold"))
            continue
        console.print(_rich_table(shown))
        if not shown.is_all:
            console.print(Text(f"only the first {len(shown.rows)} rows are shown", style="dim"))
    for note in report.notes:
        console.print()
        console.print(_rich_text(note))


def _rich_text(text: str, style: str = "") -> Text:
    """Text as it is, without rich's markup."""
    return Text(printable_line(text), style=style)


def _rich_table(shown: FirstRows) -> RichTable:
    table = RichTable(
        title=_rich_text(shown.table.title, "bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for name in shown.columns:
        is_number = any(isinstance(row[name], (int, float)) for row in shown.rows)
        table.add_column(_rich_text(name.replace("_", " ")), justify="right" if is_number else "left", overflow="fold")
    for row in shown.rows:
        table.add_row(*[Text(cell(row[name], name)) for name in shown.columns])
    return table


_LOOK: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "axes.spines.top": False,
    # Names are data: a `$` in one does not start a formula.
    "text.parse_math": False,
    "text.usetex": False,
    "axes.formatter.use_mathtext": False,
}

_LONG = 48
"""The text of a cell with more characters than this may wrap."""

_PAGE_BYTES = 1_950_000
"""About the most that a page may take, so that it opens at once: two megabytes with what it shows without scripts."""
_OF_FIRST = 0.9
"""The part of the room for tables that the first one may take."""


def page(report: Report, tables: list[FirstRows], charts: list[tuple[Chart, list[Row]]]) -> str:
    """The page: the first table, which answers what most people ask, then charts, then the other tables."""
    drawn = [
        f'<h2>{_text(chart.title)}</h2><div class="scroll">{_svg(chart, rows)}</div>' for chart, rows in charts if rows
    ]
    style, script = _file("page.css"), _file("page.js")
    room = _PAGE_BYTES - sum(map(len, (style, script, *drawn)))
    first, *others = [
        _section(shown, lines) for shown, lines in zip(tables, _fitting(list(map(_lines, tables)), room), strict=True)
    ]
    parts = [f"<h1>{_text(report.title)}</h1>", first, *drawn, *others]
    parts += [f'<p class="note">{_text(note)}</p>' for note in report.notes]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(report.title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + f"\n<script>\nconst LONG = {_LONG};\n{script}</script>\n</body>\n</html>\n"
    )


def _file(name: str) -> str:
    return files("kipjobs.report").joinpath(name).read_text("utf-8")


def _text(text: str) -> str:
    return escape(printable_line(text))


def _lines(shown: FirstRows) -> list[str]:
    """Each row as JSON in ASCII without `<`, which HTML would read."""
    rows = ([cell(row[name], name) for name in shown.columns] for row in shown.rows)
    return [dumps(row, separators=(",", ":")).replace("<", "\\u003c") for row in rows]


def _fitting(tables: list[list[str]], room: int) -> list[list[str]]:
    """The first lines of each table, as many as fit on a page.

    The first table takes what it needs of most of the room; what small tables leave, large ones share.
    """
    fitting = {0: _first_lines(tables[0], int(room * _OF_FIRST))}
    left = room - _length(fitting[0])
    by_size = sorted(range(1, len(tables)), key=lambda index: _length(tables[index]))
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
    """A table with its title: for scripts the rows of these lines, without scripts as many as on a terminal."""
    title = f"<h2>{_text(shown.table.title)}</h2>"
    if not shown.rows:
        return f'<section>{title}\n<p class="note">none</p></section>'
    is_all = shown.is_all and len(lines) == len(shown.rows)
    more = "" if is_all else f'\n<p class="note">This page has the first {len(lines):,} rows; --out writes all.</p>'
    return (
        f'<section data-rows="{len(lines)}">{title}\n'
        '<div class="tools" hidden><input type="search" placeholder="Search" aria-label="Search this table">'
        '<span class="count" role="status"></span></div>\n'
        f"{_table(shown)}\n"
        '<button type="button" class="more" hidden>Show more</button>\n'
        f'<script type="application/json">[{",".join(lines)}]</script>{more}</section>'
    )


def _table(shown: FirstRows) -> str:
    numbers = {name for name in shown.columns if any(isinstance(row[name], (int, float)) for row in shown.rows)}
    mark = {name: ' class="number"' if name in numbers else "" for name in shown.columns}
    head = "".join(f"<th{mark[name]}>{escape(name.replace('_', ' '))}</th>" for name in shown.columns)
    body = "\n".join(
        "<tr>" + "".join(_cell(cell(row[name], name), mark[name]) for name in shown.columns) + "</tr>"
        for row in shown.rows[: shown.table.shown]
    )
    return f'<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def _cell(text: str, mark: str) -> str:
    attributes = ' class="long"' if len(text) > _LONG else mark
    return f"<td{attributes}>{escape(text)}</td>"


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
