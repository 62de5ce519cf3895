"""`kipspark compaction`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from kipspark.commands.app import app
from kipspark.commands.options import Html, LogFolders, Master, Out, Remote, TableFormat, folders_of_brokers
from kipspark.commands.running import run
from kipspark.jobs.compaction.report import check_topics, compaction_report
from kipspark.report.formats import Format
from kipspark.sources.options import listed


@app.command()
def compaction(
    path: LogFolders = None,
    topics: Annotated[
        str,
        typer.Option(
            help="Topics, separated by commas; by default the brokers' own, and those that the metadata log says are "
            "compacted."
        ),
    ] = "",
    out: Out = None,
    table_format: TableFormat = Format.PARQUET,
    html: Html = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """How much of compacted topics is dead, by partition and segment, from log folders."""
    found = folders_of_brokers(path, remote)
    wanted = listed(topics)
    if found.segments is not None:
        check_topics(found.paths, wanted, {segment.topic for segment in found.segments})
    run(
        partial(compaction_report, roots=found.paths, wanted=wanted),
        out,
        html,
        master,
        remote,
        size=found.size(wanted),
        table_format=table_format,
    )
