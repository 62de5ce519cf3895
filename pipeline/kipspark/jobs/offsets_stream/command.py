"""`kipspark offsets`: its options, and the stream that it writes.

Without `--stream` it is the job of `kipjobs`. Combinations that cannot work are refused before Spark starts, since that
takes seconds. A stream goes on until Ctrl-C, which is taken as an event: as an exception it would break a call to Java.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import click
from pyspark.sql import DataFrame

from kipjobs.jobs.offsets import command as of_folders
from kipjobs.jobs.shared.options import FOLDER_HERE, LOG_FOLDERS, PERMISSIVE_OPTION, Outputs, logs, outputs
from kipjobs.report.outputs import TableFormat, check_folder
from kipspark.jobs.offsets_stream.stream import LeftOutOfStream, commits_of_folders
from kipspark.running import OnSpark
from kipwire.cli.jobs import ReportFormat
from kipwire.tables.errors import PERMISSIVE, JobError, Mode
from kipwire.tables.files.access import check_are_here
from kipwire.tools.text import print_out

_SECONDS_BETWEEN_LOOKS = 0.2
"""The interval of checks that a stream still runs."""


@LOG_FOLDERS
@outputs(of_folders.METRICS)
@of_folders.STALLED_AFTER
@PERMISSIVE_OPTION
@click.option("--stream", is_flag=True, help="Write commits to --out as they arrive; needs --checkpoint.")
@click.option(
    "--checkpoint", type=FOLDER_HERE, metavar="FOLDER", help="Folder in which a stream records what it has read."
)
@click.option(
    "--every",
    type=click.IntRange(min=1),
    metavar="SECONDS",
    help="Seconds between two reads; by default it reads once.",
)
def command(
    runner: OnSpark,
    path: tuple[str, ...],
    outputs: Outputs,
    stalled_after: int,
    mode: Mode,
    stream: bool,
    checkpoint: Path | None,
    every: int | None,
) -> None:
    """Run `kipspark offsets`."""
    if stream and mode == PERMISSIVE:
        raise JobError("--permissive cannot be used with --stream, which does not end in a report")
    if not stream and (checkpoint is not None or every is not None):
        raise JobError("--checkpoint and --every need --stream")
    folders = logs(path, runner.are_here)
    if not stream:
        of_folders.run_on(runner, folders, outputs, stalled_after, mode)
        return
    check_are_here("--stream", folders.paths)
    _check_stream(outputs, checkpoint)
    assert outputs.out is not None
    assert checkpoint is not None
    with runner.session(None) as spark:
        write_stream(commits_of_folders(spark, folders.paths), outputs.out, checkpoint, every)


def _check_stream(outputs: Outputs, checkpoint: Path | None) -> None:
    """Check that a stream can be written as wanted.

    Raises:
        JobError: an option for files is missing, or does not fit a stream.
    """
    if outputs.out is None or checkpoint is None:
        raise JobError("--stream needs --out and --checkpoint")
    if outputs.html is not None:
        raise JobError("--html cannot be used with --stream, which does not end in a report")
    if outputs.metrics is not None:
        raise JobError("--metrics cannot be used with --stream, which does not end in a report")
    if outputs.shown is not ReportFormat.TEXT:
        raise JobError(f"--format {outputs.shown} cannot be used with --stream, which does not end in a report")
    if outputs.table_format is not TableFormat.PARQUET:
        raise JobError(f"--out-format {outputs.table_format} cannot be used with --stream, which writes Parquet files")
    check_folder(outputs.out, "--out")
    check_folder(checkpoint, "--checkpoint")


def write_stream(commits: DataFrame, out: Path, checkpoint: Path, seconds: int | None) -> None:
    """Write a stream to Parquet files as it arrives, from where the checkpoint ends.

    Args:
        commits: the stream.
        out: the folder for the files.
        checkpoint: the folder with the position of the stream.
        seconds: between two reads; None: write the present commits, then end.
    """
    writer = commits.writeStream.format("parquet").option("checkpointLocation", str(checkpoint)).outputMode("append")
    triggered = (
        writer.trigger(availableNow=True) if seconds is None else writer.trigger(processingTime=f"{seconds} seconds")
    )
    with ctrl_c() as pressed:
        query = triggered.start(str(out))
        left_out = LeftOutOfStream()
        while query.isActive and not pressed.wait(_SECONDS_BETWEEN_LOOKS):
            left_out.look(query)
        left_out.look(query, at_end=True)
        if pressed.is_set():
            query.stop()
            print_out(f"\nStopped. A run with the same --checkpoint continues where this one ended: {checkpoint}")
        else:
            query.awaitTermination()  # raises the error that ended it, if any


@contextmanager
def ctrl_c() -> Iterator[Event]:
    """Give an event that Ctrl-C sets, in the main thread; a second Ctrl-C interrupts as usual.

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
