"""The arguments and options that commands share, and their checks before a job starts.

A start of Spark takes ten seconds and more. The paths of a Spark Connect server are not on this machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import click

import kipjobs
from kipjobs.jobs.shared.reading import Brokers
from kipjobs.report.outputs import TableFormat
from kipwire.cli.command_line import OneOf
from kipwire.cli.jobs import ReportFormat, format_option
from kipwire.tables.errors import FAILFAST, PERMISSIVE, JobError, SourceError
from kipwire.tables.files.roots import roots_text
from kipwire.tables.files.stores import is_url
from kipwire.tables.sources.capture_files import find_captures
from kipwire.tables.sources.options import Options
from kipwire.tables.sources.partition_files import NOT_IN_STORES
from kipwire.tables.sources.segments import Segment, find_segments
from kipwire.tables.sources.topic_plans import request_of

_PACKAGE = Path(kipjobs.__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Place(click.ParamType[str]):
    """A URL as it is, and a path made absolute, since workers of Spark have other working folders than the user."""

    name = "path"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return place(value)


class _FolderHere(click.ParamType[Path]):
    """The absolute path of a folder to write to."""

    name = "folder"

    def convert(self, value: str | Path, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        text = str(value)
        if is_url(text):
            self.fail(f"{text} is a URL; use a local folder", param, ctx)
        return Path(os.path.realpath(text.removeprefix("file://")))


def place(text: str) -> str:
    """Make a path absolute; a URL stays as it is."""
    return text if is_url(text) else os.path.realpath(text.removeprefix("file://"))


PLACE = _Place()
FOLDER_HERE = _FolderHere()
FILE = click.Path(path_type=Path)

LOG_FOLDERS: Decorator = click.argument(
    "path",
    nargs=-1,
    metavar="[PATH]...",
    type=PLACE,
    help="Folders, or their URLs, such as s3://bucket/logs; by default the sample data.",
)
CAPTURES: Decorator = click.argument(
    "path",
    nargs=-1,
    metavar="[PATH]...",
    type=PLACE,
    help="tcpdump files (pcap, pcapng), folders of captures, or URLs; by default the sample data.",
)
BROKERS: Decorator = click.option(
    "--brokers",
    metavar="HOST:PORT[,...]",
    help="Brokers of a cluster, of which one must answer, in place of a PATH.",
)
CONFIG: Decorator = click.option(
    "--config",
    "-c",
    type=FILE,
    metavar="FILE",
    envvar="KIPWIRE_CONFIG",
    help="For --brokers: a client properties file, as Kafka's own tools take it with --command-config.",
)
PORTS: Decorator = click.option(
    "--ports",
    default="",
    metavar="PORTS",
    show_default=False,
    help="For packets: the brokers' ports, separated by commas; other connections are skipped.",
)
PERMISSIVE_OPTION: Decorator = click.option(
    "--permissive",
    "mode",
    is_flag=True,
    callback=lambda context, option, given: PERMISSIVE if given else FAILFAST,
    help="Leave out what is damaged, list it in the table left_out, and end with exit status 1.",
)


@dataclass(frozen=True)
class Outputs:
    """The destination and the format of a report."""

    out: Path | None = None
    """The folder of its tables."""
    table_format: TableFormat = TableFormat.PARQUET
    html: Path | None = None
    """The file of its page."""
    metrics: Path | None = None
    """The file of its metrics."""
    shown: ReportFormat = ReportFormat.TEXT
    """Format of the report on standard output."""


def outputs(metrics_help: str = "") -> Decorator:
    """Add the options of output files; the function gets them as `outputs`, of type `Outputs`.

    Args:
        metrics_help: of `--metrics`; empty for a job without metrics.
    """
    options = [
        format_option,
        click.option(
            "--out",
            type=FOLDER_HERE,
            metavar="FOLDER",
            help="Folder for the tables, each a subfolder of Parquet files, or a file of another --out-format.",
        ),
        click.option(
            "--out-format",
            "table_format",
            type=OneOf(TableFormat),
            default=TableFormat.PARQUET.value,
            help="Format of the tables in --out: Parquet, CSV (RFC 4180), or JSON lines.",
        ),
        click.option("--html", type=FILE, metavar="FILE", help="File for a page with charts and tables."),
    ]
    if metrics_help:
        options.append(click.option("--metrics", type=FILE, metavar="FILE", help=metrics_help))

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def with_outputs(
            *arguments: Any,
            out: Path | None,
            table_format: TableFormat,
            html: Path | None,
            format_: ReportFormat,
            metrics: Path | None = None,
            **values: Any,
        ) -> Any:
            if format_ is ReportFormat.PROMETHEUS and not metrics_help:
                raise JobError("--format prometheus: only offsets and traffic have metrics")
            return function(*arguments, outputs=Outputs(out, table_format, html, metrics, format_), **values)

        decorated: Callable[..., Any] = with_outputs
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


class Logs(NamedTuple):
    """The log folders that a job reads."""

    paths: tuple[str, ...]
    segments: list[Segment] | None
    """The segments that are there; None if the folders are on a server."""

    def size(self, topics: Collection[str] = ()) -> int | None:
        """Return the bytes of the segments of these topics, or of all; None if they are not known."""
        if self.segments is None:
            return None
        return sum(segment.size for segment in self.segments if not topics or segment.topic in topics)

    def lacks(self, topic: str) -> bool:
        """True if none of the folders has a segment of a topic; False if they are on a server."""
        return self.segments is not None and all(segment.topic != topic for segment in self.segments)


class Captured(NamedTuple):
    """The captures that a job reads."""

    paths: tuple[str, ...]
    size: int | None
    """Their bytes; None if they are on a server."""


def logs(paths: Collection[str], are_here: bool) -> Logs:
    """Return the log folders to read, or the sample; local folders are checked to have segments."""
    found = tuple(paths or [str(sample_segments())])
    return Logs(found, find_segments(found) if are_here else None)


def folders_of_brokers(paths: Collection[str], are_here: bool) -> Logs:
    """Do as `logs`, for jobs that also read the files beside segments.

    Raises:
        JobError: a path is a URL.
    """
    for path in paths:
        if is_url(path):
            raise JobError(f"{path}: {NOT_IN_STORES}")
    return logs(paths, are_here)


def brokers_of(paths: Collection[str], addresses: str | None, config: Path | None) -> Brokers | None:
    """Return the brokers that options name, without a connection to them; None to read log folders.

    Raises:
        KipwireError: the addresses are not valid, the file cannot be read, or there are paths, too.
    """
    if addresses is None:
        if config is not None:
            raise JobError("--config is for brokers; add --brokers HOST:PORT, or leave it out")
        return None
    if paths:
        raise JobError("give a PATH or --brokers, not both: the same topics would be there twice")
    options = {"brokers": addresses} | ({} if config is None else {"config": str(config.absolute())})
    request_of(options)
    return Brokers(options)


def expect_topic(found: Logs, topic: str) -> None:
    """Check that log folders have the internal topic that a job is about.

    Raises:
        JobError: they have no partition of it, so that all tables would be empty.
    """
    if found.lacks(topic):
        right = f"give a log folder of a broker (log.dirs) with folders such as {topic}-0"
        raise JobError(f"{roots_text(found.paths)}: no partition of {topic}; {right}")


def captures(paths: Collection[str], ports: str, are_here: bool) -> Captured:
    """Return the captures to read, or the sample; check the ports, and that local captures exist."""
    port_numbers(ports)
    found = tuple(paths or [str(sample_capture())])
    return Captured(found, find_captures(found).size if are_here else None)


def port_numbers(text: str) -> tuple[int, ...]:
    """Parse the ports of the option.

    Raises:
        JobError: it is not a list of ports.
    """
    try:
        return Options("--ports", {"ports": text}, ("ports",)).ports("ports")
    except SourceError:
        what = "is not a list of ports; write numbers from 1 to 65535, separated by commas"
        raise JobError(f"--ports: {text!r} {what}") from None


def sample_capture() -> Path:
    """Return a capture of a small cluster and its clients; examples/capture/README.md describes it."""
    return _first_existing(_PACKAGE / "samples" / "capture", _CHECKOUT / "examples" / "capture")


def sample_segments() -> Path:
    """Return the log folder of a broker of the same cluster, a minute after the cluster was created."""
    return _first_existing(_PACKAGE / "samples" / "segments", _CHECKOUT / "tests" / "data" / "segments")


def _first_existing(installed: Path, checkout: Path) -> Path:
    return installed if installed.exists() else checkout
