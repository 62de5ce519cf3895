"""`kipspark transactions`, `kipspark share` and `kipspark tiered`, which need only log folders."""

from __future__ import annotations

from collections.abc import Callable, Collection

from pyspark.sql import SparkSession

from kipspark.commands.app import app
from kipspark.commands.options import (
    Html,
    LogFolders,
    Logs,
    Master,
    Out,
    Remote,
    TableFormat,
    folders_of_brokers,
    logs,
)
from kipspark.commands.running import run
from kipspark.files.roots import Roots
from kipspark.jobs import tiered
from kipspark.jobs.share.report import share_report
from kipspark.jobs.tiered.report import tiered_report
from kipspark.jobs.transactions.report import transactions_report
from kipspark.report.formats import Format
from kipspark.report.report import Report


def _of_logs(
    report: Callable[[SparkSession, Roots], Report],
    checked: Callable[[list[str] | None, str | None], Logs],
    topics: Collection[str] = (),
) -> Callable[..., None]:
    """A command that runs a job on these topics of log folders, or on all, after `checked` has looked at them."""

    def command(
        path: LogFolders = None,
        out: Out = None,
        table_format: TableFormat = Format.PARQUET,
        html: Html = None,
        master: Master = None,
        remote: Remote = None,
    ) -> None:
        found = checked(path, remote)
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


app.command("transactions", help="Open and hanging transactions, and what they hold back, from log folders.")(
    _of_logs(transactions_report, folders_of_brokers)
)
app.command(
    "share", help="Where share groups are, and what was delivered after their start offsets, from log folders."
)(_of_logs(share_report, logs))
app.command("tiered", help="Segments and partitions in tiered storage, from log folders.")(
    _of_logs(tiered_report, logs, [tiered.TOPIC])
)
