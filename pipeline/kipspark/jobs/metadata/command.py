"""`kipspark metadata`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from kipjobs.errors import JobError
from kipspark.jobs.metadata.report import metadata_report, nothing_of
from kipspark.jobs.metadata.tables import TOPIC
from kipspark.jobs.shared.options import Html, LogFolders, Master, Out, Remote, TableFormat, logs
from kipspark.jobs.shared.running import run
from kipspark.report.outputs import Format


def command(
    path: LogFolders = None,
    at: Annotated[
        str | None, typer.Option(help="Time in UTC, such as '2026-11-21 08:00:50'; by default the end.")
    ] = None,
    out: Out = None,
    table_format: TableFormat = Format.PARQUET,
    html: Html = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Run `kipspark metadata`."""
    time = None if at is None else _time(at)
    found = logs(path, remote)
    if found.segments is not None and TOPIC not in {segment.topic for segment in found.segments}:
        raise nothing_of(found.paths)
    report = lambda spark: metadata_report(spark, found.paths, time)  # noqa: E731
    run(report, out, html, master, remote, size=found.size([TOPIC]), table_format=table_format)


def _time(text: str) -> datetime:
    """The time that a text gives, in UTC unless it names a zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise JobError(f"--at: {text!r} is not a valid time; write one such as '2026-11-21 08:00:50', in UTC") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
