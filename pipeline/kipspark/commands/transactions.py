"""`kipspark transactions`."""

from __future__ import annotations

from functools import partial

from kipspark.commands.app import app
from kipspark.commands.options import Html, LogFolder, Master, Out, Remote, TableFormat, folders_of_brokers
from kipspark.commands.running import run
from kipspark.job_reports.transactions import transactions_report
from kipspark.report.formats import Format


@app.command()
def transactions(
    path: LogFolder = None,
    out: Out = None,
    table_format: TableFormat = Format.PARQUET,
    html: Html = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Open and hanging transactions, and what they hold back, from log folders."""
    found = folders_of_brokers(path, remote)
    run(partial(transactions_report, path=found), out, html, master, remote, data=found, table_format=table_format)
