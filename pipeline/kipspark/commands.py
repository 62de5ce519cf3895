"""The command line `kipspark`: each job runs on your own data, or on the samples that come with it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import pyspark
import typer
from pyspark.sql import DataFrame, SparkSession

from kipspark import job_reports, samples
from kipspark.errors import JobError, SourceError
from kipspark.jobs import metadata as metadata_log
from kipspark.reasons import SPARK_ERRORS, reason
from kipspark.report.console import show
from kipspark.report.outputs import check_empty, check_file, check_folder, write_file, write_tables
from kipspark.report.page import page
from kipspark.report.report import FirstRows, Report, Table, first_rows
from kipspark.sources import extraction
from kipspark.sources.capture_files import find_captures
from kipspark.sources.options import Options
from kipspark.sources.segments import find_segments
from kipspark.spark.client_config import client_options
from kipspark.spark.connector import TESTED_VERSION, check_repository, connector_jars, fetch, name_of
from kipspark.spark.session import FOR_FEW_ROWS, is_submitted, open_session
from kipwire import KipwireError
from kipwire.registry import registry_of
from kipwire.release import release_line
from kipwire.tools.terminal import ERR, OUT, table_console
from kipwire.tools.words import counted

app = typer.Typer(
    help="Kafka's logs and traffic as tables, on Spark. Without a PATH a job runs on sample data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_ROWS_OF_PAGE = 20_000
"""The most rows of a table that a page can have; how many fit depends on their length."""

ReportOf = Callable[[SparkSession], Report]
CommitsOf = Callable[[SparkSession], DataFrame]

# Absolute, since Spark's workers have other working folders than the user.
LogFolder = Annotated[Path | None, typer.Argument(help="A folder; by default the sample data.", resolve_path=True)]
Captures = Annotated[
    Path | None,
    typer.Argument(
        help="A tcpdump file (pcap, pcapng), or a folder of captures; by default the sample data.",
        resolve_path=True,
    ),
]
Ports = Annotated[
    str, typer.Option(help="For packets: the brokers' ports, separated by commas; other connections are skipped.")
]
Out = Annotated[
    Path | None, typer.Option(help="Folder for the tables, each a subfolder of Parquet files.", resolve_path=True)
]
Html = Annotated[Path | None, typer.Option(help="File for a page with charts and tables.")]
Master = Annotated[str | None, typer.Option(help="Spark master; by default all cores of this machine.")]
Remote = Annotated[str | None, typer.Option(help="Address of a Spark Connect server, such as sc://localhost.")]


def _print_release(wanted: bool) -> None:
    if wanted:
        OUT.print(release_line("kipspark"))
        raise typer.Exit


@app.callback()
def _every_command(
    _: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_release, help="Show the release and exit.")
    ] = False,
) -> None:
    """The options that come before the name of a command."""


def main() -> None:
    """Run the command line. An error is one message and exit status 1."""
    logging.disable()  # py4j would log the same errors with tracebacks
    try:
        app()
    except (KipwireError, *SPARK_ERRORS, OSError) as error:
        ERR.print(f"kipspark: {reason(error)}")
        sys.exit(1)


@app.command()
def offsets(
    path: LogFolder = None,
    bootstrap_servers: Annotated[
        str | None, typer.Option(help="Brokers such as localhost:9092, to read present offsets from instead of a PATH.")
    ] = None,
    command_config: Annotated[
        Path | None, typer.Option(help="Properties file for the client that connects to the brokers.")
    ] = None,
    out: Out = None,
    html: Html = None,
    stream: Annotated[bool, typer.Option(help="Write commits to --out as they arrive; needs --checkpoint.")] = False,
    checkpoint: Annotated[
        Path | None, typer.Option(help="Folder in which a stream records what it has read.", resolve_path=True)
    ] = None,
    every: Annotated[
        int | None, typer.Option(min=1, help="Seconds between two reads; by default it reads once.")
    ] = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Commits, lag and members of consumer groups: over time from log folders, or at present from brokers."""
    if path is not None and bootstrap_servers is not None:
        raise JobError("give either a PATH or --bootstrap-servers, not both")
    if command_config is not None and bootstrap_servers is None:
        raise JobError("--command-config needs --bootstrap-servers")
    jars = ""
    folder = _logs(path, remote) if bootstrap_servers is None else None
    report_of: ReportOf
    commits_of: CommitsOf
    if not stream and (checkpoint is not None or every is not None):
        raise JobError("--checkpoint and --every need --stream")
    if folder is not None:
        report_of = partial(job_reports.offsets_report, path=folder)
        commits_of = partial(job_reports.commits_of_folders, path=folder)
    else:
        assert bootstrap_servers is not None
        options = client_options(command_config) if command_config else {}
        report_of = partial(job_reports.live_offsets_report, bootstrap_servers=bootstrap_servers, options=options)
        commits_of = partial(job_reports.commits_of_brokers, bootstrap_servers=bootstrap_servers, options=options)
        if remote is None and not is_submitted():
            jars = connector_jars()
    if stream:
        if out is None or checkpoint is None:
            raise JobError("--stream needs --out and --checkpoint")
        if html is not None:
            raise JobError("--html does not go with --stream, which does not end in a report")
        check_folder(out, "--out")
        check_folder(checkpoint, "--checkpoint")
        spark = open_session(master, remote, jars)
        try:
            job_reports.write_stream(commits_of(spark), out, checkpoint, every)
        finally:
            spark.stop()
        return
    _run(report_of, out, html, master, remote, jars, folder)


@app.command()
def connector(
    repository: Annotated[str | None, typer.Option(help="URL of a Maven repository; by default Maven Central.")] = None,
    allow_http: Annotated[
        bool, typer.Option(help="Accept jars over http://, which anyone on the network path can change.")
    ] = False,
) -> None:
    """Fetch Spark's Kafka connector, which --bootstrap-servers and kipspark.spark.live need."""
    version = pyspark.__version__
    check_repository(repository, allow_http)
    OUT.print(f"Fetching Spark's Kafka connector for pyspark {version} from {name_of(repository)} (about 10 MB)")
    folder = fetch(repository, allow_http=allow_http)
    OUT.print(f"{folder}:")
    for jar in sorted(folder.iterdir()):
        OUT.print(f"  {jar.name}")
    OUT.print('To use it in a session: SparkSession.builder.config("spark.jars", kipspark.connector_jars())')
    if version != TESTED_VERSION:
        OUT.print(f"kipspark is tested with the connector of Spark {TESTED_VERSION}, not with this version.")


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
        captures = _captures(path, ports, remote)
        _run(lambda spark: report(spark, captures, ports), out, html, master, remote, data=captures)

    return command


app.command("traffic", help="Clients, APIs, versions, sizes, latencies and errors, from captures.")(
    _of_captures(job_reports.traffic_report)
)


@app.command()
def extract(
    path: Annotated[Path, typer.Argument(help="A tcpdump file (pcap, pcapng), or a folder of such files.")],
    out: Annotated[Path, typer.Option(help="New folder for the frames; it must not exist yet.")],
    ports: Ports = "",
) -> None:
    """Extract Kafka's frames from captured packets into kipwire's own format, which is smaller and read in parallel."""
    frames, errors = extraction.extract(path, out, _ports(ports))
    OUT.print(f"{counted(frames, 'frame')}: {out}")
    if errors:
        OUT.print(f"{counted(errors, 'error')}: {out / extraction.ERRORS}")


@app.command()
def metadata(
    path: LogFolder = None,
    at: Annotated[
        str | None, typer.Option(help="Time in UTC, such as '2026-11-21 08:00:50'; by default the end.")
    ] = None,
    out: Out = None,
    html: Html = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Topics, partitions, leaders and configuration of a cluster at a point in time, from its metadata log."""
    time = None if at is None else _time(at)
    logs = _logs(path, remote, metadata_log.TOPIC)
    _run(lambda spark: job_reports.metadata_report(spark, logs, time), out, html, master, remote, data=logs)


app.command("encodings", help="What KIP-625's integer encodings would save, from captures.")(
    _of_captures(job_reports.encodings_report)
)


@app.command()
def conform(
    count: Annotated[int, typer.Option(min=1, help="Random messages of each version.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same messages.")] = 0,
    package: Annotated[list[str] | None, typer.Option(help="Generated packages; by default Kafka's.")] = None,
    golden: Annotated[
        Path | None, typer.Option(help="Files of golden messages, as in tests/golden.", resolve_path=True)
    ] = None,
    out: Out = None,
    html: Html = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Check that encode, decode, JSON and columns agree; exit status 1 if anything differs."""
    packages = package or ["kafka_messages"]
    for name in packages:
        registry_of(name)  # raises before Spark starts
    if golden is not None:
        job_reports.check_golden(golden)
    report = lambda spark: job_reports.conform_report(spark, packages, count, seed, golden)  # noqa: E731
    if _run(report, out, html, master, remote):
        raise typer.Exit(1)


# A start of Spark takes ten seconds and more, so a wrong path is found before it. The paths of a Spark Connect server
# are not on this machine.


def _logs(path: Path | None, remote: str | None, topic: str = "") -> Path:
    """The log folder to read, or the sample; it has segments, of a topic if one is given, unless it is on a server."""
    if path is not None and remote is None and not find_segments(str(path), [topic] if topic else []):
        raise job_reports.nothing_of(path)
    return path or samples.segments()


def _captures(path: Path | None, ports: str, remote: str | None) -> Path:
    """The captures to read, or the sample; they have been found unless they are on a server, and the ports checked."""
    _ports(ports)
    if path is not None and remote is None:
        find_captures(str(path))
    return path or samples.capture()


_SMALL = 16 * 2**20
"""Bytes: a job on less data takes seconds, most of them until Java's compilers have done their work."""


def _is_small(data: Path) -> bool:
    """Whether there is little to read at a path of this machine."""
    left = _SMALL
    for file in [data] if data.is_file() else data.rglob("*"):
        left -= file.stat().st_size if file.is_file() else 0
        if left < 0:
            return False
    return True


def _ports(text: str) -> tuple[int, ...]:
    try:
        return Options("kipspark", {"ports": text}, ("ports",)).ports("ports")
    except SourceError:
        what = "is not a list of ports; write numbers from 1 to 65535, separated by commas"
        raise JobError(f"--ports: {text!r} {what}") from None


def _time(text: str) -> datetime:
    """The time that a text gives, in UTC unless it names a zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise JobError(f"--at: {text!r} is not a valid time; write one such as '2026-11-21 08:00:50', in UTC") from None
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def _run(
    report_of: ReportOf,
    out: Path | None,
    html: Path | None,
    master: str | None,
    remote: str | None,
    jars: str = "",
    data: Path | None = None,
) -> bool:
    """Run a job in its own session, and return whether any of its tables has rows.

    Args:
        report_of: the job.
        out: as the option.
        html: as the option.
        master: as the option.
        remote: as the option.
        jars: of Spark.
        data: what the job reads, if it is on this machine.

    Raises:
        JobError: its tables or its page cannot be written to the given paths.
    """
    if out is not None:
        check_empty(out)
    if html is not None:
        check_file(html)
    spark = open_session(master, remote, jars, FOR_FEW_ROWS if data is not None and _is_small(data) else {})
    try:
        return deliver(report_of(spark), out, html)
    finally:
        spark.stop()


def deliver(report: Report, out: Path | None, html: Path | None) -> bool:
    """Print a report, write its tables and page if wanted, and return whether any table has rows.

    If a page is written, which has all tables, only the first table is printed.
    """
    tables: list[FirstRows] = []

    def rows_of(table: Table) -> FirstRows:
        return first_rows(table, table.shown if html is None else _ROWS_OF_PAGE)

    def computed(wanted: Iterable[Table]) -> Iterator[FirstRows]:
        for table in wanted:
            tables.append(rows_of(table))
            yield tables[-1]

    show(table_console(), report, computed(report.tables if html is None else report.tables[:1]))
    tables += map(rows_of, report.tables[len(tables) :])
    if out is not None:  # before the page, so that a chart that fails does not lose them
        write_tables(out, report.tables)
        OUT.print(f"\nTables: {out}")
    if html is not None:
        text = page(report, tables, [(chart, chart.frame.toArrow().to_pylist()) for chart in report.charts])
        write_file(html, text)
        OUT.print(f"\nPage: {html}")
    return any(shown.rows for shown in tables)
