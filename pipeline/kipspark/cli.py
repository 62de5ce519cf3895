"""The command line `kipspark`: each job on one's own data, or on the samples that come with it."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import pyspark
import typer
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

from kipspark import job_reports, samples
from kipspark.client_config import client_options
from kipspark.connector import TRIED, check_repository, connector_jars, fetch, name_of
from kipspark.console import show
from kipspark.errors import JobError
from kipspark.outputs import check_empty, check_file, check_folder, write_file, write_tables
from kipspark.page import page
from kipspark.printing import complain, say
from kipspark.report import Report, first_rows
from kipspark.session import is_submitted, open_session
from kipspark.sources import extraction
from kipspark.sources.options import Options
from kipwire import KipwireError
from kipwire.words import counted

app = typer.Typer(
    help="Kafka's logs and traffic as tables, on Spark. Without a PATH a job runs on sample data.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception)): (.+)", re.MULTILINE)
"""The line of a traceback that tells what was raised in a Python worker."""

_OF_TASK = re.compile(r"^.* Lost task .*? executor [^)]*\): (?:[\w.]+: )?")
"""What stands before the reason why a task failed in Java."""

_WIDTH_WITHOUT_TERMINAL = 160

ReportOf = Callable[[SparkSession], Report]
CommitsOf = Callable[[SparkSession], DataFrame]

# Absolute, since Spark's workers have other working folders than the user.
LogFolder = Annotated[
    Path | None, typer.Argument(help="A folder; the sample data if none is given.", resolve_path=True)
]
Captures = Annotated[
    Path | None,
    typer.Argument(
        help="A file of tcpdump (pcap, pcapng), or a folder of captures; the sample data if none is given.",
        resolve_path=True,
    ),
]
Ports = Annotated[
    str, typer.Option(help="In packets: the brokers' ports, with commas between; connections to others are left out.")
]
Out = Annotated[
    Path | None, typer.Option(help="Folder for the tables as Parquet files, one folder each.", resolve_path=True)
]
Html = Annotated[Path | None, typer.Option(help="File for a page with charts and tables.")]
Master = Annotated[str | None, typer.Option(help="Spark master; all cores of this machine if not given.")]
Remote = Annotated[str | None, typer.Option(help="Address of a Spark Connect server, such as sc://localhost.")]


def main() -> None:
    """Run the command line; what goes wrong is one message, and exit status 1."""
    logging.disable()  # py4j logs what is told here, and with a traceback
    try:
        app()
    except (KipwireError, PySparkException, Py4JJavaError, OSError) as error:
        complain(reason(error))
        sys.exit(1)


@app.command()
def offsets(
    path: LogFolder = None,
    bootstrap_servers: Annotated[
        str | None, typer.Option(help="Brokers such as localhost:9092: what is committed now, instead of a PATH.")
    ] = None,
    command_config: Annotated[
        Path | None, typer.Option(help="File of settings for the client that asks the brokers.")
    ] = None,
    out: Out = None,
    html: Html = None,
    stream: Annotated[bool, typer.Option(help="Write commits to --out as they come; needs --checkpoint.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Where a stream keeps what it has read.", resolve_path=True)
    ] = None,
    every: Annotated[int | None, typer.Option(min=1, help="Seconds between two looks; once if not given.")] = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Commits of groups, lag and membership, over time from log folders of brokers, or as it is now from brokers."""
    if path is not None and bootstrap_servers is not None:
        raise JobError("a PATH or --bootstrap-servers, not both")
    if command_config is not None and bootstrap_servers is None:
        raise JobError("--command-config is for the brokers of --bootstrap-servers")
    jars = ""
    report_of: ReportOf
    commits_of: CommitsOf
    if bootstrap_servers is None:
        folder = path or samples.segments()
        report_of = partial(job_reports.offsets_report, path=folder)
        commits_of = partial(job_reports.commits_of_folders, path=folder)
    else:
        options = client_options(command_config) if command_config else {}
        report_of = partial(job_reports.live_offsets_report, bootstrap_servers=bootstrap_servers, options=options)
        commits_of = partial(job_reports.commits_of_brokers, bootstrap_servers=bootstrap_servers, options=options)
        if remote is None and not is_submitted():
            jars = connector_jars()
    if stream:
        if out is None or checkpoint is None:
            raise JobError("--stream needs --out and --checkpoint")
        check_folder(out, "--out")
        check_folder(checkpoint, "--checkpoint")
        spark = open_session(master, remote, jars)
        try:
            job_reports.write_stream(commits_of(spark), out, checkpoint, every)
        finally:
            spark.stop()
        return
    _run(report_of, out, html, master, remote, jars)


@app.command()
def connector(
    repository: Annotated[
        str | None, typer.Option(help="Address of a Maven repository; Maven Central if not given.")
    ] = None,
    allow_http: Annotated[
        bool, typer.Option(help="Take jars by http://, which anybody on the way can change.")
    ] = False,
) -> None:
    """Fetch Spark's own Kafka connector, once, for --bootstrap-servers and kipspark.live."""
    version = pyspark.__version__
    check_repository(repository, allow_http)
    say(f"Fetching Spark's Kafka connector for pyspark {version} from {name_of(repository)} (some 10 MB)")
    folder = fetch(repository, allow_http=allow_http)
    say(f"{folder}:")
    for jar in sorted(folder.iterdir()):
        say(f"  {jar.name}")
    say('Sessions get it by SparkSession.builder.config("spark.jars", kipspark.connector_jars())')
    if version != TRIED:
        say(f"kipspark is tried with the connector of Spark {TRIED}, not with this one.")


def _of_captures(report: Callable[[SparkSession, Path, str], Report]) -> Callable[..., None]:
    """A command that runs a job on captures."""

    def command(
        path: Captures = None,
        ports: Ports = "",
        out: Out = None,
        html: Html = None,
        master: Master = None,
        remote: Remote = None,
    ) -> None:
        _run(lambda spark: report(spark, path or samples.capture(), ports), out, html, master, remote)

    return command


app.command("traffic", help="Clients, APIs, versions, sizes, latencies and errors, from captures.")(
    _of_captures(job_reports.traffic_report)
)


@app.command()
def extract(
    path: Annotated[Path, typer.Argument(help="A file of tcpdump (pcap, pcapng), or a folder of such files.")],
    out: Annotated[Path, typer.Option(help="Folder for the frames; there is none of that name yet.")],
    ports: Ports = "",
) -> None:
    """Kafka's frames out of captured packets, in kipwire's own form: small, and read by many tasks at once."""
    frames, faults = extraction.extract(path, out, Options("extract", {"ports": ports}, ("ports",)).ports("ports"))
    say(f"{counted(frames, 'frame')}: {out}")
    if faults:
        say(f"{counted(faults, 'fault')}: {out / extraction.FAULTS}")


@app.command()
def metadata(
    path: LogFolder = None,
    at: Annotated[str | None, typer.Option(help="Time in UTC, such as '2026-11-21 08:00:50'; the end if none.")] = None,
    out: Out = None,
    html: Html = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Topics, partitions, leaders and configuration of a cluster as of a time, from its metadata log."""
    time = None if at is None else _time(at)
    _run(lambda spark: job_reports.metadata_report(spark, path or samples.segments(), time), out, html, master, remote)


app.command("encodings", help="What KIP-625's integer encodings would save, from captures.")(
    _of_captures(job_reports.encodings_report)
)


@app.command()
def conform(
    count: Annotated[int, typer.Option(min=1, help="Random messages of each version.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same messages.")] = 0,
    package: Annotated[list[str] | None, typer.Option(help="Generated packages; Kafka's if none is given.")] = None,
    golden: Annotated[
        Path | None, typer.Option(help="Files of golden messages, as in tests/golden.", resolve_path=True)
    ] = None,
    out: Out = None,
    html: Html = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Whether encode, decode, JSON and columns agree; exit status 1 if anything differs."""
    packages = package or ["kafka_messages"]
    report = lambda spark: job_reports.conform_report(spark, packages, count, seed, golden)  # noqa: E731
    if _run(report, out, html, master, remote):
        raise typer.Exit(1)


def _time(text: str) -> datetime:
    """A time as people write it, in UTC unless it says otherwise."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise JobError(f"--at: {text!r} is no time; write one such as '2026-11-21 08:00:50', in UTC") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def reason(error: BaseException) -> str:
    """What to tell of an error: of one in a worker what was raised there, without the way it came."""
    if isinstance(error, PySparkException):
        raised = _RAISED.findall(str(error))
        return raised[-1][1] if raised else str(error).partition("\n")[0]
    if isinstance(error, Py4JJavaError):  # of Java that Spark has no words for: the line behind the first tells it
        return _OF_TASK.sub("", "".join(str(error).splitlines()[1:2]).removeprefix(": "))
    return str(error)


def _run(
    report_of: ReportOf,
    out: Path | None,
    html: Path | None,
    master: str | None,
    remote: str | None,
    jars: str = "",
) -> bool:
    """Run a job in a session of its own; whether any of its tables has rows.

    Raises:
        JobError: there is no place for its tables or its page.
    """
    if out is not None:
        check_empty(out)
    if html is not None:
        check_file(html)
    spark = open_session(master, remote, jars)
    try:
        return deliver(report_of(spark), out, html)
    finally:
        spark.stop()


def deliver(report: Report, out: Path | None, html: Path | None) -> bool:
    """Print a report, and write its tables and its page where they are wanted; whether any table has rows.

    With a page, which has all tables, the terminal gets the first one alone.
    """
    tables = [first_rows(table) for table in report.tables]
    show(_console(), report, tables if html is None else tables[:1])
    if out is not None:  # before the page, so that no fault of a chart costs them
        write_tables(out, report.tables)
        say(f"\nTables: {out}")
    if html is not None:
        text = page(report, tables, [(chart, chart.frame.toArrow().to_pylist()) for chart in report.charts])
        write_file(html, text)
        say(f"\nPage: {html}")
    return any(shown.rows for shown in tables)


def _console() -> Console:
    """The terminal; a file gets lines that tables fit in."""
    return Console() if sys.stdout.isatty() else Console(width=_WIDTH_WITHOUT_TERMINAL)
