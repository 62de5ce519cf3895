"""A job from where it runs to what is printed and written, and the commands that need nothing else.

A command is a function with options of click, whose first argument is a `Runner`: where the job runs.
`kipjobs.commands` makes commands of it that run here, and `kipspark.commands` those that run on Spark.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, Protocol

import click

from kipjobs.engines import Session
from kipjobs.jobs.shared.options import (
    BROKERS,
    CONFIG,
    LOG_FOLDERS,
    PERMISSIVE_OPTION,
    Logs,
    Outputs,
    brokers_of,
    expect_topic,
    logs,
    outputs,
)
from kipjobs.report.metrics import exposition
from kipjobs.report.outputs import check_file, check_tables, json_lines, write_file, write_tables
from kipjobs.report.report import FirstRows, Report, Table, chart_rows, first_rows, total_row
from kipjobs.report.terminal import report_lines
from kipjobs.report.views import page
from kipwire.cli.jobs import ReportFormat
from kipwire.cli.output import Output, metrics_text
from kipwire.tables.errors import Mode
from kipwire.tools.text import has_colour, print_err, print_out, printable_json, printable_line

ReportOf = Callable[[Session], Report]

_ROWS_OF_PAGE = 20_000
"""Highest number of rows of a table on a page; fewer fit if they are long."""


class Runner(Protocol):
    """The place where a job runs."""

    @property
    def are_here(self) -> bool:
        """True if the paths of a job are on this machine."""
        ...

    def session(self, size: int | None) -> AbstractContextManager[Session]:
        """Open a session for a job that reads so many bytes; None if that is not known."""
        ...

    def waiting(self, session: Session) -> AbstractContextManager[None]:
        """Return a context for code that waits for results, such as a line of progress; no code in it may print."""
        ...


def run(runner: Runner, report_of: ReportOf, outputs: Outputs, size: int | None = None) -> bool:
    """Run a job in its own session, and return whether any of its tables has rows.

    Args:
        runner: the place where the job runs.
        report_of: the job.
        outputs: the output files and the format.
        size: bytes of the segments or captures that the job reads; None if that is not known.

    Raises:
        JobError: its tables, its page or its metrics cannot be written to the given paths.
        Exit: it is complete, but for something damaged; the exit status is 1.
    """
    check_tables(outputs.out, outputs.table_format)
    if outputs.html is not None:
        check_file(outputs.html, "--html")
    if outputs.metrics is not None:
        check_file(outputs.metrics, "--metrics")
    with runner.session(size) as session:
        with runner.waiting(session):
            report = report_of(session)
        has_rows = deliver(report, outputs, lambda: runner.waiting(session))
    if report.is_damaged:
        raise click.exceptions.Exit(1)
    return has_rows


def deliver(
    report: Report, outputs: Outputs, waiting: Callable[[], AbstractContextManager[None]] = nullcontext
) -> bool:
    """Print a report, write its tables, page and metrics if wanted, and return whether any table it computed has rows.

    If a page is written, which has all tables, a terminal gets only the first one. JSON and metrics are alone on
    standard output.

    Args:
        report: of a job.
        outputs: the output files and the format.
        waiting: makes the context for code that waits for results; no code in it prints.
    """
    tables: list[FirstRows] = []

    def rows_of(table: Table) -> FirstRows:
        with waiting():
            return first_rows(table, table.shown if outputs.html is None else _ROWS_OF_PAGE)

    def compute(chosen: Iterable[Table]) -> Iterator[FirstRows]:
        for table in chosen:
            tables.append(rows_of(table))
            yield tables[-1]

    say = print_out if outputs.shown is ReportFormat.TEXT else print_err
    totals = {}
    if report.totals is not None and (outputs.shown is ReportFormat.TEXT or outputs.html is not None):
        with waiting():
            totals = total_row(report)
    if outputs.shown is ReportFormat.TEXT:
        _print_text(report, compute(report.tables if outputs.html is None else report.tables[:1]), totals)
    has_rows = _print_json(report, waiting) if outputs.shown is ReportFormat.JSON else False
    if outputs.html is not None:
        tables += map(rows_of, report.tables[len(tables) :])
    if outputs.metrics is not None or outputs.shown is ReportFormat.PROMETHEUS:
        with waiting():
            text = exposition(report.metrics)
        if outputs.shown is ReportFormat.PROMETHEUS:
            click.echo(metrics_text(text).encode(), nl=False)
        if outputs.metrics is not None:
            write_file(outputs.metrics, text)
            say(f"\nMetrics: {outputs.metrics}")
    if outputs.out is not None:  # before the page, so that a chart that fails does not lose them
        with waiting():
            write_tables(outputs.out, report.tables, outputs.table_format)
        say(f"\nTables: {outputs.out}")
    if outputs.html is not None:
        with waiting():
            charts = [(chart, chart_rows(chart)) for chart in report.charts]
        write_file(outputs.html, page(report, tables, charts, totals))
        say(f"\nPage: {outputs.html}")
    if report.left_out:
        print_err(printable_line(report.left_out))
    return has_rows or any(shown.rows for shown in tables)


def _print_text(report: Report, tables: Iterable[FirstRows], totals: Mapping[str, Any]) -> None:
    """Print tables, each as soon as it is computed: as wide as the terminal, or as COLUMNS; in other files whole."""
    is_wide = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    width = None if is_wide else get_terminal_size().columns
    out = Output()
    for line in report_lines(report, tables, totals, width=width, coloured=has_colour(sys.stdout)):
        out.write(line)
        out.flush()  # the next table may take its time


def _print_json(report: Report, waiting: Callable[[], AbstractContextManager[None]]) -> bool:
    """Print the totals and all rows of all tables; return True if any table has rows."""
    every = list(report.tables)
    if report.totals is not None:
        every.insert(0, Table("totals", "", report.totals, tuple(report.totals.columns[:1])))
    lines, out, printed = json_lines(every), Output(), 0
    with waiting():
        line = next(lines, None)  # which waits for the first table alone
    while line is not None:
        out.write(printable_json(line))
        printed += 1
        line = next(lines, None)
    out.flush()
    return printed > len(every) - len(report.tables)  # totals are one row


def on_logs(
    report: Callable[[Session, Any, Mode], Report],
    topics: Collection[str] = (),
    find: Callable[[Collection[str], bool], Logs] = logs,
    about: str = "",
    *,
    has_brokers: bool = False,
) -> Callable[..., None]:
    """Make the command of a job that needs no more than log folders.

    Args:
        report: of the job; its second argument is paths, or with `has_brokers` `Brokers` as well.
        topics: the topics that it reads; all if empty.
        find: finds and checks the folders.
        about: the internal topic without which there is nothing to report; empty if there is none. It need not be in
            the sample data.
        has_brokers: True to have the options by which the job reads brokers in place of folders.
    """

    def on_folders(runner: Runner, path: tuple[str, ...], outputs: Outputs, mode: Mode) -> None:
        found = find(path, runner.are_here)
        if path and about:
            expect_topic(found, about)
        run(
            runner,
            lambda session: report(session, found.paths, mode),
            outputs,
            found.size(topics),
        )

    if not has_brokers:
        of_folders: Callable[..., None] = LOG_FOLDERS(outputs()(PERMISSIVE_OPTION(on_folders)))
        return of_folders

    @LOG_FOLDERS
    @BROKERS
    @CONFIG
    @outputs()
    @PERMISSIVE_OPTION
    def command(
        runner: Runner,
        path: tuple[str, ...],
        brokers: str | None,
        config: Path | None,
        outputs: Outputs,
        mode: Mode,
    ) -> None:
        place = brokers_of(path, brokers, config)
        if place is None:
            on_folders(runner, path, outputs, mode)
        else:
            run(runner, lambda session: report(session, place, mode), outputs)

    return command
