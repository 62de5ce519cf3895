"""`kipspark metadata`."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import click

from kipjobs.jobs.metadata.report import metadata_report, nothing_of
from kipjobs.jobs.metadata.tables import TOPIC
from kipjobs.jobs.shared.options import LOG_FOLDERS, PERMISSIVE_OPTION, Outputs, logs, outputs
from kipjobs.jobs.shared.running import Runner, run
from kipwire.tables.errors import JobError, Mode


@LOG_FOLDERS
@click.option("--at", metavar="TIME", help="Time in UTC, such as '2026-11-21 08:00:50'; by default the end.")
@outputs()
@PERMISSIVE_OPTION
def command(runner: Runner, path: tuple[str, ...], at: str | None, outputs: Outputs, mode: Mode) -> None:
    """Run the job."""
    time = None if at is None else _time(at)
    found = logs(path, runner.are_here)
    if found.lacks(TOPIC):
        raise nothing_of(found.paths)
    report_of = partial(metadata_report, roots=found.paths, at=time, mode=mode)
    run(runner, report_of, outputs, found.size([TOPIC]))


def _time(text: str) -> datetime:
    """Parse a time, which is in UTC unless the text names a zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise JobError(f"--at: {text!r} is not a valid time; write one such as '2026-11-21 08:00:50', in UTC") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
