"""`kipspark compaction`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from kipspark.commands.app import app
from kipspark.commands.options import Html, LogFolder, Master, Out, Remote, TableFormat, folders_of_brokers
from kipspark.commands.running import run
from kipspark.job_reports.compaction import check_topics, compaction_report
from kipspark.report.formats import Format
from kipspark.sources.options import listed
from kipspark.sources.segments import find_segments


@app.command()
def compaction(
    path: LogFolder = None,
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
    if remote is None:
        check_topics(found, wanted, {segment.topic for segment in find_segments(found)})
    run(
        partial(compaction_report, path=found, wanted=wanted),
        out,
        html,
        master,
        remote,
        data=found,
        table_format=table_format,
    )
