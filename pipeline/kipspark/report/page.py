"""Reports as one self-contained HTML page with charts."""

from __future__ import annotations

import io
import warnings
from html import escape
from typing import Any

from kipspark.errors import JobError
from kipspark.report.report import Chart, FirstRows, Report, Row, cell
from kipwire.tools.printable import printable_line

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1d2733; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; }
th, td { text-align: left; padding: 0.25rem 0.8rem 0.25rem 0; border-bottom: 1px solid #e3e8ee; vertical-align: top; }
th { color: #5a6b7d; font-weight: 600; vertical-align: bottom; } td { white-space: nowrap; }
td.long { white-space: normal; min-width: 24rem; overflow-wrap: anywhere; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; min-width: 44rem; max-width: 68rem; height: auto; }
.note { color: #5a6b7d; overflow-wrap: anywhere; }
"""

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


def page(report: Report, tables: list[FirstRows], charts: list[tuple[Chart, list[Row]]]) -> str:
    """The page: the first table, which answers what most people ask, then charts, then the other tables."""
    first, *others = [_section(shown) for shown in tables]
    parts = [f"<h1>{_text(report.title)}</h1>", first]
    parts += [
        f'<h2>{_text(chart.title)}</h2><div class="scroll">{_svg(chart, rows)}</div>' for chart, rows in charts if rows
    ]
    parts += others
    parts += [f'<p class="note">{_text(note)}</p>' for note in report.notes]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(report.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _text(text: str) -> str:
    return escape(printable_line(text))


def _section(shown: FirstRows) -> str:
    content = _table(shown) if shown.rows else '<p class="note">none</p>'
    more = "" if shown.is_all else f'\n<p class="note">only the first {len(shown.rows)} rows are shown</p>'
    return f"<h2>{_text(shown.table.title)}</h2>\n{content}{more}"


def _table(shown: FirstRows) -> str:
    numbers = {name for name in shown.columns if any(isinstance(row[name], (int, float)) for row in shown.rows)}
    mark = {name: ' class="number"' if name in numbers else "" for name in shown.columns}
    head = "".join(f"<th{mark[name]}>{escape(name.replace('_', ' '))}</th>" for name in shown.columns)
    body = "\n".join(
        "<tr>" + "".join(_cell(cell(row[name]), mark[name]) for name in shown.columns) + "</tr>" for row in shown.rows
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
            figure.savefig(out, format="svg", metadata={"Date": None})
        except Exception as error:  # matplotlib's, of any kind
            raise JobError(f"the chart {chart.title!r} cannot be drawn: {error!r}; no page was written") from error
    text = out.getvalue()
    return text[text.index("<svg") :]
