"""`kipspark tiered`."""

from __future__ import annotations

from functools import partial

from kipspark.commands.app import app
from kipspark.commands.options import Html, LogFolder, Master, Out, Remote, TableFormat, logs
from kipspark.commands.running import run
from kipspark.job_reports.tiered import tiered_report
from kipspark.report.formats import Format


@app.command()
def tiered(
    path: LogFolder = None,
    out: Out = None,
    table_format: TableFormat = Format.PARQUET,
    html: Html = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Segments and partitions in tiered storage, from log folders."""
    found = logs(path, remote)
    run(partial(tiered_report, path=found), out, html, master, remote, data=found, table_format=table_format)
