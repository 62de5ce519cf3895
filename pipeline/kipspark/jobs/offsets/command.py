"""`kipspark offsets`: its options, and the stream that it writes."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event
from typing import Annotated

import typer
from pyspark.sql import DataFrame, SparkSession

from kipjobs.errors import JobError
from kipjobs.files.access import check_are_here
from kipspark.jobs.offsets import report as reports
from kipspark.jobs.shared.options import Html, LogFolders, Master, Out, Remote, TableFormat, folder_here, logs
from kipspark.jobs.shared.running import ReportOf, run
from kipspark.report.outputs import Format, check_folder
from kipspark.spark.client_config import client_options
from kipspark.spark.connector import connector_jars
from kipspark.spark.session import is_submitted, open_session
from kipwire.tools.terminal import OUT

_SECONDS_BETWEEN_LOOKS = 0.2
"""How often to check whether a stream still runs."""

CommitsOf = Callable[[SparkSession], DataFrame]


def command(
    path: LogFolders = None,
    bootstrap_servers: Annotated[
        str | None, typer.Option(help="Brokers such as localhost:9092, to read present offsets from instead of a PATH.")
    ] = None,
    command_config: Annotated[
        Path | None,
        typer.Option(help="Properties file for the client that connects to the brokers.", metavar="FILE"),
    ] = None,
    out: Out = None,
    table_format: TableFormat = Format.PARQUET,
    html: Html = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="File for lag in Prometheus' text format, such as kafka.prom; - is standard output.", metavar="FILE"
        ),
    ] = None,
    stalled_after: Annotated[
        int, typer.Option(min=1, help="Seconds that an offset stands still, with unread records, to be listed.")
    ] = reports.STALLED_AFTER,
    stream: Annotated[bool, typer.Option(help="Write commits to --out as they arrive; needs --checkpoint.")] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Folder in which a stream records what it has read.", metavar="FOLDER", parser=folder_here),
    ] = None,
    every: Annotated[
        int | None, typer.Option(min=1, help="Seconds between two reads; by default it reads once.")
    ] = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Run `kipspark offsets`."""
    if path and bootstrap_servers is not None:
        raise JobError("give either a PATH or --bootstrap-servers, not both")
    if command_config is not None and bootstrap_servers is None:
        raise JobError("--command-config needs --bootstrap-servers")
    jars = ""
    folders = logs(path, remote) if bootstrap_servers is None else None
    report_of: ReportOf
    commits_of: CommitsOf
    if not stream and (checkpoint is not None or every is not None):
        raise JobError("--checkpoint and --every need --stream")
    if folders is not None:
        report_of = partial(reports.offsets_report, roots=folders.paths, stalled_after=stalled_after)
        commits_of = partial(reports.commits_of_folders, roots=folders.paths)
    else:
        assert bootstrap_servers is not None
        options = client_options(command_config) if command_config else {}
        report_of = partial(
            reports.live_offsets_report,
            bootstrap_servers=bootstrap_servers,
            options=options,
            stalled_after=stalled_after,
        )
        commits_of = partial(reports.commits_of_brokers, bootstrap_servers=bootstrap_servers, options=options)
        if remote is None and not is_submitted():
            jars = connector_jars()
    if stream:
        if out is None or checkpoint is None:
            raise JobError("--stream needs --out and --checkpoint")
        if folders is not None:
            check_are_here("--stream", folders.paths)
        if html is not None:
            raise JobError("--html does not go with --stream, which does not end in a report")
        if metrics is not None:
            raise JobError("--metrics does not go with --stream, which does not end in a report")
        if table_format is not Format.PARQUET:
            raise JobError(f"--format {table_format} does not go with --stream, which writes Parquet files")
        check_folder(out, "--out")
        check_folder(checkpoint, "--checkpoint")
        spark = open_session(master, remote, jars)
        try:
            write_stream(commits_of(spark), out, checkpoint, every)
        finally:
            spark.stop()
        return
    size = None if folders is None else folders.size()
    run(report_of, out, html, master, remote, jars, size, table_format, metrics)


def write_stream(commits: DataFrame, out: Path, checkpoint: Path, seconds: int | None) -> None:
    """Write a stream to Parquet files as it arrives, from where the checkpoint ends.

    Args:
        commits: the stream.
        out: where the files go.
        checkpoint: what was read so far.
        seconds: between two reads; None: write what there is, then end.
    """
    writer = commits.writeStream.format("parquet").option("checkpointLocation", str(checkpoint)).outputMode("append")
    triggered = (
        writer.trigger(availableNow=True) if seconds is None else writer.trigger(processingTime=f"{seconds} seconds")
    )
    with ctrl_c() as pressed:
        query = triggered.start(str(out))
        while query.isActive and not pressed.wait(_SECONDS_BETWEEN_LOOKS):
            pass
        if pressed.is_set():
            query.stop()
            OUT.print(f"\nStopped. A run with the same --checkpoint continues where this one ended: {checkpoint}")
        else:
            query.awaitTermination()  # raises the error that ended it, if any


@contextmanager
def ctrl_c() -> Iterator[Event]:
    """An event that Ctrl-C sets, in the main thread; a second one interrupts as usual.

    Spark's own handler raises KeyboardInterrupt during a call to Java, which breaks that call.
    """
    pressed = Event()

    def press(*_: object) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
