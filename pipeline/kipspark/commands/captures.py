"""`kipspark traffic`, `kipspark encodings` and `kipspark extract`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import SparkSession

from kipspark.commands.app import app
from kipspark.commands.options import (
    Captures,
    Html,
    Master,
    Out,
    Ports,
    Remote,
    TableFormat,
    captures,
    folder_here,
    place,
    port_numbers,
)
from kipspark.commands.running import run
from kipspark.files.roots import Roots
from kipspark.job_reports.captures import encodings_report, traffic_report
from kipspark.report.formats import Format
from kipspark.report.report import Report
from kipspark.sources import extraction
from kipwire.tools.terminal import OUT
from kipwire.tools.text import counted


def _of_captures(report: Callable[[SparkSession, Roots, str], Report]) -> Callable[..., None]:
    """A command that runs a job on captures."""

    def command(
        path: Captures = None,
        ports: Ports = "",
        out: Out = None,
        table_format: TableFormat = Format.PARQUET,
        html: Html = None,
        master: Master = None,
        remote: Remote = None,
    ) -> None:
        found = captures(path, ports, remote)
        run(
            lambda spark: report(spark, found.paths, ports),
            out,
            html,
            master,
            remote,
            size=found.size,
            table_format=table_format,
        )

    return command


app.command("traffic", help="Clients, APIs, versions, sizes, latencies and errors, from captures.")(
    _of_captures(traffic_report)
)


@app.command()
def extract(
    path: Annotated[
        list[str],
        typer.Argument(
            help="tcpdump files (pcap, pcapng) of one capture, or their folder, or its URL.",
            metavar="PATH",
            parser=place,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(help="New folder for the frames; it must not exist yet.", metavar="FOLDER", parser=folder_here),
    ],
    ports: Ports = "",
) -> None:
    """Extract Kafka's frames from captured packets into kipwire's own format, which is smaller and read in parallel."""
    frames, errors = extraction.extract(path, out, port_numbers(ports))
    OUT.print(f"{counted(frames, 'frame')}: {out}")
    if errors:
        OUT.print(f"{counted(errors, 'error')}: {out / extraction.ERRORS}")


app.command("encodings", help="What KIP-625's integer encodings would save, from captures.")(
    _of_captures(encodings_report)
)
