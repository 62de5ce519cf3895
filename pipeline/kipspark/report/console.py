"""Reports on a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from kipspark.report.report import FirstRows, Report, cell
from kipwire.tools.text import printable_line


def show(console: Console, report: Report, tables: Iterable[FirstRows]) -> None:
    """Print a report, each table as soon as it has been computed."""
    for number, shown in enumerate(table.for_terminal() for table in tables):
        if number == 0:
            console.print(_text(report.title, "bold"))
        console.print()
        if not shown.rows:
            console.print(_text(f"{shown.table.title}: none", "bold"))
            continue
        console.print(_table(shown))
        if not shown.is_all:
            console.print(Text(f"only the first {len(shown.rows)} rows are shown", style="dim"))
    for note in report.notes:
        console.print()
        console.print(_text(note))


def _text(text: str, style: str = "") -> Text:
    """Text as it is, without rich's markup."""
    return Text(printable_line(text), style=style)


def _table(shown: FirstRows) -> RichTable:
    table = RichTable(
        title=_text(shown.table.title, "bold"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for name in shown.columns:
        is_number = any(isinstance(row[name], (int, float)) for row in shown.rows)
        table.add_column(_text(name.replace("_", " ")), justify="right" if is_number else "left", overflow="fold")
    for row in shown.rows:
        table.add_row(*[Text(cell(row[name], name)) for name in shown.columns])
    return table
