"""The command `offsets` on log folders."""

from __future__ import annotations

from functools import partial

import click

from kipjobs.jobs.offsets import report as reports
from kipjobs.jobs.offsets.tables import TOPIC
from kipjobs.jobs.shared.options import (
    LOG_FOLDERS,
    PERMISSIVE_OPTION,
    Decorator,
    Logs,
    Outputs,
    expect_topic,
    logs,
    outputs,
)
from kipjobs.jobs.shared.running import Runner, run
from kipwire.tables.errors import Mode

METRICS = "File for lag in Prometheus' text format, such as kafka.prom."
STALLED_AFTER: Decorator = click.option(
    "--stalled-after",
    type=click.IntRange(min=1),
    default=reports.STALLED_AFTER,
    metavar="SECONDS",
    help="Seconds that an offset stands still, with unread records, to be listed.",
)


@LOG_FOLDERS
@outputs(METRICS)
@STALLED_AFTER
@PERMISSIVE_OPTION
def command(runner: Runner, path: tuple[str, ...], outputs: Outputs, stalled_after: int, mode: Mode) -> None:
    """Run the job on log folders."""
    run_on(runner, logs(path, runner.are_here), outputs, stalled_after, mode)


def run_on(runner: Runner, folders: Logs, outputs: Outputs, stalled_after: int, mode: Mode) -> None:
    """Run the job on these folders; `stalled_after` is in seconds."""
    expect_topic(folders, TOPIC)
    report_of = partial(reports.offsets_report, roots=folders.paths, stalled_after=stalled_after, mode=mode)
    run(runner, report_of, outputs, folders.size())
