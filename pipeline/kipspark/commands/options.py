"""The arguments and options that commands share, and what is checked of them before Spark starts.

A start of Spark takes ten seconds and more. The paths of a Spark Connect server are not on this machine.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from kipspark import samples
from kipspark.errors import JobError, SourceError
from kipspark.files.stores import is_url
from kipspark.job_reports.metadata import nothing_of
from kipspark.report.formats import Format
from kipspark.sources.capture_files import find_captures
from kipspark.sources.options import Options
from kipspark.sources.partition_files.reading import NOT_IN_STORES
from kipspark.sources.segments import find_segments


def place(text: str) -> str:
    """A URL as it is, and a path made absolute, since Spark's workers have other working folders than the user."""
    return text if is_url(text) else os.path.realpath(text.removeprefix("file://"))


def folder_here(text: str) -> Path:
    """The absolute path of a folder to write to.

    Raises:
        BadParameter: it is a URL.
    """
    if is_url(text):
        raise typer.BadParameter(f"{text} is a URL; give a folder of this machine")
    return Path(os.path.realpath(text.removeprefix("file://")))


LogFolder = Annotated[
    str | None,
    typer.Argument(
        help="A folder, or its URL, such as s3://bucket/logs; by default the sample data.",
        metavar="PATH",
        parser=place,
    ),
]
Captures = Annotated[
    str | None,
    typer.Argument(
        help="A tcpdump file (pcap, pcapng), or a folder of captures, or its URL; by default the sample data.",
        metavar="PATH",
        parser=place,
    ),
]
Ports = Annotated[
    str, typer.Option(help="For packets: the brokers' ports, separated by commas; other connections are skipped.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for the tables, each a subfolder of Parquet files, or a file of another --format.",
        metavar="FOLDER",
        parser=folder_here,
    ),
]
TableFormat = Annotated[
    Format, typer.Option("--format", help="What the tables in --out are: Parquet, CSV (RFC 4180), or JSON lines.")
]
Html = Annotated[Path | None, typer.Option(help="File for a page with charts and tables.", metavar="FILE")]
Master = Annotated[str | None, typer.Option(help="Spark master; by default all cores of this machine.")]
Remote = Annotated[str | None, typer.Option(help="Address of a Spark Connect server, such as sc://localhost.")]


def logs(path: str | None, remote: str | None, topic: str = "") -> str:
    """The log folder to read, or the sample; it has segments, of a topic if one is given, unless it is on a server."""
    if path is not None and remote is None and not find_segments(path, [topic] if topic else []):
        raise nothing_of(path)
    return path or str(samples.segments())


def folders_of_brokers(path: str | None, remote: str | None) -> str:
    """As `logs`, for jobs that also read the files beside segments.

    Raises:
        JobError: the path is a URL.
    """
    if path is not None and is_url(path):
        raise JobError(f"{path}: {NOT_IN_STORES}")
    return logs(path, remote)


def captures(path: str | None, ports: str, remote: str | None) -> str:
    """The captures to read, or the sample; they have been found unless they are on a server, and the ports checked."""
    port_numbers(ports)
    if path is not None and remote is None:
        find_captures(path)
    return path or str(samples.capture())


def port_numbers(text: str) -> tuple[int, ...]:
    """The ports of the option.

    Raises:
        JobError: it is not a list of ports.
    """
    try:
        return Options("kipspark", {"ports": text}, ("ports",)).ports("ports")
    except SourceError:
        what = "is not a list of ports; write numbers from 1 to 65535, separated by commas"
        raise JobError(f"--ports: {text!r} {what}") from None
