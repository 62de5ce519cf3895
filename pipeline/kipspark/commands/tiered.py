"""`kipspark tiered`."""

from __future__ import annotations

from functools import partial

from kipspark.commands.app import app
from kipspark.commands.options import Html, LogFolder, Master, Out, Remote, logs
from kipspark.commands.running import run
from kipspark.job_reports.tiered import tiered_report


@app.command()
def tiered(
    path: LogFolder = None, out: Out = None, html: Html = None, master: Master = None, remote: Remote = None
) -> None:
    """Segments and partitions in tiered storage, from log folders."""
    found = logs(path, remote)
    run(partial(tiered_report, path=found), out, html, master, remote, data=found)
