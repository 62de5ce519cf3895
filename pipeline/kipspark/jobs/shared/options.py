"""The arguments and options that commands share, and what is checked of them before Spark starts.

A start of Spark takes ten seconds and more. The paths of a Spark Connect server are not on this machine.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

import kipjobs
from kipjobs.errors import JobError, SourceError
from kipjobs.files.stores import is_url
from kipjobs.sources.capture_files import find_captures
from kipjobs.sources.options import Options
from kipjobs.sources.partition_files import NOT_IN_STORES
from kipjobs.sources.segments import Segment, find_segments
from kipspark.report.outputs import Format

_PACKAGE = Path(kipjobs.__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent


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


LogFolders = Annotated[
    list[str] | None,
    typer.Argument(
        help="Folders, or their URLs, such as s3://bucket/logs; by default the sample data.",
        metavar="PATH",
        parser=place,
    ),
]
Captures = Annotated[
    list[str] | None,
    typer.Argument(
        help="tcpdump files (pcap, pcapng), folders of captures, or URLs; by default the sample data.",
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


class Logs(NamedTuple):
    """The log folders that a job reads."""

    paths: tuple[str, ...]
    segments: list[Segment] | None
    """Those that are there; None if the folders are those of a server."""

    def size(self, topics: Collection[str] = ()) -> int | None:
        """The bytes of the segments of these topics, or of all; None if they are not known."""
        if self.segments is None:
            return None
        return sum(segment.size for segment in self.segments if not topics or segment.topic in topics)


class Captured(NamedTuple):
    """The captures that a job reads."""

    paths: tuple[str, ...]
    size: int | None
    """Their bytes; None if they are those of a server."""


def logs(paths: list[str] | None, remote: str | None) -> Logs:
    """The log folders to read, or the sample; they have segments, unless they are on a server."""
    found = tuple(paths or [str(sample_segments())])
    return Logs(found, find_segments(found) if remote is None else None)


def folders_of_brokers(paths: list[str] | None, remote: str | None) -> Logs:
    """As `logs`, for jobs that also read the files beside segments.

    Raises:
        JobError: a path is a URL.
    """
    for path in paths or []:
        if is_url(path):
            raise JobError(f"{path}: {NOT_IN_STORES}")
    return logs(paths, remote)


def captures(paths: list[str] | None, ports: str, remote: str | None) -> Captured:
    """The captures to read, or the sample; they have been found unless they are on a server, and the ports checked."""
    port_numbers(ports)
    found = tuple(paths or [str(sample_capture())])
    return Captured(found, find_captures(found).size if remote is None else None)


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


def sample_capture() -> Path:
    """Frames of a small cluster and its clients; examples/capture/README.md describes them."""
    return _first_existing(_PACKAGE / "samples" / "capture", _CHECKOUT / "examples" / "capture")


def sample_segments() -> Path:
    """The log folder of a broker of the same cluster, a minute after it was created."""
    return _first_existing(_PACKAGE / "samples" / "segments", _CHECKOUT / "tests" / "data" / "segments")


def _first_existing(installed: Path, checkout: Path) -> Path:
    return installed if installed.exists() else checkout
