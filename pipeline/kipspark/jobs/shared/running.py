"""A job from its session to what is printed and written, and the commands that need nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

import typer
from pyspark.sql import SparkSession

from kipjobs.files.roots import Roots
from kipspark.jobs.shared.options import (
    Captures,
    Html,
    LogFolders,
    Logs,
    Master,
    Out,
    Ports,
    Remote,
    TableFormat,
    captures,
    logs,
)
from kipspark.report.metrics import STDOUT, exposition
from kipspark.report.outputs import Format, check_file, check_tables, write_file, write_tables
from kipspark.report.report import FirstRows, Report, Table, first_rows
from kipspark.report.views import page, show
from kipspark.spark.progress import progress_line
from kipspark.spark.session import FOR_FEW_ROWS, open_session
from kipwire.tools.terminal import ERR, OUT, table_console

ReportOf = Callable[[SparkSession], Report]

_ROWS_OF_PAGE = 20_000
"""The most rows of a table that a page can have; how many fit depends on their length."""

_SMALL = 16 * 2**20
"""Bytes: a job on less data takes seconds, most of them until Java's compilers have done their work."""


def run(
    report_of: ReportOf,
    out: Path | None,
    html: Path | None,
    master: str | None,
    remote: str | None,
    jars: str = "",
    size: int | None = None,
    table_format: Format = Format.PARQUET,
    metrics: str | None = None,
) -> bool:
    """Run a job in its own session, and return whether any of its tables has rows.

    Args:
        report_of: the job.
        out: as the option.
        html: as the option.
        master: as the option.
        remote: as the option.
        jars: of Spark.
        size: bytes of the segments or captures that the job reads; None if that is not known.
        table_format: as the option.
        metrics: as the option.

    Raises:
        JobError: its tables, its page or its metrics cannot be written to the given paths.
    """
    check_tables(out, table_format)
    if html is not None:
        check_file(html, "--html")
    if metrics not in (None, STDOUT):
        check_file(Path(metrics), "--metrics")
    is_small = size is not None and size <= _SMALL
    spark = open_session(master, remote, jars, FOR_FEW_ROWS if is_small else {})
    try:
        waiting = partial(progress_line, spark)
        with waiting():
            report = report_of(spark)
        return deliver(report, out, html, table_format, metrics, waiting)
    finally:
        spark.stop()


def deliver(
    report: Report,
    out: Path | None,
    html: Path | None,
    table_format: Format = Format.PARQUET,
    metrics: str | None = None,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> bool:
    """Print a report, write its tables, page and metrics if wanted, and return whether any table it computed has rows.

    If a page is written, which has all tables, only the first table is printed. If the metrics go to standard output,
    nothing else does.

    Args:
        report: of a job.
        out: as the option.
        html: as the option.
        table_format: as the option.
        metrics: as the option.
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

    said = OUT if metrics != STDOUT else ERR
    if metrics != STDOUT:
        show(table_console(), report, computed(report.tables if html is None else report.tables[:1]))
    if html is not None:
        tables += map(rows_of, report.tables[len(tables) :])
    if metrics is not None:
        write_metrics(metrics, report)
    if out is not None:  # before the page, so that a chart that fails does not lose them
        with waiting():
            write_tables(out, report.tables, table_format)
        said.print(f"\nTables: {out}")
    if html is not None:
        with waiting():
            charts = [(chart, chart.frame.toArrow().to_pylist()) for chart in report.charts]
        text = page(report, tables, charts)
        write_file(html, text)
        said.print(f"\nPage: {html}")
    return any(shown.rows for shown in tables)


def write_metrics(file: str, report: Report) -> None:
    """Write the metrics of a report to a file, or to standard output."""
    text = exposition(report.metrics)
    if file == STDOUT:
        typer.echo(text.encode(), nl=False)
    else:
        write_file(Path(file), text)
        OUT.print(f"\nMetrics: {file}")


def on_logs(
    report: Callable[[SparkSession, Roots], Report],
    topics: Collection[str] = (),
    find: Callable[[list[str] | None, str | None], Logs] = logs,
) -> Callable[..., None]:
    """Make the command of a job that needs no more than log folders.

    Args:
        report: of the job.
        topics: those that it reads; all if empty.
        find: finds and checks the folders.
    """

    def command(
        path: LogFolders = None,
        out: Out = None,
        table_format: TableFormat = Format.PARQUET,
        html: Html = None,
        master: Master = None,
        remote: Remote = None,
    ) -> None:
        found = find(path, remote)
        run(
            lambda spark: report(spark, found.paths),
            out,
            html,
            master,
            remote,
            size=found.size(topics),
            table_format=table_format,
        )

    return command


def on_captures(report: Callable[[SparkSession, Roots, str], Report]) -> Callable[..., None]:
    """Make the command of a job on captures; its report also gets the ports."""

    def command(
        path: Captures = None,
        ports: Ports = "",
        out: Out = None,
        table_format: TableFormat = Format.PARQUET,
        html: Html = None,
        master: Master = None,
        remote: Remote = None,
    ) -> None:
        found = captures(path, ports, remote)
        run(
            lambda spark: report(spark, found.paths, ports),
            out,
            html,
            master,
            remote,
            size=found.size,
            table_format=table_format,
        )

    return command
