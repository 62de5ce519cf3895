"""A job from its session to what is printed and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession

from kipspark.files.stores import is_url
from kipspark.report.console import show
from kipspark.report.outputs import check_empty, check_file, write_file, write_tables
from kipspark.report.page import page
from kipspark.report.report import FirstRows, Report, Table, first_rows
from kipspark.spark.session import FOR_FEW_ROWS, open_session
from kipwire.tools.terminal import OUT, table_console

ReportOf = Callable[[SparkSession], Report]

_ROWS_OF_PAGE = 20_000
"""The most rows of a table that a page can have; how many fit depends on their length."""

_SMALL = 16 * 2**20
"""Bytes: a job on less data takes seconds, most of them until Java's compilers have done their work."""


def _is_small(data: str) -> bool:
    """Whether there is little to read at a path; of a store that is not known."""
    if is_url(data):
        return False
    left = _SMALL
    for file in [Path(data)] if Path(data).is_file() else Path(data).rglob("*"):
        left -= file.stat().st_size if file.is_file() else 0
        if left < 0:
            return False
    return True


def run(
    report_of: ReportOf,
    out: Path | None,
    html: Path | None,
    master: str | None,
    remote: str | None,
    jars: str = "",
    data: str | None = None,
) -> bool:
    """Run a job in its own session, and return whether any of its tables has rows.

    Args:
        report_of: the job.
        out: as the option.
        html: as the option.
        master: as the option.
        remote: as the option.
        jars: of Spark.
        data: the path or URL that the job reads.

    Raises:
        JobError: its tables or its page cannot be written to the given paths.
    """
    if out is not None:
        check_empty(out)
    if html is not None:
        check_file(html)
    spark = open_session(master, remote, jars, FOR_FEW_ROWS if data is not None and _is_small(data) else {})
    try:
        return deliver(report_of(spark), out, html)
    finally:
        spark.stop()


def deliver(report: Report, out: Path | None, html: Path | None) -> bool:
    """Print a report, write its tables and page if wanted, and return whether any table has rows.

    If a page is written, which has all tables, only the first table is printed.
    """
    tables: list[FirstRows] = []

    def rows_of(table: Table) -> FirstRows:
        return first_rows(table, table.shown if html is None else _ROWS_OF_PAGE)

    def computed(wanted: Iterable[Table]) -> Iterator[FirstRows]:
        for table in wanted:
            tables.append(rows_of(table))
            yield tables[-1]

    show(table_console(), report, computed(report.tables if html is None else report.tables[:1]))
    tables += map(rows_of, report.tables[len(tables) :])
    if out is not None:  # before the page, so that a chart that fails does not lose them
        write_tables(out, report.tables)
        OUT.print(f"\nTables: {out}")
    if html is not None:
        text = page(report, tables, [(chart, chart.frame.toArrow().to_pylist()) for chart in report.charts])
        write_file(html, text)
        OUT.print(f"\nPage: {html}")
    return any(shown.rows for shown in tables)
