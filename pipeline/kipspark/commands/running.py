"""A job from its session to what is printed and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from kipspark.report.console import show
from kipspark.report.outputs import check_empty, check_file, write_file, write_tables
from kipspark.report.page import page
from kipspark.report.report import FirstRows, Report, Table, first_rows
from kipspark.spark.progress import progress_line
from kipspark.spark.session import FOR_FEW_ROWS, open_session
from kipwire.tools.terminal import OUT, table_console

ReportOf = Callable[[SparkSession], Report]

_ROWS_OF_PAGE = 20_000
"""The most rows of a table that a page can have; how many fit depends on their length."""

_SMALL = 16 * 2**20
"""Bytes: a job on less data takes seconds, most of them until Java's compilers have done their work."""


def _is_small(data: Path) -> bool:
    """Whether there is little to read at a path of this machine."""
    left = _SMALL
    for file in [data] if data.is_file() else data.rglob("*"):
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
    data: Path | None = None,
) -> bool:
    """Run a job in its own session, and return whether any of its tables has rows.

    Args:
        report_of: the job.
        out: as the option.
        html: as the option.
        master: as the option.
        remote: as the option.
        jars: of Spark.
        data: what the job reads, if it is on this machine.

    Raises:
        JobError: its tables or its page cannot be written to the given paths.
    """
    if out is not None:
        check_empty(out)
    if html is not None:
        check_file(html)
    spark = open_session(master, remote, jars, FOR_FEW_ROWS if data is not None and _is_small(data) else {})
    try:
        waiting = partial(progress_line, spark)
        with waiting():
            report = report_of(spark)
        return deliver(report, out, html, waiting)
    finally:
        spark.stop()


def deliver(
    report: Report,
    out: Path | None,
    html: Path | None,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> bool:
    """Print a report, write its tables and page if wanted, and return whether any table has rows.

    If a page is written, which has all tables, only the first table is printed.

    Args:
        report: of a job.
        out: as the option.
        html: as the option.
        waiting: around everything that waits for Spark, and around nothing that prints.
    """
    tables: list[FirstRows] = []

    def rows_of(table: Table) -> FirstRows:
        with waiting():
            return first_rows(table, table.shown if html is None else _ROWS_OF_PAGE)

    def computed(wanted: Iterable[Table]) -> Iterator[FirstRows]:
        for table in wanted:
            tables.append(rows_of(table))
            yield tables[-1]

    show(table_console(), report, computed(report.tables if html is None else report.tables[:1]))
    tables += map(rows_of, report.tables[len(tables) :])
    if out is not None:  # before the page, so that a chart that fails does not lose them
        with waiting():
            write_tables(out, report.tables)
        OUT.print(f"\nTables: {out}")
    if html is not None:
        with waiting():
            charts = [(chart, chart.frame.toArrow().to_pylist()) for chart in report.charts]
        text = page(report, tables, charts)
        write_file(html, text)
        OUT.print(f"\nPage: {html}")
    return any(shown.rows for shown in tables)
